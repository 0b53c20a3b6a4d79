use super::incoming::{self, Message, Reader};
use super::message::Stop;
use super::outgoing::{Around, Outgoing};
use super::{
    MessageKind, ProtocolError, Transport, Wire, application_exception, header, multiplexed,
};
use crate::Status;
use crate::http::{self, HttpTarget, Side};
use crate::limits::credible;
use crate::{ConnectionLimits, Headers, Name};
use bytes::BytesMut;
use dovetail_wire::{Bytes, Encode, EncodeError, Encoding, Limits};
use std::collections::VecDeque;

/// How a client uses its connection.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// The service that is called, where the server has several on one connection ("multiplexed").
    pub service: Option<String>,
    /// Over HTTP: host and path.
    pub http: HttpTarget,
    /// Limits on the cost of the server.
    pub limits: ConnectionLimits,
    /// Limits on the cost of encoding the parameters.
    pub encoding: Limits,
}

/// A call on its connection. Never used again, so a late reply cannot meet another call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

/// A reply that has arrived.
#[derive(Debug)]
pub struct IncomingReply {
    /// The call that it answers.
    pub call: CallId,
    /// The body, one encoded struct with the result or a declared exception; or why the call
    /// failed.
    pub result: Result<(Encoding, Bytes), Status>,
    /// THeader's or HTTP's headers.
    pub headers: Headers,
}

/// The client's side of one connection.
///
/// # Calling contract
///
/// - [`call`](Self::call) appends a message to a buffer of your own; send it. Not while the
///   connection is [`exclusive`](Self::exclusive) to another call.
/// - Append what is received to another one, and call [`receive`](Self::receive) until it returns
///   `None`.
/// - A caller that is gone [`abandon`](Self::abandon)s its call; the reply is dropped when it
///   comes.
/// - After an error, and at the [`end`](Self::end) of the stream, the calls in
///   [`pending`](Self::pending) will not be answered.
///
/// Replies are matched by their number. HTTP has none, and some servers answer with zero: those are
/// taken in the order of the calls.
pub struct ClientConnection {
    wire: Wire,
    options: ClientOptions,
    reader: Reader,
    failed: Option<ProtocolError>,
    needs: usize,
    closing: bool,
    /// Over HTTP: the server has kept the connection after a response.
    kept: bool,
    calls: u64,
    /// In the order of the calls. Answered ones stay until they are at the front or make up half of
    /// it.
    pending: VecDeque<Pending>,
    answered: usize,
}

struct Pending {
    call: CallId,
    method: Name,
    /// It was called with the name of its service.
    multiplexed: bool,
    /// One-way over HTTP: a response comes, and what it says does not matter.
    oneway: bool,
    state: PendingState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PendingState {
    Waiting,
    /// The caller is gone.
    Abandoned,
    Answered,
}

impl CallId {
    /// A number above zero that fits 31 bits: small in compact, and no server's "none".
    fn seqid(self) -> i32 {
        (self.0 % i32::MAX as u64) as i32 + 1
    }
}

impl ClientConnection {
    /// A connection that has just been made.
    pub fn new(wire: Wire, options: ClientOptions) -> Self {
        ClientConnection {
            wire,
            reader: Reader::new(wire, Side::Client, &options.limits),
            options,
            failed: None,
            needs: 1,
            closing: false,
            kept: false,
            calls: 0,
            pending: VecDeque::new(),
            answered: 0,
        }
    }

    /// The wire, as agreed on.
    pub fn wire(&self) -> Wire {
        self.wire
    }

    /// Appends a call. After an error `out` is as it was, and there is no call.
    pub fn call(
        &mut self,
        method: &str,
        oneway: bool,
        body: &impl Encode,
        out: &mut Vec<u8>,
    ) -> Result<CallId, EncodeError> {
        self.call_with((None, method), oneway, &Headers::new(), body, out)
    }

    /// Appends a call of a method, of another service than the options name where one is given,
    /// with headers, which THeader and HTTP carry; other wires leave them out.
    pub fn call_with(
        &mut self,
        (service, method): (Option<&str>, &str),
        oneway: bool,
        headers: &Headers,
        body: &impl Encode,
        out: &mut Vec<u8>,
    ) -> Result<CallId, EncodeError> {
        let call = CallId(self.calls);
        let joined;
        let name = match service.or(self.options.service.as_deref()) {
            Some(service) => {
                joined = multiplexed::join(service, method);
                joined.as_str()
            }
            None => method,
        };
        if name.len() > self.options.limits.name_bytes {
            return Err(EncodeError::TooLong { length: name.len() });
        }
        let message = Outgoing {
            wire: self.wire,
            kind: match oneway {
                false => MessageKind::Call,
                true => MessageKind::Oneway,
            },
            name,
            seqid: call.seqid(),
            header: (self.wire.transport == Transport::Header).then(|| header::Envelope {
                flags: header::OUT_OF_ORDER,
                seqid: call.seqid().cast_unsigned(),
                transforms: self.wire.transforms,
                headers: headers.clone(),
            }),
            around: match self.wire.transport {
                Transport::Unframed | Transport::Header => Around::Nothing,
                Transport::Framed => Around::Frame,
                Transport::Http => Around::Request {
                    target: &self.options.http,
                    headers,
                },
            },
        };
        message.write(body, self.options.encoding, out.into())?;
        self.calls += 1;
        if !oneway || self.answers_oneway() {
            self.pending.push_back(Pending {
                call,
                method: Name::new(method),
                multiplexed: service.or(self.options.service.as_deref()).is_some(),
                oneway,
                state: PendingState::Waiting,
            });
        }
        Ok(call)
    }

    /// Returns whether even a one-way call is answered: HTTP has a response to every request.
    pub fn answers_oneway(&self) -> bool {
        self.wire.transport == Transport::Http
    }

    /// Returns whether the next call has to wait until all others are answered. Servers of HTTP/1.0
    /// close after each response, and what was sent behind the request may have run or not: a
    /// client sends nothing behind it before the server has shown that it keeps the connection (RFC
    /// 9112, 9.3.2).
    pub fn exclusive(&self) -> bool {
        self.wire.transport == Transport::Http && !self.kept && !self.pending.is_empty()
    }

    /// Splits the next reply off the front of `input`; `None` where more must be received first.
    pub fn receive(
        &mut self,
        input: &mut BytesMut,
    ) -> Result<Option<IncomingReply>, ProtocolError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        loop {
            match self.next(input) {
                Ok(Some(reply)) => return Ok(Some(reply)),
                Ok(None) => {}
                Err(Stop::Need(missing)) => {
                    self.needs = credible(missing, input.len());
                    return Ok(None);
                }
                Err(Stop::Error(error)) => {
                    self.failed = Some(error.clone());
                    return Err(error);
                }
            }
        }
    }

    /// How many more bytes the current message surely needs, after `receive` said `None`. At least
    /// one, and never much more than the server has sent already.
    pub fn needs(&self) -> usize {
        self.needs
    }

    /// The caller does not wait any longer: the reply is dropped when it comes.
    pub fn abandon(&mut self, call: CallId) {
        if let Some(index) = self.find(call)
            && self.pending[index].state == PendingState::Waiting
        {
            self.pending[index].state = PendingState::Abandoned;
        }
    }

    /// The calls that wait for a reply, the oldest first. If the connection is lost, these may have
    /// run.
    pub fn pending(&self) -> impl Iterator<Item = CallId> + '_ {
        let waiting = |pending: &&Pending| pending.state == PendingState::Waiting;
        self.pending
            .iter()
            .filter(waiting)
            .map(|pending| pending.call)
    }

    /// Returns whether the server said that it takes no further call on this connection.
    pub fn closing(&self) -> bool {
        self.closing
    }

    /// Returns whether replies come in the order of the calls, so that a slow one holds the others
    /// up.
    pub fn ordered(&self) -> bool {
        self.wire.transport == Transport::Http
    }

    /// The server has closed its side. That can be what ends a reply over HTTP; an error where it
    /// is in the middle of one.
    pub fn end(&mut self, input: &mut BytesMut) -> Result<Option<IncomingReply>, ProtocolError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.closing = true;
        match &mut self.reader {
            Reader::Http(reader) => match reader.end(input)? {
                Some((head, body)) => self.http_reply(head, body),
                None => Ok(None),
            },
            reader => reader.end(input).map(|()| None),
        }
    }

    /// One message; `None` where nobody waits for it.
    fn next(&mut self, input: &mut BytesMut) -> Result<Option<IncomingReply>, Stop> {
        if let Reader::Http(reader) = &mut self.reader {
            let (head, body) = reader.next(input, &self.options.limits, |_| Ok(()))?;
            return Ok(self.http_reply(head, body)?);
        }
        let message = self.reader.next(input, &self.options.limits)?;
        Ok(self.reply(message)?)
    }

    fn http_reply(
        &mut self,
        head: http::Head,
        body: Bytes,
    ) -> Result<Option<IncomingReply>, ProtocolError> {
        self.closing |= !head.keep_alive;
        self.kept |= head.keep_alive;
        let Some(index) = self.oldest() else {
            return Err(ProtocolError::malformed("an HTTP response to no request"));
        };
        if let http::Start::Response { status, reason } = &head.start
            && *status != 200
            && !(self.pending[index].oneway && (200..300).contains(status))
        {
            let status = application_exception::from_http(*status, reason);
            return Ok(self.answer(index, Err(status), head.headers));
        }
        if self.pending[index].oneway {
            return Ok(self.answer(index, Ok((Encoding::ThriftBinary, body)), head.headers));
        }
        let message =
            incoming::from_http(head.keep_alive, head.headers, body, &self.options.limits)?;
        self.reply(message)
    }

    fn reply(&mut self, message: Message) -> Result<Option<IncomingReply>, ProtocolError> {
        let Message {
            head,
            body,
            headers,
            lead,
        } = message;
        let exception = match head.kind {
            MessageKind::Reply => false,
            MessageKind::Exception => true,
            kind => return Err(ProtocolError::UnexpectedMessage { kind }),
        };
        let seqid = lead.number(head.seqid);
        let index = match seqid {
            0 => self.oldest(),
            _ if self.ordered() => self.oldest(),
            seqid => self.with_seqid(seqid),
        };
        let Some(index) = index else {
            // Apache's servers answer even a one-way call whose method they do not have.
            if exception && u64::try_from(seqid).is_ok_and(|number| number <= self.calls) {
                return Ok(None);
            }
            return Err(ProtocolError::UnknownReply {
                seqid,
                method: head.name,
            });
        };
        let pending = &self.pending[index];
        let expected = &pending.method;
        // An exception may come from a server that could not read the name.
        if !exception && !Self::names(pending, &head.name) {
            return Err(ProtocolError::WrongMethod {
                expected: expected.clone(),
                found: head.name,
            });
        }
        let encoding = head.protocol.encoding();
        let result = match exception {
            false => Ok((encoding, body)),
            true => Err(application_exception::read(encoding, &body)),
        };
        Ok(self.answer(index, result, headers))
    }

    /// Some servers reply with the service before the name, as it was called.
    fn names(pending: &Pending, found: &Name) -> bool {
        let method = match found.rsplit_once(':') {
            Some((_, method)) if pending.multiplexed => method,
            _ => found.as_str(),
        };
        pending.method.as_str() == method
    }

    fn find(&self, call: CallId) -> Option<usize> {
        let search = self
            .pending
            .binary_search_by_key(&call, |pending| pending.call);
        search.ok()
    }

    /// The outstanding call with a number. Numbers repeat after 2^31 calls: the oldest call is the
    /// base.
    fn with_seqid(&self, seqid: i32) -> Option<usize> {
        let oldest = self.pending.front()?.call.0;
        let period = i32::MAX as u64;
        let number = u64::try_from(seqid).ok()?.checked_sub(1)?;
        let ahead = (number + period - oldest % period) % period;
        let index = self.find(CallId(oldest + ahead))?;
        (self.pending[index].state != PendingState::Answered).then_some(index)
    }

    fn oldest(&self) -> Option<usize> {
        let mut states = self.pending.iter().map(|pending| pending.state);
        states.position(|state| state != PendingState::Answered)
    }

    fn answer(
        &mut self,
        index: usize,
        result: Result<(Encoding, Bytes), Status>,
        headers: Headers,
    ) -> Option<IncomingReply> {
        let Pending { call, state, .. } = self.pending[index];
        self.pending[index].state = PendingState::Answered;
        self.answered += 1;
        while let Some(front) = self.pending.front()
            && front.state == PendingState::Answered
        {
            self.pending.pop_front();
            self.answered -= 1;
        }
        // One slow call in front must not keep all later ones in memory.
        if self.answered > 32 && self.answered > self.pending.len() / 2 {
            self.pending
                .retain(|pending| pending.state != PendingState::Answered);
            self.answered = 0;
        }
        (state == PendingState::Waiting).then_some(IncomingReply {
            call,
            result,
            headers,
        })
    }
}

use super::message::{self, Message, NOTIFICATION, REQUEST, RESPONSE};
use super::scan::{Scan, Scanned};
use super::{ProtocolError, status};
use crate::limits::credible;
use crate::{ConnectionLimits, Name, Status};
use bytes::BytesMut;
use dovetail_wire::msgpack::{Structs, Writer, put};
use dovetail_wire::{Bytes, Encode, EncodeError, Encoding, Limits};
use std::collections::HashMap;

/// How one end uses a connection.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Limits on the cost of the peer.
    pub limits: ConnectionLimits,
    /// Limits on the cost of encoding the parameters of a call.
    pub encoding: Limits,
    /// The service that is called, where the peer has several: methods are then called
    /// `Service.method`.
    pub service: Option<String>,
    /// This end takes calls. They are refused otherwise.
    pub serves: bool,
    /// The form in which structs are sent.
    pub structs: Structs,
}

/// One end of a connection. Both may call and be called.
///
/// # Calling contract
///
/// - [`call`](Self::call) appends a message to a buffer of your own; send it.
/// - Append what is received to another one, and call [`receive`](Self::receive) until it returns
///   `None`. Then [`transmit`](Self::transmit) what the machine itself has to say.
/// - Answer each call that arrives through its [`ReplyTo`], at any time and in any order.
/// - A caller that is gone [`abandon`](Self::abandon)s its call; the response is dropped when it
///   comes.
/// - After an error, or [`fail`](Self::fail): write the outstanding answers, then
///   [`goodbye`](Self::goodbye), then close. The error comes again if you go on.
/// - At the end of the stream, [`end`](Self::end) tells whether it came in the middle of a message.
pub struct Connection {
    options: Options,
    scan: Scan,
    failed: Option<ProtocolError>,
    needs: usize,
    /// The number of the next request.
    next: u32,
    /// The requests that are not answered, and whether somebody still waits for the answer.
    pending: HashMap<u32, bool>,
    out: Vec<u8>,
    /// The request that was arriving when the connection failed, where that is known.
    interrupted: u32,
}

/// An event.
#[derive(Debug)]
pub enum Event {
    /// A call of the peer's.
    Call(IncomingCall),
    /// The answer to a call of this end's.
    Reply(IncomingReply),
}

/// A call that has arrived.
#[derive(Debug)]
pub struct IncomingCall {
    /// The service, where the caller names it.
    pub service: Option<Name>,
    /// The method.
    pub method: Name,
    /// The parameters: an array, if the caller keeps to the specification.
    pub params: Bytes,
    /// How to answer.
    pub reply: ReplyTo,
}

/// A response that has arrived.
#[derive(Debug)]
pub struct IncomingReply {
    /// The call that it answers.
    pub call: u32,
    /// An error that is `nil` or a declared exception, and the result; or why the call failed.
    pub result: Result<(Encoding, Bytes), Status>,
}

/// The data to answer a call with, independent of the connection's machine.
#[derive(Clone, Copy, Debug)]
pub struct ReplyTo {
    /// The number of the request; `None` for a notification.
    id: Option<u32>,
    structs: Structs,
}

impl Connection {
    /// Whether a connection that begins with this byte speaks msgpack-rpc: an array of three or
    /// four elements.
    pub fn detects(first: u8) -> bool {
        matches!(first, 0x93 | 0x94)
    }

    /// A connection that has just been made.
    pub fn new(options: Options) -> Self {
        Connection {
            options,
            scan: Scan::default(),
            failed: None,
            needs: 1,
            next: 0,
            pending: HashMap::new(),
            out: Vec::new(),
            interrupted: 0,
        }
    }

    /// Appends a call, and gives its number; `None` for one-way calls, which are not answered.
    /// After an error `out` is as it was, and there is no call.
    pub fn call(
        &mut self,
        method: &str,
        oneway: bool,
        params: &impl Encode,
        out: &mut Vec<u8>,
    ) -> Result<Option<u32>, EncodeError> {
        self.call_with((None, method), oneway, params, out)
    }

    /// Appends a call of a method, of another service than the options name where one is given.
    pub fn call_with(
        &mut self,
        (service, method): (Option<&str>, &str),
        oneway: bool,
        params: &impl Encode,
        out: &mut Vec<u8>,
    ) -> Result<Option<u32>, EncodeError> {
        let joined;
        let name = match service.or(self.options.service.as_deref()) {
            Some(service) => {
                joined = format!("{service}.{method}");
                joined.as_str()
            }
            None => method,
        };
        if name.len() > self.options.limits.name_bytes {
            return Err(EncodeError::TooLong { length: name.len() });
        }
        let id = (!oneway).then(|| self.free_id());
        let start = out.len();
        match id {
            Some(id) => {
                put::array(out, 4);
                put::unsigned(out, REQUEST);
                put::unsigned(out, id.into());
            }
            None => {
                put::array(out, 3);
                put::unsigned(out, NOTIFICATION);
            }
        }
        put::str(out, name);
        let writer = Writer::new(out, self.options.encoding);
        if let Err(error) = params.encode(&mut writer.structs(self.options.structs)) {
            out.truncate(start);
            return Err(error);
        }
        if let Some(id) = id {
            self.next = id.wrapping_add(1);
            self.pending.insert(id, true);
        }
        Ok(id)
    }

    /// Numbers repeat after 2^32 calls, some of which may still wait.
    fn free_id(&self) -> u32 {
        let mut id = self.next;
        while self.pending.contains_key(&id) {
            id = id.wrapping_add(1);
        }
        id
    }

    /// Splits what arrived next off the front of `input`; `None` where more must be received first.
    pub fn receive(&mut self, input: &mut BytesMut) -> Result<Option<Event>, ProtocolError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.next_event(input)
            .inspect_err(|error| self.fail(error.clone(), input))
    }

    fn next_event(&mut self, input: &mut BytesMut) -> Result<Option<Event>, ProtocolError> {
        let limits = self.options.limits;
        loop {
            let length = match self.scan.scan(input, &limits)? {
                Scanned::Complete(length) => length,
                Scanned::Need(missing) => {
                    self.needs = credible(missing, input.len());
                    return Ok(None);
                }
            };
            let message = input.split_to(length).freeze();
            let event = match Message::read(message, &limits)? {
                Message::Call { id, method, params } => self.called(id, &method, params),
                Message::Response { id, answer } => self.answered(id, answer)?,
            };
            if event.is_some() {
                return Ok(event);
            }
        }
    }

    fn called(&mut self, id: Option<u32>, method: &Name, params: Bytes) -> Option<Event> {
        let structs = self.options.structs;
        let reply = ReplyTo { id, structs };
        if !self.options.serves {
            reply.exception(&mut self.out, &status::no_services());
            return None;
        }
        let (service, method) = match method.rsplit_once('.') {
            Some((service, method)) => (Some(Name::new(service)), Name::new(method)),
            None => (None, method.clone()),
        };
        Some(Event::Call(IncomingCall {
            service,
            method,
            params,
            reply,
        }))
    }

    fn answered(&mut self, id: u32, answer: Bytes) -> Result<Option<Event>, ProtocolError> {
        match self.pending.remove(&id) {
            None => Err(ProtocolError::UnknownReply { id }),
            Some(false) => Ok(None),
            Some(true) => Ok(Some(Event::Reply(IncomingReply {
                call: id,
                result: status::read(&answer).map(|()| (status::ENCODING, answer)),
            }))),
        }
    }

    /// How many more bytes the current message surely needs, after `receive` said `None`. At least
    /// one, and never much more than the peer has sent already: a claimed length alone gets no
    /// memory.
    pub fn needs(&self) -> usize {
        self.needs
    }

    /// Appends what the machine itself has to say.
    pub fn transmit(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.out);
    }

    /// The caller does not wait any longer: the response is dropped when it comes.
    pub fn abandon(&mut self, call: u32) {
        if let Some(waits) = self.pending.get_mut(&call) {
            *waits = false;
        }
    }

    /// Gives the connection up for a reason of the driver's: a message that takes too long. `input`
    /// is what has arrived of it.
    pub fn fail(&mut self, error: ProtocolError, input: &[u8]) {
        self.interrupted = message::begun_request(input).unwrap_or(0);
        self.failed.get_or_insert(error);
    }

    /// Appends what tells the peer why the connection is about to be closed: a response to the
    /// request that has arrived in part, or, where its number is not known, to number 0.
    pub fn goodbye(&self, out: &mut Vec<u8>) {
        if let Some(error) = &self.failed {
            let reply = ReplyTo {
                id: Some(self.interrupted),
                structs: self.options.structs,
            };
            reply.exception(out, &status::misbehaved(error));
        }
    }

    /// The peer has closed its side: an error where that is in the middle of a message.
    pub fn end(&mut self, input: &[u8]) -> Result<(), ProtocolError> {
        match (&self.failed, input) {
            (Some(error), _) => Err(error.clone()),
            (None, []) => Ok(()),
            _ => Err(ProtocolError::Truncated),
        }
    }
}

impl IncomingCall {
    /// True for a notification: the caller waits for nothing.
    pub fn oneway(&self) -> bool {
        self.reply.id.is_none()
    }
}

impl ReplyTo {
    /// Appends the reply, a result or a declared exception, as one complete message; nothing to a
    /// notification. After an error `out` is as it was.
    pub fn reply(
        &self,
        out: &mut Vec<u8>,
        body: &impl Encode,
        limits: Limits,
    ) -> Result<(), EncodeError> {
        let start = out.len();
        if !self.begin(out) {
            return Ok(());
        }
        let writer = Writer::new(out, limits);
        body.encode(&mut writer.structs(self.structs))
            .inspect_err(|_| out.truncate(start))
    }

    /// Appends a failure; nothing to a notification.
    pub fn exception(&self, out: &mut Vec<u8>, status: &Status) {
        if self.begin(out) {
            status::write(status, out);
        }
    }

    /// Appends the answer to a one-way call that was sent as a request: it has arrived.
    pub fn accepted(&self, out: &mut Vec<u8>) {
        if self.begin(out) {
            put::nil(out);
            put::nil(out);
        }
    }

    fn begin(&self, out: &mut Vec<u8>) -> bool {
        if let Some(id) = self.id {
            put::array(out, 4);
            put::unsigned(out, RESPONSE);
            put::unsigned(out, id.into());
        }
        self.id.is_some()
    }
}

const _: () = {
    // A connection is handed from the thread that accepts to the one that serves.
    const fn is_send<T: Send>() {}
    is_send::<Connection>();
    is_send::<ReplyTo>();
};

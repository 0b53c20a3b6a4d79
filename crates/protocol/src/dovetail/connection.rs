use super::callee::Callee;
use super::caller::{Caller, Terms};
use super::contract::{Contract, Directory};
use super::cursor::Cursor;
use super::extras::{self, Extras};
use super::frame::{self, Flags, Frame, Kind, PREFACE};
use super::headers::HeaderTable;
use super::incoming::IncomingCall;
use super::reassembly::{Added, Reassembly};
use super::settings::Settings;
use super::slots::MethodKey;
use super::{ProtocolError, message, status};
use crate::limits::credible;
use crate::{Code, ConnectionLimits, Execution, Headers, Status};
use bytes::BytesMut;
use dovetail_wire::{Bytes, Encode, EncodeError, Encoding, Limits};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Which end of a connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It opened the connection.
    Client,
    /// It accepted the connection.
    Server,
}

/// How an end uses a connection.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What the other end may cost.
    pub limits: ConnectionLimits,
    /// What encoding the parameters may cost.
    pub encoding: Limits,
    /// The deadline of calls that do not bring their own.
    pub deadline: Option<Duration>,
}

/// A call to be made.
#[derive(Debug)]
pub struct OutgoingCall<'a> {
    /// The method, as it was bound or is to be.
    pub method: &'a MethodKey,
    /// The time that the callee has; `None` for [`Options::deadline`].
    pub deadline: Option<Duration>,
    /// Sent along.
    pub headers: &'a Headers,
}

/// Why a call was not made.
#[derive(Debug)]
pub enum CallError {
    /// The parameters have no encoding.
    Encode(EncodeError),
    /// The other end has refused the method, or takes no further calls.
    Status(Status),
}

/// What has happened.
#[derive(Debug)]
pub enum Event {
    /// The other end calls.
    Call(IncomingCall),
    /// The answer to a call of this end: its encoded body, or why it failed.
    Reply {
        /// The number that [`Connection::call`] gave.
        call: u32,
        /// The answer, a union of the result and the declared exceptions.
        result: Result<(Encoding, Bytes), Status>,
        /// What came along.
        headers: Headers,
    },
    /// The caller of this call has gone; the call is still to be answered, most often with `CANCELLED`.
    Cancelled {
        /// Its number, as in [`ReplyTo::call`](super::ReplyTo::call).
        call: u32,
    },
}

/// One end of a connection that speaks Dovetail's wire.
///
/// # Calling contract
///
/// - [`call`](Self::call) appends a call to a buffer of your own; send it.
/// - Append what is received to another one, and call [`receive`](Self::receive) until it returns `None`.
///   [`needs`](Self::needs) then says how much to read next.
/// - [`transmit`](Self::transmit) after that, and after [`abandon`](Self::abandon) and
///   [`drain`](Self::drain): the machine may have something to say. [`call`](Self::call) does so by itself.
/// - Answer each [`IncomingCall`] that is not one-way through its [`ReplyTo`](super::ReplyTo), exactly once, also after
///   [`Event::Cancelled`].
/// - After an error, [`transmit`](Self::transmit) a last time and close. At the [`end`](Self::end) of the
///   stream, and after an error, the calls in [`pending`](Self::pending) will not be answered.
///
/// ```text
///   Preface ── D7 'D' 'V' 'T' ──► Hello ── HELLO ──► Open ──► Failed
/// ```
pub struct Connection {
    options: Options,
    ours: Settings,
    peer: Settings,
    opening: Opening,
    /// The other end's HELLO has come.
    greeted: bool,
    needs: usize,
    /// What the machine has to say.
    control: Vec<u8>,

    /// The headers that the other end has sent.
    headers: HeaderTable,
    partial: Reassembly,
    /// Events that one frame led to.
    ready: VecDeque<Event>,
    caller: Caller,
    callee: Callee,
}

#[derive(Clone, Debug)]
enum Opening {
    Preface,
    Hello,
    Open,
    Failed(ProtocolError),
}

/// The largest frame that this end takes.
const FRAME: usize = 1 << 20;

impl Connection {
    /// A connection that has just been made or accepted. Its first words wait for
    /// [`transmit`](Self::transmit).
    pub fn new(role: Role, options: Options) -> Self {
        let ours = Settings {
            frame: FRAME,
            message: options.limits.message_bytes,
            deadline: options.deadline,
            ..Settings::default()
        };
        let mut control = PREFACE.to_vec();
        ours.write(&mut control);
        Connection {
            options,
            ours,
            peer: Settings::default(),
            opening: Opening::Preface,
            greeted: false,
            needs: 1,
            control,
            headers: HeaderTable::default(),
            partial: Reassembly::default(),
            ready: VecDeque::new(),
            caller: Caller::new(role),
            callee: Callee::default(),
        }
    }

    /// True where a peer that begins with this byte speaks this wire.
    pub fn detects(first: u8) -> bool {
        first == PREFACE[0]
    }

    /// Appends a call; `contract` is asked where the method has not been called on this connection before.
    /// The number is `None` for a one-way call. After an error there is no call.
    pub fn call(
        &mut self,
        call: &OutgoingCall<'_>,
        contract: impl FnOnce() -> Arc<Contract>,
        body: &impl Encode,
        out: &mut Vec<u8>,
    ) -> Result<Option<u32>, CallError> {
        self.transmit(out);
        let terms = Terms {
            encoding: self.options.encoding,
            deadline: self.options.deadline,
            frame: self.peer.frame,
            // How many the other end keeps is not known before its HELLO.
            headers: match self.greeted {
                true => self.peer.headers,
                false => 0,
            },
        };
        self.caller.call(call, contract, body, &terms, out)
    }

    /// The caller does not wait any longer: the other end is told, and the answer dropped.
    pub fn abandon(&mut self, call: u32) {
        if self.caller.abandon(call, &mut self.control) {
            self.partial.forget(Kind::Reply, call);
        }
    }

    /// The calls of this end that wait for their answers. If the connection is lost, these may have run.
    pub fn pending(&self) -> impl Iterator<Item = u32> + '_ {
        self.caller.pending()
    }

    /// True where the other end has said HELLO. A server says so before it starts a call: a connection that it
    /// closes in order without has started none.
    pub fn is_greeted(&self) -> bool {
        self.greeted
    }

    /// True where the other end said that it takes no further calls.
    pub fn closing(&self) -> bool {
        self.caller.closing
    }

    /// Tells the other end that this one takes no further calls.
    pub fn drain(&mut self, why: &str) {
        self.callee.drain(why, &mut self.control);
    }

    /// Gives the connection up for a reason of the driver's; the other end is told.
    pub fn fail(&mut self, code: Code, why: &str) {
        status::write_goodbye(code, why, &mut self.control);
        let error = ProtocolError::malformed(why.to_owned());
        self.opening = Opening::Failed(error);
    }

    /// Appends what the machine has to say.
    pub fn transmit(&mut self, out: &mut Vec<u8>) {
        if !self.control.is_empty() {
            out.append(&mut self.control);
        }
    }

    /// True where [`transmit`](Self::transmit) would append something.
    pub fn wants_to_transmit(&self) -> bool {
        !self.control.is_empty()
    }

    /// How many more bytes the current frame surely needs, after `receive` said `None`. At least one, and
    /// never much more than the peer has sent already.
    pub fn needs(&self) -> usize {
        self.needs
    }

    /// What happened next, as far as `input` tells; `None` where more must be received first. Methods that
    /// the other end wants to call are looked up in the directory.
    pub fn receive(
        &mut self,
        input: &mut BytesMut,
        directory: &dyn Directory,
    ) -> Result<Option<Event>, ProtocolError> {
        if let Some(event) = self.ready.pop_front() {
            return Ok(Some(event));
        }
        let received = self.next(input, directory);
        if let Err(error) = &received
            && !matches!(self.opening, Opening::Failed(_))
        {
            if !matches!(
                error,
                ProtocolError::Goodbye { .. } | ProtocolError::WrongPreface { .. }
            ) {
                status::write_error(error, &mut self.control);
            }
            self.opening = Opening::Failed(error.clone());
        }
        received
    }

    /// The other end has closed its side: an error where that is in the middle of a frame.
    pub fn end(&self, input: &[u8]) -> Result<(), ProtocolError> {
        match &self.opening {
            Opening::Failed(error) => Err(error.clone()),
            _ if !input.is_empty() => Err(ProtocolError::Truncated { what: "a frame" }),
            _ => Ok(()),
        }
    }

    fn next(
        &mut self,
        input: &mut BytesMut,
        directory: &dyn Directory,
    ) -> Result<Option<Event>, ProtocolError> {
        loop {
            match &self.opening {
                Opening::Preface => {
                    if !self.preface(input)? {
                        return Ok(None);
                    }
                }
                Opening::Hello | Opening::Open => match frame::split(input, self.ours.frame)? {
                    Ok(frame) => {
                        if let Some(event) = self.frame(frame, directory)? {
                            return Ok(Some(event));
                        }
                    }
                    Err(missing) => {
                        self.needs = credible(missing, input.len());
                        return Ok(None);
                    }
                },
                Opening::Failed(error) => return Err(error.clone()),
            }
        }
    }

    /// False where it has not come as a whole.
    fn preface(&mut self, input: &mut BytesMut) -> Result<bool, ProtocolError> {
        let compared = input.len().min(PREFACE.len());
        if input[..compared] != PREFACE[..compared] {
            let first = input[..input.len().min(8)].to_vec();
            return Err(ProtocolError::WrongPreface { first });
        }
        if compared < PREFACE.len() {
            self.needs = PREFACE.len() - compared;
            return Ok(false);
        }
        let _ = input.split_to(PREFACE.len());
        self.opening = Opening::Hello;
        Ok(true)
    }

    fn frame(
        &mut self,
        frame: Frame,
        directory: &dyn Directory,
    ) -> Result<Option<Event>, ProtocolError> {
        let first = matches!(self.opening, Opening::Hello);
        if first != (frame.kind == Kind::Hello) {
            return Err(ProtocolError::malformed("HELLO comes first, and once"));
        }
        let (id, payload) = (frame.id, &frame.payload);
        match frame.kind {
            Kind::Hello => {
                self.peer = Settings::read(payload)?;
                self.opening = Opening::Open;
                self.greeted = true;
            }
            Kind::Bind => {
                let limits = &self.options.limits;
                self.callee
                    .bind(id, payload, directory, limits, &mut self.control)?;
            }
            Kind::Bound => {
                let methods = &mut self.caller.methods;
                methods.bound(id, payload, &mut self.control)?;
            }
            Kind::Describe => {
                let events = self.callee.describe(id, payload, &mut self.control)?;
                self.ready.extend(events);
            }
            Kind::Call | Kind::Reply => return self.message(frame),
            Kind::Status => {
                let status = status::read(payload)?;
                self.partial.forget(Kind::Reply, id);
                return Ok(self.caller.reply(id, Err(status), Headers::new()));
            }
            Kind::Cancel => {
                self.partial.forget(Kind::Call, id);
                return Ok(self.callee.cancelled(id, &mut self.control));
            }
            Kind::Ping => {
                let echo: [u8; 8] = Cursor(payload).array()?;
                frame::put(Kind::Pong, 0, &echo, &mut self.control);
            }
            Kind::Pong => {}
            Kind::Drain => self.ready.extend(self.caller.drained(payload)?),
            Kind::Goodbye => return Err(status::read_goodbye(payload)?),
        }
        Ok(self.ready.pop_front())
    }

    /// A frame of a call or of an answer.
    fn message(&mut self, frame: Frame) -> Result<Option<Event>, ProtocolError> {
        let most = self.ours.message;
        let is_call = frame.kind == Kind::Call;
        match self.partial.add(frame, most)? {
            Added::Part => Ok(None),
            Added::Whole(frame) if is_call => self.called(&frame),
            Added::Whole(frame) => self.answered(&frame),
            Added::TooLarge(frame) if is_call => {
                self.callee.too_large(&frame, most, &mut self.control)?;
                Ok(None)
            }
            Added::TooLarge(frame) => {
                let status = status::too_large(most, Execution::Finished);
                Ok(self.caller.reply(frame.id, Err(status), Headers::new()))
            }
        }
    }

    fn called(&mut self, frame: &Frame) -> Result<Option<Event>, ProtocolError> {
        let mut fields = Cursor(&frame.payload);
        let slot = fields.varint()?;
        let (extras, body) = self.extras(frame, fields)?;
        let settings = (&self.ours, &self.peer);
        self.callee
            .call(frame, slot, extras, body, settings, &mut self.control)
    }

    fn answered(&mut self, frame: &Frame) -> Result<Option<Event>, ProtocolError> {
        let (extras, body) = self.extras(frame, Cursor(&frame.payload))?;
        let encoding = message::encoding(frame.flags.has(Flags::TAGGED));
        let answer = Ok((encoding, body));
        Ok(self.caller.reply(frame.id, answer, extras.headers))
    }

    /// The extras of a message, where it has any, and its body.
    fn extras(
        &mut self,
        frame: &Frame,
        mut fields: Cursor<'_>,
    ) -> Result<(Extras, Bytes), ProtocolError> {
        let extras = match frame.flags.has(Flags::EXTRAS) {
            true => {
                let header_bytes = self.options.limits.header_bytes;
                extras::read(&mut fields, &mut self.headers, header_bytes)?
            }
            false => Extras::default(),
        };
        let body = frame.payload.slice(frame.payload.len() - fields.0.len()..);
        Ok((extras, body))
    }
}

const _: () = {
    // A connection is handed from the thread that accepts to the one that serves.
    const fn is_send<T: Send>() {}
    is_send::<Connection>();
};

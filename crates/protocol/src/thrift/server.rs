use super::application_exception::ApplicationException;
use super::detect::detect_wire;
use super::incoming::{self, HeaderLead, Message, Reader};
use super::message::{Head, Stop};
use super::outgoing::{self, Around, Outgoing};
use super::{
    CustomProtocol, MessageKind, Protocol, ProtocolError, Transforms, Transport, Wire, header,
    multiplexed,
};
use crate::Status;
use crate::http::{self, Method, Side};
use crate::limits::credible;
use crate::{ConnectionLimits, Headers, Name};
use bytes::BytesMut;
use dovetail_wire::{Bytes, Encode, EncodeError, Encoding, Limits, Out};
use std::sync::Arc;

/// The settings that all connections of a listener have in common.
#[derive(Clone, Default)]
pub struct ServerOptions {
    /// Limits on the cost of a peer.
    pub limits: ConnectionLimits,
    /// The wire that peers must speak; `None` takes every one, found out from the first bytes.
    pub wire: Option<Wire>,
    /// Protocols beside the built-in ones.
    pub custom: Vec<&'static dyn CustomProtocol>,
    /// Over HTTP: the only path that is served; `None` serves all.
    pub http_path: Option<String>,
}

/// The server's side of one connection.
///
/// # Calling contract
///
/// - Append what is received to a buffer of your own, and call [`receive`](Self::receive) until it
///   returns `None`. Complete messages are split off the front of the buffer without copying; leave
///   the rest.
/// - [`needs`](Self::needs) says how much to read next.
/// - [`transmit`](Self::transmit) whenever the replies to all calls so far are written.
/// - Answer each call through its [`ReplyTo`], at any time, unless it says
///   [`ordered`](ReplyTo::ordered).
/// - After an error: write the outstanding replies, then [`goodbye`](Self::goodbye), then close.
///   The error comes again if you go on.
/// - At the end of the stream: [`end`](Self::end) tells whether it came in the middle of a message.
///
/// ```text
///                 first bytes
///   Detecting ───────────────────► Reading ──┐ a message
///       │    (skipped: options.wire)  ▲  │   │
///       │                             └──│───┘
///       └────────► Failed ◄──────────────┘
///          what the peer did
/// ```
pub struct ServerConnection {
    options: Arc<ServerOptions>,
    state: ServerState,
    wire: Option<Wire>,
    needs: usize,
    calls: u64,
    last_seqid: i32,
    /// The head of the message that could not be read, where it is known.
    failed: Option<Head>,
}

enum ServerState {
    Detecting,
    Reading(Reader),
    Failed(ProtocolError),
}

/// A call that has arrived.
#[derive(Debug)]
pub struct IncomingCall {
    /// The service it is addressed to, where several share the connection ("multiplexed").
    pub service: Option<Name>,
    /// The method.
    pub method: Name,
    /// The caller waits for no reply.
    pub oneway: bool,
    /// The parameters: exactly one encoded struct.
    pub body: Bytes,
    /// How they are encoded.
    pub encoding: Encoding,
    /// THeader's or HTTP's headers.
    pub headers: Headers,
    /// How to answer.
    pub reply: ReplyTo,
}

/// The data to answer a call with, independent of the connection's machine.
#[derive(Clone, Debug)]
pub struct ReplyTo {
    wire: Wire,
    method: Name,
    oneway: bool,
    /// The answer to a one-way call has been given.
    acknowledged: bool,
    seqid: i32,
    /// The number that THeader has, where the call stood in one.
    header_seqid: Option<u32>,
    keep_alive: bool,
    ordered: bool,
    order: u64,
}

impl ServerConnection {
    /// A connection that has just been accepted.
    pub fn new(options: Arc<ServerOptions>) -> Self {
        let state = match options.wire {
            Some(wire) => ServerState::Reading(Reader::new(wire, Side::Server, &options.limits)),
            None => ServerState::Detecting,
        };
        ServerConnection {
            wire: options.wire,
            options,
            state,
            needs: 1,
            calls: 0,
            last_seqid: 0,
            failed: None,
        }
    }

    /// Splits the next call off the front of `input`; `None` where more must be received first.
    pub fn receive(&mut self, input: &mut BytesMut) -> Result<Option<IncomingCall>, ProtocolError> {
        match self.next(input) {
            Ok(call) => Ok(Some(call)),
            Err(Stop::Need(missing)) => {
                self.needs = credible(missing, input.len());
                Ok(None)
            }
            Err(Stop::Error(error)) => {
                self.fail(error.clone(), input);
                Err(error)
            }
        }
    }

    /// The call that an HTTP request carries, on a connection that somebody else reads.
    pub fn over_http(&mut self, request: http::Request) -> Result<IncomingCall, ProtocolError> {
        let http::Request {
            headers,
            body,
            keep_alive,
            ..
        } = request;
        self.wire
            .get_or_insert(Wire::new(Protocol::Binary, Transport::Http));
        self.call(incoming::from_http(
            keep_alive,
            headers,
            body,
            &self.options.limits,
        )?)
    }

    /// Gives the connection up for a reason of the driver's: a message that takes too long. `input`
    /// is what has arrived of it. [`goodbye`](Self::goodbye) is still to be said.
    pub fn fail(&mut self, error: ProtocolError, input: &[u8]) {
        if let ServerState::Reading(reader) = &self.state {
            self.failed = reader.failed(input, &self.options.limits);
        }
        self.state = ServerState::Failed(error);
    }

    /// How many more bytes the current message surely needs, after `receive` said `None`. At least
    /// one, and never much more than the peer has sent already: a claimed length alone gets no
    /// memory.
    pub fn needs(&self) -> usize {
        self.needs
    }

    /// Returns the peer's wire, as far as it is known. Inside THeader and HTTP each message may be
    /// another protocol: this is the last one's.
    pub fn wire(&self) -> Option<Wire> {
        self.wire
    }

    /// Appends what the connection itself has to say: HTTP's `100 Continue`.
    pub fn transmit(&mut self, out: &mut Vec<u8>) {
        if let ServerState::Reading(Reader::Http(reader)) = &mut self.state
            && reader.take_continue()
        {
            out.extend_from_slice(http::CONTINUE);
        }
    }

    /// Appends what tells the peer why the connection is about to be closed, in its own wire;
    /// nothing where that is not known.
    pub fn goodbye(&self, error: &ProtocolError, out: &mut Vec<u8>) {
        if *error == ProtocolError::Tls {
            // An alert record: fatal, handshake_failure. The client then blames the handshake.
            out.extend_from_slice(&[0x15, 3, 1, 0, 2, 2, 40]);
            return;
        }
        let Some(wire) = self.wire else {
            return;
        };
        if wire.transport == Transport::Http {
            refuse_http(error, out);
            return;
        }
        let (name, seqid) = match &self.failed {
            Some(head) => (head.name.as_str(), head.seqid),
            None => ("", 0),
        };
        let message = Outgoing {
            wire,
            kind: MessageKind::Exception,
            name,
            seqid,
            header: (wire.transport == Transport::Header).then(|| header::Envelope {
                seqid: seqid.cast_unsigned(),
                ..Default::default()
            }),
            around: match wire.transport {
                Transport::Framed => Around::Frame,
                _ => Around::Nothing,
            },
        };
        // A wire that cannot carry it leaves the peer with a closed connection.
        let error = ApplicationException::from(error);
        let _ = message.write(&error, Limits::default(), out.into());
    }

    /// The peer has closed its side: an error where that is in the middle of a message.
    pub fn end(&mut self, input: &mut BytesMut) -> Result<(), ProtocolError> {
        match &mut self.state {
            ServerState::Detecting if input.is_empty() => Ok(()),
            ServerState::Detecting => Err(ProtocolError::Truncated { what: "a message" }),
            ServerState::Reading(Reader::Http(reader)) => Ok(reader.end(input).map(drop)?),
            ServerState::Reading(reader) => reader.end(input),
            ServerState::Failed(error) => Err(error.clone()),
        }
    }

    fn next(&mut self, input: &mut BytesMut) -> Result<IncomingCall, Stop> {
        let options = &*self.options;
        loop {
            let message = match &mut self.state {
                ServerState::Detecting => {
                    let wire = detect_wire(input, &options.limits, &options.custom)?;
                    self.wire = Some(wire);
                    self.state =
                        ServerState::Reading(Reader::new(wire, Side::Server, &options.limits));
                    continue;
                }
                ServerState::Reading(Reader::Http(reader)) => {
                    let (head, body) =
                        reader.next(input, &options.limits, |head| check_request(head, options))?;
                    incoming::from_http(head.keep_alive, head.headers, body, &options.limits)?
                }
                ServerState::Reading(reader) => reader.next(input, &options.limits)?,
                ServerState::Failed(error) => return Err(error.clone().into()),
            };
            return Ok(self.call(message)?);
        }
    }

    fn call(&mut self, message: Message) -> Result<IncomingCall, ProtocolError> {
        let Message {
            head,
            body,
            headers,
            lead,
        } = message;
        let oneway = match head.kind {
            MessageKind::Call => false,
            MessageKind::Oneway => true,
            kind => return Err(ProtocolError::UnexpectedMessage { kind }),
        };
        let (service, method) = multiplexed::split(head.name);
        let mut wire = Wire {
            protocol: head.protocol,
            ..self
                .wire
                .unwrap_or(Wire::new(head.protocol, Transport::Unframed))
        };
        wire.transforms = Transforms::NONE;
        // Only THeader has a word for it. Stock clients give their calls different numbers, and
        // still take the next reply for the one to the oldest call.
        let mut ordered = true;
        let number = lead.number(head.seqid);
        let mut plain_reply = false;
        let header_seqid = lead.header.as_ref().map(|header| header.seqid);
        if let Some(HeaderLead {
            flags, transforms, ..
        }) = lead.header
        {
            wire.transforms = transforms;
            ordered = wire.transport != Transport::Header
                || flags & header::OUT_OF_ORDER == 0
                || number == 0
                || number == self.last_seqid;
            // Apache's own servers never compress, and its C++ client, which sets no flag, does not
            // survive it.
            plain_reply = flags & header::OUT_OF_ORDER == 0;
        }
        self.wire = Some(wire);
        if plain_reply {
            wire.transforms = Default::default();
        }
        self.last_seqid = number;
        self.calls += 1;
        Ok(IncomingCall {
            service,
            method: method.clone(),
            oneway,
            body,
            encoding: head.protocol.encoding(),
            headers,
            reply: ReplyTo {
                wire,
                method,
                oneway,
                acknowledged: false,
                seqid: head.seqid,
                header_seqid,
                keep_alive: !lead.last,
                ordered,
                order: self.calls,
            },
        })
    }
}

/// The last answer on a connection of HTTP that cannot go on.
fn refuse_http(error: &ProtocolError, out: &mut Vec<u8>) {
    let status = match error {
        ProtocolError::Http { status, .. } => *status,
        ProtocolError::MessageTooLarge { .. } => 413,
        ProtocolError::TooSlow { .. } => 408,
        _ => 400,
    };
    http::write_refusal(status, &error.to_string(), out);
}

fn check_request(head: &http::Head, options: &ServerOptions) -> Result<(), http::Error> {
    match (&options.http_path, &head.start) {
        (_, http::Start::Request { method, .. }) if *method != Method::Post => {
            Err(http::refused(405, "Thrift calls are POST requests"))
        }
        (Some(path), http::Start::Request { path: asked, .. })
            if asked.split('?').next() != Some(path) =>
        {
            Err(http::refused(404, "no service has this path"))
        }
        _ => Ok(()),
    }
}

impl ReplyTo {
    /// Appends the reply, a struct with the result or a declared exception, as one complete
    /// message. To a one-way call only [`accepted`](Self::accepted) is said. After an error `out`
    /// is as it was.
    pub fn reply<'a>(
        &self,
        out: impl Into<Out<'a>>,
        body: &impl Encode,
        limits: Limits,
    ) -> Result<(), EncodeError> {
        self.write(MessageKind::Reply, body, limits, out.into())
    }

    /// Appends a failure. To a one-way call only [`accepted`](Self::accepted) is said.
    pub fn exception(&self, out: &mut Vec<u8>, status: &Status) {
        let exception = ApplicationException::from(status);
        // Two fields cannot fail to be encoded; a protocol from outside that does gets no answer.
        let limits = Limits::default();
        let _ = self.write(MessageKind::Exception, &exception, limits, out.into());
    }

    /// Appends what a one-way call is answered with: nothing, but over HTTP an empty response.
    ///
    /// Use it for every method that the contract calls one-way: clients older than Apache Thrift
    /// 0.9.3 send those as ordinary calls, and wait for nothing all the same.
    pub fn accepted(&self, out: &mut Vec<u8>) {
        if self.wire.transport == Transport::Http && !self.acknowledged {
            http::write_response(200, self.keep_alive, outgoing::HTTP_TYPE, "", out);
            let body = out.len();
            http::set_length(out, body);
        }
    }

    /// Appends the answer to a one-way call before its handler runs: the caller waits for nothing
    /// else. False where the wire has none, or it is no such call. Nothing is appended later.
    pub fn acknowledge(&mut self, out: &mut Vec<u8>) -> bool {
        let has_one = self.oneway && self.wire.transport == Transport::Http && !self.acknowledged;
        if has_one {
            self.accepted(out);
            self.acknowledged = true;
        }
        has_one
    }

    /// Returns whether this reply must not be sent before those to the calls received earlier:
    /// everywhere but for THeader clients that say they tell replies apart by their numbers, and
    /// number their calls so.
    pub fn ordered(&self) -> bool {
        self.ordered
    }

    /// The place of the call on its connection: one for the first, and no gaps.
    pub fn order(&self) -> u64 {
        self.order
    }

    /// Returns whether the connection is to be closed after this reply.
    pub fn closes(&self) -> bool {
        !self.keep_alive
    }

    /// The wire of the reply.
    pub fn wire(&self) -> Wire {
        self.wire
    }

    /// How the reply's body is encoded.
    pub fn encoding(&self) -> Encoding {
        self.wire.protocol.encoding()
    }

    fn write(
        &self,
        kind: MessageKind,
        body: &impl Encode,
        limits: Limits,
        out: Out<'_>,
    ) -> Result<(), EncodeError> {
        if self.oneway {
            self.accepted(out.buffer);
            return Ok(());
        }
        let message = Outgoing {
            wire: self.wire,
            kind,
            name: &self.method,
            seqid: self.seqid,
            header: self.header_seqid.map(|seqid| header::Envelope {
                flags: 0,
                seqid,
                transforms: self.wire.transforms,
                headers: Headers::new(),
            }),
            around: match self.wire.transport {
                Transport::Unframed | Transport::Header => Around::Nothing,
                Transport::Framed => Around::Frame,
                Transport::Http => Around::Response {
                    keep_alive: self.keep_alive,
                },
            },
        };
        message.write(body, limits, out)
    }
}

const _: () = {
    // A connection is handed from the thread that accepts to the one that serves.
    const fn is_send<T: Send>() {}
    is_send::<ServerConnection>();
    is_send::<ReplyTo>();
};

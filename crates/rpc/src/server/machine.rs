//! The protocol of a connection, found out from its first byte.

use super::http::{Http, Socket};
use super::pace::Parts;
use super::{HalfClosed, Shared};
use crate::counters::add;
use crate::peer::capnp::Peer;
use crate::peer::context::Caller;
use crate::peer::incoming::Arrival;
use crate::peer::intercept::Around;
use crate::peer::link::{Flush, Link};
use crate::peer::objects::Objects;
use crate::peer::share::Over;
use crate::peer::table::Table;
use crate::tls::TlsPeer;
use crate::{Code, Status, Wire, web};
use bytes::BytesMut;
use dovetail_protocol::dovetail::{Connection, MeetingPoint, Options, Role};
#[cfg(feature = "grpc")]
use dovetail_protocol::grpc;
use dovetail_protocol::thrift::{ProtocolError, ServerConnection};
use dovetail_protocol::{Execution, capnp, http, msgpack_rpc, websocket};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The reason of a drain for peers.
pub(super) const GOING_DOWN: &str = "the server is shutting down";

/// The reason for peers that have not called for too long, where it can be said.
const IDLE: &str = "nothing was called for too long";

/// The answer to peers that speak HTTP/1.1 after another protocol was agreed on.
const NOT_AGREED: &str = "HTTP/1.1 is not the protocol that was agreed on by ALPN";

/// The answer to peers that speak HTTP/2 to a thread.
const NO_HTTP2: &str = "gRPC needs a socket and an event loop, which this connection has not";

/// The machine of a connection.
pub(super) enum Machine {
    Detecting,
    Thrift(Box<ServerConnection>),
    /// HTTP/1.1, with Thrift, Connect or gRPC-Web in it, or what has become a WebSocket.
    Http(Box<Http>),
    MsgpackRpc(Arc<Link>),
    Dovetail(Arc<Link>),
    Capnp(Arc<Link>),
    /// HTTP/2, which drivers have a library for; it begins with what has been received.
    #[cfg_attr(not(feature = "grpc"), expect(dead_code, reason = "none is detected"))]
    Http2,
}

/// The state of a machine after it has received.
#[derive(Clone, Copy)]
pub(super) struct Progress {
    /// The messages of which a part has been taken off the input, where that is not always whole
    /// messages.
    pub(super) parts: Option<Parts>,
    /// The bytes of these parts, and of calls which the peer has not finished.
    pub(super) held: usize,
    /// How much to receive next.
    pub(super) needs: usize,
    /// The machine is known to give nothing before more is received, or a handler has something to
    /// say.
    pub(super) taken_all: bool,
}

impl Default for Progress {
    fn default() -> Self {
        Progress {
            parts: None,
            held: 0,
            needs: 1,
            taken_all: false,
        }
    }
}

impl Progress {
    /// Looks at the machine of a connection that several use.
    fn of_table(table: &mut Table, input: &[u8]) -> Self {
        let mut progress = Progress {
            needs: table.needs(),
            ..Progress::default()
        };
        if let Some(machine) = table.machine() {
            progress.parts = machine.unfinished().map(|unfinished| Parts {
                oldest: unfinished.start,
                begun: unfinished.end,
                headed: false,
            });
            progress.held = progress.parts.map_or(0, |_| machine.held());
            progress.taken_all = machine.has_taken_all(input);
        } else if let Some(machine) = table.capnp() {
            progress.held = machine.held();
        }
        if progress.taken_all {
            progress.needs = 1;
        }
        progress
    }
}

/// Why a connection cannot go on.
pub(super) enum Fault {
    Thrift(ProtocolError),
    Http(http::Error),
    WebSocket(websocket::Error),
    /// The machine has noted it, and tells the peer.
    Noted(String),
}

impl Fault {
    fn noted(error: impl fmt::Display) -> Self {
        Fault::Noted(error.to_string())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Thrift(error) => error.fmt(f),
            Fault::Http(error) => error.fmt(f),
            Fault::WebSocket(error) => error.fmt(f),
            Fault::Noted(error) => error.fmt(f),
        }
    }
}

impl From<ProtocolError> for Fault {
    fn from(error: ProtocolError) -> Self {
        Fault::Thrift(error)
    }
}

impl From<http::Error> for Fault {
    fn from(error: http::Error) -> Self {
        Fault::Http(error)
    }
}

impl From<websocket::Error> for Fault {
    fn from(error: websocket::Error) -> Self {
        Fault::WebSocket(error)
    }
}

#[deny(clippy::wildcard_enum_match_arm)]
impl Machine {
    /// The next thing that has arrived; `None` where more must be received first. What the wire
    /// itself has to say at once goes to `out`. `progress` is set unless it fails.
    pub(super) fn receive(
        &mut self,
        input: &mut BytesMut,
        shared: &Shared,
        caller: &Arc<Caller>,
        driver: &Arc<dyn Flush>,
        out: &mut Vec<u8>,
        progress: &mut Progress,
    ) -> Result<Option<Arrival>, Fault> {
        if let Machine::Detecting = self {
            let Some(first) = input.first() else {
                return Ok(None);
            };
            #[cfg(feature = "grpc")]
            match grpc::detects(input) {
                Some(false) => {}
                None => return Ok(None),
                Some(true) => {
                    *self = Machine::Http2;
                    return self.check_agreed(caller, input).map(|()| None);
                }
            }
            *self = match (http::detects(input), capnp::Connection::detects(input)) {
                (None, _) | (_, None) => return Ok(None),
                (Some(true), _) => Machine::Http(Box::new(Http::new(shared, caller))),
                (_, is_capnp) => {
                    let is_capnp = is_capnp == Some(true);
                    Self::detect((*first, is_capnp), shared, caller, driver)
                }
            };
            self.check_agreed(caller, input)?;
        }
        match self {
            Machine::Detecting => Ok(None),
            Machine::Http2 => Err(Fault::noted(NO_HTTP2)),
            Machine::Thrift(machine) => {
                let call = machine.receive(input)?;
                progress.needs = machine.needs();
                Ok(call.map(|call| Arrival::Call(call.into())))
            }
            Machine::Http(machine) => {
                let call = machine.receive(input, shared, caller);
                machine.transmit_at_once(out);
                *progress = machine.progress();
                Ok(call?.map(Arrival::Call))
            }
            Machine::MsgpackRpc(link) | Machine::Dovetail(link) | Machine::Capnp(link) => {
                let directory = link.directory(&shared.dispatcher.routes);
                let mut table = link.lock();
                let called = table.advance(input, &directory);
                *progress = Progress::of_table(&mut table, input);
                if let Some(machine) = table.machine() {
                    machine.transmit(out);
                    let refused = machine.take_refused();
                    add(&shared.counters.unknown_methods, refused.unknown);
                    add(&shared.counters.contradicting_calls, refused.contradicting);
                }
                let queued = table.capnp().is_some() && table.transmit_beside(out);
                drop(table);
                link.objects.tidy();
                if queued {
                    link.flush();
                }
                let called = called.map_err(Fault::noted)?;
                Ok(called.map(|called| Arrival::over(called, link)))
            }
        }
    }

    /// Refuses what is not spoken as both ends have agreed, over TLS: a proxy before this server
    /// may have looked at that alone.
    fn check_agreed(&mut self, caller: &Caller, input: &[u8]) -> Result<(), Fault> {
        let agreed = caller.tls.as_ref().and_then(TlsPeer::agreed);
        let found: (&[u8], &str) = match self {
            Machine::Http(_) => (b"http/1.1", "HTTP/1.1"),
            Machine::Http2 => (b"h2", "HTTP/2"),
            Machine::Dovetail(_) => (b"dovetail/1", "Dovetail's own wire"),
            Machine::Detecting
            | Machine::Thrift(_)
            | Machine::MsgpackRpc(_)
            | Machine::Capnp(_) => (b"", "another protocol"),
        };
        match agreed {
            Some(agreed) if agreed != found.0 => Err(self.refuse(
                ProtocolError::WrongProtocol {
                    expected: "what was agreed on by ALPN",
                    found: found.1,
                },
                input,
            )),
            _ => Ok(()),
        }
    }

    fn detect(
        (first, is_capnp): (u8, bool),
        shared: &Shared,
        caller: &Caller,
        driver: &Arc<dyn Flush>,
    ) -> Self {
        let objects = Objects::new(shared.sizes.connection.objects);
        let limits = shared.sizes.message;
        let table = if is_capnp {
            let machine = Peer::new(shared.sizes.connection, limits);
            Table::accepted(machine, objects, limits)
        } else if Connection::detects(first) {
            objects.expect(shared.dispatcher.routes.objects());
            Table::accepted(Self::native_machine(shared, caller), objects, limits)
        } else if msgpack_rpc::Connection::detects(first) {
            let machine = msgpack_rpc::Connection::new(msgpack_rpc::Options {
                limits: shared.sizes.connection,
                encoding: shared.sizes.message,
                service: None,
                serves: true,
                structs: shared.msgpack_structs,
            });
            Table::accepted(machine, objects, limits)
        } else {
            let machine = ServerConnection::new(shared.options.clone());
            return Machine::Thrift(Box::new(machine));
        };
        let wire = table.wire();
        let link = Link::new(
            caller.peer.clone(),
            table,
            limits,
            driver.clone(),
            Around::default(),
        );
        caller.called_over(&link);
        match wire {
            Wire::Dovetail => Machine::Dovetail(link),
            Wire::Capnp => Machine::Capnp(link),
            Wire::MsgpackRpc
            | Wire::Grpc
            | Wire::GrpcWeb(_)
            | Wire::Connect(_)
            | Wire::WebSocket
            | Wire::Thrift(_) => Machine::MsgpackRpc(link),
        }
    }

    fn native_machine(shared: &Shared, caller: &Caller) -> Connection {
        let options = Options {
            limits: shared.sizes.connection,
            encoding: shared.sizes.message,
            deadline: None,
            compression: shared.compression,
            meeting_point: shared
                .upgrade
                .zip(caller.ports)
                .map(|(number, ports)| MeetingPoint {
                    number,
                    client_port: ports.1,
                    server_port: ports.0,
                }),
        };
        let mut machine = Connection::new(Role::Server, options);
        if shared.draining.load(Ordering::SeqCst) {
            // It came too late: none of its calls is started.
            machine.drain(GOING_DOWN);
        }
        machine
    }

    /// Returns whether the peer's wire is known.
    pub(super) fn is_known(&self) -> bool {
        match self {
            Machine::Detecting => false,
            Machine::Thrift(machine) => machine.wire().is_some(),
            Machine::Http(_)
            | Machine::MsgpackRpc(_)
            | Machine::Dovetail(_)
            | Machine::Capnp(_)
            | Machine::Http2 => true,
        }
    }

    /// Returns whether the peer speaks HTTP/2, for which there is no machine here.
    #[cfg(feature = "grpc")]
    pub(super) fn is_http2(&self) -> bool {
        matches!(self, Machine::Http2)
    }

    /// Returns whether the peer tells answers apart, and waits for none before it sends what a
    /// handler may wait for.
    pub(super) fn tells_apart(&self) -> bool {
        matches!(
            self,
            Machine::MsgpackRpc(_) | Machine::Dovetail(_) | Machine::Capnp(_)
        )
    }

    /// Returns whether the peer tells answers apart and may cancel calls, so that it is listened to
    /// at all times.
    pub(super) fn is_multiplexed(&self) -> bool {
        matches!(self, Machine::Dovetail(_) | Machine::Capnp(_))
    }

    /// Returns whether a peer that has closed its sending side takes no answers.
    pub(super) fn is_gone_with_half(&self, half_closed: HalfClosed) -> bool {
        match self {
            Machine::Thrift(_) | Machine::MsgpackRpc(_) => half_closed == HalfClosed::Gone,
            Machine::Http(_) => half_closed != HalfClosed::Waits,
            Machine::Detecting | Machine::Dovetail(_) | Machine::Capnp(_) | Machine::Http2 => true,
        }
    }

    /// The connection as a WebSocket, where it is one.
    pub(super) fn socket(&self) -> Option<&Socket> {
        match self {
            Machine::Http(machine) => machine.socket(),
            Machine::Detecting
            | Machine::Thrift(_)
            | Machine::MsgpackRpc(_)
            | Machine::Dovetail(_)
            | Machine::Capnp(_)
            | Machine::Http2 => None,
        }
    }

    /// Moves the bytes of the wire itself behind the answers so far.
    pub(super) fn transmit(&mut self, out: &mut Vec<u8>) {
        match self {
            Machine::Thrift(machine) => machine.transmit(out),
            Machine::Http(machine) => machine.transmit(out),
            Machine::Detecting
            | Machine::MsgpackRpc(_)
            | Machine::Dovetail(_)
            | Machine::Capnp(_)
            | Machine::Http2 => {}
        }
    }

    /// Moves the bytes of the wire itself, in whatever place: before answers at the beginning.
    pub(super) fn transmit_at_once(&mut self, out: &mut Vec<u8>) {
        match self {
            Machine::Dovetail(link) => {
                native(link, |machine| machine.transmit(out));
            }
            Machine::Http(machine) => machine.transmit_at_once(out),
            Machine::Detecting
            | Machine::Thrift(_)
            | Machine::MsgpackRpc(_)
            | Machine::Capnp(_)
            | Machine::Http2 => {}
        }
    }

    /// Sends what calls with streams and calls to the peer have queued.
    pub(super) fn flush(&self) {
        if let Machine::MsgpackRpc(link) | Machine::Dovetail(link) | Machine::Capnp(link) = self {
            link.flush();
        }
    }

    /// Moves the queue of calls with streams and of calls to the peer, for a driver that sends it
    /// itself.
    #[cfg(feature = "async")]
    pub(super) fn transmit_streams(&mut self, out: &mut Vec<u8>) {
        match self {
            Machine::MsgpackRpc(link) | Machine::Dovetail(link) | Machine::Capnp(link) => {
                let mut table = link.lock();
                table.transmit();
                table.move_out(out);
            }
            Machine::Detecting | Machine::Thrift(_) | Machine::Http(_) | Machine::Http2 => self
                .streaming()
                .into_iter()
                .for_each(|reply| reply.transmit(out)),
        }
    }

    /// How the call with streams is answered that has come last, where the machine does not know of
    /// streams.
    pub(super) fn streaming(&self) -> Option<&web::WebReplyTo> {
        match self {
            Machine::Http(machine) => machine.streaming(),
            Machine::Detecting
            | Machine::Thrift(_)
            | Machine::MsgpackRpc(_)
            | Machine::Dovetail(_)
            | Machine::Capnp(_)
            | Machine::Http2 => None,
        }
    }

    /// The last words of a connection that cannot go on.
    pub(super) fn goodbye(&mut self, fault: &Fault, out: &mut Vec<u8>) {
        match (self, fault) {
            (Machine::Thrift(machine), Fault::Thrift(error)) => machine.goodbye(error, out),
            (Machine::Http(machine), fault) => machine.goodbye(fault, out),
            (Machine::MsgpackRpc(link), _) => {
                rpc(link, |machine| machine.goodbye(out));
            }
            (Machine::Capnp(link), _) => {
                let mut table = link.lock();
                table.transmit();
                table.move_out(out);
            }
            #[cfg(feature = "grpc")]
            (Machine::Http2, Fault::Thrift(error)) => grpc::refuse(&error.to_string(), out),
            #[cfg(feature = "grpc")]
            (Machine::Http2, _) => grpc::refuse(NO_HTTP2, out),
            _ => {}
        }
    }

    /// The peer has closed its side.
    pub(super) fn end(&mut self, input: &mut BytesMut) -> Result<(), Fault> {
        match self {
            Machine::Detecting | Machine::Capnp(_) => Ok(()),
            Machine::Http2 => Ok(()),
            Machine::Thrift(machine) => Ok(machine.end(input)?),
            Machine::Http(machine) => machine.end(input),
            Machine::MsgpackRpc(link) => {
                let ended = rpc(link, |machine| machine.end(input));
                ended.unwrap_or(Ok(())).map_err(Fault::noted)
            }
            Machine::Dovetail(link) => {
                let closed = native(link, |machine| machine.closed(input));
                closed.unwrap_or(Ok(())).map_err(Fault::noted)
            }
        }
    }

    /// A message takes the peer too long.
    pub(super) fn too_slow(&mut self, limit: Duration, input: &[u8]) -> Fault {
        match self {
            Machine::Http(machine) => machine.too_slow(limit),
            Machine::Detecting
            | Machine::Thrift(_)
            | Machine::MsgpackRpc(_)
            | Machine::Dovetail(_)
            | Machine::Capnp(_)
            | Machine::Http2 => self.refuse(ProtocolError::TooSlow { limit }, input),
        }
    }

    /// The connection cannot go on because of this, whatever is spoken.
    fn refuse(&mut self, error: ProtocolError, input: &[u8]) -> Fault {
        match self {
            Machine::Http(_) => {
                let (status, what) = (421, NOT_AGREED);
                return Fault::Http(http::Error::Refused { status, what });
            }
            Machine::Thrift(machine) => {
                if machine.wire().is_none() {
                    // So that it is known how its sender is told.
                    let _ = machine.receive(&mut BytesMut::from(input));
                }
                machine.fail(error.clone(), input);
            }
            Machine::MsgpackRpc(link) => {
                let noted = Fault::noted(&error);
                rpc(link, |machine| machine.fail(rpc_error(error), input));
                return noted;
            }
            Machine::Dovetail(link) => {
                let (code, what) = (native_code(&error), error.to_string());
                native(link, |machine| machine.fail(code, &what));
                return Fault::Noted(what);
            }
            Machine::Capnp(link) => {
                let what = error.to_string();
                capnp(link, |machine| machine.abort(&what));
                return Fault::Noted(what);
            }
            Machine::Detecting | Machine::Http2 => {}
        }
        Fault::Thrift(error)
    }

    /// More has been received than is held for a peer.
    pub(super) fn too_much(&mut self, size: usize, over: Over, input: &[u8]) -> Fault {
        let (size, limit) = (size as u64, over.most);
        let error = ProtocolError::MessageTooLarge { size, limit };
        match self {
            Machine::Detecting => Fault::Thrift(error),
            Machine::Http2 => Fault::Noted(over.to_string()),
            Machine::Thrift(machine) => {
                machine.fail(error.clone(), input);
                Fault::Thrift(error)
            }
            Machine::Http(machine) => machine.too_much(size, limit),
            Machine::Capnp(link) => {
                let why = over.to_string();
                capnp(link, |machine| machine.abort(&why));
                Fault::Noted(why)
            }
            Machine::MsgpackRpc(link) => {
                let error = msgpack_rpc::ProtocolError::MessageTooLarge { size, limit };
                let noted = Fault::noted(&error);
                rpc(link, |machine| machine.fail(error, input));
                noted
            }
            Machine::Dovetail(link) => {
                let why = over.to_string();
                native(link, |machine| machine.fail(Code::ResourceExhausted, &why));
                Fault::Noted(why)
            }
        }
    }

    /// The peer has gone: handlers that wait for it need not.
    pub(super) fn lost(&self) {
        match self {
            Machine::MsgpackRpc(link) | Machine::Dovetail(link) | Machine::Capnp(link) => {
                let what = "the caller's connection has ended";
                let why = Status::new(Code::Unavailable, what);
                link.give_up(&why.with_execution(Execution::MayHaveRun));
            }
            Machine::Http(machine) => machine.lost(),
            Machine::Detecting | Machine::Thrift(_) | Machine::Http2 => {}
        }
    }

    /// Returns whether references to objects were passed.
    pub(super) fn has_objects(&self) -> bool {
        match self {
            Machine::MsgpackRpc(link) | Machine::Dovetail(link) | Machine::Capnp(link) => {
                link.objects.were_passed()
            }
            Machine::Detecting | Machine::Thrift(_) | Machine::Http(_) | Machine::Http2 => false,
        }
    }

    /// Nothing was called for too long.
    pub(super) fn idled(&mut self) {
        if let Machine::Http(machine) = self {
            machine.leave(IDLE);
        }
    }

    /// The server takes no further calls. False where the peer cannot know which of them were not
    /// started.
    pub(super) fn drain(&mut self) -> bool {
        match self {
            Machine::Dovetail(link) => {
                native(link, |machine| machine.drain(GOING_DOWN));
                true
            }
            Machine::Http(machine) => machine.leave(GOING_DOWN),
            // Only a peer whose wire is known can be told.
            Machine::Detecting
            | Machine::Thrift(_)
            | Machine::MsgpackRpc(_)
            | Machine::Capnp(_)
            | Machine::Http2 => false,
        }
    }
}

fn rpc_error(error: ProtocolError) -> msgpack_rpc::ProtocolError {
    match error {
        ProtocolError::TooSlow { limit } => msgpack_rpc::ProtocolError::TooSlow { limit },
        error => msgpack_rpc::ProtocolError::Malformed {
            what: error.to_string().into(),
        },
    }
}

fn native_code(error: &ProtocolError) -> Code {
    match error {
        ProtocolError::TooSlow { .. } => Code::DeadlineExceeded,
        _ => Code::FailedPrecondition,
    }
}

/// Runs this on the machine of Dovetail's own wire.
fn native<R>(link: &Link, work: impl FnOnce(&mut Connection) -> R) -> Option<R> {
    link.lock().machine().map(work)
}

/// Runs this on the machine of msgpack-rpc.
fn rpc<R>(link: &Link, work: impl FnOnce(&mut msgpack_rpc::Connection) -> R) -> Option<R> {
    link.lock().rpc().map(work)
}

/// Runs this on the machine of Cap'n Proto's protocol.
fn capnp<R>(link: &Link, work: impl FnOnce(&mut Peer) -> R) -> Option<R> {
    link.lock().capnp().map(work)
}

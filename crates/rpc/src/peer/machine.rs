//! The protocol of a client's connection.

use super::capnp;
use super::options::PeerOptions;
use super::outgoing::Outgoing;
use crate::peer::objects::{ObjectDirectory, SentCaps, Transfer};
use crate::{Code, Status, Wire};
use bytes::BytesMut;
use dovetail_protocol::Name;
use dovetail_protocol::dovetail::{
    self, Awaits, CallError, Connection, Event, IncomingCall, OutgoingCall, Role, Target,
};
use dovetail_protocol::msgpack_rpc;
use dovetail_protocol::thrift::{self, CallId, ClientConnection};
use dovetail_wire::{Bytes, Encode, EncodeError, Encoding, ObjectNumbers, WithObjects};
use std::error::Error;
use std::sync::Arc;

/// A breach of the protocol by the peer, which ends the connection.
pub(crate) type Fault = Box<dyn Error + Send + Sync>;

/// A reply that has arrived, to the call with this number.
pub(super) struct Reply {
    pub(super) call: u64,
    pub(super) result: Result<(Encoding, Bytes), Status>,
    /// The table of objects of its message, where the values name objects by their places in one.
    pub(super) caps: Option<Caps>,
}

/// The objects of a message that has come.
#[derive(Default)]
pub(super) struct Caps {
    pub(super) numbers: Vec<u64>,
    /// The place of the object to which calls may have been addressed before it was there.
    pub(super) promised: Option<usize>,
}

impl Caps {
    /// The object that was promised first, and then the others.
    pub(super) fn split(mut self) -> (Option<u64>, Vec<u64>) {
        let first = self.promised.filter(|place| *place < self.numbers.len());
        let first = first.map(|place| self.numbers.remove(place));
        (first, self.numbers)
    }
}

/// An event on a connection.
pub(super) enum Arrival {
    Reply(Reply),
    /// On the streams of a call, or of all.
    Stream {
        call: Option<u32>,
        event: Event,
    },
    Called(Called),
    /// References to an object of this end's.
    Released {
        object: u32,
        count: u64,
    },
}

/// A call of the other end's.
pub(crate) enum Called {
    Call(IncomingCall),
    /// A call that names its method.
    Named(msgpack_rpc::IncomingCall),
    /// A call that names the place of its method.
    Placed(capnp::IncomingCall),
    /// The caller of this call has gone.
    Cancelled(u32),
}

impl From<thrift::IncomingReply> for Arrival {
    fn from(reply: thrift::IncomingReply) -> Self {
        Arrival::Reply(Reply {
            call: reply.call.0,
            result: reply.result,
            caps: None,
        })
    }
}

impl From<capnp::Arrival> for Arrival {
    fn from(arrival: capnp::Arrival) -> Self {
        match arrival {
            capnp::Arrival::Reply(reply) => Arrival::Reply(Reply {
                call: reply.call.into(),
                result: reply.result,
                caps: Some(Caps {
                    numbers: reply.objects,
                    promised: reply.promised,
                }),
            }),
            capnp::Arrival::Call(call) => Arrival::Called(Called::Placed(call)),
            capnp::Arrival::Cancelled(call) => Arrival::Called(Called::Cancelled(call)),
            capnp::Arrival::Released { object, count } => Arrival::Released { object, count },
        }
    }
}

impl From<Event> for Arrival {
    fn from(event: Event) -> Self {
        match event {
            Event::Reply { call, result, .. } => {
                let call = call.into();
                Arrival::Reply(Reply {
                    call,
                    result,
                    caps: None,
                })
            }
            Event::Item { call, .. } | Event::End { call, .. } => Arrival::Stream {
                call: Some(call),
                event,
            },
            Event::Credit { call } => Arrival::Stream { call, event },
            Event::Call(call) => Arrival::Called(Called::Call(call)),
            Event::Released { object, count } => Arrival::Released { object, count },
            Event::Cancelled { call } => Arrival::Called(Called::Cancelled(call)),
        }
    }
}

/// The machine of a connection.
pub(crate) enum Machine {
    Thrift(Box<ClientConnection>),
    MsgpackRpc(Box<msgpack_rpc::Connection>),
    Capnp(Box<capnp::Peer>),
    Dovetail {
        machine: Box<Connection>,
        /// The service that is called.
        service: Name,
    },
}

/// Makes the machine of a connection that this end has accepted.
impl From<Connection> for Machine {
    fn from(machine: Connection) -> Self {
        Machine::Dovetail {
            machine: Box::new(machine),
            service: Name::default(),
        }
    }
}

impl From<msgpack_rpc::Connection> for Machine {
    fn from(machine: msgpack_rpc::Connection) -> Self {
        Machine::MsgpackRpc(Box::new(machine))
    }
}

impl From<capnp::Peer> for Machine {
    fn from(machine: capnp::Peer) -> Self {
        Machine::Capnp(Box::new(machine))
    }
}

#[deny(clippy::wildcard_enum_match_arm)]
impl Machine {
    pub(super) fn new(options: &PeerOptions) -> Self {
        match options.wire {
            Wire::Thrift(wire) => {
                let machine = ClientConnection::new(wire, options.client.clone());
                Machine::Thrift(Box::new(machine))
            }
            Wire::MsgpackRpc => msgpack_rpc::Connection::new(msgpack_rpc::Options {
                limits: options.client.limits,
                encoding: options.client.encoding,
                service: options.client.service.clone(),
                serves: options.serves,
                structs: options.msgpack_structs,
            })
            .into(),
            Wire::Capnp => capnp::Peer::new(options.client.limits, options.client.encoding).into(),
            // Channels over HTTP/2 and WebSocket make no machine.
            Wire::Dovetail | Wire::Grpc | Wire::GrpcWeb(_) | Wire::Connect(_) | Wire::WebSocket => {
                let own = dovetail::Options {
                    limits: options.client.limits,
                    encoding: options.client.encoding,
                    deadline: Some(options.timeout),
                    compression: options.compression,
                    meeting_point: None,
                };
                Machine::Dovetail {
                    machine: Box::new(Connection::new(Role::Client, own)),
                    service: Name::new(options.client.service.as_deref().unwrap_or_default()),
                }
            }
        }
    }

    /// Returns the wire that it speaks.
    pub(super) fn wire(&self) -> Wire {
        match self {
            Machine::Thrift(machine) => machine.wire().into(),
            Machine::MsgpackRpc(_) => Wire::MsgpackRpc,
            Machine::Capnp(_) => Wire::Capnp,
            Machine::Dovetail { .. } => Wire::Dovetail,
        }
    }

    /// Appends a call. Its number is `None` where no answer comes.
    pub(super) fn call(
        &mut self,
        call: &Outgoing<'_, impl Encode>,
        target: Option<Target>,
        objects: Option<Arc<Transfer>>,
        out: &mut Vec<u8>,
    ) -> Result<Option<u64>, Status> {
        match self {
            Machine::Thrift(_) | Machine::MsgpackRpc(_) if call.promise.is_some() => {
                Err(no_pipelining(call.name))
            }
            Machine::Thrift(_) | Machine::MsgpackRpc(_) | Machine::Capnp(_)
                if call.method.is_some_and(|method| method.kind.streams()) =>
            {
                Err(no_streams(call.name))
            }
            Machine::Thrift(machine) => {
                let answered = !call.oneway || machine.answers_oneway();
                let id = machine
                    .call_with(
                        (call.service, call.name),
                        call.oneway,
                        call.headers,
                        call.params,
                        out,
                    )
                    .map_err(|error| unencodable(call.name, &error))?;
                Ok(answered.then_some(id.0))
            }
            Machine::MsgpackRpc(machine) => machine
                .call_with((call.service, call.name), call.oneway, call.params, out)
                .map(|id| id.map(u64::from))
                .map_err(|error| unencodable(call.name, &error)),
            Machine::Capnp(machine) => {
                let method = machine.method(call.name, call.method)?;
                let caps = objects.map(|transfer| Arc::new(SentCaps::new(transfer)));
                let numbers = caps.clone().map(|caps| caps as Arc<dyn ObjectNumbers>);
                let params = WithObjects::new(call.params, numbers);
                machine
                    .call(target, method, call.oneway, &params, caps.as_deref(), out)
                    .map(|id| id.map(u64::from))
                    .map_err(|error| unencodable(call.name, &error))
            }
            Machine::Dovetail { machine, service } => {
                let key = call.key(service);
                let outgoing = OutgoingCall {
                    plain: call.compress == Some(false),
                    method: &key,
                    deadline: call.timeout,
                    headers: call.headers,
                    target,
                    promise: call.promise.is_some(),
                    awaits: objects.as_deref().map(|objects| objects as &dyn Awaits),
                };
                let contract = || Arc::new(call.contract(service));
                let numbers = objects
                    .clone()
                    .map(|objects| objects as Arc<dyn ObjectNumbers>);
                let params = WithObjects::new(call.params, numbers);
                let called = machine.call(&outgoing, contract, &params, out);
                called
                    .map(|id| id.map(u64::from))
                    .map_err(|error| match error {
                        CallError::Encode(error) => unencodable(call.name, &error),
                        CallError::Status(status) => status,
                    })
            }
        }
    }

    /// Returns the next arrival; `None` where more must be received first.
    pub(super) fn receive(
        &mut self,
        input: &mut BytesMut,
        directory: &ObjectDirectory<'_>,
    ) -> Result<Option<Arrival>, Fault> {
        match self {
            Machine::Thrift(machine) => Ok(machine.receive(input)?.map(Arrival::from)),
            Machine::MsgpackRpc(machine) => {
                let event = machine.receive(input)?;
                Ok(event.map(|event| match event {
                    msgpack_rpc::Event::Call(call) => Arrival::Called(Called::Named(call)),
                    msgpack_rpc::Event::Reply(reply) => Arrival::Reply(Reply {
                        call: reply.call.into(),
                        result: reply.result,
                        caps: None,
                    }),
                }))
            }
            Machine::Capnp(machine) => match machine.receive(input, directory) {
                Ok(arrival) => Ok(arrival.map(Arrival::from)),
                Err(error) => Err(error.0.into()),
            },
            Machine::Dovetail { machine, .. } => {
                Ok(machine.receive(input, directory)?.map(Arrival::from))
            }
        }
    }

    /// Returns an arrival that had to wait for another one.
    pub(super) fn ready(&mut self, directory: &ObjectDirectory<'_>) -> Option<Arrival> {
        match self {
            Machine::Thrift(_) | Machine::MsgpackRpc(_) => None,
            Machine::Capnp(machine) => machine.ready(directory).map(Arrival::from),
            Machine::Dovetail { machine, .. } => machine.ready().map(Arrival::from),
        }
    }

    /// Gives back references to an object of the other end.
    pub(super) fn release(&mut self, object: u32, count: u64) {
        match self {
            Machine::Thrift(_) | Machine::MsgpackRpc(_) => {}
            Machine::Capnp(machine) => machine.release(object, count),
            Machine::Dovetail { machine, .. } => machine.release(object, count),
        }
    }

    /// The machine of Dovetail's own wire, which alone has streams.
    pub(super) fn native(&mut self) -> Option<&mut Connection> {
        match self {
            Machine::Thrift(_) | Machine::MsgpackRpc(_) | Machine::Capnp(_) => None,
            Machine::Dovetail { machine, .. } => Some(machine),
        }
    }

    /// The machine of msgpack-rpc.
    pub(super) fn rpc(&mut self) -> Option<&mut msgpack_rpc::Connection> {
        match self {
            Machine::MsgpackRpc(machine) => Some(machine),
            Machine::Thrift(_) | Machine::Capnp(_) | Machine::Dovetail { .. } => None,
        }
    }

    /// The machine of Cap'n Proto's protocol.
    pub(super) fn capnp(&mut self) -> Option<&mut capnp::Peer> {
        match self {
            Machine::Capnp(machine) => Some(machine),
            Machine::Thrift(_) | Machine::MsgpackRpc(_) | Machine::Dovetail { .. } => None,
        }
    }

    /// The server has closed the connection, which can be the end of a reply.
    pub(super) fn end(&mut self, input: &mut BytesMut) -> Result<Option<Reply>, Fault> {
        match self {
            Machine::Thrift(machine) => {
                let reply = machine.end(input)?;
                Ok(reply.map(|reply| Reply {
                    call: reply.call.0,
                    result: reply.result,
                    caps: None,
                }))
            }
            Machine::MsgpackRpc(machine) => {
                machine.end(input)?;
                Ok(None)
            }
            Machine::Capnp(_) => Ok(None),
            Machine::Dovetail { machine, .. } => {
                machine.closed(input)?;
                Ok(None)
            }
        }
    }

    /// Appends the machine's own messages.
    pub(super) fn transmit(&mut self, out: &mut Vec<u8>) {
        match self {
            Machine::Thrift(_) => {}
            Machine::MsgpackRpc(machine) => machine.transmit(out),
            Machine::Capnp(machine) => machine.transmit(out),
            Machine::Dovetail { machine, .. } => machine.transmit(out),
        }
    }

    /// How much to receive next.
    pub(super) fn needs(&self) -> usize {
        match self {
            Machine::Thrift(machine) => machine.needs(),
            Machine::MsgpackRpc(machine) => machine.needs(),
            Machine::Capnp(machine) => machine.needs(),
            Machine::Dovetail { machine, .. } => machine.needs(),
        }
    }

    /// Forgets a call whose caller does not wait any longer.
    pub(super) fn abandon(&mut self, call: u64) {
        match self {
            Machine::Thrift(machine) => machine.abandon(CallId(call)),
            Machine::MsgpackRpc(machine) => machine.abandon(call as u32),
            Machine::Capnp(machine) => machine.abandon(call as u32),
            Machine::Dovetail { machine, .. } => {
                // It was a number of 32 bits when it was given.
                machine.abandon(call as u32);
            }
        }
    }

    /// Returns whether the next call has to wait until all others are answered.
    pub(super) fn exclusive(&self) -> bool {
        match self {
            Machine::Thrift(machine) => machine.exclusive(),
            Machine::MsgpackRpc(_) | Machine::Capnp(_) | Machine::Dovetail { .. } => false,
        }
    }

    /// Returns whether the server takes no further call on this connection.
    pub(super) fn closing(&self) -> bool {
        match self {
            Machine::Thrift(machine) => machine.closing(),
            Machine::MsgpackRpc(_) | Machine::Capnp(_) => false,
            Machine::Dovetail { machine, .. } => machine.closing(),
        }
    }
}

#[cold]
fn no_streams(method: &str) -> Status {
    let what =
        format!("`{method}` has streams, which need Dovetail's own wire: `wire(Wire::Dovetail)`");
    Status::new(Code::Unimplemented, what)
}

#[cold]
fn no_pipelining(method: &str) -> Status {
    let what = format!("to call what `{method}` returns before it has needs Dovetail's own wire");
    Status::new(Code::Unimplemented, what)
}

/// Returns the code for an encoding error.
pub(crate) fn code_of(error: &EncodeError, other: Code) -> Code {
    match error {
        EncodeError::NoObjects => Code::Unimplemented,
        EncodeError::TooManyObjects { .. } | EncodeError::TooLarge { .. } => {
            Code::ResourceExhausted
        }
        _ => other,
    }
}

#[cold]
fn unencodable(method: &str, error: &EncodeError) -> Status {
    Status::new(
        code_of(error, Code::InvalidArgument),
        format!("the parameters of `{method}` cannot be encoded: {error}"),
    )
}

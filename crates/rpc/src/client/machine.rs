//! The protocol of a client's connection.

use super::options::Options;
use super::outgoing::Outgoing;
use crate::capnp::Dialed;
use crate::objects::Transfer;
use crate::{Code, Status, Wire};
use bytes::BytesMut;
use dovetail_protocol::Name;
use dovetail_protocol::dovetail::{
    self, Awaits, CallError, Connection, Directory, Event, IncomingCall, OutgoingCall, Role, Target,
};
use dovetail_protocol::msgpack_rpc;
use dovetail_protocol::thrift::{self, CallId, ClientConnection};
use dovetail_wire::{Bytes, Encode, EncodeError, Encoding, ObjectNumbers, WithObjects};
use std::error::Error;
use std::sync::Arc;

/// What the peer did that ends the connection.
pub(crate) type Fault = Box<dyn Error + Send + Sync>;

/// A reply that has arrived, to the call with this number.
pub(super) struct Reply {
    pub(super) call: u64,
    pub(super) result: Result<(Encoding, Bytes), Status>,
}

/// What has arrived.
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

/// What the other end calls.
pub(crate) enum Called {
    Call(IncomingCall),
    /// A call that names its method.
    Named(msgpack_rpc::IncomingCall),
    /// The caller of this call has gone.
    Cancelled(u32),
}

impl From<thrift::IncomingReply> for Arrival {
    fn from(reply: thrift::IncomingReply) -> Self {
        Arrival::Reply(Reply {
            call: reply.call.0,
            result: reply.result,
        })
    }
}

impl From<Event> for Arrival {
    fn from(event: Event) -> Self {
        match event {
            Event::Reply { call, result, .. } => {
                let call = call.into();
                Arrival::Reply(Reply { call, result })
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
    Capnp(Box<Dialed>),
    Dovetail {
        machine: Box<Connection>,
        /// The service that is called.
        service: Name,
    },
}

/// Of a connection that this end has accepted.
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

impl Machine {
    pub(super) fn new(options: &Options) -> Self {
        match options.wire {
            Wire::Thrift(wire) => {
                let machine = ClientConnection::new(wire, options.client.clone());
                Machine::Thrift(Box::new(machine))
            }
            Wire::MsgpackRpc => msgpack_rpc::Connection::new(msgpack_rpc::Options {
                limits: options.client.limits,
                encoding: options.client.encoding,
                service: options.client.service.clone(),
                serves: options.serves(),
                structs: options.msgpack_structs,
            })
            .into(),
            Wire::Capnp => {
                let machine = Dialed::new(options.client.limits, options.client.encoding);
                Machine::Capnp(Box::new(machine))
            }
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

    /// What it speaks.
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
        call: Outgoing<'_, impl Encode>,
        target: Option<Target>,
        objects: Option<Arc<Transfer>>,
        out: &mut Vec<u8>,
    ) -> Result<Option<u64>, Status> {
        match self {
            Machine::Thrift(_) | Machine::MsgpackRpc(_) | Machine::Capnp(_)
                if call.promise.is_some() =>
            {
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
                machine
                    .call(method, call.oneway, call.params, out)
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

    /// What has arrived next; `None` where more must be received first.
    pub(super) fn receive(
        &mut self,
        input: &mut BytesMut,
        directory: &dyn Directory,
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
                    }),
                }))
            }
            Machine::Capnp(machine) => match machine.receive(input) {
                Ok(reply) => Ok(reply.map(|(call, result)| Arrival::Reply(Reply { call, result }))),
                Err(error) => Err(error.0.into()),
            },
            Machine::Dovetail { machine, .. } => {
                Ok(machine.receive(input, directory)?.map(Arrival::from))
            }
        }
    }

    /// What was kept back until now.
    pub(super) fn ready(&mut self) -> Option<Arrival> {
        self.own()?.ready().map(Arrival::from)
    }

    /// The machine of Dovetail's own wire, which alone has streams.
    pub(super) fn own(&mut self) -> Option<&mut Connection> {
        match self {
            Machine::Thrift(_) | Machine::MsgpackRpc(_) | Machine::Capnp(_) => None,
            Machine::Dovetail { machine, .. } => Some(machine),
        }
    }

    /// The machine of msgpack-rpc.
    pub(super) fn rpc(&mut self) -> Option<&mut msgpack_rpc::Connection> {
        match self {
            Machine::MsgpackRpc(machine) => Some(machine),
            _ => None,
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

    /// Appends what the machine itself has to say.
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

    /// The caller does not wait any longer.
    pub(super) fn abandon(&mut self, call: u64) {
        match self {
            Machine::Thrift(machine) => machine.abandon(CallId(call)),
            Machine::MsgpackRpc(machine) => machine.abandon(call as u32),
            Machine::Capnp(machine) => machine.abandon(call),
            Machine::Dovetail { machine, .. } => {
                // It was a number of 32 bits when it was given.
                machine.abandon(call as u32);
            }
        }
    }

    /// True where the next call has to wait until all others are answered.
    pub(super) fn exclusive(&self) -> bool {
        match self {
            Machine::Thrift(machine) => machine.exclusive(),
            Machine::MsgpackRpc(_) | Machine::Capnp(_) | Machine::Dovetail { .. } => false,
        }
    }

    /// True where the server takes no further call on this connection.
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

/// The code for what cannot be encoded.
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

//! Cap'n Proto's protocol, level 1 (<https://capnproto.org/rpc.html>): calls of objects, and of the
//! results of calls that are not there yet.

mod connection;
mod message;
mod tables;
mod write;

pub use connection::{
    Connection, Event, IncomingCall, Limits, Object, Payload, ProtocolError, Results,
};
pub use message::{
    Call, Cap, Context, Disembargo, Exception, ExceptionKind, Message, Promised, Returned, Target,
    content,
};
pub use write::Outgoing;

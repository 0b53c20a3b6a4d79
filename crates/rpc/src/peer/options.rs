use crate::Wire;
use dovetail_protocol::dovetail::Compression;
use dovetail_protocol::thrift::ClientOptions;
use dovetail_wire::Limits;
use dovetail_wire::msgpack::Structs;
use std::time::Duration;

/// Calls at a time that wait for their replies, where nobody has chosen another number.
pub(crate) const MAX_CALLS: usize = 100_000;

/// The options of a connection that this end makes.
#[derive(Clone, Debug)]
pub(crate) struct PeerOptions {
    pub(crate) wire: Wire,
    pub(crate) client: ClientOptions,
    /// Limits on decoding replies.
    pub(crate) decoding: Limits,
    pub(crate) compression: Option<Compression>,
    /// The deadline that is offered to the other end for calls without one.
    pub(crate) timeout: Duration,
    /// Calls at a time that wait for their replies.
    pub(crate) calls: usize,
    pub(crate) msgpack_structs: Structs,
    /// The other end may call back.
    pub(crate) serves: bool,
    /// The connection may move from TCP to shared memory.
    pub(crate) may_move: bool,
}

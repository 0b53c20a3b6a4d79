//! Names of OpenTelemetry's semantic conventions for RPC, 1.45
//! (<https://opentelemetry.io/docs/specs/semconv/rpc/>), of gRPC's metrics
//! (<https://github.com/grpc/proposal/blob/master/A66-otel-stats.md>), and our own.

use crate::Wire;

pub(crate) const SYSTEM: &str = "rpc.system.name";
pub(crate) const METHOD: &str = "rpc.method";
pub(crate) const STATUS: &str = "rpc.response.status_code";
pub(crate) const ERROR: &str = "error.type";
pub(crate) const PEER_ADDRESS: &str = "network.peer.address";
pub(crate) const PEER_PORT: &str = "network.peer.port";

/// The histogram of the times of calls at a server.
#[cfg(feature = "grpc")]
pub(crate) const CALL_DURATION: &str = "rpc.server.call.duration";

/// The calls of gRPC that have begun at a server, and their attribute.
#[cfg(feature = "grpc")]
pub(crate) const CALL_STARTED: &str = "grpc.server.call.started";
#[cfg(feature = "grpc")]
pub(crate) const GRPC_METHOD: &str = "grpc.method";

/// An attribute of our own: none of theirs has the protocol and transport of Thrift, or the
/// encoding of Connect.
pub(crate) const WIRE: &str = "dovetail.wire";

/// The error of a call that has ended with an exception of its contract.
pub(crate) const EXCEPTION: &str = "exception";

/// Returns the system of a wire.
pub(crate) fn system(wire: Wire) -> &'static str {
    match wire {
        Wire::Dovetail | Wire::WebSocket => "dovetail",
        Wire::MsgpackRpc => "msgpack_rpc",
        Wire::Capnp => "capnp",
        Wire::Thrift(_) => "thrift",
        Wire::Grpc | Wire::GrpcWeb(_) => "grpc",
        Wire::Connect(_) => "connectrpc",
    }
}

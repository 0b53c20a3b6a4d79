//! Names of OpenTelemetry's semantic conventions for RPC, 1.45:
//! <https://opentelemetry.io/docs/specs/semconv/rpc/>.

use super::{Span, SpanKind};
use crate::Wire;
use crate::peer::intercept::Outcome;
use std::net::SocketAddr;

const SYSTEM: &str = "rpc.system.name";
const METHOD: &str = "rpc.method";
const STATUS: &str = "rpc.response.status_code";
const ERROR: &str = "error.type";
const PEER_ADDRESS: &str = "network.peer.address";
const PEER_PORT: &str = "network.peer.port";
/// An attribute of our own: none of theirs has the protocol and transport of Thrift, or the
/// encoding of Connect.
const WIRE: &str = "dovetail.wire";

/// The error of a call that has ended with an exception of its contract.
const EXCEPTION: &str = "exception";

fn system(wire: Wire) -> &'static str {
    match wire {
        Wire::Dovetail | Wire::WebSocket => "dovetail",
        Wire::MsgpackRpc => "msgpack_rpc",
        Wire::Capnp => "capnp",
        Wire::Thrift(_) => "thrift",
        Wire::Grpc | Wire::GrpcWeb(_) => "grpc",
        Wire::Connect(_) => "connectrpc",
    }
}

pub(super) fn attributes(span: &Span) -> Vec<(&'static str, String)> {
    let mut known = vec![
        (SYSTEM, system(span.wire).to_owned()),
        (METHOD, span.name()),
        (WIRE, span.wire.to_string()),
    ];
    let code = span.outcome.code();
    known.push((
        STATUS,
        code.map_or("OK".to_owned(), |code| code.to_string()),
    ));
    match (&span.outcome, code) {
        (Outcome::Exception, _) => known.push((ERROR, EXCEPTION.to_owned())),
        (_, Some(code)) if span.is_error() => known.push((ERROR, code.to_string())),
        _ => {}
    }
    if let (SpanKind::Server, Some(peer)) = (span.kind, &span.peer) {
        match peer.parse::<SocketAddr>() {
            Ok(peer) => {
                known.push((PEER_ADDRESS, peer.ip().to_string()));
                known.push((PEER_PORT, peer.port().to_string()));
            }
            Err(_) => known.push((PEER_ADDRESS, peer.clone())),
        }
    }
    known
}

//! The attributes of spans.

use super::{Span, SpanKind};
use crate::otlp::names::{
    ERROR, EXCEPTION, METHOD, PEER_ADDRESS, PEER_PORT, STATUS, SYSTEM, WIRE, system,
};
use crate::peer::intercept::Outcome;
use std::net::SocketAddr;

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

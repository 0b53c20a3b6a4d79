//! Whether a peer speaks TLS, found out from its first bytes. Servers without TLS do not look.

use super::admission::ConnectionGuard;
use super::threads::{linger, receive_late};
use super::{LINGER, Shared};
use crate::counters::{SharedCounters, count};
use crate::peer::proxies::{Announced, take_announced};
use crate::tls::TlsPeer;
use crate::transport::{Polling, Receiver, Stream, Wait};
use bytes::BytesMut;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// So much is received at first.
const FIRST: usize = 4096;

/// A connection that may speak.
pub(super) struct Entered<S> {
    pub(super) stream: S,
    /// The bytes that it has begun with.
    pub(super) received: BytesMut,
    /// Its identity, over TLS.
    pub(super) tls: Option<TlsPeer>,
}

impl<S> Entered<S> {
    /// One of which nothing is known yet.
    pub(super) fn plain(stream: S) -> Self {
        Entered {
            stream,
            received: BytesMut::new(),
            tls: None,
        }
    }
}

/// True for what begins like a record of a handshake (RFC 8446, 5.1; its version is that of SSL 3.0
/// to TLS 1.2); `None` where more has to be received. A frame of Thrift's would be 369 MB long.
pub(super) fn begins_tls(received: &[u8]) -> Option<bool> {
    match received {
        [] | [0x16] => None,
        [0x16, 3, ..] => Some(true),
        _ => Some(false),
    }
}

/// Counts how a handshake ended.
pub(super) fn note<T>(negotiated: &io::Result<T>, counters: &SharedCounters) {
    count(match negotiated {
        Ok(_) => &counters.tls_connections,
        Err(e) if e.kind() == io::ErrorKind::TimedOut => &counters.transfer_timeouts,
        Err(_) => &counters.refused_handshakes,
    });
}

/// Waits for the first bytes. False where nothing came in time.
fn receive_first(
    stream: &Arc<dyn Stream>,
    shared: &Shared,
    received: &mut BytesMut,
) -> io::Result<bool> {
    let silence = shared.limits().silence(stream.ports().is_some());
    let silent = Instant::now() + silence;
    match stream.recv_behind(received, FIRST, Wait::Until(Some(silent))) {
        // The receiving side was shut down to wake this thread; what comes can still be read.
        Ok(0) if shared.draining.load(Ordering::SeqCst) => {
            receive_late(&**stream, received, LINGER);
        }
        Ok(_) => {}
        Err(e) if e.kind() == io::ErrorKind::TimedOut => count(&shared.counters.idle_timeouts),
        Err(e) => return Err(e),
    }
    Ok(!received.is_empty())
}

/// The caller's address, which a proxy sends before anything else.
pub(super) fn announced(
    stream: &Arc<dyn Stream>,
    shared: &Shared,
    received: &mut BytesMut,
) -> io::Result<Option<SocketAddr>> {
    if !receive_first(stream, shared, received)? {
        return Ok(None);
    }
    let wait = Wait::Until(Some(Instant::now() + shared.limits().handshake));
    loop {
        match note_announced(take_announced(received), shared)? {
            Announced::Caller(caller) => return Ok(Some(caller)),
            Announced::Nobody => return Ok(None),
            Announced::More if stream.recv_behind(received, FIRST, wait)? == 0 => return Ok(None),
            Announced::More => {}
        }
    }
}

/// Counts what cannot be read.
pub(super) fn note_announced(
    announced: io::Result<Announced>,
    shared: &Shared,
) -> io::Result<Announced> {
    announced.inspect_err(|_| count(&shared.counters.protocol_errors))
}

/// Waits for the first bytes, and performs the handshake where they begin TLS. `None` where nothing
/// came in time.
pub(super) fn enter(
    stream: &Arc<dyn Stream>,
    shared: &Shared,
    guard: &ConnectionGuard,
    mut received: BytesMut,
) -> io::Result<Option<Entered<Arc<dyn Stream>>>> {
    let Some(tls) = &shared.tls else {
        return Ok(Some(Entered {
            received,
            ..Entered::plain(stream.clone())
        }));
    };
    if received.is_empty() && !receive_first(stream, shared, &mut received)? {
        return Ok(None);
    }
    let deadline = Instant::now() + shared.limits().handshake;
    let wait = Wait::Until(Some(deadline));
    while begins_tls(&received).is_none() {
        match stream.recv_behind(&mut received, FIRST, wait) {
            Ok(0) => break,
            Ok(_) => {}
            Err(e) => {
                if e.kind() == io::ErrorKind::TimedOut {
                    count(&shared.counters.transfer_timeouts);
                }
                return Err(e);
            }
        }
    }
    if begins_tls(&received) != Some(true) {
        return Ok(Some(Entered {
            received,
            ..Entered::plain(stream.clone())
        }));
    }
    let handshake = guard.handshake()?;
    let negotiated =
        crate::transport::handshake(stream.clone(), tls.session(false)?, &received, deadline);
    drop(handshake);
    note(&negotiated, &shared.counters);
    match negotiated {
        Ok((stream, peer)) => Ok(Some(Entered {
            tls: Some(peer),
            ..Entered::plain(stream)
        })),
        Err(error) => {
            // It may still be sending.
            linger(&**stream, &mut Receiver::new(Polling::Never));
            Err(error)
        }
    }
}

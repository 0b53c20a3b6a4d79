//! A connection of HTTP/2 on a loop: that is a library's, each of its streams a call of gRPC,
//! gRPC-Web or Connect.

mod age;
mod answer;
mod call;
mod head;
mod request;
mod socket;

use super::spread::LoopClaim;
use super::{Handlers, Phase};
use crate::counters::count;
use crate::grpc::gone;
use crate::server::session::Session;
use crate::server::{Entry, LINGER, ServerLimits, Shared};
use crate::transport::{AsyncSocket, Prefixed};
use bytes::BytesMut;
use call::Call;
use futures_util::stream::{FuturesUnordered, StreamExt};
use h2::server::Builder;
use socket::Socket;
use std::cell::Cell;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::unconstrained;
use tokio::time::{sleep, timeout};

/// Bytes that a client may send on a stream before the handler reads them.
const STREAM_WINDOW: u32 = 256 << 10;

/// Bytes that a client may send on all streams of a connection before handlers read them: enough
/// for 64 full streams, so that handlers that read nothing do not hold up the others.
const CONNECTION_WINDOW: u32 = 16 << 20;

/// The bytes of an answer that the library takes before the client does: a frame of the longest
/// that our own clients ask for.
const SEND_BUFFER: usize = (1 << 20) + (1 << 10);

/// Like [`LINGER`], for a connection that makes room for another one, which waits.
const ROOM_LINGER: Duration = Duration::from_millis(100);

/// The part that the calls of a connection share.
pub(super) struct ConnectionParts<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) session: &'a Session<'a>,
    pub(super) handlers: Handlers,
    pub(super) claim: &'a LoopClaim,
    pub(super) entry: &'a Entry,
    /// True once the client has named an authority that is no host, as no browser does.
    pub(super) opaque_authority: Cell<bool>,
}

/// Serves a connection that began with these bytes.
pub(super) async fn serve(
    parts: ConnectionParts<'_>,
    stream: AsyncSocket,
    received: BytesMut,
    mut phase: watch::Receiver<Phase>,
) -> io::Result<()> {
    let limits = parts.session.limits();
    let counted = received.len();
    let socket = Prefixed::new(received, stream, parts.session.polling());
    let traffic = &parts.session.caller().traffic;
    let socket = Socket::new(socket, &parts.opaque_authority, traffic, counted);
    let handshake = builder(limits).handshake(socket);
    let Ok(negotiated) = timeout(limits.handshake, handshake).await else {
        count(&parts.shared.counters.transfer_timeouts);
        return Err(io::ErrorKind::TimedOut.into());
    };
    let mut connection = negotiated.map_err(|error| broken(&parts, error))?;
    let arriving = Cell::new(0);
    let mut calls = FuturesUnordered::new();
    // How long a client may take to close a connection that it has been told to leave.
    let mut leaving = None;
    let under_way = Cell::new(0);
    let has_calls = || under_way.get() > 0;
    let pings = connection.ping_pong();
    let mut gone = pin!(gone(parts.shared.keepalive, pings, has_calls));
    let (mut old, mut older) = (pin!(age::old(limits)), pin!(age::older(limits)));
    loop {
        under_way.set(calls.len());
        match calls.is_empty() && leaving.is_none() {
            true => parts.entry.idles(parts.shared),
            false => parts.entry.works(),
        }
        let read_timeout = leaving.unwrap_or_else(|| parts.session.idle_limit());
        tokio::select! {
            biased;
            Some(()) = calls.next() => parts.claim.answered(),
            accepted = connection.accept() => match accepted {
                Some(Ok((request, respond))) => {
                    let (head, body) = request.into_parts();
                    let call = Call::new(&parts, respond);
                    // Not counted against the budget of the connection's task, as with calls in
                    // flight.
                    calls.push(Box::pin(unconstrained(call.run(head, body, &arriving))));
                    if !parts.session.is_admitted() {
                        leaving = Some(LINGER);
                        connection.graceful_shutdown();
                    }
                }
                Some(Err(error)) => return Err(broken(&parts, error)),
                None => return Ok(()),
            },
            _ = phase.wait_for(|phase| *phase != Phase::Serving), if leaving.is_none() => {
                leaving = Some(LINGER);
                connection.graceful_shutdown();
            }
            () = parts.entry.queued.0.notified(), if calls.is_empty() && leaving.is_none() => {
                if parts.entry.is_asked_to_leave() {
                    count(&parts.shared.counters.closed_for_room);
                    leaving = Some(ROOM_LINGER);
                    connection.graceful_shutdown();
                }
            }
            () = &mut old, if leaving.is_none() => {
                leaving = Some(LINGER);
                connection.graceful_shutdown();
            }
            () = &mut older => return Ok(()),
            () = &mut gone => return Err(io::ErrorKind::TimedOut.into()),
            () = sleep(read_timeout), if calls.is_empty() => {
                if leaving.is_some() {
                    return Ok(());
                }
                count(&parts.shared.counters.idle_timeouts);
                leaving = Some(LINGER);
                connection.graceful_shutdown();
            }
        }
    }
}

fn builder(limits: &ServerLimits) -> Builder {
    let number = |limit: usize| u32::try_from(limit).unwrap_or(u32::MAX);
    let mut builder = Builder::new();
    builder
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buffer_size(SEND_BUFFER)
        .max_header_list_size(number(limits.connection.header_bytes))
        .max_concurrent_streams(number(limits.calls_per_connection));
    builder
}

/// The connection has ended with an error: of the transport, or because of what the peer sent.
fn broken(parts: &ConnectionParts<'_>, error: h2::Error) -> io::Error {
    let error = error.into_io();
    parts
        .session
        .broken(error.unwrap_or_else(|| io::ErrorKind::InvalidData.into()))
}

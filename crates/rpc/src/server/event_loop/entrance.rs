//! Whether a peer speaks TLS, found out before anything else is.

use super::{LoopContext, Phase};
use crate::counters::count;
use crate::peer::proxies::{Announced, take_announced};
use crate::server::entrance::{begins_tls, note, note_announced};
use crate::server::{ConnectionGuard, Entered, LINGER};
use crate::tls::ServerTls;
use crate::transport::{AsyncSocket, AsyncTls, Polling, SpinPolicy};
use bytes::BytesMut;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// Waits for the first bytes. False where nothing came in time.
async fn receive_first(
    loop_context: &LoopContext,
    stream: &mut AsyncSocket,
    received: &mut BytesMut,
) -> io::Result<bool> {
    let silence = loop_context
        .shared
        .limits()
        .silence(stream.ports().is_some());
    let first = async {
        if stream.chooses() {
            let choice = stream.choice().await?;
            stream.choose(choice);
        }
        stream.receive(received, 1, &mut never()).await
    };
    tokio::select! {
        first = first => drop(first?),
        () = too_late(loop_context, silence) => {
            count(&loop_context.shared.counters.idle_timeouts);
            return Ok(false);
        }
    }
    Ok(true)
}

/// The caller's address, which a proxy sends before anything else.
pub(super) async fn announced(
    loop_context: &LoopContext,
    stream: &mut AsyncSocket,
    received: &mut BytesMut,
) -> io::Result<Option<SocketAddr>> {
    if !receive_first(loop_context, stream, received).await? {
        return Ok(None);
    }
    let deadline = Instant::now() + loop_context.shared.limits().handshake;
    loop {
        match note_announced(take_announced(received), &loop_context.shared)? {
            Announced::Caller(caller) => return Ok(Some(caller)),
            Announced::Nobody => return Ok(None),
            Announced::More => {
                let mut never = never();
                let more = timeout_at(deadline, stream.receive(received, 1, &mut never));
                if more.await?? == 0 {
                    return Ok(None);
                }
            }
        }
    }
}

/// Waits for the first bytes, and performs the handshake where they begin TLS. `None` where nothing
/// came in time.
pub(super) async fn enter(
    loop_context: &LoopContext,
    guard: &ConnectionGuard,
    mut stream: AsyncSocket,
    tls: &ServerTls,
    mut received: BytesMut,
) -> io::Result<Option<Entered<AsyncSocket>>> {
    let (limits, counters) = (loop_context.shared.limits(), &loop_context.shared.counters);
    if received.is_empty() && !receive_first(loop_context, &mut stream, &mut received).await? {
        return Ok(None);
    }
    let deadline = Instant::now() + limits.handshake;
    let second = async {
        while begins_tls(&received).is_none()
            && stream.receive(&mut received, 1, &mut never()).await? > 0
        {}
        io::Result::Ok(())
    };
    if let Err(late) = timeout_at(deadline, second).await {
        count(&counters.transfer_timeouts);
        return Err(late.into());
    }
    if begins_tls(&received) != Some(true) {
        return Ok(Some(Entered {
            received,
            ..Entered::plain(stream)
        }));
    }
    let handshake = guard.handshake()?;
    let over = AsyncTls::over(stream, tls.session(cfg!(feature = "grpc"))?)?;
    let negotiated = timeout_at(deadline, over.handshake(&received)).await;
    let negotiated = negotiated.unwrap_or_else(|late| Err(late.into()));
    drop(handshake);
    note(&negotiated, counters);
    let mut stream = AsyncSocket::Tls(Box::new(over));
    match negotiated {
        Ok(peer) => Ok(Some(Entered {
            tls: Some(peer),
            ..Entered::plain(stream)
        })),
        Err(error) => {
            // It may still be sending.
            stream.shutdown_send().await?;
            let _ = timeout(LINGER, stream.discard()).await;
            Err(error)
        }
    }
}

/// Before the first byte nothing is worth to be polled for.
fn never() -> SpinPolicy {
    SpinPolicy::new(Polling::Never)
}

/// Ends when a peer that says nothing has had its time: less where the server goes down.
async fn too_late(loop_context: &LoopContext, silent: Duration) {
    let mut phase = loop_context.phase.clone();
    tokio::select! {
        () = sleep(silent) => {}
        _ = phase.wait_for(|phase| *phase != Phase::Serving) => sleep(LINGER).await,
    }
}

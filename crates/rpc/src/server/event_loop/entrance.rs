//! Whether a peer speaks TLS, found out before anything else is.

use super::{Phase, Site};
use crate::server::counters::count;
use crate::server::entrance::{begins_tls, note, note_announced};
use crate::server::proxies::{Announced, take_announced};
use crate::server::{Entered, Guest, LINGER};
use crate::tls::ServerTls;
use crate::transport::{AsyncSocket, AsyncTls, Experience, Polling};
use bytes::BytesMut;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// Waits for the first bytes. False where nothing came in time.
async fn receive_first(
    site: &Site,
    stream: &mut AsyncSocket,
    received: &mut BytesMut,
) -> io::Result<bool> {
    let silence = site.shared.limits.silence(stream.ports().is_some());
    let first = async {
        if let Some(choice) = stream.choice().await? {
            stream.choose(choice);
        }
        stream.receive(received, 1, &mut never()).await
    };
    tokio::select! {
        first = first => drop(first?),
        () = too_late(site, silence) => {
            count(&site.shared.counters.idle_timeouts);
            return Ok(false);
        }
    }
    Ok(true)
}

/// The caller's address, which a proxy sends before anything else.
pub(super) async fn announced(
    site: &Site,
    stream: &mut AsyncSocket,
    received: &mut BytesMut,
) -> io::Result<Option<SocketAddr>> {
    if !receive_first(site, stream, received).await? {
        return Ok(None);
    }
    let deadline = Instant::now() + site.shared.limits.handshake;
    loop {
        match note_announced(take_announced(received), &site.shared)? {
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

/// Waits for the first bytes, and shakes hands where they are TLS. `None` where nothing came in
/// time.
pub(super) async fn enter(
    site: &Site,
    guest: &Guest,
    mut stream: AsyncSocket,
    tls: &ServerTls,
    mut received: BytesMut,
) -> io::Result<Option<Entered<AsyncSocket>>> {
    let (limits, counters) = (&site.shared.limits, &site.shared.counters);
    if received.is_empty() && !receive_first(site, &mut stream, &mut received).await? {
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
    let handshake = guest.handshake()?;
    let over = AsyncTls::over(stream, tls.session(cfg!(feature = "grpc"))?)?;
    let shaken = timeout_at(deadline, over.shake(&received)).await;
    let shaken = shaken.unwrap_or_else(|late| Err(late.into()));
    drop(handshake);
    note(&shaken, counters);
    let mut stream = AsyncSocket::Tls(Box::new(over));
    match shaken {
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
fn never() -> Experience {
    Experience::new(Polling::Never)
}

/// Ends when a peer that says nothing has had its time: less where the server goes down.
async fn too_late(site: &Site, silent: Duration) {
    let mut told = site.told.clone();
    tokio::select! {
        () = sleep(silent) => {}
        _ = told.wait_for(|phase| *phase != Phase::Serving) => sleep(LINGER).await,
    }
}

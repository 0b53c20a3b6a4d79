//! Whether a peer speaks TLS, found out before anything else is.

use super::{Phase, Site};
use crate::server::counters::count;
use crate::server::entrance::{begins_tls, note};
use crate::server::{Entered, LINGER};
use crate::tls::ServerTls;
use crate::transport::{AsyncSocket, AsyncTls, Experience, Polling};
use bytes::BytesMut;
use std::io;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// Waits for the first bytes, and shakes hands where they are TLS. `None` where nothing came in time.
pub(super) async fn enter(
    site: &Site,
    mut stream: AsyncSocket,
    tls: &ServerTls,
) -> io::Result<Option<Entered<AsyncSocket>>> {
    let (limits, counters) = (&site.shared.limits, &site.shared.counters);
    let mut received = BytesMut::new();
    let silence = limits.silence(stream.ports().is_some());
    let first = async {
        if let Some(choice) = stream.choice().await? {
            stream.choose(choice);
        }
        stream.receive(&mut received, 1, &mut never()).await
    };
    tokio::select! {
        first = first => drop(first?),
        () = too_late(site, silence) => {
            count(&counters.idle_timeouts);
            return Ok(None);
        }
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
    let over = AsyncTls::over(stream, tls.session(cfg!(feature = "grpc"))?)?;
    let shaken = timeout_at(deadline, over.shake(&received)).await;
    let shaken = shaken.unwrap_or_else(|late| Err(late.into()));
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

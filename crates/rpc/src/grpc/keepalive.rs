//! Whether the other end is still there: PING frames of HTTP/2 (RFC 9113, section 6.7).

use h2::{Ping, PingPong};
use std::future::pending;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How an end of gRPC finds out that the other one has gone without a word: it sends PING frames,
/// and gives up the connection where one is not answered. For
/// [`Server::keepalive`](crate::Server::keepalive) and
/// [`ChannelBuilder::keepalive`](crate::ChannelBuilder::keepalive).
///
/// ```
/// # use dovetail::transport::Keepalive;
/// # use std::time::Duration;
/// let mut keepalive = Keepalive::every(Duration::from_secs(300));
/// keepalive.timeout = Duration::from_secs(10);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// How long to wait between an answer and the next PING; at least 1 ms. Servers of gRPC's own
    /// libraries end a connection with PINGs more often than every 5 minutes, unless they are told
    /// otherwise.
    pub interval: Duration,
    /// How long the answer to a PING may take. Default 20 seconds, as in gRPC's own libraries.
    pub timeout: Duration,
    /// Whether PINGs are sent while no call is under way, too. Default: no.
    pub without_calls: bool,
}

impl Keepalive {
    /// PINGs so far apart, with the defaults for all else.
    pub fn every(interval: Duration) -> Self {
        Keepalive {
            interval,
            timeout: Duration::from_secs(20),
            without_calls: false,
        }
    }

    /// Sends PINGs, and is over once one is left without an answer.
    async fn watch(self, mut pings: PingPong, has_calls: impl Fn() -> bool) {
        let interval = self.interval.max(Duration::from_millis(1));
        loop {
            sleep(interval).await;
            if !self.without_calls && !has_calls() {
                continue;
            }
            let answer = timeout(self.timeout, pings.ping(Ping::opaque()));
            if !matches!(answer.await, Ok(Ok(_))) {
                return;
            }
        }
    }
}

/// Waits until the other end of a connection leaves a PING without an answer, for ever where none
/// are sent.
pub(crate) async fn gone(
    keepalive: Option<Keepalive>,
    pings: Option<PingPong>,
    has_calls: impl Fn() -> bool,
) {
    match (keepalive, pings) {
        (Some(keepalive), Some(pings)) => keepalive.watch(pings, has_calls).await,
        _ => pending().await,
    }
}

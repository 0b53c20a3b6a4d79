//! Metrics for a collector, by OTLP over gRPC.

mod messages;
mod metrics;

use super::Statistics;
use crate::ChannelBuilder;
use crate::otlp::Collector;
use messages::{METRICS, Request};
use metrics::metrics;
use std::fmt;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

/// Sends the statistics of a server to a collector of OpenTelemetry, by OTLP over gRPC, from a
/// thread of its own. Dropped, it sends them once more. The names are those of OpenTelemetry's
/// conventions for RPC where these have one; `docs/statistics.md` lists them.
///
/// Port 4317 is the usual one. Sums are since the start of the server, so that a collector which
/// cannot be reached for a while misses nothing.
///
/// ```no_run
/// use dovetail::statistics::{Otlp, Statistics};
/// use dovetail::{Channel, Server};
/// use std::time::Duration;
///
/// # fn serve(orders: impl dovetail::Service) -> Result<(), Box<dyn std::error::Error>> {
/// let statistics = Statistics::new();
/// let server = Server::new().service(orders).statistics(&statistics);
/// let collector = Channel::builder("tcp://127.0.0.1:4317")?;
/// let export = Otlp::start(&statistics, collector, "shop", &[], Duration::from_secs(60))?;
/// # drop((server, export));
/// # Ok(())
/// # }
/// ```
pub struct Otlp {
    /// `None` once it has ended.
    flushes: Option<SyncSender<SyncSender<bool>>>,
    sender: Option<JoinHandle<()>>,
}

impl Otlp {
    /// Begins to send, by a channel with these settings: its address, its TLS, the headers that a
    /// collector wants. `service` is the `service.name` of this process, the attributes are further
    /// ones of OpenTelemetry's resource; `every` is the time between two exports.
    ///
    /// # Errors
    ///
    /// The thread cannot be started.
    pub fn start(
        statistics: &Statistics,
        collector: ChannelBuilder,
        service: &str,
        attributes: &[(&str, &str)],
        every: Duration,
    ) -> io::Result<Self> {
        let exporter = Exporter {
            statistics: statistics.clone(),
            collector: Collector::new(collector, service, attributes)?,
            every,
        };
        let (flushes, asked) = sync_channel(1);
        let thread = thread::Builder::new().name("dovetail-otlp".to_owned());
        let sender = thread.spawn(move || exporter.run(&asked))?;
        Ok(Otlp {
            flushes: Some(flushes),
            sender: Some(sender),
        })
    }

    /// Sends the statistics now. Returns false if the collector has not taken them in this time.
    pub fn flush(&self, within: Duration) -> bool {
        let (done, is_done) = sync_channel(1);
        let flushes = self.flushes.as_ref();
        let sent = flushes.is_some_and(|flushes| flushes.send(done).is_ok());
        sent && is_done.recv_timeout(within).unwrap_or(false)
    }
}

impl Drop for Otlp {
    fn drop(&mut self) {
        drop(self.flushes.take());
        if let Some(sender) = self.sender.take() {
            // A panic there has been reported.
            let _ = sender.join();
        }
    }
}

impl fmt::Debug for Otlp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Otlp").finish_non_exhaustive()
    }
}

/// The thread that sends.
struct Exporter {
    statistics: Statistics,
    collector: Collector,
    every: Duration,
}

impl Exporter {
    /// Sends until the handle is dropped.
    fn run(self, flushes: &Receiver<SyncSender<bool>>) {
        loop {
            match flushes.recv_timeout(self.every) {
                Ok(done) => {
                    // The caller may wait no longer.
                    let _ = done.send(self.send());
                }
                Err(RecvTimeoutError::Timeout) => drop(self.send()),
                Err(RecvTimeoutError::Disconnected) => {
                    self.send();
                    return;
                }
            }
        }
    }

    /// Returns false if the collector has not taken all.
    fn send(&self) -> bool {
        let metrics = metrics(&self.statistics.snapshot(), SystemTime::now());
        let request = Request::new(&self.collector.resource, metrics);
        match self.collector.send(&METRICS.methods[0], &request) {
            Ok(None) => true,
            Ok(Some(refused)) => {
                let (points, why) = (refused.rejected, refused.message);
                tracing::warn!(points, why, "the collector has refused metrics");
                false
            }
            Err(error) => {
                tracing::warn!(%error, "metrics did not reach the collector");
                false
            }
        }
    }
}

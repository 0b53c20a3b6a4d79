//! Spans for a collector, by OTLP over gRPC.

mod messages;

use super::{Span, SpanRecorder};
use crate::ChannelBuilder;
use crate::otlp::Collector;
use messages::{TRACES, request};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Spans that wait to be sent. Later ones are lost, and counted.
const QUEUE: usize = 2048;

/// Spans that are sent in one call.
const BATCH: usize = 512;

/// A span waits no longer for others to be sent with it.
const LONGEST: Duration = Duration::from_secs(1);

/// Sends spans to a collector of OpenTelemetry by OTLP over gRPC, in batches, from a thread of its
/// own. Dropped, it sends what is left. Clones are the same.
///
/// Port 4317 is the usual one. A collector that cannot be reached costs spans, and no call waits
/// for it: [`lost`](Self::lost) counts them.
///
/// ```no_run
/// use dovetail::trace::{Otlp, Tracing};
/// use dovetail::{Channel, Server};
///
/// # fn serve(orders: impl dovetail::Service) -> Result<(), Box<dyn std::error::Error>> {
/// let collector = Channel::builder("tcp://127.0.0.1:4317")?;
/// let tracing = Tracing::new(Otlp::start(collector, "shop", &[("deployment.environment.name", "test")])?);
/// let server = Server::new().service(orders).tracing(&tracing);
/// # drop(server);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Otlp(Arc<Inner>);

struct Inner {
    /// `None` once it has ended.
    queue: Option<SyncSender<Message>>,
    lost: Arc<AtomicU64>,
    sender: Option<JoinHandle<()>>,
}

enum Message {
    Span(Box<Span>),
    /// Everything before it is to be sent, which is then told.
    Flush(SyncSender<()>),
}

impl Otlp {
    /// Begins to send spans by a channel with these settings: its address, its TLS, the headers
    /// that a collector wants. `service` is the `service.name` of this process, the attributes are
    /// further ones of OpenTelemetry's resource. An error where there is no thread to be had.
    pub fn start(
        collector: ChannelBuilder,
        service: &str,
        attributes: &[(&str, &str)],
    ) -> io::Result<Self> {
        let lost = Arc::<AtomicU64>::default();
        let (queue, messages) = sync_channel(QUEUE);
        let exporter = Exporter {
            collector: Collector::new(collector, service, attributes)?,
            lost: lost.clone(),
        };
        let thread = thread::Builder::new().name("dovetail-otlp".to_owned());
        let sender = thread.spawn(move || exporter.run(&messages))?;
        Ok(Otlp(Arc::new(Inner {
            queue: Some(queue),
            lost,
            sender: Some(sender),
        })))
    }

    /// Sends everything that was recorded until now. Returns false if that took longer.
    pub fn flush(&self, within: Duration) -> bool {
        let (done, is_done) = sync_channel(1);
        let queue = self.0.queue.as_ref();
        let sent = queue.is_some_and(|queue| queue.send(Message::Flush(done)).is_ok());
        sent && is_done.recv_timeout(within).is_ok()
    }

    /// Returns how many spans were lost: there were too many of them, or the collector did not take
    /// them.
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Relaxed)
    }
}

impl SpanRecorder for Otlp {
    fn record(&self, span: Span) {
        let Some(queue) = &self.0.queue else {
            return;
        };
        if queue.try_send(Message::Span(Box::new(span))).is_err() {
            self.0.lost.fetch_add(1, Relaxed);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(sender) = self.sender.take() {
            // A panic there has been reported.
            let _ = sender.join();
        }
    }
}

impl fmt::Debug for Otlp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Otlp")
            .field("lost", &self.lost())
            .finish_non_exhaustive()
    }
}

/// The thread that sends.
struct Exporter {
    collector: Collector,
    lost: Arc<AtomicU64>,
}

impl Exporter {
    /// Sends until nobody records any longer.
    fn run(self, messages: &Receiver<Message>) {
        let mut spans = Vec::new();
        let mut due = Instant::now() + LONGEST;
        loop {
            let wait = match spans.is_empty() {
                true => Duration::MAX,
                false => due.saturating_duration_since(Instant::now()),
            };
            let message = match wait {
                Duration::MAX => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
                wait => messages.recv_timeout(wait),
            };
            match message {
                Ok(Message::Span(span)) => {
                    if spans.is_empty() {
                        due = Instant::now() + LONGEST;
                    }
                    spans.push(*span);
                    if spans.len() >= BATCH {
                        self.send(&mut spans);
                    }
                }
                Ok(Message::Flush(done)) => {
                    self.send(&mut spans);
                    // It may wait no longer.
                    let _ = done.send(());
                }
                Err(RecvTimeoutError::Timeout) => self.send(&mut spans),
                Err(RecvTimeoutError::Disconnected) => {
                    self.send(&mut spans);
                    return;
                }
            }
        }
    }

    fn send(&self, spans: &mut Vec<Span>) {
        if spans.is_empty() {
            return;
        }
        let request = request(&self.collector.resource, spans);
        let lost = match self.collector.send(&TRACES.methods[0], &request) {
            Ok(None) => 0,
            Ok(Some(refused)) => {
                let (spans, why) = (refused.rejected, refused.message);
                tracing::warn!(spans, why, "the collector has refused spans");
                spans.unsigned_abs()
            }
            Err(error) => {
                tracing::warn!(spans = spans.len(), %error, "spans did not reach the collector");
                spans.len() as u64
            }
        };
        self.lost.fetch_add(lost, Relaxed);
        spans.clear();
    }
}

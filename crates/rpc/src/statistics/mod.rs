//! Statistics: calls by method, wire and outcome, with their times and sizes. `docs/statistics.md`
//! has the names that are exported.
//!
//! ```text
//!   call ──► before: in flight +1     after: outcome, time, bytes, items ──► shard of this thread
//!                                                                                 │
//!                                    snapshot, /metrics ◄── sums of all shards ◄──┘
//! ```

mod cell;
mod cells;
mod exemplars;
mod histogram;
mod numbers;
#[cfg(feature = "grpc")]
mod otlp;
mod prometheus;
mod snapshot;

pub use histogram::Histogram;
#[cfg(feature = "grpc")]
pub use otlp::Otlp;
pub use snapshot::{MethodStatistics, Snapshot};

use crate::method::ServiceDescriptor;
use crate::observer::Observer;
use crate::peer::intercept::{CallEnd, CallHead, Decision, Outcome, ServerInterceptor};
use crate::web::Page;
use crate::{Context, Status, names};
use cell::Cell;
use cells::MethodCells;
use dovetail_protocol::http::Response;
use prometheus::Format;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Counts the calls of a server, by service, method, wire and outcome, with their times and sizes.
///
/// [`Server::statistics`](crate::Server::statistics) has a server count;
/// [`Server::metrics`](crate::Server::metrics) has one, the same or another, answer `GET /metrics`
/// for Prometheus. Clones are the same. Threads count in places of their own, which are added up
/// when they are read.
///
/// ```
/// use dovetail::Server;
/// use dovetail::statistics::Statistics;
///
/// # fn serve(orders: impl dovetail::Service) -> std::io::Result<()> {
/// let statistics = Statistics::new();
/// let server = Server::new()
///     .service(orders)
///     .statistics(&statistics)
///     .listen("tcp://127.0.0.1:0")?
///     .start()?;
/// // For Prometheus, on a port that nobody else reaches.
/// let admin = Server::new()
///     .metrics(&statistics)
///     .listen("tcp://127.0.0.1:0")?
///     .start()?;
/// for method in &statistics.snapshot().methods {
///     let p99 = method.times.quantile(0.99);
///     println!("{}/{}: {} calls, p99 {p99:?}", method.service, method.method, method.calls());
/// }
/// # drop((server, admin));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Statistics(Arc<Inner>);

#[derive(Default)]
struct Inner {
    methods: OnceLock<MethodCells>,
    server: OnceLock<Arc<dyn Observer>>,
}

impl Statistics {
    /// Has counted nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Has the server's counters as well. A second server is counted with the first one's methods.
    pub(crate) fn watch(&self, server: Arc<dyn Observer>) {
        let _ = self.0.server.set(server);
    }

    /// Returns the sums of everything that was counted so far.
    pub fn snapshot(&self) -> Snapshot {
        let methods = self.0.methods.get();
        Snapshot {
            since: methods.map(MethodCells::since),
            methods: methods.map(MethodCells::methods).unwrap_or_default(),
            counters: self
                .0
                .server
                .get()
                .map(|server| server.counters())
                .unwrap_or_default(),
            connections: self.0.server.get().map_or(0, |server| server.connections()),
            channels: names::channels(),
        }
    }

    /// Returns the statistics in the text format of Prometheus, 0.0.4.
    pub fn prometheus(&self) -> String {
        prometheus::write(&self.snapshot(), Format::Prometheus)
    }

    /// Returns the statistics in the text format of OpenMetrics, 1.0.0, which has the latest
    /// [recorded](crate::trace::Tracing) call of each bucket as its exemplar.
    pub fn open_metrics(&self) -> String {
        prometheus::write(&self.snapshot(), Format::OpenMetrics)
    }

    /// Returns the page `/metrics`, in a format that its reader accepts.
    pub(crate) fn page(&self) -> Page {
        let statistics = self.clone();
        Box::new(move |request| {
            let accepted = request.headers.get("accept").unwrap_or_default();
            let format = Format::accepted(&String::from_utf8_lossy(accepted));
            let text = prometheus::write(&statistics.snapshot(), format);
            Response::new(200, format.content_type(), text)
        })
    }

    fn cell(&self, call: &Context) -> Option<(&Cell, bool)> {
        self.0.methods.get()?.cell(call)
    }
}

impl fmt::Debug for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statistics").finish_non_exhaustive()
    }
}

impl ServerInterceptor for Statistics {
    fn start(&mut self, services: &[&'static ServiceDescriptor]) -> Result<(), Status> {
        self.0.methods.get_or_init(|| MethodCells::new(services));
        Ok(())
    }

    fn before_body(&self, _: &mut CallHead<'_>) -> Result<Decision, Status> {
        Ok(Decision::Proceed)
    }

    fn before(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        if let Some((cell, alone)) = self.cell(call.context()) {
            cell.began(alone);
        }
        Ok(Decision::Proceed)
    }

    fn after(&self, call: &Context, end: &CallEnd<'_>) {
        if let Some((cell, alone)) = self.cell(call) {
            cell.ended(end, alone);
            if let Some(traced) = &call.call.trace {
                cell.traced(traced.context, end.elapsed());
            }
        }
    }
}

/// The place of an outcome among those that are counted: 0 for a result, 17 for a declared
/// exception, else the number of its code.
fn place(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Returned => 0,
        Outcome::Exception => EXCEPTION,
        Outcome::Failed(status) => status.code() as usize,
    }
}

/// The place of declared exceptions.
const EXCEPTION: usize = 17;

/// The number of outcomes.
const OUTCOMES: usize = EXCEPTION + 1;

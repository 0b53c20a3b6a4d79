//! Traces: calls as spans, which know the call in which they were made. `docs/tracing.md` has the
//! rules.
//!
//! ```text
//!   traceparent, b3 ──► server: new span ──► handler ──► client: new span ──► traceparent, b3
//!                            │                                │
//!                            └──────────► SpanRecorder ◄──────┘
//! ```

mod attributes;
mod context;
#[cfg(feature = "grpc")]
mod otlp;
mod recent;
mod span;

pub use context::{ParseTraceError, TraceContext};
#[cfg(feature = "grpc")]
pub use otlp::Otlp;
pub use recent::Recent;
pub use span::{Span, SpanKind, SpanRecorder};

pub(crate) use context::{B3, TRACEPARENT, Traced};
pub(crate) use span::is_error;

use crate::peer::intercept::{
    CallEnd, CallHead, ClientCall, ClientInterceptor, Decision, Outcome, ServerInterceptor,
};
use crate::{Context, Status};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Makes spans of calls: for a server by [`Server::tracing`](crate::Server::tracing), for a channel
/// as an [interceptor](crate::blocking::ChannelBuilder::intercept). Clones are the same.
///
/// Without it a server passes trace headers on from its callers to the calls that handlers make.
/// With it those calls have the span of the server as their parent, and spans go to a
/// [`SpanRecorder`].
///
/// ```
/// use dovetail::trace::{Recent, Tracing};
/// use dovetail::{Server, blocking::Channel};
/// use std::time::Duration;
///
/// # fn serve(orders: impl dovetail::Service) -> Result<(), dovetail::Status> {
/// let recent = Recent::new(1000);
/// let tracing = Tracing::new(recent.clone())
///     .sample(0.01)
///     .slow(Duration::from_secs(1));
/// let stock = Channel::builder("tcp://stock:9090")?.intercept(tracing.clone()).build();
/// let server = Server::new().service(orders).tracing(&tracing);
/// # drop((stock, server));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Tracing {
    recorder: Arc<dyn SpanRecorder>,
    sampling: Arc<Sampling>,
    failures: bool,
}

/// The choice of calls that are recorded, which can change while they run.
#[derive(Debug)]
struct Sampling {
    /// The bits of the part of traces that begin here and are recorded.
    ratio: AtomicU64,
    /// Nanoseconds from which on a call is slow.
    slow: AtomicU64,
}

impl Sampling {
    fn new(ratio: f64, slow: Option<Duration>) -> Self {
        let sampling = Sampling {
            ratio: AtomicU64::new(0),
            slow: AtomicU64::new(0),
        };
        sampling.set(ratio, slow);
        sampling
    }

    fn set(&self, ratio: f64, slow: Option<Duration>) {
        let slow = slow.map_or(u64::MAX, |slow| {
            u64::try_from(slow.as_nanos()).unwrap_or(u64::MAX)
        });
        self.ratio.store(ratio.to_bits(), Ordering::Relaxed);
        self.slow.store(slow, Ordering::Relaxed);
    }

    fn ratio(&self) -> f64 {
        f64::from_bits(self.ratio.load(Ordering::Relaxed))
    }

    fn slow(&self) -> Option<Duration> {
        let slow = self.slow.load(Ordering::Relaxed);
        (slow < u64::MAX).then(|| Duration::from_nanos(slow))
    }
}

impl Tracing {
    /// Records all calls whose callers have decided so, all that begin a trace here, and all that
    /// fail.
    pub fn new(recorder: impl SpanRecorder) -> Self {
        Tracing {
            recorder: Arc::new(recorder),
            sampling: Arc::new(Sampling::new(1.0, None)),
            failures: true,
        }
    }

    /// Records this part, 0 to 1, of the traces that begin here. Default: 1.
    #[must_use]
    pub fn sample(mut self, ratio: f64) -> Self {
        self.sampling = Arc::new(Sampling::new(ratio, self.sampling.slow()));
        self
    }

    /// Records calls that take this long or longer, whatever was decided at their beginning.
    /// Default: none.
    #[must_use]
    pub fn slow(mut self, slow: Duration) -> Self {
        self.sampling = Arc::new(Sampling::new(self.sampling.ratio(), Some(slow)));
        self
    }

    /// Chooses whether calls that [fail](Span::is_error) are recorded, whatever was decided at
    /// their beginning. Default: yes.
    #[must_use]
    pub fn failures(mut self, failures: bool) -> Self {
        self.failures = failures;
        self
    }

    /// Changes both choices for this and its clones.
    #[cfg(feature = "config")]
    pub(crate) fn resample(&self, ratio: f64, slow: Option<Duration>) {
        self.sampling.set(ratio, slow);
    }

    /// Makes the span of a call that was made in this one.
    fn begin(&self, parent: Option<TraceContext>) -> Traced {
        let context = match parent {
            Some(parent) => parent.child(),
            None => {
                let ratio = self.sampling.ratio();
                TraceContext::root(ratio >= 1.0 || fastrand::f64() < ratio)
            }
        };
        Traced {
            context,
            parent: parent.map(TraceContext::span_id),
        }
    }

    /// Returns true if a call is to be recorded at its end.
    fn records(&self, traced: &Traced, kind: SpanKind, end: &Outcome, elapsed: Duration) -> bool {
        traced.context.is_sampled()
            || self.sampling.slow().is_some_and(|slow| elapsed >= slow)
            || (self.failures && span::is_error(kind, end.code()))
    }
}

impl Context {
    /// Returns the place of the call in a trace: its own span with [`Tracing`], otherwise that of
    /// its caller; `None` if neither is known.
    pub fn trace(&self) -> Option<TraceContext> {
        let own = self.call.trace.map(|traced| traced.context);
        own.or_else(|| TraceContext::find(|name| self.header(name)))
    }
}

impl ServerInterceptor for Tracing {
    fn before_body(&self, _: &mut CallHead<'_>) -> Result<Decision, Status> {
        Ok(Decision::Proceed)
    }

    fn before(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        let parent = TraceContext::find(|name| call.header(name));
        call.set_trace(self.begin(parent));
        Ok(Decision::Proceed)
    }

    fn after(&self, call: &Context, end: &CallEnd<'_>) {
        let Some(traced) = &call.call.trace else {
            return;
        };
        let (outcome, elapsed) = (end.outcome(), end.elapsed());
        if !self.records(traced, SpanKind::Server, outcome, elapsed) {
            return;
        }
        self.recorder.record(Span::served(call, end));
    }
}

impl ClientInterceptor for Tracing {
    fn before(&self, call: &mut ClientCall<'_>) -> Result<(), Status> {
        let has_b3 = call.header(B3).is_some();
        let parent = TraceContext::find(|name| call.header(name));
        let traced = self.begin(parent);
        call.insert_header(TRACEPARENT, traced.context.to_string());
        if has_b3 {
            call.insert_header(B3, traced.context.b3());
        }
        call.insert(traced);
        Ok(())
    }

    fn after(&self, call: &ClientCall<'_>, answer: Result<(), &Status>) {
        let Some(traced) = call.get::<Traced>() else {
            return;
        };
        let outcome = match answer {
            Ok(()) => Outcome::Returned,
            Err(status) => Outcome::Failed(status.clone()),
        };
        let elapsed = call.elapsed();
        if !self.records(traced, SpanKind::Client, &outcome, elapsed) {
            return;
        }
        self.recorder.record(Span {
            context: traced.context,
            parent: traced.parent,
            kind: SpanKind::Client,
            service: call.service().unwrap_or_default().to_owned().into(),
            method: call.name().to_owned().into(),
            wire: call.wire(),
            peer: None,
            start: span::began(elapsed),
            elapsed,
            outcome,
        });
    }
}

impl fmt::Debug for Tracing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracing")
            .field("ratio", &self.sampling.ratio())
            .field("slow", &self.sampling.slow())
            .field("failures", &self.failures)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "config"))]
mod tests {
    use super::*;

    #[test]
    fn a_change_counts_for_all_clones() {
        let tracing = Tracing::new(Recent::new(1)).failures(false);
        let clone = tracing.clone();
        let other = tracing.clone().sample(1.0);
        let recorded = |tracing: &Tracing, elapsed| {
            let elapsed = Duration::from_millis(elapsed);
            let traced = tracing.begin(None);
            tracing.records(&traced, SpanKind::Server, &Outcome::Returned, elapsed)
        };
        assert!(recorded(&clone, 0));
        tracing.resample(0.0, Some(Duration::from_millis(5)));
        assert_eq!([4, 5].map(|it| recorded(&clone, it)), [false, true]);
        assert!(recorded(&other, 0));
        tracing.resample(0.0, None);
        assert!(!recorded(&clone, 1_000_000));
    }
}

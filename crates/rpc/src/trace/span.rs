use super::TraceContext;
use crate::method::path;
use crate::peer::intercept::{CallEnd, Outcome};
use crate::{Code, Context, Wire};
use std::borrow::Cow;
use std::time::{Duration, SystemTime};

/// A call, as a part of a trace: at the server that has run it, or at the client that has made it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Span {
    /// Its place in the trace. Not [sampled](TraceContext::is_sampled) where it was recorded
    /// because it failed or was slow.
    pub context: TraceContext,
    /// The span in which the call was made; `None` at the root.
    pub parent: Option<u64>,
    /// The end that has recorded it.
    pub kind: SpanKind,
    /// The service with its package; empty for functions.
    pub service: Cow<'static, str>,
    /// The method.
    pub method: Cow<'static, str>,
    /// The wire.
    pub wire: Wire,
    /// The caller's address; `None` at the client.
    pub peer: Option<String>,
    /// The time of the beginning.
    pub start: SystemTime,
    /// The time that the call took.
    pub elapsed: Duration,
    /// How it ended. At the client a declared exception is a result.
    pub outcome: Outcome,
}

/// The end of a call that has recorded a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// The server.
    Server,
    /// The client.
    Client,
}

impl Span {
    /// Makes the span of a call that a server has run. Without a trace it is the root of one.
    pub(crate) fn served(call: &Context, end: &CallEnd<'_>) -> Self {
        let parent = call.call.trace.and_then(|traced| traced.parent);
        let context = call.trace();
        let service = call.called().map(|(service, _)| service.full_name());
        Span {
            context: context.unwrap_or_else(|| TraceContext::root(false)),
            parent,
            kind: SpanKind::Server,
            service: service.unwrap_or_default(),
            method: Cow::Borrowed(call.call.method),
            wire: call.wire(),
            peer: Some(call.peer().to_owned()),
            start: began(end.elapsed()),
            elapsed: end.elapsed(),
            outcome: end.outcome().clone(),
        }
    }

    /// Returns service and method as OpenTelemetry names them: `shop.v1.Orders/place`.
    pub fn name(&self) -> String {
        path(&self.service, &self.method)
    }

    /// Returns true if the call has failed by a fault of this end: at a client by any status, at a
    /// server by those that are not a caller's mistake. OpenTelemetry has the same list for gRPC.
    pub fn is_error(&self) -> bool {
        is_error(self.kind, self.outcome.code())
    }

    /// Returns its attributes, by the names of OpenTelemetry's semantic conventions for RPC.
    pub fn attributes(&self) -> Vec<(&'static str, String)> {
        super::attributes::attributes(self)
    }
}

/// Returns the start of a call that has just ended. Only recorded calls read the clock of the day.
pub(super) fn began(elapsed: Duration) -> SystemTime {
    let now = SystemTime::now();
    now.checked_sub(elapsed).unwrap_or(now)
}

pub(crate) fn is_error(kind: SpanKind, code: Option<Code>) -> bool {
    match (kind, code) {
        (_, None) => false,
        (SpanKind::Client, Some(_)) => true,
        (SpanKind::Server, Some(code)) => matches!(
            code,
            Code::Unknown
                | Code::DeadlineExceeded
                | Code::Unimplemented
                | Code::Internal
                | Code::Unavailable
                | Code::DataLoss
        ),
    }
}

/// Takes the spans that are recorded, at the end of their calls: to send them away, or to keep some
/// of them ([`Recent`](super::Recent)).
pub trait SpanRecorder: Send + Sync + 'static {
    /// Takes a span, on the thread of its call, which must not wait.
    fn record(&self, span: Span);
}

impl<F: Fn(Span) + Send + Sync + 'static> SpanRecorder for F {
    fn record(&self, span: Span) {
        self(span);
    }
}

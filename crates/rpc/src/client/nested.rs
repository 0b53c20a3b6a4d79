//! Calls that a handler makes: they take over from the call that it answers what belongs to the
//! whole.

use super::failures::nested_too_late;
use super::options::Options;
use super::policies::shorter;
use crate::peer::context::CallInfo;
use crate::peer::intercept::{Callee, Intercepted};
use crate::peer::outgoing::Outgoing;
use crate::trace::{B3, TRACEPARENT};
use crate::{Status, clock};
use dovetail_protocol::Headers;
use std::time::Duration;

/// The headers that nested calls take over: how critical a call is, W3C's Trace Context and
/// Baggage, and Zipkin's B3.
const INHERITED: &[&str] = &[
    crate::throttle::Criticality::HEADER,
    TRACEPARENT,
    "tracestate",
    "baggage",
    B3,
    "x-b3-traceid",
    "x-b3-spanid",
    "x-b3-parentspanid",
    "x-b3-sampled",
    "x-b3-flags",
];

/// The deadline and the headers that a call takes over from the call in whose handler it is made,
/// and from interceptors. Empty outside of handlers, and without interceptors.
#[derive(Default)]
pub(super) struct Nested<'a> {
    left: Option<Duration>,
    /// The headers of the channel, and those of the trace.
    headers: Option<Headers>,
    /// On the heap: most calls have none, and all have room for it.
    intercepted: Option<Box<Intercepted<'a>>>,
}

impl<'a> Nested<'a> {
    /// Looks at the handler that runs on this thread, and has interceptors look at the call. An
    /// error where the handler's call has no time left, or an interceptor refuses.
    pub(super) fn here(options: &'a Options, callee: Callee<'a>) -> Result<Self, Status> {
        let nested = Self::inherited(options)?;
        if options.interceptors.is_empty() {
            return Ok(nested);
        }
        let headers = nested.headers.unwrap_or_else(|| options.headers.clone());
        let intercepted = Intercepted::begin(&options.interceptors, callee, headers)?;
        Ok(Nested {
            left: shorter(nested.left, intercepted.limit()),
            headers: None,
            intercepted: Some(Box::new(intercepted)),
        })
    }

    /// Tells interceptors how the call has ended.
    pub(super) fn done<T>(&mut self, answer: &Result<T, Status>) {
        if let Some(intercepted) = self.intercepted.take() {
            intercepted.done(answer.as_ref().map(drop));
        }
    }

    fn inherited(options: &Options) -> Result<Self, Status> {
        if !options.inherits {
            return Ok(Nested::default());
        }
        CallInfo::current(|call| {
            let now = clock::now();
            let left = call
                .deadline
                .map(|deadline| deadline.saturating_duration_since(now));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(nested_too_late(call.method));
            }
            Ok(Nested {
                left,
                headers: traced(&options.headers, call),
                intercepted: None,
            })
        })
        .unwrap_or_else(|| Ok(Nested::default()))
    }

    /// Limits a time to what the outer call has left.
    pub(super) fn limit(&self, own: Duration) -> Duration {
        self.left.map_or(own, |left| left.min(own))
    }

    /// Limits a time that may be unlimited.
    pub(super) fn limit_streams(&self, own: Option<Duration>) -> Option<Duration> {
        shorter(own, self.left)
    }

    /// Adds to a call what it takes over.
    pub(super) fn call<'c, P>(&'c self, call: Outgoing<'c, P>) -> Outgoing<'c, P> {
        let intercepted = self.intercepted.as_ref();
        let headers = intercepted.map(|intercepted| &intercepted.call.headers);
        Outgoing {
            timeout: self.limit_streams(call.timeout),
            headers: headers.or(self.headers.as_ref()).unwrap_or(call.headers),
            ..call
        }
    }
}

/// Returns the headers of a channel with those of a trace; `None` where there is none. What the
/// channel says itself counts.
fn traced(own: &Headers, outer: &CallInfo) -> Option<Headers> {
    let is_own = |name: &str| own.get(name).is_some();
    let mut headers = None;
    let mut push = |name: &str, value: Vec<u8>| {
        let headers = headers.get_or_insert_with(|| own.clone());
        headers.push(name, value);
    };
    for name in INHERITED.iter().filter(|name| !is_own(name)) {
        let value = outer.headers.get(name);
        // The span of the outer call takes the place of its parent.
        let value = match &outer.trace {
            Some(traced) if *name == TRACEPARENT => Some(traced.context.to_string().into_bytes()),
            Some(traced) if *name == B3 && value.is_some() => {
                Some(traced.context.b3().into_bytes())
            }
            Some(_) if name.starts_with("x-b3-") => None,
            _ => value.map(<[u8]>::to_vec),
        };
        if let Some(value) = value {
            push(name, value);
        }
    }
    headers
}

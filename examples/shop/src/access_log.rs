//! A line for each call, and a number by which its caller can name it.

use dovetail::intercept::{CallEnd, CallHead, Decision, ServerInterceptor};
use dovetail::{Context, Status};
use std::sync::atomic::{AtomicU64, Ordering};

/// Prints each call with its caller and its outcome. It is the outermost interceptor: refused calls
/// have a line, too.
pub(crate) struct AccessLog;

/// The number of a call.
struct Number(u64);

static NEXT: AtomicU64 = AtomicU64::new(1);

impl ServerInterceptor for AccessLog {
    /// Nobody behind this one looks at what `before` does: calls may be refused by their heads.
    fn before_body(&self, _: &mut CallHead<'_>) -> Result<Decision, Status> {
        Ok(Decision::Proceed)
    }

    fn before(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        call.insert(Number(number));
        // A wire without headers drops it.
        call.add_response_header("request-number", number.to_string())?;
        Ok(Decision::Proceed)
    }

    fn after(&self, call: &Context, end: &CallEnd<'_>) {
        let number = call.get::<Number>().map_or(0, |number| number.0);
        let caller = call.principal().map_or("nobody", |caller| caller.name());
        let outcome = match end.outcome().code() {
            Some(code) => code.to_string(),
            None => "ok".to_owned(),
        };
        let (method, elapsed) = (call.method(), end.elapsed());
        eprintln!(
            "{number} {} {caller} {method} {outcome} {elapsed:?}",
            call.wire()
        );
    }
}

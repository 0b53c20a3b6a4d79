//! A line for each call that a server has answered.

mod line;
mod lines;

#[cfg(feature = "config")]
pub(crate) use lines::Rotating;

use crate::peer::intercept::{CallEnd, CallHead, Decision, Outcome, ServerInterceptor};
use crate::{Context, Status};
use line::Entry;
use lines::Lines;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Writes a line for each call, or for a part of them; see
/// [`Server::access_log`](crate::Server::access_log).
///
/// The lines say when a call ended, its method, wire, caller, outcome, time and sizes, never its
/// parameters or its result. A thread writes them: a call does not wait for the disk. While that is
/// too slow, lines are left out, and counted. Clones are the same log; with the last one it writes
/// what is left.
///
/// ```
/// use dovetail::Server;
/// use dovetail::server::AccessLog;
/// use std::time::Duration;
///
/// # fn run() -> std::io::Result<()> {
/// let log = AccessLog::file("/var/log/shop/access.log")?
///     .json()
///     .sample(0.01)
///     .slow(Duration::from_millis(200));
/// let server = Server::new()
///     .bind("double", |n: i64| n * 2)
///     .access_log(&log);
/// # Ok(())
/// # }
/// ```
///
/// A line is `name=value` pairs, or with [`json`](Self::json) an object with the same names:
///
/// ```text
/// time=2026-11-27T23:50:57.123Z method=shop.v1.Orders/place wire=grpc peer=10.0.0.7:40112 principal=alice code=OK ms=1.203 received=34 sent=120
/// ```
#[derive(Clone)]
pub struct AccessLog {
    lines: Arc<Lines>,
    json: bool,
    ratio: f64,
    slow: Duration,
}

impl AccessLog {
    /// A log that goes to a writer, line by line. Default: all calls, as `name=value`.
    pub fn to(writer: impl Write + Send + 'static) -> io::Result<Self> {
        Ok(AccessLog {
            lines: Arc::new(Lines::to(Box::new(writer))?),
            json: false,
            ratio: 1.0,
            slow: Duration::MAX,
        })
    }

    /// A log that is appended to a file. When the file is renamed or removed, as tools do that
    /// rotate logs, it is made anew.
    pub fn file(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::to(lines::Rotating::open(path.as_ref())?)
    }

    /// Writes JSON, an object on each line.
    #[must_use]
    pub fn json(mut self) -> Self {
        self.json = true;
        self
    }

    /// Writes this part, 0 to 1, of the calls that have returned. Calls that have failed and slow
    /// ones are always written. Default: 1.
    #[must_use]
    pub fn sample(mut self, ratio: f64) -> Self {
        self.ratio = ratio;
        self
    }

    /// Writes all calls that take this long or longer, whatever part is written. Default: none.
    #[must_use]
    pub fn slow(mut self, slow: Duration) -> Self {
        self.slow = slow;
        self
    }

    /// Returns the log with all its options.
    #[cfg(feature = "config")]
    pub(crate) fn with_options(self, json: bool, ratio: f64, slow: Duration) -> Self {
        AccessLog {
            json,
            ratio,
            slow,
            ..self
        }
    }

    /// Returns how many lines were left out because the writer was too slow, or has failed.
    pub fn left_out(&self) -> u64 {
        self.lines.left_out()
    }

    fn writes(&self, end: &CallEnd<'_>) -> bool {
        !matches!(end.outcome(), Outcome::Returned)
            || end.elapsed() >= self.slow
            || self.ratio >= 1.0
            || fastrand::f64() < self.ratio
    }
}

impl ServerInterceptor for AccessLog {
    fn before_body(&self, _: &mut CallHead<'_>) -> Result<Decision, Status> {
        Ok(Decision::Proceed)
    }

    fn before(&self, _: &mut CallHead<'_>) -> Result<Decision, Status> {
        Ok(Decision::Proceed)
    }

    fn after(&self, call: &Context, end: &CallEnd<'_>) {
        if self.writes(end) {
            let entry = Entry::of(call, end);
            self.lines.push(match self.json {
                true => entry.json(),
                false => entry.text(),
            });
        }
    }
}

impl fmt::Debug for AccessLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessLog")
            .field("json", &self.json)
            .field("ratio", &self.ratio)
            .field("slow", &self.slow)
            .finish_non_exhaustive()
    }
}

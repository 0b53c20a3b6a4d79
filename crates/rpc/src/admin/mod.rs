//! The administration of a running server, on a listener of its own. `docs/admin.md` has the rules.
//!
//! ```text
//!   server ──► Watch, Statistics ──► Admin ──► dovetail.admin.v1.Admin, console, /metrics, /health, /ready
//! ```

mod calls;
#[cfg(feature = "grpc")]
mod channelz;
mod contract;
#[cfg(feature = "export")]
mod document;
mod invoke;
mod messages;
mod service;

#[cfg(feature = "grpc")]
pub(crate) use channelz::Channelz;
#[cfg(feature = "async")]
pub(crate) use messages::ADMIN;
pub(crate) use messages::Reloaded;

use crate::Status;
use crate::capture::{CaptureFilter, Recorder};
use crate::observer::Observer;
use crate::peer::intercept::ServerInterceptor;
use crate::peer::streams::Items;
use crate::statistics::Statistics;
use crate::throttle::Refusals;
use crate::web::Page;
use calls::{Calls, Watch};
use dovetail_protocol::http::{Request, Response};
use dovetail_wire::Bytes;
use invoke::Invocations;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

/// The administration of a server: it sees the calls and connections of the server that it is given
/// to by [`Server::administered`](crate::Server::administered), and another server shows it by
/// [`Server::admin`](crate::Server::admin). Clones are the same.
///
/// ```
/// use dovetail::Server;
/// use dovetail::admin::Admin;
///
/// # fn serve(orders: impl dovetail::Service) -> std::io::Result<()> {
/// let admin = Admin::new();
/// let server = Server::new()
///     .service(orders)
///     .administered(&admin)
///     .listen("tcp://127.0.0.1:0")?
///     .start()?;
/// // A browser finds the console here, Prometheus `/metrics`, and a supervisor `/health` and `/ready`.
/// let console = Server::new()
///     .admin(&admin)
///     .listen("tcp://127.0.0.1:0")?
///     .start()?;
/// # drop((server, console));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Admin(Arc<Inner>);

/// The configuration of a program, as its administrators see it.
pub(crate) trait Configuration: Send + Sync + 'static {
    /// Returns the refusals of its quotas.
    fn refusals(&self) -> Option<Refusals>;

    /// Returns it as a file, with all keys.
    fn show(&self) -> String;

    /// Reads it again.
    fn reload(&self) -> Result<Reloaded, Status>;

    /// Sets a key while the program runs, in the name of an administrator, or takes the value back.
    /// Returns the keys that have changed.
    fn set(&self, key: &str, value: Option<&str>, by: &str) -> Result<Vec<String>, Status>;
}

struct Inner {
    statistics: Statistics,
    calls: Arc<Calls>,
    recorder: Arc<Recorder>,
    invocations: Invocations,
    server: OnceLock<Arc<dyn Observer>>,
    refusals: OnceLock<Refusals>,
    config: OnceLock<Box<dyn Configuration>>,
    made: SystemTime,
    drain: Drain,
}

/// The request of an administrator that the program ends.
#[derive(Default)]
struct Drain {
    time: Mutex<Option<Duration>>,
    asked: Condvar,
}

impl Drain {
    fn lock(&self) -> MutexGuard<'_, Option<Duration>> {
        self.time.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, time: Duration) {
        *self.lock() = Some(time);
        self.asked.notify_all();
    }

    /// Waits until an administrator asks.
    fn wait(&self) -> Duration {
        let mut time = self.lock();
        loop {
            match *time {
                Some(time) => return time,
                None => {
                    time = self
                        .asked
                        .wait(time)
                        .unwrap_or_else(PoisonError::into_inner)
                }
            }
        }
    }
}

impl Default for Admin {
    fn default() -> Self {
        Admin(Arc::new(Inner {
            statistics: Statistics::new(),
            calls: Arc::new(Calls::new()),
            recorder: Arc::default(),
            invocations: Invocations::default(),
            server: OnceLock::new(),
            refusals: OnceLock::new(),
            config: OnceLock::new(),
            made: SystemTime::now(),
            drain: Drain::default(),
        }))
    }
}

impl Admin {
    /// Knows no server yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows the refusals of this throttle as well. The first ones count.
    #[must_use]
    pub fn with_refusals(self, refusals: Refusals) -> Self {
        let _ = self.0.refusals.set(refusals);
        self
    }

    /// Waits until an administrator asks the program to end (`drain`). Returns how long calls that
    /// run may go on:
    ///
    /// ```no_run
    /// # fn serve(running: dovetail::Running, admin: dovetail::admin::Admin) {
    /// let drain = admin.wait_for_drain();
    /// running.shutdown(drain);
    /// # }
    /// ```
    pub fn wait_for_drain(&self) -> Duration {
        self.0.drain.wait()
    }

    /// Captures calls of the server: the messages of those that the filter keeps. The items are the
    /// parts of a file, in order, which a [`Reader`](crate::capture::Reader) reads. The capture
    /// ends when they are dropped, too.
    ///
    /// # Errors
    ///
    /// `FAILED_PRECONDITION` where a capture runs already, `INVALID_ARGUMENT` for a filter that
    /// makes no sense.
    pub fn capture(&self, filter: &CaptureFilter) -> Result<Items<'static, Bytes>, Status> {
        self.0.recorder.start(filter).map(Items::new)
    }

    /// Returns the statistics of the server.
    pub fn statistics(&self) -> &Statistics {
        &self.0.statistics
    }

    fn known_refusals(&self) -> impl Iterator<Item = Refusals> {
        let of_config = self.0.config.get().and_then(|config| config.refusals());
        self.0.refusals.get().cloned().into_iter().chain(of_config)
    }

    #[cfg_attr(
        not(feature = "config"),
        expect(dead_code, reason = "nothing configures")
    )]
    pub(crate) fn configure(&self, config: impl Configuration) {
        // The first one stays.
        let _ = self.0.config.set(Box::new(config));
    }

    /// Sees a server. The first one counts.
    pub(crate) fn watch(&self, server: Arc<dyn Observer>) {
        let _ = self.0.server.set(server);
    }

    pub(crate) fn interceptor(&self) -> impl ServerInterceptor + use<> {
        Watch {
            calls: self.0.calls.clone(),
            recorder: self.0.recorder.clone(),
        }
    }

    /// Returns the paths that serve browsers and programs without a contract.
    pub(crate) fn pages(&self) -> Vec<(&'static str, Page)> {
        let admin = self.clone();
        let ready = move |_: &Request| match admin.is_ready() {
            true => Response::new(200, PLAIN, "ready\n"),
            false => Response::new(503, PLAIN, "not ready\n"),
        };
        let mut pages: Vec<(&'static str, Page)> = vec![
            ("/metrics", self.0.statistics.page()),
            ("/health", page(PLAIN, "ok\n")),
            ("/ready", Box::new(ready)),
        ];
        #[cfg(feature = "export")]
        pages.push(("/openapi.json", self.document_page()));
        let console = CONSOLE.iter();
        pages.extend(console.map(|(path, kind, text)| (*path, page(kind, text))));
        pages
    }

    /// Returns true if the server takes calls.
    fn is_ready(&self) -> bool {
        self.0
            .server
            .get()
            .is_some_and(|server| !server.is_draining())
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The files of the console: paths, types and texts.
const CONSOLE: [(&str, &str, &str); 10] = [
    ("/", HTML, include_str!("console/index.html")),
    ("/console.css", STYLE, include_str!("console/console.css")),
    ("/console.js", SCRIPT, include_str!("console/console.js")),
    ("/api.js", SCRIPT, include_str!("console/api.js")),
    ("/captures.js", SCRIPT, include_str!("console/captures.js")),
    ("/history.js", SCRIPT, include_str!("console/history.js")),
    ("/pages.js", SCRIPT, include_str!("console/pages.js")),
    ("/parts.js", SCRIPT, include_str!("console/parts.js")),
    ("/services.js", SCRIPT, include_str!("console/services.js")),
    ("/types.js", SCRIPT, include_str!("console/types.js")),
];

fn page(kind: &'static str, text: &'static str) -> Page {
    Box::new(move |_| secured(Response::new(200, kind, text)))
}

/// Keeps other sites away from a page: nothing of theirs is loaded, and it is in no frame of
/// theirs.
fn secured(page: Response) -> Response {
    const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                          base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    page.with("Content-Security-Policy", POLICY)
        .with("X-Content-Type-Options", "nosniff")
        .with("X-Frame-Options", "DENY")
        .with("Referrer-Policy", "no-referrer")
        .with("Cache-Control", "no-cache")
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin").finish_non_exhaustive()
    }
}

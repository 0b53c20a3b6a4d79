use super::checks::Checks;
use super::named::Named;
use super::news::News;
use super::{Reached, Server, ServerEndpoint};
use crate::client::options::Options;
use crate::{Status, clock};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A server of a name, with the options of its connections.
pub(in crate::client) struct Member<S> {
    pub(in crate::client) server: S,
    pub(in crate::client) options: Arc<Options>,
    /// Why it could not be reached the last time.
    failure: Mutex<Option<Status>>,
    /// Connections in a row that have ended as soon as they were made.
    flaps: AtomicU32,
    /// Health checks have begun.
    checked: AtomicBool,
    /// The news for health checks: a connection was made.
    pub(super) connected: News,
}

impl<S> Member<S> {
    pub(super) fn new(server: S, options: Options) -> Self {
        Member {
            server,
            options: Arc::new(options),
            failure: Mutex::default(),
            flaps: AtomicU32::new(0),
            checked: AtomicBool::new(false),
            connected: News::default(),
        }
    }

    /// A connection has ended as soon as it was made. Returns when to try again.
    pub(super) fn flapped(&self, now: Instant) -> Instant {
        let flaps = self.flaps.fetch_add(1, Relaxed) + 1;
        let chance = RandomState::new().hash_one(flaps);
        let delay = self.options.backoff.delay(flaps, chance);
        let target = &self.options.client.http.host;
        let what = format!("{target} has closed a connection as soon as it was made");
        self.fail(Some(super::unavailable(what)));
        now.checked_add(delay).unwrap_or(now)
    }

    /// A connection has been of use.
    pub(super) fn settled(&self) {
        self.flaps.store(0, Relaxed);
    }

    pub(super) fn failure(&self) -> Option<Status> {
        let failure = self.failure.lock();
        failure.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins the health checks. Returns false if they had begun before.
    pub(super) fn begin_checks(&self) -> bool {
        !self.checked.swap(true, Relaxed)
    }

    pub(super) fn fail(&self, why: Option<Status>) {
        let failure = self.failure.lock();
        *failure.unwrap_or_else(PoisonError::into_inner) = why;
    }
}

/// A connection that is being made. Dropped before it has ended, it has failed.
pub(in crate::client) struct Attempt<S: Server> {
    named: Arc<Named<S>>,
    endpoint: ServerEndpoint<S>,
    ended: bool,
}

impl<S: Server> Attempt<S> {
    pub(super) fn new(named: Arc<Named<S>>, endpoint: ServerEndpoint<S>) -> Self {
        Attempt {
            named,
            endpoint,
            ended: false,
        }
    }

    pub(in crate::client) fn member(&self) -> &Member<S> {
        self.endpoint.user()
    }

    pub(in crate::client) fn ended(mut self, reached: Reached) {
        self.end(reached);
    }

    fn end(&mut self, reached: Reached) {
        self.ended = true;
        let (balancer, now) = (self.named.balancer(), clock::now());
        let is_reached = reached.is_ok();
        match reached {
            Ok(()) => {
                self.member().fail(None);
                Checks::begin(&self.named, &self.endpoint);
                balancer.ready(now, &self.endpoint);
            }
            Err(failed) => {
                // Before the state: a caller that sees it asks for the reason.
                self.member().fail(Some(failed.why));
                balancer.failed(now, &self.endpoint, failed.again);
            }
        }
        self.named.tried(is_reached);
    }
}

impl<S: Server> Drop for Attempt<S> {
    fn drop(&mut self) {
        if !self.ended {
            let why = super::unavailable("connecting was given up".to_owned());
            let again = clock::now();
            self.end(Err(crate::client::dial::Failed { why, again }));
        }
    }
}

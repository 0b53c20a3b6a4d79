//! The calls that run, and those that have failed or were slow.

use crate::capture::Recorder;
use crate::identity::Principal;
use crate::method::ServiceDescriptor;
use crate::peer::context::Caller;
use crate::peer::intercept::{CallEnd, CallHead, Decision, Outcome, ServerInterceptor};
use crate::peer::stop::Stop;
use crate::trace::{Recent, Span, SpanRecorder};
use crate::{Context, Status, Wire, clock};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Parts of the calls, each with a lock of its own.
const SHARDS: usize = 16;

/// Calls that have failed or were slow, and are remembered.
const RECENT: usize = 200;

/// A call that takes this long is a slow one.
const SLOW: Duration = Duration::from_secs(1);

pub(super) struct Calls {
    shards: [Mutex<HashMap<u64, RunningCall>>; SHARDS],
    next: AtomicU64,
    pub(super) recent: Recent,
}

/// A call that runs.
#[derive(Clone)]
pub(super) struct RunningCall {
    pub(super) id: u64,
    pub(super) caller: Arc<Caller>,
    pub(super) principal: Option<Principal>,
    pub(super) service: &'static ServiceDescriptor,
    pub(super) method: &'static str,
    pub(super) wire: Wire,
    pub(super) began: Instant,
    pub(super) deadline: Option<Instant>,
    stop: Arc<Stop>,
}

/// The number of a call, in its context.
struct Number(u64);

impl Calls {
    pub(super) fn new() -> Self {
        Calls {
            shards: Default::default(),
            next: AtomicU64::new(1),
            recent: Recent::new(RECENT),
        }
    }

    fn shard(&self, id: u64) -> MutexGuard<'_, HashMap<u64, RunningCall>> {
        let shard = &self.shards[id as usize % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the calls that run, the oldest first.
    pub(super) fn running(&self) -> Vec<RunningCall> {
        let mut all: Vec<_> = (0..SHARDS as u64)
            .flat_map(|shard| self.shard(shard).values().cloned().collect::<Vec<_>>())
            .collect();
        all.sort_by_key(|call| call.id);
        all
    }

    /// Returns the number of calls that run.
    pub(super) fn len(&self) -> usize {
        (0..SHARDS as u64)
            .map(|shard| self.shard(shard).len())
            .sum()
    }

    /// Cancels a call. Returns false if it does not run, or no longer.
    pub(super) fn cancel(&self, id: u64) -> bool {
        let stop = self.shard(id).get(&id).map(|call| call.stop.clone());
        stop.iter().for_each(|stop| stop.stop());
        stop.is_some()
    }

    fn begin(&self, call: &mut CallHead<'_>) {
        let id = self.next.fetch_add(1, Relaxed);
        let stop = Arc::<Stop>::default();
        let running = RunningCall {
            id,
            caller: call.context().call.caller.clone(),
            principal: call.principal().cloned(),
            service: call.service(),
            method: call.method().name,
            wire: call.wire(),
            began: clock::now(),
            deadline: call.deadline(),
            stop: stop.clone(),
        };
        call.insert(Number(id));
        call.set_stop(stop);
        self.shard(id).insert(id, running);
    }

    fn end(&self, call: &Context, end: &CallEnd<'_>) {
        let running = call
            .get::<Number>()
            .and_then(|Number(id)| self.shard(*id).remove(id));
        let failed = matches!(end.outcome(), Outcome::Failed(_));
        if running.is_some() && (failed || end.elapsed() >= SLOW) {
            self.recent.record(Span::served(call, end));
        }
    }
}

/// The innermost interceptor of all calls, so that it knows their principals.
pub(super) struct Watch {
    pub(super) calls: Arc<Calls>,
    pub(super) recorder: Arc<Recorder>,
}

impl ServerInterceptor for Watch {
    fn start(&mut self, services: &[&'static ServiceDescriptor]) -> Result<(), Status> {
        self.recorder.serves(services);
        Ok(())
    }

    fn before_body(&self, _: &mut CallHead<'_>) -> Result<Decision, Status> {
        Ok(Decision::Proceed)
    }

    fn before(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        self.calls.begin(call);
        self.recorder.begin(call);
        Ok(Decision::Proceed)
    }

    fn after(&self, call: &Context, end: &CallEnd<'_>) {
        self.calls.end(call, end);
        if let Some(recording) = &call.call.recording {
            recording.end(call, end);
        }
    }
}

use super::local::{Calls, Local};
use super::running::{Waiting, outcome};
use crate::peer::capnp;
use crate::peer::incoming::{Arrival, Incoming};
use crate::peer::link::Link;
use crate::peer::machine::Called;
use futures_util::future::{AbortHandle, abortable};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The calls of the other end on a connection that an async client has made, each a task. They end
/// with it.
pub(crate) struct CallTasks(Arc<Inner>);

struct Inner {
    calls: Calls,
    /// The handles that stop calls whose handlers wait, by number.
    running: Mutex<HashMap<u64, AbortHandle>>,
    /// How many calls there were that nobody can cancel.
    unnumbered: AtomicU64,
}

/// From here on calls are counted that nobody can cancel: above all numbers of those that can be.
const UNNUMBERED: u64 = 1 << 32;

impl Inner {
    fn running(&self) -> MutexGuard<'_, HashMap<u64, AbortHandle>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallTasks {
    pub(crate) fn new(local: Option<Local>) -> Self {
        CallTasks(Arc::new(Inner {
            calls: Calls::new(local, false),
            running: Mutex::default(),
            unnumbered: AtomicU64::new(0),
        }))
    }

    /// Returns the directory of the methods that the other end can call.
    pub(crate) fn directory(&self) -> &dyn capnp::Directory {
        self.0.calls.directory()
    }

    /// Starts a call, or stops one.
    pub(crate) fn take_in(&self, called: Called, link: &Arc<Link>) {
        take_in(&self.0, called, link);
    }
}

fn take_in(tasks: &Arc<Inner>, called: Called, link: &Arc<Link>) {
    match Arrival::over(called, link) {
        Arrival::Call(call) => start(tasks, call, link),
        Arrival::Cancelled(call) => {
            if let Some(handle) = tasks.running().remove(&call.into()) {
                handle.abort();
            }
        }
    }
}

fn start(tasks: &Arc<Inner>, call: Box<Incoming>, link: &Arc<Link>) {
    let number = match call.reply.cancelled_as() {
        Some(number) => number.into(),
        None => UNNUMBERED + tasks.unnumbered.fetch_add(1, Ordering::Relaxed),
    };
    let reply = call.reply.clone();
    let waiting = Waiting {
        reply: reply.clone(),
        deadline: call.deadline,
    };
    let running = tasks.running().len();
    let (answer, handle) = abortable(tasks.calls.handler(call, link, running));
    tasks.running().insert(number, handle);
    let (dispatcher, link) = (tasks.calls.dispatcher().clone(), link.clone());
    // Not held: the calls end with their connection.
    let tasks = Arc::downgrade(tasks);
    tokio::spawn(async move {
        let answer = outcome(&dispatcher, answer, waiting).await;
        // Without the tasks the connection is gone.
        let Some(tasks) = tasks.upgrade() else {
            return;
        };
        let released = link.answer(&reply, answer, tasks.calls.directory());
        tasks.running().remove(&number);
        for called in released {
            take_in(&tasks, called, &link);
        }
    });
}

impl Drop for CallTasks {
    fn drop(&mut self) {
        for handle in self.0.running().values() {
            handle.abort();
        }
    }
}

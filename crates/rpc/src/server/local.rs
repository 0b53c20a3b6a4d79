//! Services without a listener: what a client serves to its server, on the connection that it made.

use super::running::{Waiting, outcome};
use super::{Server, Shared};
use crate::client::Called;
use crate::context::Caller;
use crate::incoming::{Arrival, Incoming};
use crate::link::Link;
use dovetail_protocol::dovetail::{Directory, NoMethods};
use futures_util::future::{AbortHandle, abortable};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The services of an end that made the connection.
#[derive(Clone)]
pub(crate) struct Local(Arc<Shared>);

impl Local {
    pub(crate) fn new(server: Server) -> Self {
        Local(server.into_shared())
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Local")
    }
}

/// The calls of the other end on one connection. They end with it.
pub(crate) struct Calls(Arc<Inner>);

struct Inner {
    local: Option<Local>,
    /// What answers calls of objects where there are no services. Made with the first such call.
    objects: OnceLock<Local>,
    /// Made with the first call.
    caller: OnceLock<Arc<Caller>>,
    /// What stops those whose handlers wait, by number.
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

    fn shared(&self) -> &Arc<Shared> {
        let nothing = || Local::new(Server::new());
        let local = self.local.as_ref();
        &local.unwrap_or_else(|| self.objects.get_or_init(nothing)).0
    }
}

impl Calls {
    pub(crate) fn new(local: Option<Local>) -> Self {
        Calls(Arc::new(Inner {
            local,
            objects: OnceLock::new(),
            caller: OnceLock::new(),
            running: Mutex::default(),
            unnumbered: AtomicU64::new(0),
        }))
    }

    /// Where the machine finds what the other end calls.
    pub(crate) fn directory(&self) -> &dyn Directory {
        match &self.0.local {
            Some(local) => &local.0.router,
            None => &NoMethods,
        }
    }

    /// Starts a call, or stops one.
    pub(crate) fn take_in(&self, called: Called, link: &Arc<Link>) {
        take_in(&self.0, called, link);
    }
}

fn take_in(calls: &Arc<Inner>, called: Called, link: &Arc<Link>) {
    match Arrival::over(called, link) {
        Arrival::Call(call) => start(calls, call, link),
        Arrival::Cancelled(call) => {
            if let Some(handle) = calls.running().remove(&call.into()) {
                handle.abort();
            }
        }
    }
}

fn start(calls: &Arc<Inner>, call: Incoming, link: &Arc<Link>) {
    let number = match call.reply.cancelled_as() {
        Some(number) => number.into(),
        None => UNNUMBERED + calls.unnumbered.fetch_add(1, Ordering::Relaxed),
    };
    let (shared, link) = (calls.shared().clone(), link.clone());
    let reply = call.reply.clone();
    let waiting = Waiting {
        reply: reply.clone(),
        deadline: call.deadline,
    };
    let caller = calls.caller.get_or_init(|| {
        let caller = Caller::new(link.target.clone(), false);
        caller.called_over(&link);
        Arc::new(caller)
    });
    let caller = caller.clone();
    let most = shared.limits.calls_per_connection;
    let room = calls.running().len() < most;
    let theirs = shared.clone();
    let (answer, handle) = abortable(async move {
        match room {
            true => theirs.start(call, caller, Vec::new()).await,
            false => {
                let why = format!("the connection has {most} calls waiting");
                theirs.turn_away(&call, why, Vec::new()).await
            }
        }
    });
    calls.running().insert(number, handle);
    // Not held: the calls end with their connection.
    let calls = Arc::downgrade(calls);
    tokio::spawn(async move {
        let answer = outcome(&shared, answer, waiting).await;
        link.with(|table| {
            table.transmit();
            table.out.extend_from_slice(&answer.joined());
        });
        let Some(calls) = calls.upgrade() else {
            return;
        };
        calls.running().remove(&number);
        if reply.promised_to().is_some() {
            // Those that have waited for it.
            while let Some(called) = link.with(|table| table.ready()) {
                take_in(&calls, called, &link);
            }
        }
    });
}

impl Drop for Calls {
    fn drop(&mut self) {
        for handle in self.0.running().values() {
            handle.abort();
        }
    }
}

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
pub(crate) struct Calls {
    local: Option<Local>,
    /// Made with the first call.
    caller: OnceLock<Arc<Caller>>,
    running: Arc<Running>,
    /// How many calls there were that nobody can cancel.
    unnumbered: AtomicU64,
}

/// From here on calls are counted that nobody can cancel: above all numbers of those that can be.
const UNNUMBERED: u64 = 1 << 32;

/// What stops those whose handlers wait, by number.
#[derive(Default)]
struct Running(Mutex<HashMap<u64, AbortHandle>>);

impl Running {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Calls {
    pub(crate) fn new(local: Option<Local>) -> Self {
        Calls {
            local,
            caller: OnceLock::new(),
            running: Arc::default(),
            unnumbered: AtomicU64::new(0),
        }
    }

    /// Where the machine finds what the other end calls.
    pub(crate) fn directory(&self) -> &dyn Directory {
        match &self.local {
            Some(local) => &local.0.router,
            None => &NoMethods,
        }
    }

    /// Starts a call, or stops one.
    pub(crate) fn take_in(&self, called: Called, link: &Arc<Link>) {
        match (Arrival::over(called, link), &self.local) {
            (Arrival::Call(call), Some(local)) => self.start(call, &local.0, link),
            // Where there are no services, the machine finds no method.
            (Arrival::Call(_), None) => {}
            (Arrival::Cancelled(call), _) => {
                if let Some(handle) = self.running.lock().remove(&call.into()) {
                    handle.abort();
                }
            }
        }
    }

    fn start(&self, call: Incoming, shared: &Arc<Shared>, link: &Arc<Link>) {
        let number = match call.reply.cancelled_as() {
            Some(number) => number.into(),
            None => UNNUMBERED + self.unnumbered.fetch_add(1, Ordering::Relaxed),
        };
        let (shared, link, running) = (shared.clone(), link.clone(), self.running.clone());
        let waiting = Waiting {
            reply: call.reply.clone(),
            deadline: call.deadline,
        };
        let caller = self.caller.get_or_init(|| {
            let caller = Caller::new(link.target.clone(), false);
            caller.called_over(&link);
            Arc::new(caller)
        });
        let caller = caller.clone();
        let most = shared.limits.calls_per_connection;
        let room = running.lock().len() < most;
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
        running.lock().insert(number, handle);
        tokio::spawn(async move {
            let answer = outcome(&shared, answer, waiting).await;
            running.lock().remove(&number);
            link.with(|table| {
                table.transmit();
                table.out.extend_from_slice(&answer);
            });
        });
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        for handle in self.running.lock().values() {
            handle.abort();
        }
    }
}

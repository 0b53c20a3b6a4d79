//! The connections of a channel to its server, which are made when they are needed: what blocking
//! and async channels have in common.

#[cfg(feature = "async")]
mod tasks;

#[cfg(feature = "async")]
pub(super) use tasks::{Connect, TaskPool};

use super::dial::{Dial, Failed, Wait};
use super::options::Options;
use crate::peer::table::Usable;
use crate::{Address, clock};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A connection that several use.
pub(super) trait Connected: Clone {
    /// Whether it takes a further call.
    fn usable(&self) -> Usable;

    /// Returns whether it is the one that is there, and calls may be made on another one from now
    /// on.
    fn gives_way(&self, there: &Self) -> bool {
        let _ = there;
        false
    }
}

/// The connections to a server, which take turns. `D` locks a [`Dial`]: who waits for it does so as
/// its client waits.
pub(super) struct ConnectionPool<C, D> {
    slots: Vec<Arc<PoolSlot<C, D>>>,
    next: AtomicUsize,
    /// The server has been reached by one of them.
    reached: AtomicBool,
}

/// The address of a connection, and why there is none.
pub(super) struct PoolSlot<C, D> {
    connection: Mutex<Option<C>>,
    /// Held by the one caller that connects, while the others wait for what it gets.
    pub(super) dial: D,
}

impl<C, D: Default> ConnectionPool<C, D> {
    pub(super) fn new(connections: usize) -> Self {
        let slot = |_| {
            Arc::new(PoolSlot {
                connection: Mutex::new(None),
                dial: D::default(),
            })
        };
        ConnectionPool {
            slots: (0..connections).map(slot).collect(),
            next: AtomicUsize::new(0),
            reached: AtomicBool::new(false),
        }
    }

    /// One slot of several.
    #[cfg(feature = "async")]
    fn of(slot: Arc<PoolSlot<C, D>>) -> Self {
        ConnectionPool {
            slots: vec![slot],
            next: AtomicUsize::new(0),
            reached: AtomicBool::new(true),
        }
    }

    /// Begins to wait for a connection.
    pub(super) fn wait(&self, options: &Options) -> Wait {
        Wait::new(options, self.reached.load(Ordering::Relaxed))
    }

    /// Notes that the server was reached.
    pub(super) fn reached(&self) {
        self.reached.store(true, Ordering::Relaxed);
    }

    /// Returns a connection that can be used, of the slot whose turn it is or of one behind it.
    /// The first slot without one is filled again.
    pub(super) fn ready(
        &self,
        usable: impl Fn(&Arc<PoolSlot<C, D>>) -> Option<C>,
        refill: impl FnOnce(&Arc<PoolSlot<C, D>>),
    ) -> Option<C> {
        let mut missing = None;
        for slot in self.in_turn() {
            if let Some(connection) = usable(slot) {
                if let Some(missing) = missing {
                    refill(missing);
                }
                return Some(connection);
            }
            missing = missing.or(Some(slot));
        }
        None
    }

    /// All slots, from the one on whose turn it is.
    pub(super) fn in_turn(&self) -> impl Iterator<Item = &Arc<PoolSlot<C, D>>> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.slots.len().max(1);
        let (before, behind) = self.slots.split_at(turn.min(self.slots.len()));
        behind.iter().chain(before)
    }

    /// The slot whose turn it is.
    pub(super) fn turn(&self) -> &Arc<PoolSlot<C, D>> {
        let turn = match self.slots.len() {
            1 => 0,
            several => self.next.fetch_add(1, Ordering::Relaxed) % several,
        };
        &self.slots[turn]
    }
}

impl<C: Connected, D> PoolSlot<C, D> {
    /// The connection that is there, where it is not known to be lost. With it comes, once, where
    /// to go on.
    pub(super) fn usable(&self) -> Option<(C, Option<Address>)> {
        let there = self.lock().clone()?;
        match there.usable() {
            Usable::No => None,
            Usable::Yes => Some((there, None)),
            Usable::Moves(address) => Some((there, Some(address))),
        }
    }

    /// Begins to connect; an error while the server is left alone.
    pub(super) fn begin(&self, dial: &Dial) -> Result<(), Failed> {
        // A server that goes down waits for its clients to let go.
        let lost = self.lock().take();
        drop(lost);
        dial.check(clock::now())
    }

    /// Takes the connection that was made, or says why there is none.
    pub(super) fn made(
        &self,
        made: io::Result<C>,
        dial: &mut Dial,
        options: &Options,
        target: &str,
    ) -> Result<C, Failed> {
        match made {
            Ok(connection) => {
                dial.succeeded();
                *self.lock() = Some(connection.clone());
                Ok(connection)
            }
            Err(error) => Err(dial.failed(clock::now(), &options.backoff, target, &error)),
        }
    }

    /// Has calls made on another connection from now on.
    pub(super) fn replace(&self, old: &C, new: C) {
        let mut connection = self.lock();
        let there = connection.as_ref();
        if there.is_some_and(|there| old.gives_way(there)) {
            *connection = Some(new);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<C>> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

//! The bytes that a server holds for one connection, as part of what it holds for all.

use crate::counters::{SharedCounters, count};
use crate::{Code, Status};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Less than this is not charged where it is held only until a call is answered at once.
pub(crate) const SMALL: usize = 4 << 10;

/// Bytes that a connection may hold without a block of the levels above it.
pub(crate) const FREE: usize = 16 << 10;

/// Bytes that a connection reserves at a time.
pub(crate) const BLOCK: usize = 64 << 10;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The level whose share is used up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scope {
    Connection,
    Address,
    Server,
}

/// There is no room for more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Over {
    pub(crate) scope: Scope,
    /// The bytes of the share.
    pub(crate) most: usize,
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whom = match self.scope {
            Scope::Connection => "this connection",
            Scope::Address => "connections of this address",
            Scope::Server => "its peers",
        };
        let most = self.most;
        write!(f, "the server holds {most} bytes for {whom} at most")
    }
}

impl From<Over> for Status {
    fn from(over: Over) -> Self {
        Status::new(Code::ResourceExhausted, over.to_string())
    }
}

/// A budget that several connections share.
pub(crate) struct Level {
    scope: Scope,
    held: AtomicUsize,
    most: usize,
}

impl Level {
    pub(crate) fn new(scope: Scope, most: usize) -> Arc<Self> {
        let held = AtomicUsize::new(0);
        Arc::new(Level { scope, held, most })
    }

    fn over(&self) -> Over {
        Over {
            scope: self.scope,
            most: self.most,
        }
    }

    fn take(&self, bytes: usize) -> Result<(), Over> {
        let before = self.held.fetch_add(bytes, Ordering::Relaxed);
        match before.saturating_add(bytes) > self.most {
            true => {
                self.give(bytes);
                Err(self.over())
            }
            false => Ok(()),
        }
    }

    /// Returns the bytes reserved of it.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    fn give(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn room(&self) -> usize {
        self.most.saturating_sub(self.held())
    }
}

/// The bytes that the server holds for one connection.
pub(crate) struct Share {
    /// The levels of which it reserves blocks.
    above: Vec<Arc<Level>>,
    most: usize,
    state: Mutex<AccountState>,
    counters: Arc<SharedCounters>,
}

#[derive(Default)]
struct AccountState {
    held: usize,
    /// Bytes taken from the levels above.
    reserved: usize,
}

/// Bytes that a connection reserves while it holds `held`.
fn reserve(held: usize) -> usize {
    held.saturating_sub(FREE).next_multiple_of(BLOCK)
}

impl Share {
    /// The share of a connection that reserves blocks of these levels.
    pub(crate) fn new(
        above: Vec<Arc<Level>>,
        most: usize,
        counters: Arc<SharedCounters>,
    ) -> Arc<Self> {
        Arc::new(Share {
            above,
            most,
            state: Mutex::default(),
            counters,
        })
    }

    fn take(&self, bytes: usize) -> Result<(), Over> {
        let state = &mut *lock(&self.state);
        let held = state.held.saturating_add(bytes);
        if held > self.most {
            return Err(Over {
                scope: Scope::Connection,
                most: self.most,
            });
        }
        let more = reserve(held).saturating_sub(state.reserved);
        if more > 0 {
            self.take_above(more)?;
        }
        state.reserved += more;
        state.held = held;
        Ok(())
    }

    fn take_above(&self, more: usize) -> Result<(), Over> {
        for (index, level) in self.above.iter().enumerate() {
            if let Err(over) = level.take(more) {
                self.above
                    .iter()
                    .take(index)
                    .for_each(|level| level.give(more));
                return Err(over);
            }
        }
        Ok(())
    }

    /// Counts what is there already, whether there is room for it or not.
    fn count(&self, bytes: usize) {
        let state = &mut *lock(&self.state);
        state.held += bytes;
        let more = reserve(state.held).saturating_sub(state.reserved);
        if more > 0 {
            for level in &self.above {
                level.held.fetch_add(more, Ordering::Relaxed);
            }
            state.reserved += more;
        }
    }

    fn give(&self, bytes: usize) {
        let state = &mut *lock(&self.state);
        state.held = state.held.saturating_sub(bytes);
        let kept = reserve(state.held);
        // A block is kept for the next call, but not where nothing is held.
        if kept == 0 || state.reserved > kept + BLOCK {
            let back = state.reserved.saturating_sub(kept);
            if back > 0 {
                self.above.iter().for_each(|level| level.give(back));
            }
            state.reserved -= back;
        }
    }

    /// Something was refused for want of room.
    pub(crate) fn refused(&self) {
        count(&self.counters.refused_memory);
    }

    /// How much more it may hold.
    pub(crate) fn room(&self) -> usize {
        let state = lock(&self.state);
        let own = self.most.saturating_sub(state.held);
        let reserved = state.reserved.saturating_sub(state.held);
        let above = self.above.iter().map(|level| level.room());
        above.fold(own, |room, above| room.min(above.saturating_add(reserved)))
    }

    /// Why it holds more than it may, where it does.
    pub(crate) fn over(&self) -> Option<Over> {
        let held = lock(&self.state).held;
        let own = (held > self.most).then_some(Over {
            scope: Scope::Connection,
            most: self.most,
        });
        own.or_else(|| {
            let is_over = |level: &&Arc<Level>| level.held() > level.most;
            self.above.iter().find(is_over).map(|level| level.over())
        })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let reserved = lock(&self.state).reserved;
        self.above.iter().for_each(|level| level.give(reserved));
    }
}

/// Bytes that are held as long as this exists.
#[derive(Default)]
pub(crate) struct Charge {
    share: Option<Arc<Share>>,
    bytes: usize,
}

impl Charge {
    /// Nothing yet, for a connection with this share; nothing ever without one.
    pub(crate) fn new(share: Option<&Arc<Share>>) -> Self {
        Charge {
            share: share.cloned(),
            bytes: 0,
        }
    }

    /// True if nothing is charged.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Something was refused for want of room.
    pub(crate) fn refused(&self) {
        self.share.iter().for_each(|share| share.refused());
    }

    /// Charges for so many bytes more, where there is room.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Over> {
        if let Some(share) = &self.share {
            share.take(bytes)?;
            self.bytes += bytes;
        }
        Ok(())
    }

    /// Charges for so many bytes in all, which are there already; whether there was room for them.
    pub(crate) fn set(&mut self, bytes: usize) -> Result<(), Over> {
        let Some(share) = &self.share else {
            return Ok(());
        };
        let before = std::mem::replace(&mut self.bytes, bytes);
        let more = bytes.saturating_sub(before);
        if more == 0 {
            if before > bytes {
                share.give(before - bytes);
            }
            return Ok(());
        }
        share.take(more).inspect_err(|_| share.count(more))
    }

    /// Like `set`, but ignores less than [`SMALL`].
    pub(crate) fn follow(&mut self, bytes: usize) -> Result<(), Over> {
        match bytes < SMALL {
            true if self.is_empty() => Ok(()),
            true => self.set(0),
            false => self.set(bytes),
        }
    }

    /// Like `set`, for `bytes` more than now.
    pub(crate) fn add(&mut self, bytes: usize) {
        // The next request for room fails instead.
        let _ = self.set(self.bytes + bytes);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.bytes > 0
            && let Some(share) = &self.share
        {
            share.give(self.bytes);
        }
    }
}

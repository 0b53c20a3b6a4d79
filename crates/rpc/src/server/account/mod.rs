//! An account of the bytes that a server holds on behalf of its peers: what has been received,
//! decompressed and decoded, and what waits to be sent.
//!
//! It has three levels: a connection, all connections of an address, and all of the server. A
//! connection reserves blocks of the levels above it, so that small calls touch nothing that
//! connections share.

mod memory;

use super::ServerLimits;
use super::counters::{SharedCounters, count};
use super::proxies::Source;
use crate::{Code, Status};
use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Less than this is not charged where it is held only until a call is answered at once.
pub(crate) const SMALL: usize = 4 << 10;

/// Bytes that a connection may hold without a block of the levels above it.
const FREE: usize = 16 << 10;

/// Bytes that a connection reserves at a time.
const BLOCK: usize = 64 << 10;

/// How many addresses are remembered before those are looked for that have gone.
const ADDRESSES: usize = 64;

/// The bytes that the server holds for all its peers.
pub(super) struct Account {
    all: Arc<Level>,
    per_address: usize,
    per_connection: usize,
    addresses: Mutex<Addresses>,
    counters: Arc<SharedCounters>,
}

struct Addresses {
    levels: HashMap<Source, Weak<Level>>,
    /// When those are looked for that have gone.
    full: usize,
}

impl Account {
    pub(super) fn new(limits: &ServerLimits, counters: &Arc<SharedCounters>) -> Self {
        let all = limits.memory.unwrap_or_else(|| memory::usable() / 4);
        Account {
            all: Level::new(Scope::Server, all),
            per_address: limits.memory_per_address.unwrap_or(all / 4).min(all),
            per_connection: limits.memory_per_connection.unwrap_or(all / 16).min(all),
            addresses: Mutex::new(Addresses {
                levels: HashMap::new(),
                full: ADDRESSES,
            }),
            counters: counters.clone(),
        }
    }

    /// The share of a new connection. Only peers with an IP address share one with others.
    pub(super) fn open(&self, peer: &str) -> Arc<Share> {
        let peer: Option<SocketAddr> = peer.parse().ok();
        let address = peer.map(|peer| self.address(Source::of(peer.ip())));
        Arc::new(Share {
            above: address.into_iter().chain([self.all.clone()]).collect(),
            most: self.per_connection,
            state: Mutex::default(),
            counters: self.counters.clone(),
        })
    }

    fn address(&self, address: Source) -> Arc<Level> {
        let addresses = &mut *lock(&self.addresses);
        if addresses.levels.len() >= addresses.full {
            addresses.levels.retain(|_, level| level.strong_count() > 0);
            addresses.full = 2 * addresses.levels.len().max(ADDRESSES);
        }
        let known = addresses.levels.entry(address).or_default();
        known.upgrade().unwrap_or_else(|| {
            let level = Level::new(Scope::Address, self.per_address);
            *known = Arc::downgrade(&level);
            level
        })
    }

    /// Bytes reserved for all connections.
    pub(super) fn held(&self) -> usize {
        self.all.held.load(Ordering::Relaxed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The level whose share is used up.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scope {
    Connection,
    Address,
    Server,
}

/// There is no room for more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Over {
    scope: Scope,
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
struct Level {
    scope: Scope,
    held: AtomicUsize,
    most: usize,
}

impl Level {
    fn new(scope: Scope, most: usize) -> Arc<Self> {
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

    fn give(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn room(&self) -> usize {
        self.most.saturating_sub(self.held.load(Ordering::Relaxed))
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
            let is_over = |level: &&Arc<Level>| level.held.load(Ordering::Relaxed) > level.most;
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn account() -> Account {
        let limits = ServerLimits {
            memory: Some(16 * MIB),
            memory_per_address: Some(4 * MIB),
            memory_per_connection: Some(2 * MIB),
            ..ServerLimits::default()
        };
        Account::new(&limits, &Arc::default())
    }

    fn charge(share: &Arc<Share>, bytes: usize) -> Result<Charge, Scope> {
        let mut charge = Charge::new(Some(share));
        charge.grow(bytes).map_err(|over| over.scope)?;
        Ok(charge)
    }

    #[test]
    fn each_level_has_its_limit() {
        let account = account();
        let peers = ["10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3"];
        let shares = peers.map(|peer| account.open(peer));
        let first = charge(&shares[0], 2 * MIB).unwrap();
        assert_eq!(charge(&shares[0], 1).err(), Some(Scope::Connection));
        let second = charge(&shares[1], 2 * MIB).unwrap();
        assert_eq!(charge(&shares[2], MIB).err(), Some(Scope::Address));
        let mut others = Vec::new();
        for index in 0..7 {
            let share = account.open(if index < 2 { "[::1]:1" } else { "unix" });
            others.push(charge(&share, 2 * MIB));
        }
        // 4 MiB and 14 MiB would be more than 16 MiB.
        assert_eq!(others.pop().unwrap().err(), Some(Scope::Server));
        assert!(others.iter().all(Result::is_ok));
        drop((first, second, others));
        assert_eq!(account.held(), 0);
    }

    #[test]
    fn little_is_free_and_more_comes_in_blocks() {
        let account = account();
        let share = account.open("10.0.0.1:1");
        let mut held = Charge::new(Some(&share));
        for (bytes, reserved) in [
            (FREE, 0),
            (FREE + 1, BLOCK),
            (FREE + BLOCK, BLOCK),
            (FREE + BLOCK + 1, 2 * BLOCK),
            // One is kept for the next call.
            (FREE + 1, 2 * BLOCK),
            (FREE, 0),
        ] {
            held.set(bytes).unwrap();
            assert_eq!(account.held(), reserved, "{bytes}");
        }
    }

    #[test]
    fn what_is_there_counts_whether_there_is_room_or_not() {
        let account = account();
        let share = account.open("10.0.0.1:1");
        let mut held = Charge::new(Some(&share));
        assert!(held.set(3 * MIB).is_err());
        assert!(share.over().is_some());
        assert_eq!(share.room(), 0);
        assert!(account.held() >= 3 * MIB - FREE);
        held.set(MIB).unwrap();
        assert_eq!(share.over(), None);
        drop(held);
        assert_eq!(account.held(), 0);
    }

    #[test]
    fn addresses_that_have_gone_are_forgotten() {
        let account = account();
        for number in 0..1_000_u32 {
            let [a, b, c, d] = number.to_be_bytes();
            account.open(&format!("{a}.{b}.{c}.{d}:1"));
        }
        assert!(lock(&account.addresses).levels.len() <= 2 * ADDRESSES);
    }
}

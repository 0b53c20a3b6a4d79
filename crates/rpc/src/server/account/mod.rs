//! An account of the bytes that a server holds on behalf of its peers: what has been received,
//! decompressed and decoded, and what waits to be sent.
//!
//! It has three levels: a connection, all connections of an address, and all of the server. A
//! connection reserves blocks of the levels above it, so that small calls touch nothing that
//! connections share.

mod memory;

use super::ServerLimits;
use crate::counters::SharedCounters;
use crate::peer::proxies::Source;
use crate::peer::share::{Level, Scope, Share};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

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
        let above = address.into_iter().chain([self.all.clone()]);
        Share::new(above.collect(), self.per_connection, self.counters.clone())
    }

    fn addresses(&self) -> MutexGuard<'_, Addresses> {
        let addresses = self.addresses.lock();
        addresses.unwrap_or_else(PoisonError::into_inner)
    }

    fn address(&self, address: Source) -> Arc<Level> {
        let addresses = &mut *self.addresses();
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
        self.all.held()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::peer::share::{BLOCK, Charge, FREE};

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
        assert!(account.addresses().levels.len() <= 2 * ADDRESSES);
    }
}

//! The addresses that have called, with what all their connections have carried.

use super::room::Entry;
use crate::observer::WatchedPeer;
use crate::peer::proxies::host;
use crate::peer::traffic::TrafficSums;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Addresses that are counted for themselves: those with the most calls. The others are counted
/// together.
const MAX: usize = 1_000;

/// The name of the others.
const OTHER: &str = "other";

/// The connections that have ended, by address.
#[derive(Default)]
pub(super) struct Peers(Mutex<ByHost>);

#[derive(Clone, Default)]
struct ByHost(HashMap<String, PeerSums>);

/// The connections of an address.
#[derive(Clone, Copy, Default)]
struct PeerSums {
    open: u64,
    connections: u64,
    traffic: TrafficSums,
}

impl Peers {
    /// Counts a connection that has ended.
    pub(super) fn ended(&self, entry: &Entry) {
        self.lock().add(entry, 0);
    }

    /// Returns the addresses, with the connections that are open.
    pub(super) fn watched(&self, open: &[Arc<Entry>]) -> Vec<WatchedPeer> {
        let mut hosts = self.lock().clone();
        open.iter().for_each(|entry| hosts.add(entry, 1));
        let rows = hosts.0.into_iter().map(|(peer, sums)| WatchedPeer {
            peer,
            open: sums.open,
            connections: sums.connections,
            traffic: sums.traffic,
        });
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_cached_key(|row| (Reverse(row.traffic.calls), row.peer.clone()));
        rows
    }

    fn lock(&self) -> MutexGuard<'_, ByHost> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ByHost {
    /// Counts a connection, if its peer could call.
    fn add(&mut self, entry: &Entry, open: u64) {
        let peer = entry.peer();
        if peer.is_empty() {
            return;
        }
        let sums = PeerSums {
            open,
            connections: 1,
            traffic: entry.traffic(),
        };
        self.count(host(peer).to_owned(), sums);
    }

    /// Counts connections of an address. Where there are too many addresses, the one with the
    /// fewest calls is counted with the others.
    fn count(&mut self, host: String, sums: PeerSums) {
        if self.0.len() < MAX || self.0.contains_key(&host) {
            return self.sums(host).add(sums);
        }
        let known = self.0.iter().filter(|(known, _)| *known != OTHER);
        let fewest = known.min_by_key(|(_, known)| known.traffic.calls);
        let fewer = fewest.filter(|(_, known)| known.traffic.calls < sums.traffic.calls);
        match fewer.map(|(known, _)| known.clone()) {
            Some(fewer) => {
                let folded = self.0.remove(&fewer).unwrap_or_default();
                self.sums(OTHER.to_owned()).add(folded);
                self.sums(host).add(sums);
            }
            None => self.sums(OTHER.to_owned()).add(sums),
        }
    }

    fn sums(&mut self, host: String) -> &mut PeerSums {
        self.0.entry(host).or_default()
    }
}

impl PeerSums {
    fn add(&mut self, more: PeerSums) {
        self.open += more.open;
        self.connections += more.connections;
        self.traffic += more.traffic;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(calls: u64) -> PeerSums {
        PeerSums {
            connections: 1,
            traffic: TrafficSums {
                calls,
                ..TrafficSums::default()
            },
            ..PeerSums::default()
        }
    }

    #[test]
    fn the_addresses_with_the_most_calls_are_kept() {
        let mut hosts = ByHost::default();
        for number in 0..10_000_u32 {
            let address = std::net::Ipv4Addr::from(number).to_string();
            hosts.count(address.clone(), calls(1));
            if number % 100 == 0 {
                hosts.count(address, calls(u64::from(number) + 10));
            }
        }
        assert!(hosts.0.len() <= MAX + 1, "{}", hosts.0.len());
        let known = |number: u32| {
            let address = std::net::Ipv4Addr::from(number).to_string();
            hosts.0.get(&address).map(|sums| sums.traffic.calls)
        };
        // Its first call was counted with the others.
        assert_eq!(known(9_900), Some(9_910));
        assert_eq!(known(100), Some(111));
        assert_eq!(known(9_901), None);
        let all: u64 = hosts.0.values().map(|sums| sums.traffic.calls).sum();
        let counted: u64 = (0..100).map(|number| number * 100 + 10).sum();
        assert_eq!(all, 10_000 + counted);
        let connections: u64 = hosts.0.values().map(|sums| sums.connections).sum();
        assert_eq!(connections, 10_100);
    }
}

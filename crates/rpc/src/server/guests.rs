//! The connections of a server, counted.

use super::Shared;
use super::counters::count;
use super::hosts::is_local;
use super::proxies::Source;
use super::room::Entry;
use super::session::Standing;
use crate::Address;
use crate::transport::Stream;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

/// How many connections too many are told so at a time.
const TURNED_AWAY: usize = 1_000;

impl Shared {
    /// How a listener with this address lets connections in.
    pub(super) fn door(&self, address: &str) -> Door {
        let meeting = self.meeting.map(Address::meeting);
        match meeting {
            Some(meeting) if meeting.to_string() == address => Door::Meeting,
            _ if address.starts_with("tls://") => Door::Secure,
            _ if address.parse().is_ok_and(|address| is_local(&address)) => Door::Local,
            _ => Door::Open,
        }
    }

    /// Counts a connection in. One too many takes the place of one that has been idle, or is let in
    /// to be told; `None` where there are far too many, and for one too many of those who have
    /// another one, and meet the server here.
    pub(super) fn admit(
        self: &Arc<Self>,
        stream: Option<Arc<dyn Stream>>,
        door: Door,
        peer: &str,
    ) -> Option<Guest> {
        let counters = &self.counters;
        let mut guests = self.guests();
        let welcome = guests.len() < self.limits.connections || self.make_room(&guests);
        if door == Door::Meeting {
            match welcome {
                true => count(&counters.local_connections),
                false => return None,
            }
        }
        match welcome {
            true => count(&counters.connections),
            false => count(&counters.refused_connections),
        }
        let left = self.limits.connections.saturating_sub(guests.len());
        let full = guests.len() >= self.limits.connections.saturating_add(TURNED_AWAY);
        if full {
            return None;
        }
        let id = self.next_guest.fetch_add(1, Ordering::Relaxed);
        let entry = Entry::new(id, stream, self);
        guests.push(entry.clone());
        drop(guests);
        let mut guest = Guest {
            entry,
            standing: match welcome {
                true => Standing::Welcome,
                false => Standing::Crowded,
            },
            source: None,
            shared: self.clone(),
        };
        if let Ok(address) = peer.parse::<SocketAddr>()
            && !self.is_proxy(peer)
        {
            guest.comes_from(address.ip(), left);
        }
        Some(guest)
    }

    /// True for a peer that says who calls through it.
    pub(super) fn is_proxy(&self, peer: &str) -> bool {
        self.proxies
            .as_ref()
            .is_some_and(|proxies| proxies.knows(peer))
    }

    /// How many connections may still come.
    fn places(&self) -> usize {
        let taken = self.guests().len();
        self.limits.connections.saturating_sub(taken)
    }

    pub(super) fn guests(&self) -> MutexGuard<'_, Vec<Arc<Entry>>> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who accepts connections, counted as long as this exists.
pub(super) struct Accepts(Arc<Shared>);

impl Accepts {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        shared.accepting.fetch_add(1, Ordering::SeqCst);
        Accepts(shared.clone())
    }
}

impl Drop for Accepts {
    fn drop(&mut self) {
        let _guests = self.0.guests();
        self.0.accepting.fetch_sub(1, Ordering::SeqCst);
        self.0.left.notify_all();
    }
}

/// How a listener lets connections in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    Open,
    /// For this machine alone.
    Local,
    /// The listener of shared memory, for clients that came by TCP.
    Meeting,
    /// With TLS alone.
    Secure,
}

/// A connection that is counted as long as this exists.
pub(super) struct Guest {
    entry: Arc<Entry>,
    standing: Standing,
    /// The addresses that it counts for, unless it is exempt.
    source: Option<Source>,
    shared: Arc<Shared>,
}

impl Guest {
    pub(super) fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// Whether calls are answered that came through this door.
    pub(super) fn standing(&self, door: Door, over_tls: bool) -> Standing {
        match self.standing {
            Standing::Welcome if door == Door::Secure && !over_tls => Standing::Insecure,
            standing => standing,
        }
    }

    /// A proxy has said who calls.
    pub(super) fn announced(&mut self, caller: IpAddr) {
        // Its own place is taken already.
        let left = self.shared.places().saturating_add(1);
        self.comes_from(caller, left);
    }

    /// Counts it for its address, which is refused where that has half of all connections and few
    /// are left for others.
    fn comes_from(&mut self, ip: IpAddr, left: usize) {
        let (source, limit) = (Source::of(ip), self.shared.limits.connections);
        self.leave_source();
        let greedy = self.shared.sources.add(source, limit, left);
        self.source = Some(source);
        if greedy && self.standing == Standing::Welcome {
            count(&self.shared.counters.refused_connections);
            self.standing = Standing::Greedy;
        }
    }

    fn leave_source(&mut self) {
        if let Some(source) = self.source.take() {
            self.shared.sources.remove(source);
        }
    }

    /// Counts a TLS handshake in. An error where there are too many, of all or of its address.
    pub(super) fn handshake(&self) -> io::Result<Handshake<'_>> {
        let (shared, limit) = (&self.shared, self.shared.limits.handshakes);
        let left = limit.saturating_sub(shared.handshakes.fetch_add(1, Ordering::Relaxed));
        let greedy = self
            .source
            .is_some_and(|source| shared.handshake_sources.add(source, limit, left));
        let handshake = Handshake(self);
        if left == 0 || greedy {
            count(&shared.counters.refused_handshakes);
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        Ok(handshake)
    }
}

/// A TLS handshake, counted as long as this exists.
pub(super) struct Handshake<'a>(&'a Guest);

impl Drop for Handshake<'_> {
    fn drop(&mut self) {
        let shared = &self.0.shared;
        shared.handshakes.fetch_sub(1, Ordering::Relaxed);
        if let Some(source) = self.0.source {
            shared.handshake_sources.remove(source);
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.leave_source();
        let mut guests = self.shared.guests();
        // Ids only grow, so the list is sorted.
        if let Ok(index) = guests.binary_search_by_key(&self.entry.id, |entry| entry.id) {
            guests.remove(index);
        }
        self.shared.left.notify_all();
    }
}

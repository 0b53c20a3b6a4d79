//! The connections of a server, counted.

use super::Shared;
use super::hosts::is_local;
use super::room::Entry;
use super::session::Admission;
use crate::Address;
use crate::counters::count;
use crate::peer::proxies::Source;
use crate::transport::{IN_PROCESS, Stream};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

/// How many connections too many are told so at a time.
const TURNED_AWAY: usize = 1_000;

impl Shared {
    /// How a listener with this address lets connections in.
    pub(super) fn listener_kind(&self, address: &str) -> ListenerKind {
        let upgrade = self.upgrade.map(Address::upgrade_listener);
        match upgrade {
            Some(address_of) if address_of.to_string() == address => ListenerKind::LocalUpgrade,
            _ if address == IN_PROCESS => ListenerKind::InProcess,
            _ if address.starts_with("tls://") => ListenerKind::Secure,
            _ if address.parse().is_ok_and(|address| is_local(&address)) => ListenerKind::Local,
            _ => ListenerKind::Open,
        }
    }

    /// Counts a connection in. One too many takes the place of one that has been idle, or is let in
    /// to be told; `None` where there are far too many, and for one too many of those who have
    /// another one, and meet the server here.
    pub(super) fn admit(
        self: &Arc<Self>,
        stream: Option<Arc<dyn Stream>>,
        kind: ListenerKind,
        peer: &str,
    ) -> Option<ConnectionGuard> {
        let counters = &self.counters;
        let limit = self.limits().connections;
        let mut entries = self.entries();
        let welcome = entries.len() < limit || self.make_room(&entries);
        if kind == ListenerKind::LocalUpgrade {
            match welcome {
                true => count(&counters.local_connections),
                false => return None,
            }
        }
        match welcome {
            true => count(&counters.connections),
            false => count(&counters.refused_connections),
        }
        let left = limit.saturating_sub(entries.len());
        let full = entries.len() >= limit.saturating_add(TURNED_AWAY);
        if full {
            return None;
        }
        let id = self.next_connection.fetch_add(1, Ordering::Relaxed);
        let entry = Entry::new(id, stream, self);
        entries.push(entry.clone());
        drop(entries);
        let mut guard = ConnectionGuard {
            entry,
            admission: match welcome {
                true => Admission::Granted,
                false => Admission::Crowded,
            },
            source: None,
            shared: self.clone(),
        };
        if let Ok(address) = peer.parse::<SocketAddr>()
            && !self.is_proxy(peer)
        {
            guard.comes_from(address.ip(), left);
        }
        Some(guard)
    }

    /// True for a peer that says who calls through it.
    pub(super) fn is_proxy(&self, peer: &str) -> bool {
        self.proxies
            .as_ref()
            .is_some_and(|proxies| proxies.knows(peer))
    }

    /// How many connections may still come.
    fn places(&self) -> usize {
        let taken = self.entries().len();
        self.limits().connections.saturating_sub(taken)
    }

    pub(super) fn entries(&self) -> MutexGuard<'_, Vec<Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The event of a connection that an error has ended: of the transport, or of its handshake. The
/// peer knows as much, and a program that listens for events learns it here.
pub(super) fn ended_with(error: &io::Error, peer: &str) {
    tracing::debug!(peer, %error, "a connection has ended with an error");
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
        let _guests = self.0.entries();
        self.0.accepting.fetch_sub(1, Ordering::SeqCst);
        self.0.left.notify_all();
    }
}

/// How a listener lets connections in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ListenerKind {
    Open,
    /// For this process alone: no browser comes here.
    InProcess,
    /// None: an application of this process has the listener.
    #[cfg_attr(not(feature = "tower"), expect(dead_code, reason = "nothing mounts"))]
    Mounted,
    /// For this machine alone.
    Local,
    /// The listener of shared memory, for clients that came by TCP.
    LocalUpgrade,
    /// With TLS alone.
    Secure,
}

/// A connection that is counted as long as this exists.
pub(super) struct ConnectionGuard {
    entry: Arc<Entry>,
    admission: Admission,
    /// The addresses that it counts for, unless it is exempt.
    source: Option<Source>,
    shared: Arc<Shared>,
}

impl ConnectionGuard {
    pub(super) fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// Whether calls are answered that came through a listener of this kind.
    pub(super) fn admission(&self, kind: ListenerKind, over_tls: bool) -> Admission {
        match self.admission {
            Admission::Granted if kind == ListenerKind::Secure && !over_tls => Admission::Insecure,
            admission => admission,
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
        let (source, limit) = (Source::of(ip), self.shared.limits().connections);
        self.leave_source();
        let greedy = self.shared.sources.add(source, limit, left);
        self.source = Some(source);
        if greedy && self.admission == Admission::Granted {
            count(&self.shared.counters.refused_connections);
            self.admission = Admission::Greedy;
        }
    }

    fn leave_source(&mut self) {
        if let Some(source) = self.source.take() {
            self.shared.sources.remove(source);
        }
    }

    /// Counts a TLS handshake in. An error where there are too many, of all or of its address.
    pub(super) fn handshake(&self) -> io::Result<Handshake<'_>> {
        let (shared, limit) = (&self.shared, self.shared.limits().handshakes);
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
pub(super) struct Handshake<'a>(&'a ConnectionGuard);

impl Drop for Handshake<'_> {
    fn drop(&mut self) {
        let shared = &self.0.shared;
        shared.handshakes.fetch_sub(1, Ordering::Relaxed);
        if let Some(source) = self.0.source {
            shared.handshake_sources.remove(source);
        }
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.leave_source();
        let mut entries = self.shared.entries();
        // Ids only grow, so the list is sorted.
        if let Ok(index) = entries.binary_search_by_key(&self.entry.id, |entry| entry.id) {
            entries.remove(index);
            // Under the lock: a reader finds the connection in one of both.
            if let Some(peers) = &self.shared.peers {
                peers.ended(&self.entry);
            }
        }
        self.shared.left.notify_all();
    }
}

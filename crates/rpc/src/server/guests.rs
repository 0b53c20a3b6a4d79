//! The connections of a server, counted.

use super::Shared;
use super::counters::count;
use super::hosts::is_local;
use super::session::Standing;
use crate::Address;
use crate::transport::Stream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

/// How many connections too many are told so at a time.
const TURNED_AWAY: usize = 1_000;

/// A connection by its number, with the stream that ends it where it has a thread of its own.
pub(super) type Seat = (u64, Option<Arc<dyn Stream>>);

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

    /// Counts a connection in. One too many is let in, to be told; `None` where there are far too many, and for one
    /// too many of those who have another one, and meet the server here.
    pub(super) fn admit(
        self: &Arc<Self>,
        stream: Option<Arc<dyn Stream>>,
        door: Door,
    ) -> Option<Guest> {
        let counters = &self.counters;
        let mut guests = self.guests();
        let welcome = guests.len() < self.limits.connections;
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
        let full = guests.len() >= self.limits.connections.saturating_add(TURNED_AWAY);
        if full {
            return None;
        }
        let id = self.next_guest.fetch_add(1, Ordering::Relaxed);
        guests.push((id, stream));
        Some(Guest {
            id,
            welcome,
            shared: self.clone(),
        })
    }

    pub(super) fn guests(&self) -> MutexGuard<'_, Vec<Seat>> {
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
    /// Where clients find it that came by TCP.
    Meeting,
    /// With TLS alone.
    Secure,
}

/// A connection that is counted as long as this exists.
pub(super) struct Guest {
    id: u64,
    /// False for a connection too many.
    welcome: bool,
    shared: Arc<Shared>,
}

impl Guest {
    /// Whether calls are answered that came through this door.
    pub(super) fn standing(&self, door: Door, over_tls: bool) -> Standing {
        match self.welcome {
            false => Standing::Crowded,
            true if door == Door::Secure && !over_tls => Standing::Insecure,
            true => Standing::Welcome,
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut guests = self.shared.guests();
        // Ids only grow, so the list is sorted.
        if let Ok(index) = guests.binary_search_by_key(&self.id, |guest| guest.0) {
            guests.remove(index);
        }
        self.shared.left.notify_all();
    }
}

//! A part of a long list for each client.

use crate::{Backend, hash};

/// Has a client use only some of the backends of a name: thousands of clients with connections to
/// thousands of servers would have millions of them. Backends are chosen by the hashes of the
/// client and their addresses (gRFC A68): each client has a part of its own, and keeps most of it
/// when the list changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subset {
    /// The number of backends at most.
    pub size: usize,
    /// The number of the client. A random one serves: clients are to differ.
    pub client: u64,
}

impl Subset {
    /// A part of this size for a client that draws its number.
    #[must_use]
    pub fn random(size: usize) -> Self {
        Subset::of(size, fastrand::u64(..))
    }

    /// A part of this size for this client.
    #[must_use]
    pub fn of(size: usize, client: u64) -> Self {
        Subset { size, client }
    }

    /// Keeps the backends of the client, in the order of the list.
    pub(crate) fn of_list(self, backends: &mut Vec<Backend>) {
        if backends.len() <= self.size {
            return;
        }
        let rank = |backend: &Backend| {
            let key = [backend.address.as_bytes(), &self.client.to_le_bytes()].concat();
            hash(&key)
        };
        let mut ranks: Vec<u64> = backends.iter().map(rank).collect();
        ranks.sort_unstable();
        let Some(last) = ranks.get(self.size) else {
            return;
        };
        backends.retain(|backend| rank(backend) < *last);
    }
}

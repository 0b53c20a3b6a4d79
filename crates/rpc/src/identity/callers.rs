//! Callers told apart: by their identities, else by where they call from.

use super::Principal;
use crate::Context;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::{IpAddr, SocketAddr};

/// Makes keys of callers. Nobody can choose callers whose keys are the same, as the hashers are
/// secret.
#[derive(Default)]
pub(crate) struct CallerKeys([RandomState; 2]);

impl CallerKeys {
    /// Returns the key of a caller: that of its principal, else of its address; by IPv6, of its
    /// network of 64 bits; through Unix sockets and shared memory, of its user.
    pub(crate) fn key(&self, call: &Context) -> u128 {
        match call.principal() {
            Some(principal) => self.of_principal(principal),
            None => match address(call.peer()) {
                Some(IpAddr::V4(address)) => self.hash((1u8, address.to_bits())),
                Some(IpAddr::V6(address)) => self.hash((2u8, address.to_bits() >> 64)),
                None => match call.process() {
                    Some(process) => self.hash((3u8, process.uid)),
                    None => self.hash((4u8, call.peer())),
                },
            },
        }
    }

    pub(crate) fn of_principal(&self, principal: &Principal) -> u128 {
        self.hash((0u8, principal.kind(), principal.name()))
    }

    fn hash(&self, key: impl Hash) -> u128 {
        let [high, low] = &self.0;
        u128::from(high.hash_one(&key)) << 64 | u128::from(low.hash_one(&key))
    }
}

/// Reads the address of a caller, which may be without a port.
fn address(peer: &str) -> Option<IpAddr> {
    let socket = peer.parse().map(|socket: SocketAddr| socket.ip());
    let address = socket.or_else(|_| peer.parse()).ok()?;
    Some(address.to_canonical())
}

//! The waiter for the reply to a call, and the reply.

use super::answer::{Answered, ReadObjects};
use super::wake_list::WakeList;
use crate::Status;
use crate::peer::objects::Slot;
use std::hash::Hasher;
use std::task::Waker;

/// A call that its caller has not done with.
pub(super) struct Entry {
    pub(super) waiter: Waiter,
    /// How often `out` had been taken before it was queued there.
    pub(super) queued: u64,
    pub(super) reply: Option<Result<Answered, Status>>,
    pub(super) name: &'static str,
    pub(super) read: Option<ReadObjects>,
}

/// The waiter for a reply.
pub(super) enum Waiter {
    Caller(Waker),
    /// A caller that knows that its reply has come.
    Notified,
    /// The object that it is to bring.
    Promise(Slot),
    /// Its objects are to be released.
    Nobody,
}

impl Entry {
    /// The caller, where that waits.
    pub(super) fn caller(&self) -> Option<&Waker> {
        match &self.waiter {
            Waiter::Caller(waiter) if self.reply.is_none() => Some(waiter),
            _ => None,
        }
    }

    pub(super) fn wake(&mut self, wake_list: &mut WakeList) {
        if let Waiter::Caller(waiter) = std::mem::replace(&mut self.waiter, Waiter::Notified) {
            wake_list.push(waiter);
        }
    }
}

/// Ids are numbers in order: they are spread well enough as they are.
#[derive(Default)]
pub(super) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 << 8 | u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

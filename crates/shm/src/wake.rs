//! Waiting without missing anything. Who waits says so in a word of its own segment, looks once
//! more, and only then sleeps; who publishes something looks at that word afterwards. Between the
//! two writes and the two looks stand fences, so that at least one of the looks sees the other's
//! write.
//!
//! The word holds how its owner sleeps, in the lowest two bits, and the number of the sleep above
//! them. The number lets the peer ring once for each sleep, although waking takes long and the peer
//! cannot change the word.

use crate::atomic::{Ordering, fence};
use crate::word::Word;

/// How a waiter sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Sleep {
    /// Not at all.
    Awake = 0,
    /// On the peer's bell, by futex.
    Futex = 1,
    /// On the line, until that is readable.
    Line = 2,
}

const MODE: u32 = 3;

/// The waiter's side of one word.
#[derive(Debug, Default)]
pub(crate) struct Sleeper {
    last: u32,
}

impl Sleeper {
    /// Says that a sleep begins. What the peer publishes from now on makes it ring; so look for it
    /// after this.
    pub(crate) fn begin(&mut self, word: &Word, sleep: Sleep) {
        self.last = (self.last & !MODE).wrapping_add(MODE + 1) | sleep as u32;
        word.publish(self.last);
        fence(Ordering::SeqCst);
    }

    /// Says that the sleep is over, if there was one.
    pub(crate) fn end(&mut self, word: &Word) {
        if self.last & MODE != Sleep::Awake as u32 {
            self.last &= !MODE;
            word.publish(self.last);
        }
    }
}

/// Carries a ring to the peer.
pub(crate) trait Bell {
    /// Wakes who sleeps on this word.
    fn wake(&self, bell: &Word);
    /// Makes the peer's line readable.
    fn signal(&self);
}

/// The publisher's side of one word.
#[derive(Debug, Default)]
pub(crate) struct Ringer {
    /// The sleep that was rung for last.
    last: Word,
}

impl Ringer {
    /// Wakes the peer if it sleeps: after something was published that it may wait for. While it is
    /// awake, this is two looks at memory.
    pub(crate) fn ring(&self, sleep: &Word, bell: &Word, kernel: &impl Bell) {
        fence(Ordering::SeqCst);
        let sleep = sleep.observe();
        let mode = sleep & MODE;
        if mode == Sleep::Awake as u32 || self.last.swap(sleep) == sleep {
            return;
        }
        if mode == Sleep::Futex as u32 {
            bell.increment();
            kernel.wake(bell);
        } else if mode == Sleep::Line as u32 {
            kernel.signal();
        }
    }
}

/// A place where a waiter sleeps, and for how long.
pub(crate) trait Bed {
    /// Why a sleep on the line ends for good.
    type End;

    /// Sleeps until the bell no longer has this value. False where it is time to move to the line.
    fn on_futex(&self, bell: &Word, seen: u32) -> bool;

    /// Sleeps until the line is readable, or there is no reason to sleep on.
    fn on_line(&self) -> Result<(), Self::End>;
}

/// Waits until something is there: first by futex, which is quick, then on the line, where the end
/// of the peer shows too.
pub(crate) fn wait<B: Bed>(
    sleeper: &mut Sleeper,
    sleep: &Word,
    bell: &Word,
    bed: &B,
    mut is_there: impl FnMut() -> Result<bool, B::End>,
) -> Result<(), B::End> {
    let mut mode = Sleep::Futex;
    let result = loop {
        let seen = bell.observe();
        sleeper.begin(sleep, mode);
        match is_there() {
            Ok(false) => {}
            result => break result.map(drop),
        }
        match mode {
            Sleep::Futex if bed.on_futex(bell, seen) => {}
            Sleep::Line => match bed.on_line() {
                Ok(()) => {}
                Err(end) => break Err(end),
            },
            _ => mode = Sleep::Line,
        }
    };
    sleeper.end(sleep);
    result
}

#[cfg(all(test, not(loom)))]
mod tests;

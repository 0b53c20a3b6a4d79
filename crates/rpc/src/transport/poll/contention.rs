//! Whether a program that computes all the time wants the core of this thread. A yield beside it
//! gives a whole slice of the scheduler away, some milliseconds, and a poll is interrupted for as
//! long. Threads that share a core and wait for each other, as those of a client and a server, get
//! it back within microseconds.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// A pause in which another program had a slice of the core.
const SLICE: Duration = Duration::from_millis(1);

/// For how many times as long as the pause nothing is risked: 3 % of the time may be lost.
const TIMES: u32 = 32;

/// The longest rest. Each is twice as long as the one before, until a trial behind one has paid.
const LONGEST: Duration = Duration::from_millis(500);
const LONGEST_FACTOR: u32 = 16;

/// The rest of a thread.
#[derive(Clone, Copy)]
struct Rest {
    until: Option<Instant>,
    /// The factor of the next one.
    factor: u32,
}

impl Rest {
    const NONE: Self = Rest {
        until: None,
        factor: 1,
    };

    fn is_on(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() < until)
    }

    /// Begins the next one, and returns how long it is.
    fn begin(&mut self, pause: Duration) -> Duration {
        let length = (pause * TIMES * self.factor).min(LONGEST);
        self.until = Some(Instant::now() + length);
        self.factor = (2 * self.factor).min(LONGEST_FACTOR);
        length
    }
}

/// One yield of a loop out of so many is timed. A clock read with each call is a loss, too.
#[cfg(feature = "async")]
const TIMED: u32 = 16;

thread_local! {
    #[cfg(feature = "async")]
    static YIELDS: Cell<u32> = const { Cell::new(0) };
    static REST: Cell<Rest> = const { Cell::new(Rest::NONE) };
}

/// Returns whether a thread that polls or yields now is likely to lose a slice.
pub(super) fn is_likely() -> bool {
    REST.get().is_on()
}

/// Notes that the thread was away for so long, though it was ready to run.
pub(super) fn away(pause: Duration) {
    let mut rest = REST.get();
    if pause >= SLICE {
        rest.begin(pause);
        REST.set(rest);
    } else if rest.factor > 1 {
        REST.set(Rest::NONE);
    }
}

/// Lets other threads run behind an answer of a loop, unless that has lately taken a slice.
#[cfg(feature = "async")]
pub(crate) fn give_way() {
    let rest = REST.get();
    if rest.is_on() {
        return;
    }
    YIELDS.set(YIELDS.get().wrapping_add(1));
    // A trial behind a rest is always timed.
    let is_timed = rest.factor > 1 || YIELDS.get().is_multiple_of(TIMED);
    let start = is_timed.then(Instant::now);
    std::thread::yield_now();
    if let Some(start) = start {
        away(start.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_that_is_lost_is_followed_by_a_rest() {
        // Pauses, and whether another one is likely then.
        let rows: [(&[u64], bool); 4] = [
            (&[], false),
            (&[100, 900], false),
            (&[3_000], true),
            (&[900, 3_000], true),
        ];
        for (pauses, expected) in rows {
            let found = std::thread::spawn(move || {
                pauses
                    .iter()
                    .for_each(|us| away(Duration::from_micros(*us)));
                is_likely()
            });
            assert_eq!(found.join().ok(), Some(expected), "{pauses:?}");
        }
    }

    #[test]
    fn losses_in_a_row_make_rests_longer() {
        let mut rest = Rest::NONE;
        let lengths = [1, 1, 2, 1, 5].map(|ms| rest.begin(Duration::from_millis(ms)).as_millis());
        assert_eq!(lengths, [32, 64, 256, 256, 500]);
        assert!(rest.is_on());
    }
}

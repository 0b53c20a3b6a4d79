//! The time that polling may still cost on one connection. A poll that ends before a wake-up would
//! have earns the difference; any other one pays for its time, and where nothing is left, nobody
//! polls. So no more is lost than what was earned, and what a trial is given.

use std::num::NonZeroU32;
use std::time::Duration;

/// The least cost of a wake-up.
pub(super) const WAKE_UP: Duration = Duration::from_micros(50);

/// The longest poll: while one end sleeps, the other one must not fall asleep over it, or both do
/// for good. That is what a wake-up costs where it is expensive, for both of them to find out that
/// it need not be. Ends that know it do not poll so long: an answer that is late by several of the
/// usual times may wait for the very core of the poll.
const LONGEST: Duration = Duration::from_micros(500);

/// A poll lasts so many times as long as those before it, and not less than `SHORTEST`.
const TIMES_USUAL: u64 = 4;
const SHORTEST: Duration = Duration::from_micros(100);

/// A wait that was no longer may have been little else than wake-ups.
const SHORT: Duration = Duration::from_millis(1);

/// The time for a trial.
const TRIAL: Duration = Duration::from_millis(1);

/// The most that is kept of what was earned.
const MAX: Duration = Duration::from_millis(2);

/// Short waits in a row before the first trial. After each that was in vain there are twice as many
/// before the next.
const PROOF: u32 = 3;

/// The most of them: then trials cost 2 % of a core at the worst, where waits are 100 µs long and
/// not worth polling.
const LONGEST_PROOF: u32 = 512;

#[derive(Debug)]
pub(super) struct Credit {
    left_ns: u32,
    /// How long it usually takes to meet the end of a poll; not known after one in vain whose end
    /// came from elsewhere.
    usual_ns: Option<NonZeroU32>,
    /// Short waits in a row.
    waits: u32,
    /// How many of them are followed by a trial.
    proof: u32,
}

impl Default for Credit {
    fn default() -> Self {
        Credit {
            left_ns: 0,
            usual_ns: None,
            waits: 0,
            proof: PROOF,
        }
    }
}

impl Credit {
    /// How long to poll; `None` for not at all.
    pub(super) fn limit(&self) -> Option<Duration> {
        let times = |usual: NonZeroU32| {
            let longest = Duration::from_nanos(TIMES_USUAL * u64::from(usual.get()));
            longest.clamp(SHORTEST, LONGEST)
        };
        let longest = self.usual_ns.map_or(LONGEST, times);
        let left = Duration::from_nanos(self.left_ns.into());
        (self.left_ns > 0).then(|| left.min(longest))
    }

    /// A poll has met its end.
    pub(super) fn met(&mut self, lasted: Duration) {
        let (lasted, most) = (nanos(lasted.min(MAX)).max(1), nanos(MAX));
        let usual = self.usual_ns.map_or(lasted, NonZeroU32::get);
        self.usual_ns = NonZeroU32::new((7 * usual + lasted) / 8);
        self.left_ns = (self.left_ns + nanos(WAKE_UP)).saturating_sub(lasted);
        if self.left_ns >= most {
            self.left_ns = most;
            self.proof = PROOF;
        }
    }

    /// A poll has lasted as long as it might, for nothing.
    pub(super) fn missed(&mut self, lasted: Duration) {
        self.left_ns = self.left_ns.saturating_sub(nanos(lasted));
    }

    /// Returns how long a poll usually takes to meet its end; zero where that is not known.
    pub(super) fn usual(&self) -> Duration {
        let ns = self.usual_ns.map_or(0, NonZeroU32::get);
        Duration::from_nanos(ns.into())
    }

    /// The end of a poll in vain came later, and not because the poll was over: the other end may
    /// have slept.
    pub(super) fn surprised(&mut self) {
        self.usual_ns = None;
    }

    /// A wait that blocked has ended.
    pub(super) fn waited(&mut self, lasted: Duration) {
        if lasted > SHORT {
            self.waits = 0;
            return;
        }
        self.waits = self.waits.saturating_add(1);
        if self.left_ns == 0 && self.waits >= self.proof {
            self.left_ns = nanos(TRIAL);
            self.waits = 0;
            self.proof = (2 * self.proof).min(LONGEST_PROOF);
        }
    }
}

/// Half the memory of a `Duration`, of which each idle connection has some.
pub(super) fn nanos(duration: Duration) -> u32 {
    u32::try_from(duration.as_nanos()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    /// One end of a connection, or a peer that never polls.
    struct End {
        credit: Option<Credit>,
        polled: Duration,
    }

    impl End {
        fn new(polls: bool) -> Self {
            End {
                credit: polls.then(Credit::default),
                polled: Duration::ZERO,
            }
        }

        /// Waits for something that comes after this time; says when it goes on.
        fn wait(&mut self, comes: Duration, wake_up: Duration) -> Duration {
            let Some(credit) = &mut self.credit else {
                return comes + wake_up;
            };
            match credit.limit() {
                Some(limit) if comes <= limit => {
                    self.polled += comes;
                    credit.met(comes);
                    return comes;
                }
                Some(limit) => {
                    self.polled += limit;
                    credit.missed(limit);
                    credit.surprised();
                }
                None => {}
            }
            credit.waited(comes + wake_up);
            comes + wake_up
        }
    }

    /// A caller that makes one call after the other, of a handler that takes so long.
    struct Load {
        handler: Duration,
        pause: Duration,
        wake_up: Duration,
        server_polls: bool,
    }

    impl Load {
        /// The mean time of the later ones of so many calls, and the share of all the time in which
        /// each end polled.
        fn run(&self, calls: u32) -> (Duration, [f64; 2]) {
            let (mut client, mut server) = (End::new(true), End::new(self.server_polls));
            let (mut total, mut late, mut server_since) = (us(0), us(0), us(0));
            for call in 0..calls {
                let sent = total + self.pause;
                let got = server_since + server.wait(sent - server_since, self.wake_up);
                let answered = got + us(2) + self.handler;
                server_since = answered;
                total = sent + client.wait(answered - sent, self.wake_up);
                if call >= calls / 2 {
                    late += total - sent;
                }
            }
            let share = |end: &End| end.polled.as_secs_f64() / total.as_secs_f64();
            (late / (calls - calls / 2), [share(&client), share(&server)])
        }
    }

    #[test]
    fn both_ends_poll_where_that_pays() {
        for wake_up in [5, 20, 60, 150, 300, 450] {
            let load = Load {
                handler: us(1),
                pause: us(1),
                wake_up: us(wake_up),
                server_polls: true,
            };
            let (mean, _) = load.run(1000);
            assert!(mean < us(10), "wake-up of {wake_up} µs: {mean:?} a call");
        }
    }

    #[test]
    fn polling_costs_little_where_it_does_not_pay() {
        // handler, pause between calls, wake-up, whether the server polls, how much of a core is
        // spent at most; for the server, which polls while its client wakes up, that pays in the
        // first one
        let rows = [
            (200, 0, 20, true, 0.1),
            (200, 0, 20, false, 0.05),
            (60, 0, 60, false, 0.15),
            (900, 0, 20, true, 0.05),
            (5_000, 0, 20, true, 0.005),
            (1, 10_000, 20, true, 0.005),
            (1, 300, 20, true, 0.1),
        ];
        for (handler, pause, wake_up, server_polls, most) in rows {
            let load = Load {
                handler: us(handler),
                pause: us(pause),
                wake_up: us(wake_up),
                server_polls,
            };
            let (_, shares) = load.run(10_000);
            assert!(
                shares.iter().all(|share| *share <= most),
                "handler {handler} µs, pause {pause} µs: {shares:?}"
            );
        }
    }

    #[test]
    fn one_end_that_is_held_up_does_not_end_it() {
        let mut credit = Credit::default();
        (0..3).for_each(|_| credit.waited(us(80)));
        (0..100).for_each(|_| credit.met(us(5)));
        assert_eq!(credit.limit(), Some(SHORTEST));
        credit.missed(us(500));
        credit.surprised();
        credit.waited(us(700));
        assert_eq!(credit.limit(), Some(LONGEST));
    }
}

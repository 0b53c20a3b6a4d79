//! Polling by tasks, which cannot look again by themselves: they ask to be run again soon, or to be
//! told.

use super::{Poll, Polling, SpinPolicy};
use std::time::Instant;

/// The waits of a reader that is asked whether something has come, and answers at once.
pub(crate) struct SpinWait {
    spin_policy: SpinPolicy,
    stage: Stage,
}

/// The stage of such a reader since it has found nothing.
enum Stage {
    /// It has not.
    Fresh,
    Polls(Poll),
    /// It is told when to come again.
    Sleeps(Instant),
}

impl SpinWait {
    pub(crate) fn new(setting: Polling) -> Self {
        SpinWait {
            spin_policy: SpinPolicy::new(setting),
            stage: Stage::Fresh,
        }
    }

    /// It has found nothing. True where it is to look again soon, instead of being told.
    pub(crate) fn goes_on(&mut self) -> bool {
        let since = match &mut self.stage {
            Stage::Fresh => match self.spin_policy.poll() {
                Some(poll) => {
                    self.stage = Stage::Polls(poll);
                    return true;
                }
                None => None,
            },
            Stage::Polls(poll) => match self.spin_policy.goes_on(poll) {
                true => return true,
                false => poll.start(),
            },
            Stage::Sleeps(_) => return false,
        };
        self.stage = Stage::Sleeps(since.unwrap_or_else(Instant::now));
        false
    }

    /// Something was sent: what comes is an answer to that, and waited for from now on. True where
    /// it is to look then, but would not without being told.
    pub(crate) fn restart(&mut self) -> bool {
        let looks = match &self.stage {
            Stage::Fresh => return false,
            Stage::Polls(_) => false,
            Stage::Sleeps(_) if self.spin_policy.is_good() => true,
            Stage::Sleeps(_) => {
                self.stage = Stage::Sleeps(Instant::now());
                return false;
            }
        };
        self.stage = Stage::Fresh;
        looks
    }

    /// It has found something.
    pub(crate) fn met(&mut self) {
        match std::mem::replace(&mut self.stage, Stage::Fresh) {
            Stage::Fresh => {}
            Stage::Polls(poll) => self.spin_policy.met(&poll),
            Stage::Sleeps(since) => self.spin_policy.waited(since),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::credit;
    use super::*;
    use std::thread::sleep;

    /// An event of a reader.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        /// It has found nothing, and is to look again soon, or not.
        Nothing(bool),
        /// It was told to come again, after a wait that is worth a poll.
        Something,
        /// It has sent, and is to look at once, or not.
        Sent(bool),
        /// More time has passed than any poll lasts.
        Pause,
    }

    fn check(setting: Polling, events: &[Event]) {
        let mut spin_wait = SpinWait::new(setting);
        for (index, event) in events.iter().enumerate() {
            let met = match *event {
                Event::Nothing(again) => spin_wait.goes_on() == again,
                Event::Sent(looks) => spin_wait.restart() == looks,
                Event::Something => {
                    spin_wait.met();
                    true
                }
                Event::Pause => {
                    sleep(2 * credit::WAKE_UP);
                    true
                }
            };
            assert!(met, "{setting:?}, event {index} of {events:?}");
        }
    }

    #[test]
    fn it_lasts_as_long_as_it_may() {
        use Event::{Nothing, Pause, Sent, Something};
        let rows: [(Polling, &[Event]); 7] = [
            (
                Polling::Never,
                &[Nothing(false), Sent(false), Nothing(false)],
            ),
            (Polling::Always, &[Nothing(true), Something, Nothing(true)]),
            // Waits that block come first, and teach whether it pays.
            (
                Polling::Adaptive,
                &[
                    Nothing(false),
                    Something,
                    Nothing(false),
                    Something,
                    Nothing(false),
                ],
            ),
            // The first look sets the clock, so the second one after the pause is too late.
            (
                Polling::Always,
                &[
                    Nothing(true),
                    Nothing(true),
                    Pause,
                    Nothing(false),
                    Nothing(false),
                ],
            ),
            // Whoever sends waits from then on.
            (
                Polling::Always,
                &[
                    Nothing(true),
                    Nothing(true),
                    Pause,
                    Nothing(false),
                    Sent(true),
                    Nothing(true),
                ],
            ),
            (
                Polling::Always,
                &[
                    Nothing(true),
                    Nothing(true),
                    Sent(false),
                    Pause,
                    Nothing(true),
                    Nothing(true),
                ],
            ),
            (Polling::Always, &[Sent(false), Nothing(true)]),
        ];
        for (setting, events) in rows {
            check(setting, events);
        }
    }
}

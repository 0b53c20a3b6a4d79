//! When to poll before blocking. Waking a sleeping thread costs tens of microseconds on a virtual
//! machine, and now and then hundreds; polling for the few microseconds that a peer needs to answer
//! costs less than that, in time and in CPU; polling while others need the core is a disaster. So
//! the policy learns.

mod contention;
mod credit;
#[cfg(feature = "grpc")]
mod spin_wait;

use super::{Stream, Wait};
use bytes::BytesMut;
#[cfg(feature = "async")]
pub(super) use contention::give_way;
use credit::Credit;
#[cfg(feature = "grpc")]
pub(super) use spin_wait::SpinWait;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Polling {
    /// Poll while it pays.
    #[default]
    Adaptive,
    /// Poll before every wait, for 50 µs.
    Always,
    /// Never poll.
    Never,
}

/// A pause in which others must have run: another thread, or the kernel's clock.
const STOLEN: Duration = Duration::from_micros(20);

/// Polls that met their end in a row, after which one that was interrupted says nothing: it was the
/// clock. If there are more threads than cores, polls are interrupted long before.
const QUIET: u32 = 32;

/// The waits not to poll in after polling has met a busy machine, at first and at most.
const BUSY_PAUSES: [u32; 2] = [1, 256];

/// The waits not to poll in after polls that kept the core from the other end, at first and at
/// most. A poll is longer than several of them.
const KEPT_PAUSES: [u32; 2] = [64, 16_384];

/// An answer so soon behind a poll in vain, or within its usual time, has waited for the core that
/// the poll kept.
const SOON: Duration = Duration::from_micros(40);

/// Threads of this process that poll now.
static POLLING: AtomicUsize = AtomicUsize::new(0);

/// Receives on one connection, polling where that has paid lately.
#[derive(Debug)]
pub struct Poller {
    spin_policy: SpinPolicy,
}

impl Poller {
    /// Makes a policy without experience: its first waits block.
    pub fn new(setting: Polling) -> Self {
        Poller {
            spin_policy: SpinPolicy::new(setting),
        }
    }

    /// Receives, polling first where that has paid lately.
    pub fn recv(
        &mut self,
        stream: &dyn Stream,
        buffer: &mut [u8],
        deadline: Option<Instant>,
    ) -> io::Result<usize> {
        self.recv_until(stream, buffer, || deadline)
    }

    /// Receives; only a wait that blocks asks for its deadline, as the clock is expensive for an
    /// answer that comes at once.
    pub(crate) fn recv_until(
        &mut self,
        stream: &dyn Stream,
        buffer: &mut [u8],
        deadline: impl FnOnce() -> Option<Instant>,
    ) -> io::Result<usize> {
        self.wait(deadline, |wait| stream.recv(buffer, wait))
    }

    /// Receives behind the bytes of `input`, at most so many bytes.
    pub(crate) fn recv_behind(
        &mut self,
        stream: &dyn Stream,
        input: &mut BytesMut,
        most: usize,
        deadline: impl FnOnce() -> Option<Instant>,
    ) -> io::Result<usize> {
        self.wait(deadline, |wait| stream.recv_behind(input, most, wait))
    }

    fn wait(
        &mut self,
        deadline: impl FnOnce() -> Option<Instant>,
        mut recv: impl FnMut(Wait) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut start = None;
        if let Some(mut poll) = self.spin_policy.poll() {
            loop {
                match recv(Wait::Poll) {
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                    result => {
                        self.spin_policy.met(&poll);
                        return result;
                    }
                }
                // Whoever else is ready runs now; alone on the core this returns at once.
                std::thread::yield_now();
                if !self.spin_policy.goes_on(&mut poll) {
                    break;
                }
            }
            start = poll.start();
        }
        let start = start.unwrap_or_else(Instant::now);
        let result = recv(Wait::Until(deadline()));
        self.spin_policy.waited(start);
        result
    }
}

/// The experience of a connection with its waits, which decides whether it polls.
#[derive(Debug)]
pub(crate) struct SpinPolicy {
    setting: Polling,
    credit: Credit,
    /// Waits not to poll in, after polling met a busy machine.
    pause: u32,
    /// How long the last such pause was.
    last_pause: u32,
    /// Polls in a row that met their end.
    met: u32,
    /// How long the last poll was in vain; zero where it was not.
    in_vain_ns: u32,
    /// Whether the poll in vain before that kept the core from the other end.
    kept: bool,
}

/// A poll that goes on.
pub(crate) struct Poll {
    _place: PollGuard,
    limit: Duration,
    /// After the first look, and after the last one. Most polls end with the first look, and need
    /// no clock.
    times: Option<(Instant, Instant)>,
}

impl Poll {
    /// When it began, where it has come that far.
    pub(crate) fn start(&self) -> Option<Instant> {
        self.times.map(|(start, _)| start)
    }

    /// How long it has lasted, up to the last look.
    fn lasted(&self) -> Duration {
        self.times
            .map_or(Duration::ZERO, |(start, last)| last - start)
    }
}

impl SpinPolicy {
    pub(crate) fn new(setting: Polling) -> Self {
        SpinPolicy {
            setting,
            credit: Credit::default(),
            pause: 0,
            last_pause: 0,
            met: 0,
            in_vain_ns: 0,
            kept: false,
        }
    }

    /// Begins a poll where one is likely to pay, and not too many threads poll already.
    pub(crate) fn poll(&mut self) -> Option<Poll> {
        let limit = self.limit();
        self.pause = self.pause.saturating_sub(1);
        let limit = limit?;
        Some(Poll {
            _place: PollGuard::take(self.setting)?,
            limit,
            times: None,
        })
    }

    /// How long to poll now.
    fn limit(&self) -> Option<Duration> {
        match self.setting {
            Polling::Never => None,
            Polling::Always => Some(credit::WAKE_UP),
            Polling::Adaptive if self.pause > 0 || contention::is_likely() => None,
            Polling::Adaptive => self.credit.limit(),
        }
    }

    /// Returns whether the next poll is likely to pay.
    #[cfg(feature = "grpc")]
    fn is_good(&self) -> bool {
        self.limit().is_some()
    }

    /// Asked between two looks: false where it is better to block now.
    pub(crate) fn goes_on(&mut self, poll: &mut Poll) -> bool {
        let now = Instant::now();
        let (start, last) = poll.times.unwrap_or((now, now));
        if now - last > STOLEN && self.setting == Polling::Adaptive {
            self.interrupted(now - last);
            return false;
        }
        poll.times = Some((start, now));
        let goes_on = now - start <= poll.limit;
        if !goes_on {
            self.credit.missed(now - start);
            self.in_vain_ns = credit::nanos(now - start);
        }
        goes_on
    }

    /// Notes that the poll has met the event that it waited for.
    pub(crate) fn met(&mut self, poll: &Poll) {
        self.met = self.met.saturating_add(1);
        // An answer that is there at the first look would be there without a poll, too.
        if poll.start().is_some() {
            self.kept = false;
        }
        self.credit.met(poll.lasted());
    }

    /// Somebody else has run meanwhile. Once is nothing; again and again, it is a machine with
    /// other work.
    fn interrupted(&mut self, pause: Duration) {
        contention::away(pause);
        self.pause(BUSY_PAUSES);
    }

    /// Begins a pause, which is longer if few polls have met their end since the last one.
    fn pause(&mut self, [first, longest]: [u32; 2]) {
        self.pause = match self.met >= QUIET {
            true => first,
            false => (4 * self.last_pause).clamp(first, longest),
        };
        (self.last_pause, self.met) = (self.pause, 0);
    }

    /// A wait that blocked has ended.
    pub(crate) fn waited(&mut self, since: Instant) {
        if self.setting == Polling::Adaptive {
            self.learn(since.elapsed());
        }
    }

    /// Learns from a wait of this length, with the poll before it.
    fn learn(&mut self, lasted: Duration) {
        self.credit.waited(lasted);
        let in_vain = std::mem::take(&mut self.in_vain_ns);
        if in_vain == 0 {
            return;
        }
        let later = lasted.saturating_sub(Duration::from_nanos(in_vain.into()));
        let kept = later < SOON + self.credit.usual();
        match kept && self.kept {
            true => self.pause(KEPT_PAUSES),
            false if kept => {}
            false => self.credit.surprised(),
        }
        self.kept = kept;
    }
}

/// One of the few places for polling threads: half the cores, so that a peer on the same machine
/// can poll too.
struct PollGuard;

impl PollGuard {
    fn take(setting: Polling) -> Option<Self> {
        static PLACES: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
        let places = *PLACES.get_or_init(|| {
            std::thread::available_parallelism().map_or(0, |cores| match cores.get() {
                1 => 0,
                cores => cores / 2,
            })
        });
        let taken = POLLING.fetch_add(1, Ordering::Relaxed);
        let place = PollGuard;
        (setting == Polling::Always || taken < places).then_some(place)
    }
}

impl Drop for PollGuard {
    fn drop(&mut self) {
        POLLING.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_polls_on_the_core_of_the_other_end() {
        // How long each poll was in vain, and when its end came after it, in µs; whether the
        // next waits block at once.
        let rows: [(&[(u32, u64)], bool); 4] = [
            (&[(50, 10)], false),
            (&[(50, 10), (50, 15)], true),
            // The other end slept, or its handler took longer.
            (&[(50, 10), (50, 200)], false),
            (&[(50, 200), (500, 10)], false),
        ];
        for (polls, expected) in rows {
            let mut policy = SpinPolicy::new(Polling::Adaptive);
            for &(in_vain, later) in polls {
                policy.in_vain_ns = in_vain * 1000;
                policy.learn(Duration::from_micros(u64::from(in_vain) + later));
            }
            assert_eq!(policy.pause > 0, expected, "{polls:?}");
        }
    }

    #[test]
    fn a_poll_that_pays_ends_the_doubt() {
        let mut policy = SpinPolicy::new(Polling::Always);
        for meets in [true, false] {
            let mut poll = policy.poll().expect("always");
            // An answer that is there at the first look says nothing.
            if meets {
                assert!(policy.goes_on(&mut poll));
            }
            policy.kept = true;
            policy.met(&poll);
            assert_eq!(policy.kept, !meets);
        }
    }
}

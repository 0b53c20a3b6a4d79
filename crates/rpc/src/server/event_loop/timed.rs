//! Calls that are timed while they have the thread of a loop.

use crate::buffers::Gathered;
use crate::dispatch::running::RunningCall;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll};
use std::time::Duration;

/// A loop that a handler has for longer is held up.
const LONG: Duration = Duration::from_millis(10);

/// A call that reports it where its handler holds up the loop, by its start or by one poll.
pub(in crate::server) struct Timed<'a> {
    running: RunningCall<'a>,
    /// When it was started, until it is polled.
    started: Option<Moment>,
}

impl<'a> Timed<'a> {
    pub(in crate::server) fn new(start: impl FnOnce() -> RunningCall<'a>) -> Self {
        Timed {
            started: Some(Moment::now()),
            running: start(),
        }
    }
}

impl<'a> From<RunningCall<'a>> for Timed<'a> {
    fn from(running: RunningCall<'a>) -> Self {
        let started = None;
        Timed { running, started }
    }
}

impl Future for Timed<'_> {
    type Output = Gathered;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Gathered> {
        let since = self.started.take().unwrap_or_else(Moment::now);
        let polled = Pin::new(&mut self.running).poll(context);
        if let Some(lasted) = since.long_ago() {
            self.running.held_up_loop(lasted);
        }
        polled
    }
}

/// A moment as exact as the ticks of the kernel, some milliseconds, by a clock that can be read
/// several times as fast as the exact one.
#[derive(Clone, Copy)]
struct Moment(Duration);

impl Moment {
    /// Returns how long ago it was, where that is surely longer than `LONG`.
    fn long_ago(self) -> Option<Duration> {
        static LEAST: LazyLock<Duration> = LazyLock::new(|| LONG + tick());
        let lasted = Moment::now().0.saturating_sub(self.0);
        // Most often not a tick has passed.
        (!lasted.is_zero() && lasted >= *LEAST).then_some(lasted)
    }

    #[cfg(target_os = "linux")]
    fn now() -> Self {
        use rustix::time::{ClockId, clock_gettime};
        Moment(duration(clock_gettime(ClockId::MonotonicCoarse)))
    }

    #[cfg(not(target_os = "linux"))]
    fn now() -> Self {
        use std::time::Instant;
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        Moment(START.elapsed())
    }
}

/// The time between two ticks.
#[cfg(target_os = "linux")]
fn tick() -> Duration {
    use rustix::time::{ClockId, clock_getres};
    duration(clock_getres(ClockId::MonotonicCoarse))
}

#[cfg(not(target_os = "linux"))]
fn tick() -> Duration {
    Duration::ZERO
}

#[cfg(target_os = "linux")]
fn duration(time: rustix::time::Timespec) -> Duration {
    Duration::try_from(time).unwrap_or_default()
}

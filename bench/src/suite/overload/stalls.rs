//! Stalls of the machine: a core that runs nothing for a while makes every call late, whoever
//! serves it.
//!
//! A thread on each core sleeps for a short time again and again, before all other threads of the
//! core where the system lets it. Where it wakes late, the core was away.

use super::super::Result;
use super::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// The sleep of a watching thread. It costs a core less than 1 %.
const SLEEP: Duration = Duration::from_millis(1);

/// A thread that wakes so much too late has seen a stall.
const STALL: Duration = Duration::from_millis(2);

/// Watches cores until it is asked for their stalls, or dropped.
pub(super) struct Watch {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Vec<Stall>>>,
}

/// A time in which a core was away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stall {
    pub(super) begin: Instant,
    pub(super) end: Instant,
}

impl Stall {
    pub(super) fn length(&self) -> Duration {
        self.end - self.begin
    }

    /// Whether it could have made a call late that began and ended at these times. The calls that
    /// came meanwhile are served after it, for up to its own length.
    pub(super) fn delays(&self, begin: Instant, end: Instant) -> bool {
        begin < self.end + self.length() && self.begin < end
    }
}

impl Watch {
    /// Starts to watch these cores.
    pub(super) fn start(cores: impl IntoIterator<Item = usize>) -> Result<Self> {
        let mut watch = Watch {
            over: Arc::default(),
            threads: Vec::new(),
        };
        for core in cores {
            let over = watch.over.clone();
            let thread = std::thread::Builder::new().name(format!("stalls of core {core}"));
            watch
                .threads
                .push(thread.spawn(move || record(core, &over))?);
        }
        Ok(watch)
    }

    /// Returns the stalls of all cores, in no order.
    pub(super) fn stop(mut self) -> Vec<Stall> {
        let threads = std::mem::take(&mut self.threads).into_iter();
        drop(self);
        threads
            .flat_map(|thread| thread.join().unwrap_or_default())
            .collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

fn record(core: usize, over: &AtomicBool) -> Vec<Stall> {
    let mut stalls = Vec::new();
    if let Err(error) = prefer(core) {
        // Other threads may then look like stalls.
        eprintln!("core {core} is watched with no priority: {error}");
    }
    while !over.load(Ordering::Relaxed) {
        let begin = Instant::now() + SLEEP;
        std::thread::sleep(SLEEP);
        let end = Instant::now();
        if end.saturating_duration_since(begin) >= STALL {
            stalls.push(Stall { begin, end });
        }
    }
    stalls
}

/// Keeps this thread on a core, before all others.
fn prefer(core: usize) -> Result<()> {
    pin(core)?;
    let first = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let priority = ThreadPriority::Crossplatform(1_u8.try_into()?);
    Ok(
        set_thread_priority_and_policy(thread_native_id(), priority, first)
            .map_err(|error| format!("{error:?}"))?,
    )
}

#[cfg(test)]
mod tests {
    use super::{Stall, Watch};
    use std::time::{Duration, Instant};

    #[test]
    fn a_stall_delays_calls_amid_it_and_as_long_after_it() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let stall = Stall {
            begin: at(100),
            end: at(120),
        };
        for (begin, end, delayed) in [
            (0, 99, false),
            (0, 101, true),
            (110, 115, true),
            (119, 130, true),
            (139, 150, true),
            (140, 150, false),
        ] {
            assert_eq!(stall.delays(at(begin), at(end)), delayed, "{begin} {end}");
        }
    }

    #[test]
    fn a_watch_ends_when_it_is_asked() {
        let watch = Watch::start([0]).expect("a thread");
        let stalls = watch.stop();
        assert!(stalls.iter().all(|stall| stall.length() > Duration::ZERO));
    }
}

//! Other work on the machine of a run: neighbours that belong to it, and disturbances that do not.

use super::Result;
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::fs;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Threads that compute all the time, at the normal priority, until this is dropped.
pub(super) struct Neighbours(Arc<AtomicBool>);

impl Neighbours {
    pub(super) fn start(count: usize) -> Result<Self> {
        let neighbours = Neighbours(Arc::default());
        for number in 1..=count {
            let over = Arc::clone(&neighbours.0);
            let thread = std::thread::Builder::new().name(format!("neighbour {number}"));
            thread.spawn(move || compute(&over))?;
        }
        Ok(neighbours)
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn compute(over: &AtomicBool) {
    let mut number = 1_u64;
    while !over.load(Ordering::Relaxed) {
        for _ in 0..10_000 {
            number = black_box(
                number
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1),
            );
        }
    }
}

/// The share of the machine that others may use during a round.
const TOLERATED: f64 = 0.05;

/// The processor time that others have used until a moment.
pub(super) struct Others {
    at: Instant,
    /// The time of each other process.
    processes: HashMap<i32, Duration>,
    /// The time that the host of a virtual machine has given to others.
    stolen: Duration,
}

impl Others {
    /// Looks at all processes but this one. Those of a round must not have started, or have ended.
    pub(super) fn now() -> Self {
        Others {
            at: Instant::now(),
            processes: processes(),
            stolen: stolen(),
        }
    }

    /// Whether others have used more than they may since an earlier moment.
    pub(super) fn disturbed_since(&self, earlier: &Others) -> bool {
        let used = |(process, time): (&i32, &Duration)| {
            let before = earlier.processes.get(process).copied();
            time.saturating_sub(before.unwrap_or_default())
        };
        let used: Duration = self.processes.iter().map(used).sum();
        let used = used + self.stolen.saturating_sub(earlier.stolen);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let all = (self.at - earlier.at).as_secs_f64() * cores as f64;
        used.as_secs_f64() > all * TOLERATED
    }
}

/// Returns the processor time of each other process. Threads of the kernel work for those that call
/// it, so they do not count.
fn processes() -> HashMap<i32, Duration> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let ids = ids.filter(|&id| id != std::process::id().cast_signed() && is_program(id));
    // One that has ended since has no clock.
    ids.filter_map(|id| Some((id, time(id)?))).collect()
}

fn is_program(id: i32) -> bool {
    fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|command| !command.is_empty())
}

fn time(id: i32) -> Option<Duration> {
    let clock = clock_getcpuclockid(Pid::from_raw(id)).ok()?;
    Some(clock_gettime(clock).ok()?.into())
}

/// Returns the time of `/proc/stat` that the host did not give to this machine, in steps of 10 ms.
fn stolen() -> Duration {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let field = text.split_whitespace().nth(8);
    let ticks = field.and_then(|ticks| ticks.parse().ok());
    Duration::from_millis(10) * ticks.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_per_cent_are_tolerated() {
        let at = Instant::now();
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        let ms = Duration::from_millis;
        let others = |after: u64, first: u64, second: Option<u64>, stolen: u64| Others {
            at: at + ms(after),
            processes: [Some((1, ms(first))), second.map(|time| (2, ms(time)))]
                .into_iter()
                .flatten()
                .collect(),
            stolen: ms(stolen),
        };
        let before = others(0, 1000, Some(70), 500);
        // The times of the two processes and the stolen time after a second; all in ms.
        let rows = [
            (1000, Some(70), 500, false),
            (1000 + 49 * cores, Some(70), 500, false),
            (1000 + 51 * cores, Some(70), 500, true),
            (1000 + 30 * cores, Some(70), 500 + 30 * cores, true),
            (1000 + 49 * cores, None, 500, false),
            // Another process has the number of one that has ended.
            (20, Some(1000 * cores), 500, true),
        ];
        for (first, second, stolen, expected) in rows {
            let after = others(1000, first, second, stolen);
            assert_eq!(
                after.disturbed_since(&before),
                expected,
                "{first} {second:?} {stolen}"
            );
        }
    }

    #[test]
    fn neighbours_are_not_others() {
        let before = Others::now();
        assert!(
            !before
                .processes
                .contains_key(&std::process::id().cast_signed())
        );
        let neighbours = Neighbours::start(1).expect("a thread");
        assert_eq!(Arc::strong_count(&neighbours.0), 2);
    }
}

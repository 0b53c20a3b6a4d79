//! A limit that follows the time which calls take, as the gradient of Envoy's adaptive concurrency
//! does.

use std::time::{Duration, Instant};

/// The limits between which it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    least: usize,
    most: usize,
}

impl Bounds {
    pub(super) fn new(least: usize, most: usize) -> Self {
        let least = least.max(1);
        Bounds {
            least,
            most: most.max(least),
        }
    }
}

/// A limit looks at the calls of this time together,
const WINDOW: Duration = Duration::from_millis(100);
/// or of longer, until there are so many.
const SAMPLES: u32 = 10;
/// The share by which calls may be slower than when few run.
const TOLERANCE: f64 = 1.25;
/// The calls that a limit lets wait, in roots of itself. Each costs the others their time: at a
/// root for each, a server of one core answers overload five times as late as half of its load.
const HEADROOM: f64 = 0.5;
/// Windows from one look at the time that calls take when few run to the next.
const WINDOWS: u32 = 300;

pub(super) struct Adaptive {
    bounds: Bounds,
    limit: f64,
    /// The time that calls take when few run.
    best: Option<Duration>,
    /// Windows until that is found out again.
    left: u32,
    window: Window,
}

struct Window {
    began: Instant,
    calls: u32,
    time: Duration,
    /// The most calls that ran at a time.
    running: usize,
}

impl Window {
    fn new(began: Instant) -> Self {
        Window {
            began,
            calls: 0,
            time: Duration::ZERO,
            running: 0,
        }
    }
}

impl Adaptive {
    pub(super) fn new(bounds: Bounds, now: Instant) -> Self {
        Adaptive {
            bounds,
            limit: bounds.least as f64,
            best: None,
            left: 0,
            window: Window::new(now),
        }
    }

    /// Returns the number of calls that may run.
    pub(super) fn limit(&self) -> usize {
        match self.best {
            // It is being found out how long calls take when few run.
            None => self.bounds.least,
            Some(_) => self.limit as usize,
        }
    }

    /// Takes in a call that is over. So many ran when it was, itself included.
    pub(super) fn ended(&mut self, took: Duration, running: usize, now: Instant) {
        let window = &mut self.window;
        window.calls += 1;
        window.time += took;
        window.running = window.running.max(running);
        let lasted = now.saturating_duration_since(window.began);
        if lasted < WINDOW || window.calls < SAMPLES {
            return;
        }
        let window = std::mem::replace(&mut self.window, Window::new(now));
        self.follow(window.time / window.calls, window.running);
    }

    fn follow(&mut self, mean: Duration, running: usize) {
        let Some(best) = self.best else {
            self.best = Some(mean);
            self.left = WINDOWS;
            return;
        };
        self.left -= 1;
        if self.left == 0 {
            self.best = None;
            return;
        }
        let best = best.min(mean);
        self.best = Some(best);
        let gradient = best.as_secs_f64() * TOLERANCE / mean.as_secs_f64().max(f64::MIN_POSITIVE);
        let limit = self.limit * gradient.clamp(0.5, 1.0) + HEADROOM * self.limit.sqrt();
        // A limit that was not reached says nothing of a higher one.
        let is_reached = running + 1 >= self.limit as usize;
        if limit < self.limit || is_reached {
            self.limit = limit.clamp(self.bounds.least as f64, self.bounds.most as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs calls that share `cores`, each with this much work, as many as the limit lets run.
    /// Returns the limits at the ends of windows.
    fn run(cores: usize, work: Duration, offered: usize, bounds: Bounds) -> Vec<usize> {
        let mut now = Instant::now();
        let mut adaptive = Adaptive::new(bounds, now);
        let mut limits = Vec::new();
        for _ in 0..200 {
            let running = adaptive.limit().min(offered);
            let took = work * running.max(cores) as u32 / cores as u32;
            for _ in 0..SAMPLES {
                now += WINDOW / SAMPLES;
                adaptive.ended(took, running, now);
            }
            limits.push(adaptive.limit());
        }
        limits
    }

    #[test]
    fn limits_follow_the_room() {
        let work = Duration::from_millis(2);
        for (cores, offered, least, most) in [
            (1, 1000, 2, 8),
            (4, 1000, 5, 12),
            (32, 1000, 32, 60),
            // Nobody knows how many more there could be.
            (32, 4, 2, 8),
        ] {
            let limits = run(cores, work, offered, Bounds::new(2, 1000));
            let last = limits.last().copied().unwrap_or_default();
            assert!(
                (least..=most).contains(&last),
                "{cores} cores, {offered} calls: {last}, {limits:?}"
            );
        }
    }

    #[test]
    fn the_time_of_a_quiet_server_is_found_out_again() {
        let now = Instant::now();
        let mut adaptive = Adaptive::new(Bounds::new(2, 100), now);
        let mut probes = 0;
        for _ in 0..=2 * (WINDOWS + 1) {
            probes += usize::from(adaptive.best.is_none());
            adaptive.follow(Duration::from_millis(2), adaptive.limit());
        }
        assert_eq!(probes, 3);
    }
}

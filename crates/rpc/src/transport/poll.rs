//! When to poll before blocking. Waking a sleeping thread costs up to 40 µs on a virtual machine, polling
//! for the few microseconds that a peer needs to answer costs less than that, in time and in CPU; polling
//! while others need the core is a disaster. So the policy learns.

use super::{Stream, Wait};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Polling {
    /// Poll while it pays.
    #[default]
    Adaptive,
    /// Poll before every wait, for the length of the adaptive poll.
    Always,
    /// Never poll.
    Never,
}

/// The longest poll: a little more than a wake-up costs where it is dear.
const LONGEST: Duration = Duration::from_micros(50);

/// A pause in which others must have run: there are more threads than cores.
const STOLEN: Duration = Duration::from_micros(20);

/// How many waits in a row must have been short before polling begins.
const PROOF: u8 = 3;

/// Threads of this process that poll now.
static POLLING: AtomicUsize = AtomicUsize::new(0);

/// The experience of one connection.
#[derive(Debug)]
pub struct Poller {
    setting: Polling,
    /// Short waits in a row, up to [`PROOF`].
    short: u8,
    /// Waits not to poll in, after polling met a busy machine.
    pause: u32,
}

impl Poller {
    /// No experience yet: the first waits block.
    pub fn new(setting: Polling) -> Self {
        Poller {
            setting,
            short: 0,
            pause: 0,
        }
    }

    /// Receives, polling first where that has paid lately.
    pub fn recv(
        &mut self,
        stream: &dyn Stream,
        buffer: &mut [u8],
        deadline: Option<Instant>,
    ) -> io::Result<usize> {
        let start = Instant::now();
        if self.polls()
            && let Some(place) = Place::take(self.setting)
        {
            let result = self.poll(stream, buffer, start);
            drop(place);
            if let Some(result) = result {
                return result;
            }
        }
        let result = stream.recv(buffer, Wait::Until(deadline));
        // A wait that polling would have met, had the wake-up been free.
        self.learn(start.elapsed() < 2 * LONGEST);
        result
    }

    fn polls(&mut self) -> bool {
        match self.setting {
            Polling::Never => false,
            Polling::Always => true,
            Polling::Adaptive if self.pause > 0 => {
                self.pause -= 1;
                false
            }
            Polling::Adaptive => self.short >= PROOF,
        }
    }

    /// `None` where nothing came in time.
    fn poll(
        &mut self,
        stream: &dyn Stream,
        buffer: &mut [u8],
        start: Instant,
    ) -> Option<io::Result<usize>> {
        let mut last = start;
        loop {
            match stream.recv(buffer, Wait::Poll) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                result => return Some(result),
            }
            // Whoever else is ready runs now; alone on the core this returns at once.
            std::thread::yield_now();
            let now = Instant::now();
            if now - last > STOLEN && self.setting == Polling::Adaptive {
                (self.short, self.pause) = (0, 256);
                return None;
            }
            if now - start > LONGEST {
                self.learn(false);
                return None;
            }
            last = now;
        }
    }

    fn learn(&mut self, short: bool) {
        self.short = if short {
            (self.short + 1).min(PROOF)
        } else {
            0
        };
    }
}

/// One of the few places for polling threads: half the cores, so that a peer on the same machine can poll too.
struct Place;

impl Place {
    fn take(setting: Polling) -> Option<Self> {
        static PLACES: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
        let places = *PLACES.get_or_init(|| {
            std::thread::available_parallelism().map_or(0, |cores| match cores.get() {
                1 => 0,
                cores => cores / 2,
            })
        });
        let taken = POLLING.fetch_add(1, Ordering::Relaxed);
        let place = Place;
        (setting == Polling::Always || taken < places).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        POLLING.fetch_sub(1, Ordering::Relaxed);
    }
}

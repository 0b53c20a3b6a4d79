//! A server at work: what is asked of it, and how it ends.

use super::admission::Accepts;
#[cfg(feature = "async")]
use super::event_loop;
use super::{Shared, threads};
use crate::Address;
use crate::counters::Counters;
use crate::names::{Registered, RegistrationStatus};
use crate::transport::Listener;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A server at work. It goes on when this is dropped; [`shutdown`](Self::shutdown) ends it.
#[must_use = "the server goes on, and nothing can end it any more"]
pub struct Running {
    pub(super) addresses: Vec<Address>,
    pub(super) listeners: Vec<Arc<dyn Listener>>,
    pub(super) threads: Vec<JoinHandle<()>>,
    pub(super) shared: Arc<Shared>,
    #[cfg(feature = "async")]
    pub(super) loops: Vec<event_loop::Loop>,
}

/// A server whose connections are tasks of somebody else's runtime.
#[cfg(feature = "testing")]
pub(crate) struct Attended(pub(super) Arc<Shared>);

#[cfg(feature = "testing")]
impl Attended {
    pub(crate) fn counters(&self) -> Counters {
        self.0.counters.read()
    }

    pub(crate) fn connections(&self) -> usize {
        self.0.entries().len()
    }
}

impl Running {
    /// Returns the addresses on which it listens, with real ports, in the order of
    /// [`Server::listen`](super::Server::listen).
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Returns the calls, connections and refusals so far.
    pub fn counters(&self) -> Counters {
        self.shared.counters.read()
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.shared.entries().len()
    }

    /// How many bytes it holds for its peers, but for the first few kilobytes of each connection;
    /// see [`ServerLimits::memory`](crate::server::ServerLimits).
    pub fn memory(&self) -> usize {
        self.shared.account.held()
    }

    /// Whether the server is registered, for each [`Server::register`](super::Server::register).
    pub fn registrations(&self) -> Vec<RegistrationStatus> {
        let registered = self.shared.registered();
        registered.iter().map(Registered::status).collect()
    }

    /// Takes registrations back, stops accepting, lets the calls that have arrived finish, and
    /// closes the connections; those that are left after `drain` are cut. True where none was.
    #[cfg_attr(
        not(feature = "async"),
        expect(unused_mut, reason = "only event loops are taken out")
    )]
    pub fn shutdown(mut self, drain: Duration) -> bool {
        let deadline = Instant::now() + drain;
        let registered = std::mem::take(&mut *self.shared.registered());
        Registered::take_back(registered, drain);
        self.shared.draining.store(true, Ordering::SeqCst);
        if let Some(health) = &self.shared.health {
            health.leave();
        }
        for listener in &self.listeners {
            listener.close();
        }
        #[cfg(feature = "async")]
        for event_loop in &self.loops {
            event_loop.drain();
        }
        for stream in self
            .shared
            .entries()
            .iter()
            .filter_map(|entry| entry.stream.as_ref())
        {
            stream.shutdown_recv();
        }
        let drained = self.wait_until_empty(deadline);
        for stream in self
            .shared
            .entries()
            .iter()
            .filter_map(|entry| entry.stream.as_ref())
        {
            stream.shutdown();
        }
        #[cfg(feature = "async")]
        for event_loop in self.loops.drain(..) {
            event_loop.stop();
        }
        self.wait();
        drained
    }

    /// Waits for SIGTERM, SIGINT (Ctrl-C) or SIGQUIT, and then shuts the server down as
    /// [`shutdown`](Self::shutdown) does. A second signal ends the process at once, with the exit
    /// code 1. An error if the signals cannot be had.
    ///
    /// ```no_run
    /// use std::time::Duration;
    ///
    /// # fn main() -> std::io::Result<()> {
    /// let server = dovetail::Server::new().bind("add", |a: i32, b: i32| a + b);
    /// let running = server.listen("tcp://127.0.0.1:9090")?.start()?;
    /// running.wait_for_signal(Duration::from_secs(10))?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(all(unix, feature = "signals"))]
    pub fn wait_for_signal(self, drain: Duration) -> io::Result<bool> {
        use signal_hook::consts::TERM_SIGNALS;
        let is_second = Arc::new(std::sync::atomic::AtomicBool::new(false));
        for signal in TERM_SIGNALS {
            signal_hook::flag::register_conditional_shutdown(*signal, 1, is_second.clone())?;
        }
        let mut signals = signal_hook::iterator::Signals::new(TERM_SIGNALS)?;
        signals.forever().next();
        is_second.store(true, Ordering::SeqCst);
        Ok(self.shutdown(drain))
    }

    /// Waits until the server has ended; for ever unless another thread ends it.
    pub fn wait(self) {
        for thread in self.threads {
            // A thread of ours that panicked has nothing to tell that its panic message did not.
            let _ = thread.join();
        }
        #[cfg(feature = "async")]
        for event_loop in self.loops {
            event_loop.join();
        }
    }

    fn wait_until_empty(&self, deadline: Instant) -> bool {
        let mut entries = self.shared.entries();
        // A listener may still have connections to bring.
        while !entries.is_empty() || self.shared.accepting.load(Ordering::SeqCst) > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.left.wait_timeout(entries, left);
            entries = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    pub(super) fn accept_on_thread(&mut self, listener: Arc<dyn Listener>) -> io::Result<()> {
        self.listeners.push(listener.clone());
        let shared = self.shared.clone();
        let accepts = Accepts::new(&shared);
        let accept = move || {
            threads::accept(&*listener, &shared);
            drop(accepts);
        };
        let thread = thread::Builder::new().name("dovetail accept".to_owned());
        self.threads.push(thread.spawn(accept)?);
        Ok(())
    }
}

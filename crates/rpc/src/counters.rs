use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$meta:meta])* $name:ident,)*) => {
        /// The calls, connections and refusals of a server so far.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counters {
            $($(#[$meta])* pub $name: u64,)*
        }

        #[derive(Default)]
        pub(crate) struct SharedCounters {
            $(pub(crate) $name: AtomicU64,)*
        }

        impl Counters {
            /// Returns all of them by name.
            pub(crate) fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),*].into_iter()
            }
        }

        impl SharedCounters {
            pub(crate) fn read(&self) -> Counters {
                Counters {
                    $($name: self.$name.load(Ordering::Relaxed),)*
                }
            }
        }
    };
}

counters! {
    /// Connections accepted.
    connections,
    /// Those of them to which clients of the same machine moved from TCP.
    local_connections,
    /// Those of them that go over TLS.
    tls_connections,
    /// Connections refused because their TLS handshake failed.
    refused_handshakes,
    /// Calls handed to a handler.
    calls,
    /// Calls of a service, method or object that the server does not have.
    unknown_methods,
    /// Calls refused because the caller's contract contradicts the server's.
    contradicting_calls,
    /// Connections refused because there were too many.
    refused_connections,
    /// Calls refused because there were too many, or their connection was one too many.
    refused_calls,
    /// Calls that an interceptor has refused, or answered by itself: authentication, permissions
    /// and throttles among them.
    intercepted_calls,
    /// Calls and connections refused because the server held too much for their peers.
    refused_memory,
    /// Calls whose callers have given them up, or have gone, before they were answered.
    cancelled_calls,
    /// Calls whose deadline passed before they were answered.
    late_calls,
    /// Connections that ended because of what the peer sent, or in the middle of a message.
    protocol_errors,
    /// Connections closed because nothing was called for too long.
    idle_timeouts,
    /// Idle connections closed to make room for others, because descriptors or places for
    /// connections had run out.
    closed_for_room,
    /// Connections closed because the peer was too slow with a message, or in taking an answer.
    transfer_timeouts,
    /// Connections that could not be accepted, mostly for want of file descriptors.
    accept_errors,
    /// Handlers that panicked.
    panics,
    /// Handlers that held up an event loop for more than 10 ms, and with it all its connections.
    held_up_loops,
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Adds what others have counted, which is nothing most often.
pub(crate) fn add(counter: &AtomicU64, number: u64) {
    if number > 0 {
        counter.fetch_add(number, Ordering::Relaxed);
    }
}

/// A number that only grows.
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Adds to it. Where nobody else adds to it meanwhile, no instruction needs to lock its line of
    /// the cache.
    #[inline]
    pub(crate) fn add(&self, more: u64, alone: bool) {
        match alone {
            true => self
                .0
                .store(self.get().wrapping_add(more), Ordering::Relaxed),
            false => drop(self.0.fetch_add(more, Ordering::Relaxed)),
        }
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

//! Whether a peer is still there, found out without receiving what it has sent.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::AsFd;

/// Whether a peer is still there, whatever of its bytes has not been received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// As far as is known.
    There,
    /// It sends nothing more, or this end receives nothing more; it may still receive.
    HalfClosed,
    /// It neither sends nor receives: the connection was reset, or both directions have ended.
    Gone,
}

/// The end of what the peer sends, which a poll says only where it is asked.
#[cfg(target_os = "linux")]
const HALF: PollFlags = PollFlags::RDHUP;
/// Other systems say it as they say that everything has ended.
#[cfg(not(target_os = "linux"))]
const HALF: PollFlags = PollFlags::HUP;

impl Presence {
    /// Returns the presence of the peer of a socket.
    pub(super) fn of(socket: &impl AsFd) -> Self {
        let mut fds = [PollFd::new(socket, HALF)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        if poll(&mut fds, Some(&at_once)).is_err() {
            return Presence::There;
        }
        let events = fds.first().map_or(PollFlags::empty(), PollFd::revents);
        let gone = (PollFlags::HUP | PollFlags::ERR).difference(match cfg!(target_os = "linux") {
            true => PollFlags::empty(),
            false => HALF,
        });
        if events.intersects(gone) {
            Presence::Gone
        } else if events.intersects(HALF) {
            Presence::HalfClosed
        } else {
            Presence::There
        }
    }

    /// Returns whether nobody waits for an answer; `half` where a peer does not that has closed its
    /// sending side.
    pub(crate) fn is_gone(self, half: bool) -> bool {
        self == Presence::Gone || (half && self == Presence::HalfClosed)
    }
}

/// Waits until the peer of a socket has gone, as [`Presence::is_gone`] has it. The event loop knows
/// it, also where bytes lie in front of the end that nobody has received.
#[cfg(all(feature = "async", target_os = "linux"))]
macro_rules! gone {
    ($socket:expr, $half:expr) => {{
        use tokio::io::Interest;
        // It wakes at the end of what is received, unlike one in reading, which wakes for bytes.
        let ready = $socket.ready(Interest::PRIORITY).await;
        let gone = ready.map_or(true, |ready| {
            ready.is_error() || (ready.is_read_closed() && ready.is_write_closed())
        });
        if !gone && !($half) {
            let _ = $socket.ready(Interest::ERROR).await;
        }
    }};
}

/// Looks at a socket that the event loop does not know.
#[cfg(all(feature = "async", not(target_os = "linux")))]
macro_rules! gone {
    ($socket:expr, $half:expr) => {{
        while !$crate::transport::Presence::of($socket).is_gone($half) {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    }};
}

#[cfg(feature = "async")]
pub(super) use gone;

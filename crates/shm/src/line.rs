//! The Unix sockets of a connection. They carry no data: a byte is a wake-up for who waits on them,
//! and their end is the end of the peer's process, however it came about.

use crate::atomic::AtomicU32;
use crate::error::Error;
use crate::wake::{Bed, Bell};
use crate::word::Word;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use rustix::thread::futex;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long a wait lasts before it moves from the futex to the line. A wake-up by futex costs less
/// CPU, but only the line shows the end of the peer; and a wait that has lasted so long is in no
/// hurry.
const PATIENCE: Duration = Duration::from_millis(10);

/// One of the sockets.
#[derive(Debug)]
pub(crate) struct Line(OwnedFd);

impl Line {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Line(socket)
    }

    /// Takes all wake-ups off the line. False where it has ended.
    pub(crate) fn drain(&self) -> bool {
        let mut bytes = [0; 64];
        loop {
            match recv(&self.0, &mut bytes, RecvFlags::DONTWAIT) {
                Ok((_, 0)) => return false,
                Ok((_, count)) if count == bytes.len() => {}
                Ok(_) | Err(Errno::AGAIN) => return true,
                Err(Errno::INTR) => {}
                // The peer closed it with wake-ups unread.
                Err(_) => return false,
            }
        }
    }

    /// Wakes who waits on this end, for ever, and gets no more wake-ups.
    pub(crate) fn close(&self) {
        // A socket whose peer is gone needs no shutdown.
        let _ = shutdown(&self.0, Shutdown::Read);
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Bell for Line {
    fn wake(&self, bell: &Word) {
        wake(bell.atomic());
    }

    fn signal(&self) {
        // A full line is readable already, and nobody waits at the other end of a broken one. The
        // flag, not the socket, says that this never blocks: the peer could change the socket.
        let _ = send(&self.0, &[0], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    }
}

/// Wakes the threads, of whatever process, that sleep on this word.
pub(crate) fn wake(bell: &AtomicU32) {
    // It fails for addresses that are not mapped only.
    let _ = futex::wake(bell, futex::Flags::empty(), i32::MAX as u32);
}

/// Waits on a line until a deadline.
pub(crate) struct Wait<'a> {
    line: &'a Line,
    start: Instant,
    deadline: Option<Instant>,
    /// Called where the line has ended.
    ended: &'a dyn Fn(),
}

impl<'a> Wait<'a> {
    pub(crate) fn new(line: &'a Line, deadline: Option<Instant>, ended: &'a dyn Fn()) -> Self {
        Wait {
            line,
            start: Instant::now(),
            deadline,
            ended,
        }
    }
}

impl Bed for Wait<'_> {
    type End = Error;

    fn on_futex(&self, bell: &Word, seen: u32) -> bool {
        let until = self.start + PATIENCE;
        let until = self.deadline.map_or(until, |deadline| deadline.min(until));
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        // However it ends, whoever waits looks again: whether the bell rang, or had before, a
        // signal came, or the time is over.
        let _ = futex::wait(
            bell.atomic(),
            futex::Flags::empty(),
            seen,
            Some(&to_timespec(left)),
        );
        true
    }

    fn on_line(&self) -> Result<(), Error> {
        let left = self
            .deadline
            .map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let readable = poll_once(self.line.as_fd(), left)?;
        if readable && !self.line.drain() {
            (self.ended)();
        }
        match readable || left.is_none_or(|left| !left.is_zero()) {
            true => Ok(()),
            false => Err(Error::TimedOut),
        }
    }
}

/// Waits until a descriptor is readable; `TimedOut` at the deadline.
pub(crate) fn wait_readable(fd: BorrowedFd<'_>, deadline: Instant) -> Result<(), Error> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match poll_once(fd, Some(left))? {
            true => return Ok(()),
            false if left.is_zero() => return Err(Error::TimedOut),
            false => {}
        }
    }
}

/// Whether a descriptor becomes readable within the time; false also where a signal came.
fn poll_once(fd: BorrowedFd<'_>, time: Option<Duration>) -> Result<bool, Error> {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    match poll(&mut fds, time.map(to_timespec).as_ref()) {
        Err(Errno::INTR) => Ok(false),
        ready => Ok(ready? > 0),
    }
}

fn to_timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: duration.as_secs() as i64,
        tv_nsec: duration.subsec_nanos().into(),
    }
}

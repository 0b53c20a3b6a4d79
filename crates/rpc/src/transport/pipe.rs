//! Two pipes as a connection: what the standard input and output of a program are.

use super::{Stream, Wait, ready};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A connection over two descriptors, one for each direction. They are put into non-blocking mode
/// as long as it exists.
#[derive(Debug)]
pub struct Pipe {
    input: OwnedFd,
    /// `None` once sending has ended: a pipe tells its reader so only by being closed.
    output: Mutex<Option<OwnedFd>>,
    receiving_ends: Bell,
    sending_ends: Bell,
    peer: String,
}

impl Pipe {
    /// A connection that receives from `input` and sends to `output`; `peer` is who is at the other
    /// end, for display.
    pub fn new(input: OwnedFd, output: OwnedFd, peer: &str) -> io::Result<Self> {
        set_nonblocking(&input, true)?;
        set_nonblocking(&output, true)?;
        Ok(Pipe {
            input,
            output: Mutex::new(Some(output)),
            receiving_ends: Bell::new()?,
            sending_ends: Bell::new()?,
            peer: peer.to_owned(),
        })
    }

    /// This process's standard input and output. Nothing else can get into the conversation:
    /// standard input is empty from now on, and what is printed goes to standard error.
    pub fn stdio() -> io::Result<Self> {
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        rustix::stdio::dup2_stdout(io::stderr())?;
        Self::new(input, output, "stdio")
    }

    fn output(&self) -> MutexGuard<'_, Option<OwnedFd>> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream for Pipe {
    fn recv(&self, buffer: &mut [u8], wait: Wait) -> io::Result<usize> {
        loop {
            let ends = self.receiving_ends.has_rung();
            match (rustix::io::read(&self.input, &mut *buffer), wait) {
                (Ok(received), _) => return Ok(received),
                (Err(Errno::INTR), _) => {}
                (Err(Errno::AGAIN), _) if ends => return Ok(0),
                (Err(Errno::AGAIN), Wait::Until(deadline)) => {
                    self.receiving_ends
                        .wait(&self.input, PollFlags::IN, deadline)?;
                }
                (Err(e), _) => return Err(e.into()),
            }
        }
    }

    fn send(&self, bytes: &[u8], wait: Wait) -> io::Result<usize> {
        let output = self.output();
        let Some(output) = &*output else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        loop {
            if self.sending_ends.has_rung() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            match (rustix::io::write(output, bytes), wait) {
                (Ok(sent), _) => return Ok(sent),
                (Err(Errno::INTR), _) => {}
                (Err(Errno::AGAIN), Wait::Until(deadline)) => {
                    self.sending_ends.wait(output, PollFlags::OUT, deadline)?;
                }
                (Err(e), _) => return Err(e.into()),
            }
        }
    }

    fn shutdown_recv(&self) {
        self.receiving_ends.ring();
    }

    fn shutdown_send(&self) {
        // A thread that waits for room to send holds the lock until it hears the bell.
        self.sending_ends.ring();
        if let Some(output) = self.output().take() {
            restore(&output);
        }
    }

    fn shutdown(&self) {
        self.shutdown_recv();
        self.shutdown_send();
    }

    fn peer(&self) -> String {
        self.peer.clone()
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.shutdown_send();
        restore(&self.input);
    }
}

fn set_nonblocking(fd: &OwnedFd, nonblocking: bool) -> io::Result<()> {
    let mut flags = fcntl_getfl(fd)?;
    flags.set(OFlags::NONBLOCK, nonblocking);
    Ok(fcntl_setfl(fd, flags)?)
}

/// Whoever shares the descriptor, such as the terminal's shell, expects it to block.
fn restore(fd: &OwnedFd) {
    // Nobody is left to be told of an error.
    let _ = set_nonblocking(fd, false);
}

/// Tells threads that wait for a descriptor to wait no longer. It rings once, and for ever.
#[derive(Debug)]
struct Bell {
    rung: AtomicBool,
    /// Readable once the other end of it is closed.
    reader: io::PipeReader,
    writer: Mutex<Option<io::PipeWriter>>,
}

impl Bell {
    fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Bell {
            rung: AtomicBool::new(false),
            reader,
            writer: Mutex::new(Some(writer)),
        })
    }

    fn ring(&self) {
        self.rung.store(true, Ordering::SeqCst);
        self.writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }

    fn has_rung(&self) -> bool {
        self.rung.load(Ordering::SeqCst)
    }

    /// Waits until the descriptor is ready or the bell rings.
    fn wait(&self, fd: &OwnedFd, flags: PollFlags, deadline: Option<Instant>) -> io::Result<()> {
        let fds = &mut [
            PollFd::new(fd, flags),
            PollFd::new(&self.reader, PollFlags::IN),
        ];
        ready::wait(fds, deadline)
    }
}

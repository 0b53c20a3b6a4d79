//! A server that is a program, started by its client.

use super::{Connector, Pipe, Stream, Wait};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How long a program may take to end once its standard input has ended.
const GRACE: Duration = Duration::from_secs(5);

/// Starts a program for each connection and speaks with it over its standard input and output,
/// where it serves with [`Server::serve_stdio`](crate::Server::serve_stdio). What it prints to
/// standard error goes where this process's does. At the end of the connection the program sees the
/// end of its standard input; if it has not ended five seconds later, it is killed.
///
/// ```no_run
/// use dovetail::blocking::Channel;
/// use dovetail::transport::Program;
/// use std::sync::Arc;
///
/// let plugin = Program::new("./spell-checker").arg("--language=en");
/// let channel = Channel::through(Arc::new(plugin)).build();
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    program: OsString,
    arguments: Vec<OsString>,
}

impl Program {
    /// A program by its path, or by a name that is looked for as a shell does.
    pub fn new(program: impl Into<OsString>) -> Self {
        Program {
            program: program.into(),
            arguments: Vec::new(),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }
}

impl Connector for Program {
    fn is_private(&self) -> bool {
        true
    }

    fn connect(&self, _: Instant) -> io::Result<Arc<dyn Stream>> {
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdout.take(), child.stdin.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let running = RunningProgram {
            child: Some(child),
            pipe: Pipe::new(OwnedFd::from(input), OwnedFd::from(output), &self.target())?,
        };
        Ok(Arc::new(running))
    }

    fn target(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }
}

/// A program at work, and the connection to it.
struct RunningProgram {
    pipe: Pipe,
    /// Taken when it is dropped.
    child: Option<Child>,
}

impl Stream for RunningProgram {
    fn recv(&self, buffer: &mut [u8], wait: Wait) -> io::Result<usize> {
        self.pipe.recv(buffer, wait)
    }

    fn send(&self, bytes: &[u8], wait: Wait) -> io::Result<usize> {
        self.pipe.send(bytes, wait)
    }

    fn shutdown_recv(&self) {
        self.pipe.shutdown_recv();
    }

    fn shutdown_send(&self) {
        self.pipe.shutdown_send();
    }

    fn shutdown(&self) {
        self.pipe.shutdown();
    }

    fn peer(&self) -> String {
        self.pipe.peer()
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        self.pipe.shutdown();
        if let Some(child) = self.child.take() {
            // Not here: who drops a channel does not expect to wait for a program. Without a thread
            // it stays a zombie until this process ends.
            let _ = thread::Builder::new()
                .name("dovetail reaper".to_owned())
                .spawn(|| reap(child));
        }
    }
}

/// Waits for the end of a program, and brings it about where it takes too long.
fn reap(mut child: Child) {
    let deadline = Instant::now() + GRACE;
    while let Ok(None) = child.try_wait() {
        if Instant::now() >= deadline {
            // It may just have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

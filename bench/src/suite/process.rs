//! A program that is measured, in a process of its own, with which the coordinator talks line by
//! line.

use super::Result;
use crate::agent::contract::Usage;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, killpg};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// By when all processes of a run must have said what they have to say.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    limit: Duration,
    at: Instant,
}

impl Deadline {
    pub(crate) fn after(limit: Duration) -> Self {
        let at = Instant::now() + limit;
        Deadline { limit, at }
    }

    pub(crate) fn left(self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    pub(crate) fn left_ms(self) -> i32 {
        i32::try_from(self.left().as_millis()).unwrap_or(i32::MAX)
    }
}

/// A process that says when it is ready, and ends with its standard input or by itself.
pub(crate) struct Talking {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Option<JoinHandle<String>>,
    deadline: Deadline,
    /// For its temporary files: who is killed leaves them, such as the socket that it listened on.
    _scratch: TempDir,
}

impl Talking {
    /// In a process group of its own, so that what a wrapper has started ends with it.
    pub(crate) fn start(command: &mut Command, deadline: Deadline) -> Result<Self> {
        let scratch = TempDir::new()?;
        let mut child = command
            .env("TMPDIR", scratch.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|e| format!("cannot run {}: {e}", command.get_program().display()))?;
        let streams = (child.stdout.take(), child.stderr.take());
        let (Some(output), Some(mut errors)) = streams else {
            return Err("a process without output".into());
        };
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut lines = BufReader::new(output).lines().map_while(|line| line.ok());
            lines.try_for_each(|line| sender.send(line))
        });
        let errors = thread::spawn(move || {
            let mut text = Vec::new();
            // Text that cannot be read is left out.
            let _ = errors.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        Ok(Talking {
            input: child.stdin.take(),
            child,
            lines,
            errors: Some(errors),
            deadline,
            _scratch: scratch,
        })
    }

    /// Waits for `READY`, and gives what follows it.
    pub(crate) fn ready(&mut self) -> Result<String> {
        let line = self.line()?;
        match line.strip_prefix("READY") {
            Some(rest) => Ok(rest.trim().to_owned()),
            None => Err(self.complaint(&line)),
        }
    }

    /// Lets a client measure.
    pub(crate) fn go(&mut self) -> Result<()> {
        match &mut self.input {
            Some(input) => Ok(writeln!(input, "go")?),
            None => Err("it has been let go".into()),
        }
    }

    /// The line with the figures of a client, as soon as it comes.
    pub(crate) fn figures(&mut self) -> Result<String> {
        let line = self.line()?;
        match line.starts_with('{') {
            true => Ok(line),
            false => Err(self.complaint(&line)),
        }
    }

    /// The next line; an error at the end.
    pub(crate) fn line(&mut self) -> Result<String> {
        match self.lines.recv_timeout(self.deadline.left()) {
            Ok(line) => Ok(line.trim().to_owned()),
            Err(RecvTimeoutError::Disconnected) => Err(self.complaint("it ended")),
            Err(RecvTimeoutError::Timeout) => Err(self.overdue()),
        }
    }

    pub(crate) fn is_overdue(&self) -> bool {
        self.deadline.left().is_zero()
    }

    fn overdue(&self) -> Box<dyn std::error::Error> {
        let limit = self.deadline.limit.as_secs_f64();
        format!("it hung: killed, since the run was not over after {limit:.1} s").into()
    }

    /// Makes an error of the text that a process leaves on standard error at its end.
    fn complaint(&mut self, line: &str) -> Box<dyn std::error::Error> {
        // One that is about to end says why first.
        let moment = self.deadline.left().min(Duration::from_secs(1));
        while self.lines.recv_timeout(moment).is_ok() {}
        self.kill();
        let errors = self.errors.take().and_then(|errors| errors.join().ok());
        let text = errors.unwrap_or_default();
        let last = text.lines().last().unwrap_or(line);
        format!("it failed: {last}").into()
    }

    /// Returns its usage so far: threads that have ended count in its time, and not in its
    /// switches.
    pub(crate) fn usage(&self) -> Result<Usage> {
        let time = clock_gettime(clock_getcpuclockid(self.pid())?)?;
        Ok(Usage {
            cpu_ns: time.tv_sec() * 1_000_000_000 + time.tv_nsec(),
            switches: self.switches()?,
            peak_kb: self.peak_kb()?,
            ..Usage::default()
        })
    }

    fn peak_kb(&self) -> Result<i64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        Ok(field(&status, "VmHWM:").ok_or("no VmHWM")?)
    }

    fn switches(&self) -> Result<i64> {
        let mut sum = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            // A thread may have ended since.
            let status = fs::read_to_string(task?.path().join("status")).unwrap_or_default();
            sum += field(&status, "voluntary_ctxt_switches:").unwrap_or(0);
            sum += field(&status, "nonvoluntary_ctxt_switches:").unwrap_or(0);
        }
        Ok(sum)
    }

    /// Lets the process end by itself, with its input.
    pub(crate) fn end(mut self) -> Result<()> {
        self.input = None;
        loop {
            match self.lines.recv_timeout(self.deadline.left()) {
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Err(self.overdue()),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.child.wait()?;
        Ok(())
    }

    /// Kills the process; gives the context switches of all threads that it ever had.
    pub(crate) fn stop(&mut self) -> Result<u64> {
        let before = getrusage(UsageWho::RUSAGE_CHILDREN)?;
        self.kill();
        let after = getrusage(UsageWho::RUSAGE_CHILDREN)?;
        let switches = after.voluntary_context_switches() + after.involuntary_context_switches()
            - before.voluntary_context_switches()
            - before.involuntary_context_switches();
        Ok(switches.unsigned_abs())
    }

    fn kill(&mut self) {
        // A process that has ended needs no killing, nor waiting twice.
        let _ = killpg(self.pid(), Signal::SIGKILL);
        let _ = self.child.wait();
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }
}

impl Drop for Talking {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A number of `/proc/PID/status`.
fn field(status: &str, name: &str) -> Option<i64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_misbehave_are_named() {
        let rows = [
            ("sleep 60", "it hung: killed"),
            ("sleep 60 & sleep 60", "it hung: killed"),
            ("echo some; echo wrong >&2; exit 1", "it failed: wrong"),
            ("echo nonsense", "it failed: nonsense"),
            ("exit 2", "it failed"),
        ];
        for (script, expected) in rows {
            let mut command = Command::new("sh");
            let deadline = Deadline::after(Duration::from_millis(300));
            let started = Instant::now();
            let error = Talking::start(command.args(["-c", script]), deadline)
                .and_then(|mut program| program.ready())
                .map_err(|error| error.to_string());
            let error = error.err().unwrap_or_default();
            assert!(error.starts_with(expected), "{script}: {error}");
            assert!(started.elapsed() < Duration::from_secs(30), "{script}");
        }
    }
}

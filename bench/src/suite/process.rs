//! A server and a client, each in a process of its own.

use super::Result;
use super::plan::Case;
use super::program::Program;
use serde::Deserialize;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What one round gave.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    pub(crate) client: ClientFigures,
    pub(crate) server_cpu_ns: f64,
    pub(crate) server_peak_kb: u64,
}

/// What a client prints.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ClientFigures {
    pub(crate) calls: u64,
    pub(crate) elapsed_ns: u64,
    pub(crate) cpu_ns: i64,
    pub(crate) voluntary_switches: i64,
    pub(crate) peak_rss_kb: i64,
    pub(crate) latency: Latency,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Latency {
    pub(crate) mean_ns: f64,
    pub(crate) sd_ns: f64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p999_ns: u64,
}

/// Runs a round of a system.
pub(crate) fn run(program: &Program, system: &str, case: &Case) -> Result<Figures> {
    if system == "direct" {
        let client = Talking::start(&mut load(program.command("both", system), case, case.calls))?;
        return Ok(Figures {
            client: client.measure()?,
            server_cpu_ns: 0.0,
            server_peak_kb: 0,
        });
    }
    let mut server = Talking::start(&mut program.command("server", system))?;
    let address = server.ready()?;
    let mut command = program.command("client", system);
    command.args(["--address", &address]);
    let mut client = Talking::start(&mut load(command, case, case.calls))?;
    client.ready()?;
    let before = server.cpu_ns()?;
    let figures = client.finish()?;
    Ok(Figures {
        client: figures,
        server_cpu_ns: server.cpu_ns()? - before,
        server_peak_kb: server.peak_kb().unwrap_or(0),
    })
}

/// Adds the options of a client.
pub(crate) fn load(mut command: Command, case: &Case, calls: usize) -> Command {
    let numbers = [
        ("--clients", case.clients),
        ("--connections", case.connections),
        ("--calls", calls),
        ("--warmup", (case.calls / case.clients / 10).clamp(1, 200)),
    ];
    command.args(["--workload", case.workload, "--case", case.case]);
    for (option, number) in numbers {
        command.args([option, &number.to_string()]);
    }
    command
}

/// A process that says when it is ready, and ends with its standard input or by itself.
pub(crate) struct Talking {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Talking {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a process without input and output".into());
        };
        Ok(Talking {
            child,
            input,
            output: BufReader::new(output),
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

    /// Lets a client begin, and takes its figures.
    pub(crate) fn finish(&mut self) -> Result<ClientFigures> {
        writeln!(self.input, "go")?;
        let line = self.line()?;
        serde_json::from_str(&line).map_err(|_| self.complaint(&line))
    }

    fn measure(mut self) -> Result<ClientFigures> {
        self.ready()?;
        self.finish()
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim().to_owned())
    }

    /// What a process that has ended says on standard error.
    fn complaint(&mut self, line: &str) -> Box<dyn std::error::Error> {
        let _ = self.child.kill();
        let mut text = String::new();
        if let Some(mut errors) = self.child.stderr.take() {
            // What cannot be read is not told.
            let _ = errors.read_to_string(&mut text);
        }
        let last = text.lines().last().unwrap_or(line);
        format!("the program failed: {last}").into()
    }

    /// User and system time so far, of threads that have ended too.
    fn cpu_ns(&self) -> Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name, in brackets, may hold anything.
        let fields = stat.rsplit(')').next().unwrap_or_default();
        let mut fields = fields.split_whitespace().skip(11);
        let mut ticks = || -> Result<f64> { Ok(fields.next().ok_or("no times")?.parse()?) };
        Ok((ticks()? + ticks()?) * 1e7)
    }

    fn peak_kb(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        Ok(number.ok_or("no VmHWM")?.parse()?)
    }
}

impl Drop for Talking {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! Figures that are counted, not timed, in runs of their own with one caller: bytes on the wire,
//! system calls.

use super::Result;
use super::plan::Case;
use super::process::{Deadline, Talking};
use super::program::Program;
use super::relay::wire_bytes;
use super::report::Missing;
use crate::agent::contract::Load;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The counts of one call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) wire_bytes: Option<u64>,
    pub(crate) client_syscalls: Option<f64>,
    pub(crate) server_syscalls: Option<f64>,
}

/// Counts once for each workload, case and system: more callers change nothing.
pub(crate) struct Counter {
    timeout: Duration,
    /// Why system calls are not counted.
    lacks: Option<&'static str>,
    known: HashMap<(&'static str, &'static str, String), Counts>,
}

impl Counter {
    pub(crate) fn new(full: bool, timeout: Duration) -> Self {
        Counter {
            timeout,
            lacks: match full {
                false => Some("they take runs of their own, which only --full has"),
                true if has_strace() => None,
                true => Some("`strace true` does not work"),
            },
            known: HashMap::new(),
        }
    }

    pub(crate) fn missing(&self) -> Option<Missing> {
        let lacks = self.lacks?;
        Some(Missing::new("system calls", lacks))
    }

    pub(crate) fn count(&mut self, program: &Program, system: &str, case: &Case) -> Counts {
        if system == "direct" {
            return Counts::default();
        }
        let key = (case.workload, case.case, system.to_owned());
        if let Some(counts) = self.known.get(&key) {
            return *counts;
        }
        let deadline = || Deadline::after(self.timeout);
        let syscalls = match self.lacks {
            None => syscalls(program, system, case, deadline()).ok(),
            Some(_) => None,
        };
        // A system has no figure for a case that it does not have, or fails at.
        let counts = Counts {
            wire_bytes: wire_bytes(program, system, case, deadline()).ok(),
            client_syscalls: syscalls.map(|(client, _)| client),
            server_syscalls: syscalls.map(|(_, server)| server),
        };
        self.known.insert(key, counts);
        counts
    }
}

fn has_strace() -> bool {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "-o", "/dev/null", "true"]);
    let status = strace.stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// The time for the calls, and for those with which a compiler warms up.
const LIMIT_MS: i32 = 2_000;

/// System calls of a call on the client and on the server: the difference between many calls and
/// few.
fn syscalls(
    program: &Program,
    system: &str,
    case: &Case,
    deadline: Deadline,
) -> Result<(f64, f64)> {
    const FEW: i32 = 10;
    const MANY: i32 = 60;
    let few = traced(program, system, case, FEW, deadline)?;
    let many = traced(program, system, case, MANY, deadline)?;
    let per_call = |many: u64, few: u64| many.saturating_sub(few) as f64 / f64::from(MANY - FEW);
    Ok((per_call(many.0, few.0), per_call(many.1, few.1)))
}

/// System calls of whole processes that make so many calls.
fn traced(
    program: &Program,
    system: &str,
    case: &Case,
    calls: i32,
    deadline: Deadline,
) -> Result<(u64, u64)> {
    let mut strace = Strace::of("server", &program.server(system));
    let mut server = Talking::start(&mut strace.command, deadline)?;
    let load = Load {
        calls,
        warmup: 1,
        limit_ms: Some(LIMIT_MS),
        ..case.alone().load(system, &[server.ready()?])
    };
    let mut client_strace = Strace::of("client", &program.client(system, &load));
    let mut client = Talking::start(&mut client_strace.command, deadline)?;
    client.ready()?;
    client.go()?;
    client.figures()?;
    client.end()?;
    server.end()?;
    Ok((client_strace.total()?, strace.total()?))
}

/// A command under `strace -c`, which leaves a table of calls at the end.
struct Strace {
    command: Command,
    table: PathBuf,
}

impl Strace {
    fn of(name: &str, traced: &Command) -> Self {
        let name = format!("dovetail-bench-{}-{name}.strace", std::process::id());
        let table = std::env::temp_dir().join(name);
        let mut command = Command::new("strace");
        command.args(["-f", "-c", "-o"]).arg(&table);
        command.arg(traced.get_program()).args(traced.get_args());
        Strace { command, table }
    }

    fn total(&self) -> Result<u64> {
        let table = fs::read_to_string(&self.table)?;
        fs::remove_file(&self.table)?;
        Ok(total(&table).ok_or("strace has no total")?)
    }
}

/// The last line: `100.00    0.004512           3      1311        12 total`.
fn total(table: &str) -> Option<u64> {
    let line = table.lines().rfind(|line| line.ends_with(" total"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals() {
        let rows = [
            ("", None),
            (
                "100.00    0.004512           3      1311        12 total\n",
                Some(1311),
            ),
            (
                "------ ---- --- -- --- ---\n100.00    0.000000           0        29           total\n",
                Some(29),
            ),
            ("strace: no permission", None),
        ];
        for (table, expected) in rows {
            assert_eq!(total(table), expected, "{table}");
        }
    }
}

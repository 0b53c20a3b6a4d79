//! What is measured.

use super::scenario::Scenario;
use super::{Options, Result};
use crate::agent::contract::Load;
use std::time::Duration;

/// One setting of one workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) workload: &'static str,
    pub(crate) case: &'static str,
    pub(crate) clients: usize,
    /// Among how many connections the clients are divided.
    pub(crate) connections: usize,
    /// Calls of all clients together in a round.
    pub(crate) calls: usize,
    /// Calls a second; without it each call follows the one before.
    pub(crate) rate: Option<f64>,
    /// How many servers each call goes to, at once.
    pub(crate) servers: usize,
}

impl Case {
    /// Whether a system can do it, and is of interest there.
    pub(crate) fn suits(&self, system: &str) -> bool {
        let raw = system.starts_with("floor");
        match system {
            "direct" => self.clients == 1,
            _ if self.servers > 1 && !calls_at_once(system) => false,
            // A system call for each value: only to explain what one article measured.
            "thrift-cpp-unbuffered" => self.workload == "db_work" && !self.is_shared(),
            // What the adaptive poll is measured against.
            "dovetail-thrift-binary-blocking" => {
                matches!(self.workload, "get_answer" | "db_work") && !self.is_shared()
            }
            _ if system.ends_with("-poll") => self.clients == 1,
            _ if raw && self.case.ends_with("ms") => false,
            // Of the two the one that is made for it.
            "volo-multiplex" => self.is_shared(),
            _ if raw || system == "volo" || system.starts_with("thrift-") => !self.is_shared(),
            _ => true,
        }
    }

    /// What a client is told.
    pub(crate) fn load(&self, servers: &[String]) -> Load {
        let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        Load {
            workload: self.workload.to_owned(),
            variant: self.case.to_owned(),
            clients: number(self.clients),
            connections: number(self.connections),
            calls: number(self.calls),
            warmup: number((self.calls / self.clients / 10).clamp(1, 200)),
            rate: self.rate,
            servers: servers.to_vec(),
            ..Load::default()
        }
    }

    /// The same call by one caller, to one server, as fast as it can.
    pub(crate) fn alone(&self) -> Case {
        Case {
            clients: 1,
            connections: 1,
            rate: None,
            servers: 1,
            ..*self
        }
    }

    /// Whether callers share a connection.
    pub(crate) fn is_shared(&self) -> bool {
        self.connections < self.clients
    }

    /// The data that a call hands over, both ways, where the workload is about that.
    pub(crate) fn payload_bytes(&self) -> Option<u64> {
        match self.workload {
            "get_blob" => self.case.parse().ok(),
            "blob_100k" => Some(100_000),
            "structs_100k" => Some(200_000),
            _ => None,
        }
    }
}

/// Whether client and server can only be on the same host.
pub(crate) fn needs_one_host(system: &str) -> bool {
    system == "direct"
        || system
            .split('-')
            .any(|part| matches!(part, "unix" | "shm" | "local" | "inproc"))
}

/// Whether a caller of a system can wait for several answers.
fn calls_at_once(system: &str) -> bool {
    system.ends_with("-async") || matches!(system, "tonic" | "volo" | "tarpc")
}

const OWN: usize = usize::MAX;

/// Workload, case, clients, connections, calls of a full run, and of a quick one, which leaves out those with 0.
type Line = (&'static str, &'static str, usize, usize, usize, usize);

const LINES: &[Line] = &[
    ("get_answer", "-", 1, OWN, 10_000, 3_000),
    ("get_blob", "1024", 1, OWN, 10_000, 0),
    ("get_blob", "4096", 1, OWN, 10_000, 0),
    ("get_blob", "16384", 1, OWN, 10_000, 0),
    ("get_blob", "65536", 1, OWN, 5_000, 1_000),
    ("get_blob", "262144", 1, OWN, 2_000, 0),
    ("get_blob", "1048576", 1, OWN, 500, 100),
    ("get_blob", "4194304", 1, OWN, 100, 0),
    ("get_blob", "16777216", 1, OWN, 30, 6),
    ("get_structs", "-", 1, OWN, 200, 50),
    ("blob_100k", "-", 1, OWN, 5_000, 1_000),
    ("blob_100k", "-", 2, OWN, 5_000, 0),
    ("blob_100k", "-", 5, OWN, 10_000, 0),
    ("blob_100k", "-", 10, OWN, 10_000, 2_000),
    ("structs_100k", "-", 1, OWN, 1_000, 200),
    ("structs_100k", "-", 2, OWN, 1_000, 0),
    ("structs_100k", "-", 5, OWN, 2_000, 0),
    ("structs_100k", "-", 10, OWN, 2_000, 0),
    ("db_work", "10", 4, OWN, 64_000, 0),
    ("db_work", "10", 16, OWN, 64_000, 0),
    ("db_work", "10", 64, OWN, 64_000, 16_000),
    ("db_work", "10", 128, OWN, 64_000, 0),
    ("db_work", "10", 64, 1, 64_000, 16_000),
    ("db_work", "10+1ms", 64, OWN, 16_000, 0),
    ("agent_small", "-", 1, OWN, 10_000, 0),
    ("agent_large", "-", 1, OWN, 10_000, 0),
    ("agent_small", "-", 128, OWN, 64_000, 16_000),
    ("agent_large", "-", 128, OWN, 64_000, 0),
    ("agent_small", "-", 128, 1, 64_000, 0),
];

/// The profiles that are asked for, or else the cases of a full run or of a quick one.
pub(crate) fn scenarios(options: &Options) -> Result<Vec<Scenario>> {
    let step = Duration::try_from_secs_f64(options.step).map_err(|e| format!("--step: {e}"))?;
    let profiles = options.profile.iter().map(|profile| profile.scenario(step));
    Ok(match options.profile.is_empty() {
        true => cases(options.full)
            .into_iter()
            .map(Scenario::single)
            .collect(),
        false => profiles.collect(),
    })
}

/// The cases of a full run, or of a quick one.
fn cases(full: bool) -> Vec<Case> {
    let case = |&(workload, case, clients, connections, calls, quick): &Line| Case {
        workload,
        case,
        clients,
        connections: connections.min(clients),
        calls: if full { calls } else { quick },
        rate: None,
        servers: 1,
    };
    let cases = LINES.iter().map(case);
    cases.filter(|case| case.calls > 0).collect()
}

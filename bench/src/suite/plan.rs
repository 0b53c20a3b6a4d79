//! What is measured.

/// One setting of one workload.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) workload: &'static str,
    pub(crate) case: &'static str,
    pub(crate) clients: usize,
    /// Among how many connections the clients are divided.
    pub(crate) connections: usize,
    /// Calls of all clients together in a round.
    pub(crate) calls: usize,
    /// Part of the short run.
    pub(crate) quick: bool,
}

impl Case {
    /// Whether a system can do it, and is of interest there.
    pub(crate) fn suits(&self, system: &str) -> bool {
        let raw = system.starts_with("floor");
        let shares = self.connections < self.clients;
        match system {
            "direct" | "floor-tcp-poll" | "floor-unix-poll" => self.clients == 1,
            // A system call for each value: only to explain what one article measured.
            "thrift-cpp-unbuffered" => self.workload == "db_work" && !shares,
            _ if raw && self.case.ends_with("ms") => false,
            _ if raw || system.starts_with("thrift-") => !shares,
            _ => true,
        }
    }

    /// Whether what limits it is the number of calls, not their bytes.
    pub(crate) fn is_shared(&self) -> bool {
        self.connections < self.clients
    }
}

const OWN: usize = usize::MAX;

/// Workload, case, clients, connections, calls, quick.
type Line = (&'static str, &'static str, usize, usize, usize, bool);

const LINES: &[Line] = &[
    ("get_answer", "-", 1, OWN, 10_000, true),
    ("get_blob", "1024", 1, OWN, 10_000, false),
    ("get_blob", "4096", 1, OWN, 10_000, false),
    ("get_blob", "16384", 1, OWN, 10_000, false),
    ("get_blob", "65536", 1, OWN, 5_000, false),
    ("get_blob", "262144", 1, OWN, 2_000, false),
    ("get_blob", "1048576", 1, OWN, 500, true),
    ("get_blob", "4194304", 1, OWN, 100, false),
    ("get_blob", "16777216", 1, OWN, 30, false),
    ("get_structs", "-", 1, OWN, 200, true),
    ("blob_100k", "-", 1, OWN, 5_000, true),
    ("blob_100k", "-", 2, OWN, 5_000, false),
    ("blob_100k", "-", 5, OWN, 10_000, false),
    ("blob_100k", "-", 10, OWN, 10_000, false),
    ("structs_100k", "-", 1, OWN, 1_000, true),
    ("structs_100k", "-", 2, OWN, 1_000, false),
    ("structs_100k", "-", 5, OWN, 2_000, false),
    ("structs_100k", "-", 10, OWN, 2_000, false),
    ("db_work", "10", 4, OWN, 64_000, false),
    ("db_work", "10", 16, OWN, 64_000, false),
    ("db_work", "10", 64, OWN, 64_000, true),
    ("db_work", "10", 128, OWN, 64_000, false),
    ("db_work", "10", 64, 1, 64_000, true),
    ("db_work", "10+1ms", 64, OWN, 16_000, false),
    ("agent_small", "-", 1, OWN, 10_000, false),
    ("agent_large", "-", 1, OWN, 10_000, false),
    ("agent_small", "-", 128, OWN, 64_000, true),
    ("agent_large", "-", 128, OWN, 64_000, false),
    ("agent_small", "-", 128, 1, 64_000, false),
];

/// The cases of a full run, or of a quick one.
pub(crate) fn cases(full: bool) -> Vec<Case> {
    let case = |&(workload, case, clients, connections, calls, quick): &Line| Case {
        workload,
        case,
        clients,
        connections: connections.min(clients),
        // A quick run makes a quarter of the calls.
        calls: if full { calls } else { calls / 4 },
        quick,
    };
    let cases = LINES.iter().map(case);
    cases.filter(|case| full || case.quick).collect()
}

//! The plan of a run.

use super::counts::Counts;
use super::report::{Missing, Row};
use super::scenario::Scenario;
use super::{Options, Result};
use crate::agent::contract::Load;
use regex::Regex;
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
    /// A round is over after this time, whether or not all calls have been made.
    pub(crate) limit: Option<Duration>,
    /// Calls a second; without it each call follows the one before.
    pub(crate) rate: Option<f64>,
    /// How many servers each call goes to, at once.
    pub(crate) servers: usize,
    /// Threads that compute beside it.
    pub(crate) neighbours: usize,
}

impl Case {
    /// Whether a system can do it, and is of interest there.
    pub(crate) fn suits(&self, system: &str) -> bool {
        let (client, server) = ends(system);
        if client != server {
            return self.is_across() && self.suits(client) && self.suits(server);
        }
        let raw = system.starts_with("floor");
        match system {
            "direct" => self.clients == 1,
            // Measured by --overload alone.
            _ if system.ends_with("-overload") => false,
            _ if self.limit.is_some_and(|limit| limit < FULL) && NEEDS_FULL.contains(&system) => {
                false
            }
            // A large call takes no longer with interceptors.
            _ if VARIANTS.contains(&system) => {
                self.workload == "get_answer"
                    || (system == WATCHED && self.workload == "db_work" && self.is_shared())
            }
            _ if self.servers > 1 && !calls_at_once(system) => false,
            // A system call for each value: only to explain what one article measured.
            "thrift-cpp-unbuffered" => self.workload == "db_work" && !self.is_shared(),
            // The blocking poll is the baseline of the adaptive one.
            "dovetail-thrift-binary-blocking" => {
                matches!(self.workload, "get_answer" | "db_work") && !self.is_shared()
            }
            _ if system.ends_with("-poll") => self.clients == 1,
            _ if raw && self.case.ends_with("ms") => false,
            // The one of the two that is made for it.
            "volo-multiplex" => self.is_shared(),
            // An event loop of Cap'n Proto in C++ has one thread, and a caller is one.
            _ if raw || matches!(system, "volo" | "capnp-cpp") || system.starts_with("thrift-") => {
                !self.is_shared()
            }
            _ => true,
        }
    }

    /// Whether the clients of one system are of interest at the servers of another one.
    fn is_across(&self) -> bool {
        matches!(self.workload, "get_answer" | "db_work" | "blob_100k") && !self.is_shared()
    }

    /// Returns the load for a client of a system.
    pub(crate) fn load(&self, system: &str, servers: &[String]) -> Load {
        let limit = self.limit.filter(|_| !WARM_UP.contains(&system));
        let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        Load {
            workload: self.workload.to_owned(),
            variant: self.case.to_owned(),
            clients: number(self.clients),
            connections: number(self.connections),
            calls: number(self.calls),
            warmup: number((self.calls / self.clients / 10).clamp(1, 200)),
            rate: self.rate,
            limit_ms: limit.map(|limit| limit.as_millis() as i32),
            servers: servers.to_vec(),
            ..Load::default()
        }
    }

    /// Returns the case of one caller that makes the call to one server, as fast as it can.
    pub(crate) fn alone(&self) -> Case {
        Case {
            clients: 1,
            connections: 1,
            limit: None,
            rate: None,
            servers: 1,
            neighbours: 0,
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

/// Stock clients at our servers, and our clients at stock servers. A pair is called `CLIENT at
/// SERVER` among the systems.
pub(crate) const ACROSS: &[&str] = &[
    "thrift-cpp-64k at dovetail-thrift-binary",
    "dovetail-thrift-binary at thrift-cpp-nonblocking",
    "thrift-go-framed at dovetail-thrift-binary",
    "dovetail-thrift-binary at thrift-go-framed",
    "grpc-go at dovetail-grpc",
    "dovetail-grpc at grpc-go",
    "tonic at dovetail-grpc",
    "dovetail-grpc at tonic",
];

/// Returns the systems of client and server, which are the same but for the pairs of [`ACROSS`].
pub(crate) fn ends(system: &str) -> (&str, &str) {
    system.split_once(" at ").unwrap_or((system, system))
}

/// Whether client and server can only be on the same host.
pub(crate) fn needs_one_host(system: &str) -> bool {
    system == "direct"
        || system
            .split('-')
            .any(|part| matches!(part, "unix" | "shm" | "local" | "inproc"))
}

/// Systems that are not warm before a round of a quick run would be over, as their compiler takes
/// seconds; and those that are nearly the same as `dovetail-local` and `dovetail-shm-async`.
const NEEDS_FULL: &[&str] = &["grpc-java", "dovetail-shm", "dovetail-shm-loops"];

/// Systems that make many calls before they are measured, which a limit would cut short: their
/// rounds have all their calls.
const WARM_UP: &[&str] = &["grpc-java"];

/// Systems that differ from `dovetail-local` by interceptors alone: for targets, not for
/// comparisons with others.
pub(crate) const VARIANTS: &[&str] = &["dovetail-local-intercepted", WATCHED];

/// The one with statistics and spans that are not recorded, as a server in production has them.
const WATCHED: &str = "dovetail-local-watched";

/// Whether a caller of a system can wait for several answers.
fn calls_at_once(system: &str) -> bool {
    system.ends_with("-async") || matches!(system, "dovetail-grpc" | "tonic" | "volo" | "tarpc")
}

const OWN: usize = usize::MAX;

/// Workload, case, clients, connections, calls of a full run, and the systems that a quick run
/// measures.
type Line = (
    &'static str,
    &'static str,
    usize,
    usize,
    usize,
    &'static str,
);

/// One configuration of each library, and what has a target.
const MAIN: &str = "direct|floor-.*|dovetail-(thrift-binary|thrift-compact|tcp|unix|shm|local|grpc|capnp)|thrift-cpp-64k(-unix)?|\
                    thrift-go-framed|grpc-cpp|grpc-cpp-callback|grpc-go|tonic|volo|tarpc|capnp-cpp|rpclib";
/// Systems of the article on Glue and Thrift, and the best ones at its workload.
const WORK: &str = "floor-.*|dovetail-.*|thrift-cpp.*|volo|grpc-cpp";
/// Systems of the agent article, those that have a target there, and all peers that might be
/// better.
const AGENT: &str = "floor-(tcp|unix|shm)|dovetail-.*|thrift-.*|grpc-.*|tonic|volo|tarpc|capnp-cpp";
const SHARING: &str =
    "dovetail-((tcp|unix)-async|grpc)|grpc-(cpp|cpp-callback|go)|tonic|tarpc|volo-multiplex";
/// Systems beside busy neighbours: those with a target there, and the best of each kind.
const CROWDED: &str = "floor-(tcp|unix|shm|shm-poll)|dovetail-(local|tcp|unix|tcp-async|thrift-binary|thrift-binary-blocking|grpc)|\
                       thrift-cpp-64k(-unix)?|thrift-go-framed|grpc-(cpp|cpp-callback|go)|tonic|volo|tarpc";
const ALL: &str = ".*";
const NONE: &str = "";

const LINES: &[Line] = &[
    ("get_answer", "-", 1, OWN, 10_000, ALL),
    ("get_blob", "1024", 1, OWN, 10_000, NONE),
    ("get_blob", "4096", 1, OWN, 10_000, NONE),
    ("get_blob", "16384", 1, OWN, 10_000, NONE),
    ("get_blob", "65536", 1, OWN, 5_000, MAIN),
    ("get_blob", "262144", 1, OWN, 2_000, NONE),
    ("get_blob", "1048576", 1, OWN, 2_000, MAIN),
    ("get_blob", "4194304", 1, OWN, 500, NONE),
    ("get_blob", "16777216", 1, OWN, 100, MAIN),
    ("get_structs", "-", 1, OWN, 200, MAIN),
    ("blob_100k", "-", 1, OWN, 5_000, ALL),
    ("blob_100k", "-", 2, OWN, 5_000, NONE),
    ("blob_100k", "-", 5, OWN, 10_000, NONE),
    ("blob_100k", "-", 10, OWN, 40_000, ALL),
    ("structs_100k", "-", 1, OWN, 1_000, ALL),
    ("structs_100k", "-", 2, OWN, 1_000, NONE),
    ("structs_100k", "-", 5, OWN, 2_000, NONE),
    ("structs_100k", "-", 10, OWN, 2_000, NONE),
    ("db_work", "10", 4, OWN, 64_000, NONE),
    ("db_work", "10", 16, OWN, 64_000, NONE),
    ("db_work", "10", 64, OWN, 64_000, WORK),
    ("db_work", "10", 128, OWN, 64_000, NONE),
    ("db_work", "10", 64, 1, 64_000, ALL),
    ("db_work", "10+1ms", 64, OWN, 16_000, NONE),
    ("agent_small", "-", 1, OWN, 10_000, NONE),
    ("agent_large", "-", 1, OWN, 10_000, NONE),
    ("agent_small", "-", 128, OWN, 64_000, AGENT),
    ("agent_large", "-", 128, OWN, 64_000, NONE),
    ("agent_small", "-", 128, 1, 64_000, SHARING),
];

/// How long a round of a quick run calls: long enough for hundreds of small calls, and for some of
/// the largest blobs.
const QUICK: Duration = Duration::from_millis(100);

/// The time for many callers: the kernel takes a while to find all of them a core.
const QUICK_MANY: Duration = Duration::from_millis(200);
const MANY: usize = 64;

/// How long a round of a full run calls at most, so that it is over in an hour.
const FULL: Duration = Duration::from_millis(300);
const FULL_MANY: Duration = Duration::from_millis(600);

/// The time beside threads that compute: many times that for which a scheduler leaves a core to one
/// of them.
const QUICK_CROWDED: Duration = Duration::from_millis(500);

/// The connections of small calls, each with one caller, and the callers that share one.
const CONNECTIONS: &[usize] = &[8, 64, 512, 4_096];
const SHARING_ONE: &[usize] = &[100, 1_000, 10_000, 100_000];

/// Systems that have no thread for each caller, and of them those whose callers can share a
/// connection.
const SCALING: &str = "dovetail-(tcp-async|thrift-binary-async|grpc)|thrift-go-framed|grpc-(cpp-callback|go)|tonic|volo|tarpc";
const SCALING_ONE: &str = "dovetail-(tcp-async|grpc)|grpc-go|tonic|tarpc|volo-multiplex";

/// Many callers, in whose midst one makes so many calls a second.
const CROWD: Line = ("db_work", "10", 63, OWN, 1_000_000, CROWDED);
const CROWD_ROUND: Duration = Duration::from_secs(1);
const RARE: f64 = 100.0;

/// The profiles that are asked for, or else the cases of a full run or of a quick one.
pub(crate) fn scenarios(options: &Options) -> Result<Vec<Scenario>> {
    let step = Duration::try_from_secs_f64(options.step).map_err(|e| format!("--step: {e}"))?;
    let profiles = options.profile.iter().map(|profile| profile.scenario(step));
    let scenarios = match (options.profile.is_empty(), options.full) {
        (false, _) => profiles.collect(),
        (true, true) => full()?,
        (true, false) => quick()?,
    };
    let alone = |scenario: &Scenario| options.neighbours == 0 || scenario.neighbours() == 0;
    let beside = |scenario: Scenario| scenario.beside(options.neighbours);
    Ok(scenarios.into_iter().filter(alone).map(beside).collect())
}

fn full() -> Result<Vec<Scenario>> {
    let cases = LINES.iter().map(|line| {
        let limit = round(line, [FULL, FULL_MANY]);
        Scenario::single(case(line, Some(limit)))
    });
    let others = [crowded()?, vec![rare()?], scaling()?].concat();
    Ok(cases.chain(others).collect())
}

/// Small calls of ever more callers.
fn scaling() -> Result<Vec<Scenario>> {
    let line = |clients, connections, systems| -> Line {
        ("get_answer", "-", clients, connections, 1_000_000, systems)
    };
    let own = CONNECTIONS.iter().map(|&count| line(count, OWN, SCALING));
    let shared = SHARING_ONE.iter().map(|&count| line(count, 1, SCALING_ONE));
    let scenario = |line: Line| {
        Ok(Scenario {
            name: "scaling get_answer -".to_owned(),
            ..cut(&line, FULL_MANY)?
        })
    };
    own.chain(shared).map(scenario).collect()
}

/// Small calls beside threads that compute: one, which leaves a core free, and two.
fn crowded() -> Result<Vec<Scenario>> {
    let line = ("get_answer", "-", 1, OWN, 1_000_000, CROWDED);
    let scenario = |neighbours| Ok(cut(&line, QUICK_CROWDED)?.beside(neighbours));
    [1, 2].into_iter().map(scenario).collect()
}

/// The cases with which a quick run can do, for as long as is needed, with the systems that say
/// something there.
pub(super) fn quick() -> Result<Vec<Scenario>> {
    let lines = LINES.iter().filter(|line| line.5 != NONE);
    let cut = |line| cut(line, round(line, [QUICK, QUICK_MANY]));
    let scenarios: Result<Vec<Scenario>> = lines.map(cut).collect();
    Ok([scenarios?, crowded()?, vec![rare()?]].concat())
}

/// A caller that calls now and then, beside many that call back to back: does it wait for its turn
/// longer than they do?
fn rare() -> Result<Scenario> {
    let crowd = case(&CROWD, Some(CROWD_ROUND));
    let caller = Case {
        clients: 1,
        connections: 1,
        calls: (RARE * CROWD_ROUND.as_secs_f64()) as usize,
        limit: None,
        rate: Some(RARE),
        ..crowd
    };
    Ok(Scenario {
        name: format!("beside {} callers:", crowd.clients),
        steps: vec![vec![caller, crowd]],
        step: CROWD_ROUND,
        ..cut(&CROWD, CROWD_ROUND)?
    })
}

/// A case for so long, with the systems that a quick run measures.
fn cut(line: &Line, limit: Duration) -> Result<Scenario> {
    Ok(Scenario {
        systems: Some(Regex::new(&format!("^(?:{})$", line.5))?),
        ..Scenario::single(case(line, Some(limit)))
    })
}

/// The time of a round: for few callers, or for many.
fn round(line: &Line, [few, many]: [Duration; 2]) -> Duration {
    if line.2 >= MANY { many } else { few }
}

/// Returns the systems that a quick run leaves out, by name.
pub(super) fn left_out(options: &Options, systems: &[&str]) -> Result<Vec<Missing>> {
    if options.full || !options.profile.is_empty() {
        return Ok(Vec::new());
    }
    let title = |case: &Case| Row::new(case, "", &[], &Counts::default()).title();
    let cases = LINES.iter().filter(|line| line.5 == NONE);
    let cases: Vec<String> = cases.map(|line| title(&case(line, None))).collect();
    let mut missing = vec![only_full("cases", &cases.join("; "))];
    for scenario in quick()? {
        for case in scenario.cases() {
            let unlimited = Case {
                limit: None,
                ..*case
            };
            let others = systems.iter().copied();
            let others = others.filter(|system| unlimited.suits(system) && !scenario.suits(system));
            let others: Vec<&str> = others.collect();
            if !others.is_empty() {
                missing.push(only_full(&title(case), &others.join(", ")));
            }
        }
    }
    Ok(missing)
}

fn only_full(place: &str, what: &str) -> Missing {
    Missing::new(place, &format!("only --full has {what}"))
}

fn case(line: &Line, limit: Option<Duration>) -> Case {
    let &(workload, case, clients, connections, calls, _) = line;
    Case {
        workload,
        case,
        clients,
        connections: connections.min(clients),
        calls,
        limit,
        rate: None,
        servers: 1,
        neighbours: 0,
    }
}

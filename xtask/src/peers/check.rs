//! Lets every peer's client call every peer's server. A case that fails between two of them is an
//! error of theirs, and `interop/known.toml` lists it with a reason.

use super::certificates;
use super::known::Known;
use super::matrix::{self, Capability, Filter, Pair, Variant, Way};
use super::{Peer, Status};
use crate::stage;
use crate::steps::side_by_side;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long all cases of one pair may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Asks a peer for its capabilities.
pub(crate) fn capabilities(peer: &Peer) -> Result<Vec<Capability>, String> {
    let output = command(peer)
        .arg("capabilities")
        .output()
        .map_err(|error| format!("cannot run {}: {error}", peer.name))?;
    let said: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{}: bad capabilities: {error}", peer.name))?;
    let entries = said.as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(entries.iter().map(capability).collect())
}

fn capability(entry: &Value) -> Capability {
    let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let role = |name: &str| {
        let roles = entry["roles"].as_array().map(Vec::as_slice);
        roles.unwrap_or_default().iter().any(|role| role == name)
    };
    let transport = text("transport");
    Capability {
        wire: entry["wire"].as_str().unwrap_or(&transport).to_owned(),
        way: Way {
            protocol: text("protocol"),
            transport,
            multiplexed: entry["multiplexed"] == true,
        },
        client: role("client"),
        server: role("server"),
        unix: entry["unix"] == true,
        reason: entry["reason"].as_str().map(str::to_owned),
    }
}

/// One case that did not pass.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// Its name.
    pub(crate) case: String,
    /// The client's remark.
    pub(crate) detail: String,
}

/// The results of one client against one server.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Those that passed.
    pub(crate) passed: Vec<String>,
    /// How many do not exist there.
    pub(crate) skipped: usize,
    /// Those that failed.
    pub(crate) failures: Vec<Failure>,
}

/// A server of a peer; it ends when this is dropped.
pub(crate) struct Server {
    child: Child,
    /// The address behind READY.
    pub(crate) address: String,
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    /// Starts a server and waits until it listens.
    fn start(pair: &Pair<'_>, address: &str) -> Result<Server, String> {
        let peer = pair.server;
        let mut child = command(peer)
            .arg("server")
            .args(flags(&pair.serves, address, pair.variants().0))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", peer.name))?;
        let Some(stdout) = child.stdout.take() else {
            return Err("the server has no output".to_owned());
        };
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        // The read ends with the server too, so it needs no timeout.
        let read = stdout.read_line(&mut line);
        match (read, line.trim().strip_prefix("READY ")) {
            (Ok(_), Some(address)) => Ok(Server {
                address: address.to_owned(),
                child,
                _stdout: stdout,
            }),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                Err(format!("{} did not say READY, but {line:?}", peer.name))
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs all cases of a client against the server at the address.
fn call(pair: &Pair<'_>, address: &str) -> Result<Tally, String> {
    let peer = pair.client;
    let mut child = command(peer)
        .arg("client")
        .args(flags(&pair.calls, address, pair.variants().1))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot start {}: {error}", peer.name))?;
    let Some(stdout) = child.stdout.take() else {
        return Err("the client has no output".to_owned());
    };
    let child = Mutex::new(child);
    let start = Instant::now();
    let mut tally = Tally::default();
    let done = Mutex::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.lock().is_ok_and(|done| *done) {
                if start.elapsed() > PATIENCE
                    && let Ok(mut child) = child.lock()
                {
                    let _ = child.kill();
                    return;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            count(&line, &mut tally);
        }
        if let Ok(mut done) = done.lock() {
            *done = true;
        }
    });
    let status = child.into_inner().map(|mut child| child.wait());
    let ended = matches!(status, Ok(Ok(status)) if status.code() == Some(i32::from(!tally.failures.is_empty())));
    if !ended || tally.passed.len() + tally.failures.len() == 0 {
        return Err(format!(
            "{} ended early, after {} cases and {:.0} s",
            peer.name,
            tally.passed.len() + tally.skipped + tally.failures.len(),
            start.elapsed().as_secs_f64()
        ));
    }
    Ok(tally)
}

/// Adds one line of a client to the tally.
fn count(line: &str, tally: &mut Tally) {
    let said: Value = serde_json::from_str(line).unwrap_or_default();
    let text = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
    match said["result"].as_str() {
        Some("ok") => tally.passed.push(text("case")),
        Some("skip") => tally.skipped += 1,
        Some(_) => tally.failures.push(Failure {
            case: text("case"),
            detail: text("detail"),
        }),
        None => tally.failures.push(Failure {
            case: "(output)".to_owned(),
            detail: format!("no line of a client: {line}"),
        }),
    }
}

fn command(peer: &Peer) -> Command {
    let mut words = peer.command.iter();
    let mut command = Command::new(words.next().map_or("false", String::as_str));
    command.args(words);
    command.env(certificates::VARIABLE, certificates::folder());
    command
}

fn flags(way: &Way, address: &str, variant: Option<Variant>) -> Vec<String> {
    let mut flags = vec!["--protocol".to_owned(), way.protocol.clone()];
    flags.extend(["--transport".to_owned(), way.transport.clone()]);
    flags.extend(["--address".to_owned(), address.to_owned()]);
    if way.multiplexed {
        flags.push("--multiplexed".to_owned());
    }
    if let Some(Variant { flag, name }) = variant {
        flags.extend([flag.to_owned(), name.to_owned()]);
    }
    flags
}

/// The results of one pair, without facts that differ from run to run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) client: &'static str,
    pub(crate) server: &'static str,
    /// The protocol and transport, as the server names them.
    pub(crate) way: Way,
    /// The variants of server and client, where these have any.
    pub(crate) variants: (Option<Variant>, Option<Variant>),
    /// How many cases passed that have to.
    pub(crate) passed: usize,
    /// For each case that may fail, whether it did or not, the row of `known.toml` that says so.
    pub(crate) known: Vec<usize>,
    /// How many cases do not exist there.
    pub(crate) skipped: usize,
    /// Failures that `known.toml` excuses.
    excused: usize,
    /// Failures that nothing excuses.
    unexpected: usize,
}

/// Runs the matrix and prints a line for each pair. An error if a case failed that may not.
pub(crate) fn run(peers: &[Peer], filter: &Filter<'_>) -> Result<Vec<Run>, String> {
    let known = Known::load()?;
    certificates::make()?;
    let start = Instant::now();
    let mut able = Vec::new();
    for peer in peers.iter().filter(|peer| peer.status == Status::Ready) {
        println!("{} {}", peer.name, peer.version);
        able.push((peer, capabilities(peer)?));
    }
    // More than there are cores: some peers spend their time in delayed acknowledgements.
    let pairs = matrix::pairs(&able, filter);
    let runs = side_by_side(4, &pairs, |pair| check(pair, &known));
    let count = |part: fn(&Run) -> usize| runs.iter().map(part).sum::<usize>();
    let unexpected = count(|run| run.unexpected);
    println!(
        "\n{} passed, {} skipped, {} failed as known, {unexpected} failed unexpectedly, in {:.0} s",
        count(Run::succeeded),
        count(|run| run.skipped),
        count(|run| run.excused),
        start.elapsed().as_secs_f64()
    );
    for reason in known.idle(runs.iter().flat_map(|run| run.known.clone()).collect()) {
        println!("known, but it did not happen: {reason}");
    }
    match unexpected {
        0 => Ok(runs),
        _ => Err("peers fail each other in ways that interop/known.toml does not know".to_owned()),
    }
}

/// Runs one pair and prints its line.
fn check(pair: &Pair<'_>, known: &Known) -> Run {
    let folder = stage::root().join("target/peers");
    let path = folder.join(format!("{:?}.sock", std::thread::current().id()));
    let address = match pair.unix {
        true => format!("unix:{}", path.display()),
        false => "127.0.0.1:0".to_owned(),
    };
    let start = Instant::now();
    let outcome = Server::start(pair, &address).and_then(|server| call(pair, &server.address));
    let _ = std::fs::remove_file(&path);
    let took = start.elapsed().as_secs_f64();
    let label = label(pair);
    let mut run = Run::new(pair);
    match outcome {
        Ok(tally) => {
            let remarks = run.judge(&tally, known);
            println!(
                "{label} {:3} passed {took:5.1} s{remarks}",
                tally.passed.len()
            );
        }
        Err(error) => {
            run.unexpected = 1;
            println!("{label} FAILED: {error}");
        }
    }
    run
}

fn label(pair: &Pair<'_>) -> String {
    let (server, client) = pair.variants();
    let variants: Vec<&str> = [client, server]
        .iter()
        .flatten()
        .map(|each| each.name)
        .collect();
    format!(
        "{:13} → {:13} {:16} {:11} {:9} {:18}",
        pair.client.name,
        pair.server.name,
        pair.serves.protocol,
        pair.serves.transport,
        pair.connection().1,
        variants.join(" → "),
    )
}

impl Run {
    fn new(pair: &Pair<'_>) -> Run {
        Run {
            client: pair.client.name,
            server: pair.server.name,
            way: pair.serves.clone(),
            variants: pair.variants(),
            passed: 0,
            known: Vec::new(),
            skipped: 0,
            excused: 0,
            unexpected: 0,
        }
    }

    /// The number of cases that passed, with those that may fail.
    fn succeeded(&self) -> usize {
        self.passed + self.known.len() - self.excused
    }

    /// Counts the cases, and returns remarks about those that failed.
    fn judge(&mut self, tally: &Tally, known: &Known) -> String {
        let row = |case: &str| known.row(self.client, self.server, &self.way, case);
        let mut remarks = String::new();
        let mut may_fail = Vec::new();
        for case in &tally.passed {
            match row(case) {
                Some(row) => may_fail.push(row),
                None => self.passed += 1,
            }
        }
        for Failure { case, detail } in &tally.failures {
            match row(case) {
                Some(row) => {
                    known.needed(row);
                    self.excused += 1;
                    may_fail.push(row);
                    remarks += &format!("\n    known   {case}");
                }
                None => {
                    self.unexpected += 1;
                    remarks += &format!("\n    FAILED  {case}: {detail}");
                }
            }
        }
        self.known = may_fail;
        self.skipped = tally.skipped;
        remarks
    }
}

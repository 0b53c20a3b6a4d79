//! Lets every peer's client call every peer's server: what fails between two of them is upstream's,
//! and `interop/known.toml` says so with a reason.

use super::{Peer, Status};
use crate::stage;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long all cases of one pair may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// One way of speaking, as a peer's command line has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Way {
    /// `binary`, `binary-nonstrict`, `compact` or `json`.
    pub(crate) protocol: String,
    /// `buffered`, `framed`, `header`, ...
    pub(crate) transport: String,
    /// Whether calls name their service.
    pub(crate) multiplexed: bool,
}

/// What a peer can do.
#[derive(Clone, Debug)]
pub(crate) struct Capability {
    /// The way of speaking.
    pub(crate) way: Way,
    /// The transport that the other side has to choose.
    pub(crate) wire: String,
    /// Whether it can call.
    pub(crate) client: bool,
    /// Whether it can answer.
    pub(crate) server: bool,
    /// Whether also over a Unix socket.
    pub(crate) unix: bool,
}

/// What a peer says about itself.
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
    }
}

/// One case that did not pass.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// Its name.
    pub(crate) case: String,
    /// What the client says.
    pub(crate) detail: String,
}

/// How the cases of one client against one server went.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// How many passed.
    pub(crate) passed: usize,
    /// How many do not exist there.
    pub(crate) skipped: usize,
    /// Those that failed.
    pub(crate) failures: Vec<Failure>,
}

/// A server of a peer; it ends when this is dropped.
pub(crate) struct Server {
    child: Child,
    /// What it said after READY.
    pub(crate) address: String,
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    /// Starts a server and waits until it listens.
    pub(crate) fn start(peer: &Peer, way: &Way, address: &str) -> Result<Server, String> {
        let mut child = command(peer)
            .arg("server")
            .args(flags(way, address))
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
        // Ends also when the server does, so there is nothing to time.
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
pub(crate) fn call(peer: &Peer, way: &Way, address: &str) -> Result<Tally, String> {
    let mut child = command(peer)
        .arg("client")
        .args(flags(way, address))
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
    if !ended || tally.passed + tally.failures.len() == 0 {
        return Err(format!(
            "{} ended early, after {} cases and {:.0} s",
            peer.name,
            tally.passed + tally.skipped + tally.failures.len(),
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
        Some("ok") => tally.passed += 1,
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
    command
}

fn flags(way: &Way, address: &str) -> Vec<String> {
    let mut flags = vec!["--protocol".to_owned(), way.protocol.clone()];
    flags.extend(["--transport".to_owned(), way.transport.clone()]);
    flags.extend(["--address".to_owned(), address.to_owned()]);
    if way.multiplexed {
        flags.push("--multiplexed".to_owned());
    }
    flags
}

/// The weaknesses of `interop/known.toml`.
pub(crate) struct Known {
    rows: Vec<(toml::Table, Mutex<bool>)>,
}

impl Known {
    /// Reads the file.
    pub(crate) fn load() -> Result<Known, String> {
        let file = stage::root().join("interop/known.toml");
        let text = std::fs::read_to_string(&file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let table: toml::Table =
            toml::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        let rows = table.get("known").and_then(toml::Value::as_array);
        Ok(Known {
            rows: rows
                .into_iter()
                .flatten()
                .filter_map(toml::Value::as_table)
                .map(|row| (row.clone(), Mutex::new(false)))
                .collect(),
        })
    }

    /// Why this case is known to fail, if it is.
    pub(crate) fn reason(&self, client: &str, server: &str, way: &Way, case: &str) -> Option<&str> {
        let facts = BTreeMap::from([
            ("client", client),
            ("server", server),
            ("protocol", way.protocol.as_str()),
            ("transport", way.transport.as_str()),
            ("case", case),
        ]);
        let (row, seen) = self.rows.iter().find(|(row, _)| {
            facts.iter().all(|(name, fact)| match row.get(*name) {
                None => true,
                Some(toml::Value::Array(any)) => any.iter().any(|one| one.as_str() == Some(fact)),
                Some(one) => one.as_str() == Some(fact),
            })
        })?;
        if let Ok(mut seen) = seen.lock() {
            *seen = true;
        }
        row.get("reason").and_then(toml::Value::as_str)
    }

    /// The reasons that nothing needed.
    fn unused(&self) -> impl Iterator<Item = &str> {
        self.rows
            .iter()
            .filter(|(_, seen)| seen.lock().is_ok_and(|seen| !*seen))
            .filter_map(|(row, _)| row.get("reason").and_then(toml::Value::as_str))
    }
}

/// One server, one client, one way of speaking.
struct Pair<'a> {
    server: &'a Peer,
    client: &'a Peer,
    serves: Way,
    calls: Way,
    unix: bool,
}

/// Runs the whole matrix and prints a line for each pair.
pub(super) fn run(
    peers: &[Peer],
    protocol: Option<&str>,
    transport: Option<&str>,
) -> Result<(), String> {
    let known = Known::load()?;
    let start = Instant::now();
    let mut able = Vec::new();
    for peer in peers.iter().filter(|peer| peer.status == Status::Ready) {
        println!("{} with Thrift {}", peer.name, peer.version);
        able.push((peer, capabilities(peer)?));
    }
    let mut pairs = VecDeque::new();
    for (server, serves) in &able {
        for (client, calls) in &able {
            if server.contract == client.contract {
                shared(server, serves, client, calls, &mut pairs);
            }
        }
    }
    let chosen = |want: Option<&str>, is: &str| want.is_none_or(|want| want == is);
    pairs.retain(|pair| {
        chosen(protocol, &pair.serves.protocol) && chosen(transport, &pair.serves.transport)
    });
    let whole = protocol.is_none() && transport.is_none() && able.len() == peers.len();
    let work = Mutex::new(pairs);
    let totals = Mutex::new((0, 0, 0, 0));
    std::thread::scope(|scope| {
        // More than there are cores: some peers spend their time in delayed acknowledgements.
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(pair) = work.lock().ok().and_then(|mut work| work.pop_front()) {
                    let (passed, skipped, excused, unexpected) = check(&pair, &known);
                    if let Ok(mut totals) = totals.lock() {
                        totals.0 += passed;
                        totals.1 += skipped;
                        totals.2 += excused;
                        totals.3 += unexpected;
                    }
                }
            });
        }
    });
    let (passed, skipped, excused, unexpected) = totals
        .into_inner()
        .map_err(|_| "a checking thread panicked")?;
    println!(
        "\n{passed} passed, {skipped} skipped, {excused} failed as known, {unexpected} failed unexpectedly, \
         in {:.0} s",
        start.elapsed().as_secs_f64()
    );
    if whole && stage::in_ci() {
        for reason in known.unused() {
            println!("no longer needed in interop/known.toml: {reason}");
        }
    }
    match unexpected {
        0 => Ok(()),
        _ => Err("peers fail each other in ways that interop/known.toml does not know".to_owned()),
    }
}

/// All ways in which the client can call the server.
fn shared<'a>(
    server: &'a Peer,
    serves: &[Capability],
    client: &'a Peer,
    calls: &[Capability],
    pairs: &mut VecDeque<Pair<'a>>,
) {
    for answer in serves.iter().filter(|each| each.server) {
        let fits = |call: &&Capability| {
            call.client
                && call.way.transport == answer.wire
                && call.way.protocol == answer.way.protocol
                && call.way.multiplexed == answer.way.multiplexed
        };
        // Names of services and Unix sockets are the same thing over all transports.
        let plain = matches!(answer.way.transport.as_str(), "buffered" | "framed");
        for call in calls.iter().filter(fits) {
            let mut add = |unix| {
                pairs.push_back(Pair {
                    server,
                    client,
                    serves: answer.way.clone(),
                    calls: call.way.clone(),
                    unix,
                });
            };
            if plain || !answer.way.multiplexed {
                add(false);
            }
            if plain && !answer.way.multiplexed && answer.unix && call.unix {
                add(true);
            }
        }
    }
}

/// Runs one pair, prints its line, and returns how many cases passed, were skipped, failed as known, and failed.
fn check(pair: &Pair<'_>, known: &Known) -> (usize, usize, usize, usize) {
    let Pair {
        server,
        client,
        serves,
        ..
    } = pair;
    let folder = stage::root().join("target/peers");
    let path = folder.join(format!("{:?}.sock", std::thread::current().id()));
    let address = match pair.unix {
        true => format!("unix:{}", path.display()),
        false => "127.0.0.1:0".to_owned(),
    };
    let start = Instant::now();
    let outcome = Server::start(server, serves, &address)
        .and_then(|running| call(client, &pair.calls, &running.address));
    let _ = std::fs::remove_file(&path);
    let label = format!(
        "{:9} → {:9} {:16} {:11} {:9}",
        client.name,
        server.name,
        serves.protocol,
        serves.transport,
        match (pair.unix, serves.multiplexed) {
            (true, _) => "unix",
            (_, true) => "multiplex",
            _ => "",
        }
    );
    let took = start.elapsed().as_secs_f64();
    let tally = match outcome {
        Ok(tally) => tally,
        Err(error) => {
            println!("{label} FAILED: {error}");
            return (0, 0, 0, 1);
        }
    };
    let mut lines = format!("{label} {:3} passed {took:5.1} s", tally.passed);
    let mut unexpected = 0;
    for Failure { case, detail } in &tally.failures {
        match known.reason(client.name, server.name, serves, case) {
            Some(_) => lines += &format!("\n    known   {case}"),
            None => {
                unexpected += 1;
                lines += &format!("\n    FAILED  {case}: {detail}");
            }
        }
    }
    println!("{lines}");
    (
        tally.passed,
        tally.skipped,
        tally.failures.len() - unexpected,
        unexpected,
    )
}

//! Agents and coordinators as processes, on this host or in network namespaces.

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_dovetail-bench");

type Result<T, E = String> = std::result::Result<T, E>;

/// The place where a process runs.
pub(crate) enum Host {
    Loopback,
    Namespace(String),
}

impl Host {
    fn command(&self) -> Command {
        match self {
            Host::Loopback => Command::new(PROGRAM),
            Host::Namespace(name) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", name, PROGRAM]);
                command
            }
        }
    }
}

/// A secret in a file.
pub(crate) struct Token {
    folder: TempDir,
}

impl Token {
    pub(crate) fn new(text: &str) -> Self {
        let folder = TempDir::new().unwrap_or_else(|e| panic!("{e}"));
        fs::write(folder.path().join("token"), text).unwrap_or_else(|e| panic!("{e}"));
        Token { folder }
    }

    fn pass_on<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .arg("--token-file")
            .arg(self.folder.path().join("token"))
    }
}

/// An agent at work, which ends with this.
pub(crate) struct Agent {
    process: Child,
    address: String,
}

impl Agent {
    pub(crate) fn start(host: &Host, address: &str, token: &Token) -> Self {
        let mut command = host.command();
        let command = token.pass_on(command.args(["agent", "--listen", address]));
        let process = command.stdout(Stdio::piped()).spawn();
        let mut process = process.unwrap_or_else(|e| panic!("{e}"));
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            let read = BufReader::new(output).read_line(&mut line);
            read.unwrap_or_else(|e| panic!("{e}"));
        }
        let address = line.trim().trim_start_matches("READY ").to_owned();
        Agent { process, address }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Why an agent does not start.
pub(crate) fn refusal(address: &str, token: &Token) -> String {
    let mut command = Command::new(PROGRAM);
    let output = token
        .pass_on(command.args(["agent", "--listen", address]))
        .output();
    output.map_or_else(|e| e.to_string(), |output| errors(&output))
}

/// The report of a suite with servers on the host of the first agent, and clients on that of the
/// other one.
pub(crate) fn suite(
    host: &Host,
    agents: &[Agent; 2],
    token: &Token,
    options: &[&str],
) -> Result<Value> {
    let folder = TempDir::new().map_err(|e| e.to_string())?;
    let [server, client] = agents;
    let mut command = host.command();
    command.args(["suite", "--server-agent", &server.address]);
    command
        .args(["--client-agent", &client.address])
        .args(options);
    let output = token
        .pass_on(command.arg("--out").arg(folder.path()))
        .output();
    let output = output.map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(errors(&output));
    }
    let report = fs::read(folder.path().join("report.json")).map_err(|e| e.to_string())?;
    serde_json::from_slice(&report).map_err(|e| e.to_string())
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Two network namespaces with a pair of interfaces that lead from one to the other, which end with
/// this.
pub(crate) struct Cable {
    names: [String; 2],
}

const IPS: [&str; 2] = ["10.213.7.1", "10.213.7.2"];

impl Cable {
    /// Makes two network namespaces. An error says what the kernel, the user or the machine lacks.
    pub(crate) fn between_namespaces() -> Result<Self> {
        let id = std::process::id();
        let names = ["server", "client"].map(|end| format!("dovetail-{end}-{id}"));
        // Ends what is there also if the rest fails.
        let cable = Cable { names };
        let [server, client] = &cable.names;
        for name in &cable.names {
            run(&format!("ip netns add {name}"))?;
        }
        run(&format!(
            "ip -n {server} link add name cable type veth peer name cable netns {client}"
        ))?;
        for (name, ip) in cable.names.iter().zip(IPS) {
            run(&format!("ip -n {name} address add {ip}/24 dev cable"))?;
            run(&format!("ip -n {name} link set cable up"))?;
            run(&format!("ip -n {name} link set lo up"))?;
        }
        Ok(cable)
    }

    /// Each end, and its address.
    pub(crate) fn ends(&self) -> [(Host, &'static str); 2] {
        let [server, client] = &self.names;
        let host = |name: &String| Host::Namespace(name.clone());
        [(host(server), IPS[0]), (host(client), IPS[1])]
    }

    /// Delays and loses packets on both ways, as `tc netem` understands it.
    pub(crate) fn impair(&self, how: &str) -> Result<()> {
        let netem = |name| {
            run(&format!(
                "tc -n {name} qdisc add dev cable root netem {how}"
            ))
        };
        self.names.iter().try_for_each(netem)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for name in &self.names {
            // One that could not be made needs no end.
            let _ = run(&format!("ip netns del {name}"));
        }
    }
}

fn run(line: &str) -> Result<()> {
    let mut words = line.split(' ');
    let output = Command::new(words.next().unwrap_or_default())
        .args(words)
        .output();
    match output {
        Err(error) => Err(format!("`{line}`: {error}")),
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("`{line}`: {}", errors(&output).trim())),
    }
}

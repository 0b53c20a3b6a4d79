//! The machine that the figures come from, and its own speed.

use super::process::{Deadline, Talking};
use super::remote::Remote;
use super::{Result, report::Missing};
use dovetail::types::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

/// Returns the facts about it.
pub(crate) fn facts() -> BTreeMap<String, String> {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let now = Timestamp::now().to_string();
    let facts = [
        ("date", now.chars().take("2026-11-30".len()).collect()),
        ("cpu", field("/proc/cpuinfo", "model name")),
        ("cores", cores.to_string()),
        ("memory", field("/proc/meminfo", "MemTotal")),
        ("kernel", line("/proc/sys/kernel/osrelease")),
        (
            "congestion_control",
            line("/proc/sys/net/ipv4/tcp_congestion_control"),
        ),
    ];
    facts.map(|(name, fact)| (name.to_owned(), fact)).into()
}

/// This machine with client and server on it, and what could not be measured of it.
pub(crate) fn describe() -> (Value, Option<Missing>) {
    let iperf3 = iperf3();
    let missing = iperf3.as_ref().err();
    let missing = missing.map(|error| Missing::new("iperf3", &error.to_string()));
    let mut machine = json!(facts());
    machine["places"] =
        json!("client and server in processes of their own, free to use all cores; loopback");
    machine["memcpy_100k_gb_per_s"] = json!(memcpy(100_000));
    machine["memcpy_16m_gb_per_s"] = json!(memcpy(16 << 20));
    machine["iperf3_gbit_per_s"] = json!(iperf3.ok());
    (machine, missing)
}

/// Two machines: what they have in common once, what differs of both.
pub(crate) fn join(server: &Remote, client: &Remote) -> Value {
    let mut machine = json!({});
    for (name, fact) in server.machine() {
        let other = client.machine().get(name).map_or("", String::as_str);
        machine[name.as_str()] = match fact == other {
            true => json!(fact),
            false => json!(format!("{fact} (servers), {other} (clients)")),
        };
    }
    let (server, client) = (server.address(), client.address());
    machine["places"] = json!(format!(
        "servers beside the agent at {server}, clients beside that at {client}"
    ));
    machine
}

fn field(file: &str, name: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name));
    let value = line.and_then(|line| line.split_once(':'));
    value.map_or_else(String::new, |(_, value)| value.trim().to_owned())
}

fn line(file: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.trim().to_owned()
}

/// Gigabytes in a second of copies of so many bytes, the best of some.
fn memcpy(bytes: usize) -> f64 {
    const COPIES: usize = 50;
    let from = vec![1_u8; bytes];
    let mut to = vec![0_u8; bytes];
    let mut copy = || {
        let start = Instant::now();
        black_box(&mut to).copy_from_slice(black_box(&from));
        start.elapsed().as_secs_f64()
    };
    let best = (0..COPIES).map(|_| copy()).fold(f64::MAX, f64::min);
    bytes as f64 / best / 1e9
}

/// Gigabits in a second of one TCP stream over loopback.
fn iperf3() -> Result<f64> {
    // One that is free now; nobody else is likely to take it.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let port = port.to_string();
    let deadline = Deadline::after(Duration::from_secs(10));
    let mut command = Command::new("iperf3");
    command.args([
        "--server",
        "--one-off",
        "--forceflush",
        "--bind",
        "127.0.0.1",
    ]);
    let mut server = Talking::start(command.args(["--port", &port]), deadline)?;
    while !server.line()?.starts_with("Server listening") {}
    let mut client = Command::new("iperf3");
    client.args(["--client", "127.0.0.1", "--time", "1", "--json"]);
    let output = client.args(["--port", &port]).output()?;
    let result: Value = serde_json::from_slice(&output.stdout)?;
    let bits = result["end"]["sum_received"]["bits_per_second"].as_f64();
    Ok(bits.ok_or("iperf3 gave no figure")? / 1e9)
}

//! The tables of client channels.

use super::keys::{Key, Section, Set};
use crate::Wire;
use crate::names::{self, HealthCheck, Policy};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of a channel, as a file has them.
#[derive(Clone, Debug, Default)]
pub(super) struct ChannelSettings {
    pub(super) address: Option<String>,
    pub(super) wire: Option<Wire>,
    pub(super) service: Option<String>,
    pub(super) timeout: Option<Duration>,
    pub(super) connect_timeout: Option<Duration>,
    pub(super) connections: Option<usize>,
    pub(super) policy: Option<Policy>,
    pub(super) zone: Option<String>,
    pub(super) slow_start: Option<Duration>,
    pub(super) subset: Option<usize>,
    pub(super) hash_header: Option<String>,
    pub(super) ejection_failures: Option<usize>,
    pub(super) health_check: Option<HealthCheck>,
    pub(super) health_interval: Option<Duration>,
    pub(super) wait_for_ready: bool,
    pub(super) attempts: Option<usize>,
    pub(super) attempt_timeout: Option<Duration>,
    pub(super) service_config: Option<PathBuf>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) token: Option<PathBuf>,
    pub(super) token_over_plain_tcp: bool,
    pub(super) roots: Option<PathBuf>,
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
}

fn address(channel: &mut ChannelSettings, text: String) -> Result<(), String> {
    names::check(&text)?;
    channel.address = Some(text);
    Ok(())
}

fn policy(channel: &mut ChannelSettings, name: &'static str) {
    channel.policy = name.parse().ok();
}

/// Reads a way to check servers: the health checks of gRPC, of a service or of the server as a
/// whole, a method, or a connection.
fn health_check(channel: &mut ChannelSettings, text: String) -> Result<(), String> {
    let check = match text.split_once(':') {
        Some(("health", service)) => HealthCheck::health(service),
        Some(("method", name)) if !name.is_empty() => HealthCheck::method(name),
        None if text == "health" => HealthCheck::health(""),
        None if text == "connection" => HealthCheck::connection(),
        _ => {
            let known = "`health`, `health:SERVICE`, `method:NAME` or `connection`";
            return Err(format!("a check is {known}"));
        }
    };
    channel.health_check = Some(check);
    Ok(())
}

/// The names of the policies.
const POLICIES: &[&str] = &[
    "least_request",
    "maglev",
    "pick_first",
    "ring_hash",
    "round_robin",
    "weighted_round_robin",
];

fn wire(channel: &mut ChannelSettings, text: String) -> Result<(), String> {
    let parsed: Result<Wire, _> = text.parse();
    channel.wire = Some(parsed.map_err(|error| error.to_string())?);
    Ok(())
}

/// The table of each channel, which is `channels.` and its name.
pub(super) const SECTIONS: &[Section<ChannelSettings>] = &[Section {
    path: "",
    doc: "A channel to another server, by a name of your own.",
    keys: &[
        Key::new(
            "address",
            "none",
            "The server: `tcp://stock:9090`, `tls://stock:9443`, `unix:/run/stock.sock`, `shm:/run/stock.sock`. Or a name of several: `dns:///stock:9090`, `file:///etc/stock.servers`, `tcp://a:9090,tcp://b:9090`.",
            Set::Text(address),
        ),
        Key::new(
            "wire",
            "\"dovetail\"",
            "The wire: `dovetail`, `grpc`, `connect+json`, `binary+framed`, `msgpack-rpc` …",
            Set::Text(wire),
        ),
        Key::new(
            "service",
            "none",
            "The service that is called, for a server with several.",
            Set::Text(|channel, service| {
                channel.service = Some(service);
                Ok(())
            }),
        ),
        Key::new(
            "timeout",
            "\"30s\"",
            "The time of one call.",
            Set::Time(|channel, timeout| channel.timeout = Some(timeout)),
        ),
        Key::new(
            "connect-timeout",
            "\"5s\"",
            "The time of making one connection.",
            Set::Time(|channel, timeout| channel.connect_timeout = Some(timeout)),
        ),
        Key::new(
            "connections",
            "1",
            "How many connections there are.",
            Set::Count(|channel, connections| channel.connections = Some(connections)),
        ),
        Key::new(
            "policy",
            "\"least_request\"",
            "How one of several servers is chosen.",
            Set::Word(POLICIES, policy),
        ),
        Key::new(
            "zone",
            "none",
            "The zone whose servers are preferred.",
            Set::Text(|channel, zone| {
                channel.zone = Some(zone);
                Ok(())
            }),
        ),
        Key::new(
            "slow-start",
            "\"0s\"",
            "The time in which a server that has come gets its calls little by little.",
            Set::Time(|channel, time| channel.slow_start = Some(time)),
        ),
        Key::new(
            "subset",
            "all",
            "How many servers of a long list are used.",
            Set::Count(|channel, subset| channel.subset = Some(subset)),
        ),
        Key::new(
            "hash-header",
            "none",
            "The header whose value decides where calls go, with the policies `ring_hash` and `maglev`.",
            Set::Text(|channel, header| {
                channel.hash_header = Some(header);
                Ok(())
            }),
        ),
        Key::new(
            "ejection-failures",
            "5",
            "Failures in a row after which a server gets no calls for a while; 0 for never.",
            Set::Count(|channel, failures| channel.ejection_failures = Some(failures)),
        ),
        Key::new(
            "health-check",
            "none",
            "Servers get calls once a check goes well: `health` or `health:shop.v1.Stock` for gRPC's health checks, `method:ping` for a method without parameters, `connection` for servers that only have to accept one.",
            Set::Text(health_check),
        ),
        Key::new(
            "health-interval",
            "\"10s\"",
            "The time between two checks of a server.",
            Set::Time(|channel, time| channel.health_interval = Some(time)),
        ),
        Key::new(
            "wait-for-ready",
            "false",
            "Calls wait for a server as long as they have time.",
            Set::Flag(|channel, waits| channel.wait_for_ready = waits),
        ),
        Key::new(
            "attempts",
            "2",
            "Attempts of a call of an idempotent method, the first one included.",
            Set::Count(|channel, attempts| channel.attempts = Some(attempts)),
        ),
        Key::new(
            "attempt-timeout",
            "that of the call",
            "The time of one attempt.",
            Set::Time(|channel, timeout| channel.attempt_timeout = Some(timeout)),
        ),
        Key::new(
            "service-config",
            "none",
            "A file with gRPC's service config, in JSON. The other keys count where it says nothing.",
            Set::File(|channel, file| channel.service_config = Some(file)),
        ),
        Key::new(
            "headers",
            "{}",
            "Headers of all calls.",
            Set::Map(|channel, headers| {
                channel.headers = headers;
                Ok(())
            }),
        ),
        Key::new(
            "token",
            "none",
            "A file with the token that is shown with each call. It is read again.",
            Set::File(|channel, file| channel.token = Some(file)),
        ),
        Key::new(
            "token-over-plain-tcp",
            "false",
            "Shows the token over plain TCP as well.",
            Set::Flag(|channel, insists| channel.token_over_plain_tcp = insists),
        ),
        Key::new(
            "roots",
            "those of the system",
            "Roots that sign the server's certificate, in PEM. The channel goes over TLS.",
            Set::File(|channel, file| channel.roots = Some(file)),
        ),
        Key::new(
            "certificate",
            "none",
            "The client's certificates in PEM, its own first.",
            Set::File(|channel, file| channel.certificate = Some(file)),
        ),
        Key::new(
            "key",
            "none",
            "The key of the certificate in PEM.",
            Set::File(|channel, file| channel.key = Some(file)),
        ),
    ],
}];

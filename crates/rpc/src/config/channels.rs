//! The tables of client channels.

use super::keys::{Key, Section, Set};
use crate::{Address, Wire};
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
    pub(super) headers: BTreeMap<String, String>,
    pub(super) token: Option<PathBuf>,
    pub(super) token_over_plain_tcp: bool,
    pub(super) roots: Option<PathBuf>,
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
}

fn address(channel: &mut ChannelSettings, text: String) -> Result<(), String> {
    let parsed: Result<Address, _> = text.parse();
    parsed.map_err(|error| error.to_string())?;
    channel.address = Some(text);
    Ok(())
}

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
            "The server: `tcp://stock:9090`, `tls://stock:9443`, `unix:/run/stock.sock`, `shm:/run/stock.sock`.",
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

//! A server as a value of a registry: an endpoint of grpc-go
//! (`go.etcd.io/etcd/client/v3/naming/endpoints`), an instance of Curator's service discovery, or a
//! line of a file.

use super::file::server;
use super::list::backend;
use super::{joined, place};
use dovetail_balance::Backend;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// An endpoint of grpc-go.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Endpoint<'a> {
    /// 0 adds it.
    #[serde(default)]
    op: u8,
    #[serde(borrow)]
    addr: Cow<'a, str>,
    /// Anybody's, with our words among them.
    #[serde(default)]
    metadata: serde_json::Value,
}

/// An instance of Curator's service discovery.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Instance<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    address: Cow<'a, str>,
    port: Option<u16>,
    ssl_port: Option<u16>,
    /// Anybody's, with our words among them.
    #[serde(default)]
    payload: serde_json::Value,
}

#[derive(Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
struct Metadata {
    /// The whole address, where it is not one of plain TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
}

/// Reads all values of a registry, each with its name there. An error where there are some, and all
/// are broken.
pub(super) fn read_all<'a>(
    registry: &str,
    values: impl Iterator<Item = (&'a str, &'a [u8])>,
) -> Result<Vec<Backend>, String> {
    let (mut servers, mut problem) = (Vec::new(), None);
    for (name, value) in values {
        match read(value) {
            Ok(server) => servers.push(server),
            Err(why) => {
                tracing::warn!(registry, name, why, "an entry is passed over");
                problem.get_or_insert(format!("{name}: {why}"));
            }
        }
    }
    match problem {
        Some(why) if servers.is_empty() => Err(why),
        _ => Ok(servers),
    }
}

fn read(value: &[u8]) -> Result<Backend, String> {
    let text = std::str::from_utf8(value).map_err(|_| "the value is no text")?;
    if !text.trim_start().starts_with('{') {
        return server(text)?.ok_or_else(|| "the value is empty".to_owned());
    }
    let endpoint: Result<Endpoint<'_>, _> = serde_json::from_str(text);
    if let Ok(endpoint) = endpoint {
        return Metadata::of(endpoint.metadata).backend(&endpoint.addr);
    }
    let instance: Instance<'_> = serde_json::from_str(text)
        .map_err(|error| format!("neither grpc-go's `Addr` nor Curator's `address`: {error}"))?;
    let known = Metadata::of(instance.payload);
    match (instance.port, instance.ssl_port) {
        (Some(port), _) => known.backend(&joined(&instance.address, port)),
        (None, Some(port)) => known.backend(&format!("tls://{}", joined(&instance.address, port))),
        (None, None) => known.backend(&instance.address),
    }
}

impl Metadata {
    /// Takes our words out of anybody's, who may have anything there.
    fn of(value: serde_json::Value) -> Self {
        serde_json::from_value(value).unwrap_or_default()
    }

    fn from_backend(server: &Backend) -> Self {
        let plain = server.address.starts_with("tcp://");
        Metadata {
            address: (!plain).then(|| server.address.clone()),
            weight: (server.weight != 1).then_some(server.weight),
            priority: (server.priority != 0).then_some(server.priority),
            zone: server.zone.clone(),
            version: server.version.clone(),
        }
    }

    fn backend(self, address: &str) -> Result<Backend, String> {
        let mut made = backend(self.address.as_deref().unwrap_or(address))?;
        made.weight = self.weight.unwrap_or(made.weight);
        made.priority = self.priority.unwrap_or(made.priority);
        made.zone = self.zone;
        made.version = self.version;
        Ok(made)
    }
}

/// Writes a server as an endpoint of grpc-go.
#[cfg(feature = "etcd")]
pub(super) fn write_endpoint(server: &Backend) -> String {
    json(&Endpoint {
        op: 0,
        addr: place(server).into(),
        metadata: serde_json::to_value(Metadata::from_backend(server)).unwrap_or_default(),
    })
}

/// Writes a server as an instance of Curator's.
#[cfg(feature = "zookeeper")]
pub(super) fn write_instance(service: &str, server: &Backend) -> String {
    let name = place(server);
    let split = name.rsplit_once(':');
    let split = split.and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
    let (host, port) = split.map_or((name, None), |(host, port)| (host, Some(port)));
    let secure = server.address.starts_with("tls://");
    let metadata = Metadata::from_backend(server);
    json(&Instance {
        name: service.into(),
        id: name.into(),
        address: host.trim_matches(['[', ']']).into(),
        port: port.filter(|_| !secure),
        ssl_port: port.filter(|_| secure),
        payload: match metadata == Metadata::default() {
            true => serde_json::Value::Null,
            false => serde_json::to_value(metadata).unwrap_or_default(),
        },
    })
}

fn json(value: &impl Serialize) -> String {
    // Texts and numbers can always be written.
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        let plain = Backend::new("tcp://10.0.0.7:9090");
        let rows: &[(&str, Result<Backend, &str>)] = &[
            // As grpc-go writes them.
            (
                r#"{"Op":0,"Addr":"10.0.0.7:9090","Metadata":null}"#,
                Ok(plain.clone()),
            ),
            (
                r#"{"Op":0,"Addr":"10.0.0.7:9090","Metadata":"eu"}"#,
                Ok(plain.clone()),
            ),
            (
                r#"{"Addr":"10.0.0.7:9090","Metadata":{"color":"red"}}"#,
                Ok(plain.clone()),
            ),
            (
                r#"{"Addr":"10.0.0.7:9090","Metadata":{"weight":3,"zone":"eu","version":"1.4"}}"#,
                Ok(plain.clone().weight(3).zone("eu").version("1.4")),
            ),
            (
                r#"{"Addr":"a:1","Metadata":{"address":"tls://a:1"}}"#,
                Ok(Backend::new("tls://a:1")),
            ),
            ("10.0.0.7:9090", Ok(plain.clone())),
            ("tcp://10.0.0.7:9090 weight=2", Ok(plain.clone().weight(2))),
            ("", Err("the value is empty")),
            // As Curator writes them.
            (
                r#"{"name":"orders","id":"1","address":"10.0.0.7","port":9090,"sslPort":null,"payload":null,"registrationTimeUTC":1,"serviceType":"DYNAMIC","uriSpec":null,"enabled":true}"#,
                Ok(plain.clone()),
            ),
            (
                r#"{"name":"orders","address":"10.0.0.7","port":null,"sslPort":443,"payload":{"@class":"x"}}"#,
                Ok(Backend::new("tls://10.0.0.7:443")),
            ),
            (
                r#"{"address":"::1","port":1,"payload":{"zone":"eu"}}"#,
                Ok(Backend::new("tcp://[::1]:1").zone("eu")),
            ),
            (
                "{",
                Err(
                    "neither grpc-go's `Addr` nor Curator's `address`: EOF while parsing an object at line 1 column 1",
                ),
            ),
        ];
        for (value, expected) in rows {
            let expected = expected.clone().map_err(str::to_owned);
            assert_eq!(read(value.as_bytes()), expected, "{value}");
        }
        assert!(read(b"\xff").is_err());
        assert!(read(br#"{"Addr":"nothing"}"#).is_err());
    }

    /// The order of words in JSON is of no account.
    #[cfg(any(feature = "etcd", feature = "zookeeper"))]
    fn check(written: &str, expected: &str, server: &Backend) {
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        assert_eq!(value(written), value(expected));
        assert_eq!(read(written.as_bytes()).as_ref(), Ok(server));
    }

    #[cfg(feature = "etcd")]
    #[test]
    fn endpoints_are_written() {
        let full = Backend::new("tls://a:1")
            .weight(2)
            .priority(1)
            .zone("eu")
            .version("1.4");
        let rows = [
            (
                Backend::new("tcp://a:1"),
                r#"{"Op":0,"Addr":"a:1","Metadata":{}}"#,
            ),
            (
                full,
                r#"{"Op":0,"Addr":"a:1","Metadata":{"address":"tls://a:1","weight":2,"priority":1,"zone":"eu","version":"1.4"}}"#,
            ),
        ];
        for (server, value) in rows {
            check(&write_endpoint(&server), value, &server);
        }
    }

    #[cfg(feature = "zookeeper")]
    #[test]
    fn instances_are_written() {
        let rows = [
            (
                Backend::new("tcp://[::1]:1"),
                r#"{"name":"orders","id":"[::1]:1","address":"::1","port":1,"sslPort":null,"payload":null}"#,
            ),
            (
                Backend::new("tls://a:1").zone("eu"),
                r#"{"name":"orders","id":"a:1","address":"a","port":null,"sslPort":1,"payload":{"address":"tls://a:1","zone":"eu"}}"#,
            ),
        ];
        for (server, value) in rows {
            check(&write_instance("orders", &server), value, &server);
        }
    }
}

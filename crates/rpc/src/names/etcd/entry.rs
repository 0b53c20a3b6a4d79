//! A server as a value of a registry, in the form of `go.etcd.io/etcd/client/v3/naming/endpoints`.

use crate::names::file::server;
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

#[derive(Default, Deserialize, Serialize)]
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

/// Reads a value: an endpoint in JSON, or a line of a file of servers.
pub(super) fn read(value: &[u8]) -> Result<Backend, String> {
    let text = std::str::from_utf8(value).map_err(|_| "the value is no text")?;
    if !text.trim_start().starts_with('{') {
        return server(text)?.ok_or_else(|| "the value is empty".to_owned());
    }
    let endpoint: Endpoint<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    // The metadata of others may be anything.
    let known: Metadata = serde_json::from_value(endpoint.metadata).unwrap_or_default();
    let address = known.address.as_deref().unwrap_or(&endpoint.addr);
    let mut backend = super::super::list::backend(address)?;
    backend.weight = known.weight.unwrap_or(backend.weight);
    backend.priority = known.priority.unwrap_or(backend.priority);
    backend.zone = known.zone;
    backend.version = known.version;
    Ok(backend)
}

/// Writes a server such that grpc-go reads it as well.
pub(super) fn write(backend: &Backend) -> String {
    let plain = backend.address.strip_prefix("tcp://");
    let metadata = Metadata {
        address: plain.is_none().then(|| backend.address.clone()),
        weight: (backend.weight != 1).then_some(backend.weight),
        priority: (backend.priority != 0).then_some(backend.priority),
        zone: backend.zone.clone(),
        version: backend.version.clone(),
    };
    let endpoint = Endpoint {
        op: 0,
        addr: name(backend).into(),
        metadata: serde_json::to_value(metadata).unwrap_or_default(),
    };
    // Texts and numbers can always be written.
    serde_json::to_string(&endpoint).unwrap_or_default()
}

/// The last part of a server's key.
pub(super) fn name(backend: &Backend) -> &str {
    let address = &backend.address;
    address.split_once("://").map_or(address, |(_, rest)| rest)
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
            ("{", Err("EOF while parsing an object at line 1 column 1")),
        ];
        for (value, expected) in rows {
            let expected = expected.clone().map_err(str::to_owned);
            assert_eq!(read(value.as_bytes()), expected, "{value}");
        }
        assert!(read(b"\xff").is_err());
        assert!(read(br#"{"Addr":"nothing"}"#).is_err());
    }

    #[test]
    fn values_are_written() {
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
            // The order of words in JSON is of no account.
            let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
            assert_eq!(json(&write(&server)), json(value));
            assert_eq!(read(value.as_bytes()), Ok(server));
        }
    }
}

//! The address of a server, as a person writes it.

use crate::failure::{Exit, Failure, Result};
use dovetail::protocol::Transport;
use dovetail::tls::ClientTls;
use dovetail::transport::{Connector, TlsConnector};
use dovetail::{Address, Channel, ChannelBuilder, Status, Wire, names};
use std::str::FromStr;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// An address with what a URL says besides.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) address: Address,
    /// The path of an `http://` or `https://` URL, which also asks for Thrift over HTTP.
    pub(crate) http_path: Option<String>,
    /// The certificates to trust there, where they are not the system's.
    pub(crate) tls: Option<ClientTls>,
    /// Headers of all calls.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
}

impl FromStr for Target {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_once("://") {
            Some(("http", rest)) => with_path(text, rest, 80, Address::Tcp),
            Some(("https", rest)) => with_path(text, rest, 443, Address::Tls),
            _ => Ok(Target {
                address: match is_name(text) {
                    true => resolved(text)?,
                    false => parse(text)?,
                },
                http_path: None,
                tls: None,
                headers: Vec::new(),
            }),
        }
    }
}

impl Target {
    /// Returns the connector for it.
    pub(crate) fn connector(&self) -> Arc<dyn Connector> {
        match (&self.address, &self.tls) {
            (Address::Tls(place), Some(tls)) => {
                let plain = Arc::new(Address::Tcp(place.clone()));
                Arc::new(TlsConnector::new(plain, tls))
            }
            _ => Arc::new(self.address.clone()),
        }
    }

    /// An async channel to it, with nothing set that an address does not say.
    pub(crate) fn channel(&self) -> std::result::Result<ChannelBuilder, Status> {
        let builder = Channel::builder(&self.address.to_string())?;
        let headers = self.headers.iter();
        let builder = headers.fold(builder, |builder, (name, value)| {
            builder.header(name, value.clone())
        });
        Ok(match &self.tls {
            Some(tls) => builder.tls(tls),
            None => builder,
        })
    }

    /// The wire by which it is called, if this one is asked for: a URL says HTTP.
    pub(crate) fn wire(&self, wire: Wire) -> Result<Wire> {
        match wire {
            _ if self.http_path.is_none() => Ok(wire),
            Wire::Thrift(mut wire)
                if matches!(wire.transport, Transport::Http | Transport::Unframed) =>
            {
                wire.transport = Transport::Http;
                Ok(wire.into())
            }
            _ => {
                let failure = format!("an http:// address and --wire {wire} exclude each other");
                Err(Failure::new(Exit::Usage, failure).help("use tcp:// instead of http://"))
            }
        }
    }
}

/// The time that a registry gets to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// True for a name that stands for several servers.
fn is_name(text: &str) -> bool {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    text.contains(',')
        || matches!(
            scheme,
            Some("file" | "dns" | "etcd" | "zk" | "consul" | "k8s")
        )
}

/// Returns the first server of a name, of those with the best priority.
fn resolved(name: &str) -> Result<Address> {
    let (tell, reported) = mpsc::channel();
    let watch = names::watch(name, move |news| drop(tell.send(news)));
    let _watch = watch.map_err(|status| {
        let failure = Failure::new(Exit::Usage, status.message().to_owned());
        failure.help("`dovetail resolve --help` shows names")
    })?;
    let unresolved = |why: &str| {
        let failure = Failure::new(Exit::Call, format!("cannot resolve `{name}`: {why}"));
        failure.help(format!("`dovetail resolve {name}` asks again"))
    };
    let found = reported.recv_timeout(PATIENCE);
    let found = found.map_err(|_| unresolved("no answer"))?;
    let found = found.map_err(|why| unresolved(&why))?;
    let first = found.backends.iter().min_by_key(|server| server.priority);
    parse(
        &first
            .ok_or_else(|| unresolved("it has no servers"))?
            .address,
    )
}

/// Reads the part of an HTTP URL behind its scheme.
fn with_path(text: &str, rest: &str, port: u16, address: fn(String) -> Address) -> Result<Target> {
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    // A colon inside brackets belongs to an IPv6 address.
    let has_port = authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.ends_with(']'));
    let authority = match has_port {
        true => authority.to_owned(),
        false => format!("{authority}:{port}"),
    };
    match authority.parse() {
        Ok(Address::Tcp(place)) => Ok(Target {
            address: address(place),
            http_path: Some(path.to_owned()),
            tls: None,
            headers: Vec::new(),
        }),
        _ => Err(refuse(text)),
    }
}

/// An address without a path.
pub(crate) fn parse(text: &str) -> Result<Address> {
    text.trim_end_matches('/').parse().map_err(|_| refuse(text))
}

fn refuse(text: &str) -> Failure {
    let failure = Failure::new(Exit::Usage, format!("`{text}` is no address"));
    match text.parse::<u16>() {
        Ok(port) => failure.help(format!("did you mean 127.0.0.1:{port}?")),
        Err(_) => failure.help(
            "an address is tcp://127.0.0.1:9090, tls://host:9090, unix:/run/api.sock, http://host:8080/path, or a name as `dovetail resolve --help` shows them",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let rows = [
            ("127.0.0.1:9090", Some("tcp://127.0.0.1:9090")),
            ("tcp://localhost:1/", Some("tcp://localhost:1")),
            ("tcp://[::1]:9090", Some("tcp://[::1]:9090")),
            ("unix:///run/a.sock", Some("unix:/run/a.sock")),
            ("unix:a.sock", Some("unix:a.sock")),
            ("http://host/api", Some("tcp://host:80")),
            ("http://[::1]/", Some("tcp://[::1]:80")),
            ("http://[::1]:8080", Some("tcp://[::1]:8080")),
            ("9090", None),
            ("localhost", None),
            ("host:99999", None),
            ("unix:", None),
            ("https://host", Some("tls://host:443")),
            ("https://[::1]:8443/api", Some("tls://[::1]:8443")),
            ("tls://host:9090", Some("tls://host:9090")),
            ("tls://host", None),
            ("tcp://a:1,tcp://b:2", Some("tcp://a:1")),
            ("file:/nowhere/a.servers", None),
            ("dns:///host", None),
        ];
        for (text, expected) in rows {
            let found = text.parse::<Target>().ok().map(|t| t.address.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
        let target: Target = "http://host/api".parse().unwrap();
        assert_eq!(target.http_path.as_deref(), Some("/api"));
    }
}

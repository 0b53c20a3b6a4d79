//! Where a server listens.

use crate::failure::{Exit, Failure};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// A TCP port: `tcp://127.0.0.1:9090`, or without the scheme.
    Tcp {
        /// Name or address, IPv6 without brackets.
        host: String,
        port: u16,
    },
    /// A Unix socket: `unix:///run/api.sock`, or `unix:api.sock` below the current folder.
    Unix(PathBuf),
}

/// An address with what a URL says besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) address: Address,
    /// The path of an `http://` URL, which also asks for Thrift over HTTP.
    pub(crate) http_path: Option<String>,
}

impl FromStr for Target {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        match text.split_once("://") {
            Some(("http", rest)) => {
                let (authority, path) = match rest.find('/') {
                    Some(at) => (&rest[..at], &rest[at..]),
                    None => (rest, "/"),
                };
                Ok(Target {
                    address: tcp(authority, Some(80)).ok_or_else(|| refuse(text))?,
                    http_path: Some(path.to_owned()),
                })
            }
            Some(("https" | "tls", _)) => Err(Failure::new(
                Exit::Usage,
                format!("`{text}`: this version speaks no TLS"),
            )
            .help("put a proxy that ends TLS before the server, and call the plain port")),
            _ => Ok(Target {
                address: text.parse()?,
                http_path: None,
            }),
        }
    }
}

impl FromStr for Address {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return match path.is_empty() {
                false => Ok(Address::Unix(path.into())),
                true => Err(refuse(text)),
            };
        }
        let rest = text.strip_prefix("tcp://").unwrap_or(text);
        tcp(rest.trim_end_matches('/'), None).ok_or_else(|| refuse(text))
    }
}

fn tcp(authority: &str, default_port: Option<u16>) -> Option<Address> {
    let (host, port) = match authority.rsplit_once(':') {
        // A colon inside brackets belongs to an IPv6 address.
        Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().ok()?)),
        _ => (authority, None),
    };
    let host = match host.strip_prefix('[') {
        Some(host) => host.strip_suffix(']')?,
        None if host.contains(':') => return None,
        None => host,
    };
    let legal = |c: char| c.is_alphanumeric() || "-._:%".contains(c);
    (!host.is_empty() && host.chars().all(legal)).then_some(Address::Tcp {
        host: host.to_owned(),
        port: port.or(default_port)?,
    })
}

fn refuse(text: &str) -> Failure {
    let failure = Failure::new(Exit::Usage, format!("`{text}` is no address"));
    match text.parse::<u16>() {
        Ok(port) => failure.help(format!("did you mean 127.0.0.1:{port}?")),
        Err(_) => failure.help(
            "an address is tcp://127.0.0.1:9090, unix:///run/api.sock, or http://host:8080/path",
        ),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp { host, port } if host.contains(':') => write!(f, "tcp://[{host}]:{port}"),
            Address::Tcp { host, port } => write!(f, "tcp://{host}:{port}"),
            Address::Unix(path) => write!(f, "unix://{}", path.display()),
        }
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
            ("unix:///run/a.sock", Some("unix:///run/a.sock")),
            ("unix:a.sock", Some("unix://a.sock")),
            ("http://host/api", Some("tcp://host:80")),
            ("http://[::1]:8080", Some("tcp://[::1]:8080")),
            ("9090", None),
            ("localhost", None),
            ("host:99999", None),
            ("::1:80", None),
            ("unix:", None),
            ("https://host", None),
            ("a b:1", None),
        ];
        for (text, expected) in rows {
            let found = text.parse::<Target>().ok().map(|t| t.address.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
        let target: Target = "http://host/api".parse().unwrap();
        assert_eq!(target.http_path.as_deref(), Some("/api"));
    }
}

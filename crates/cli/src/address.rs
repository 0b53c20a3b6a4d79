//! Where a server is, as a person writes it.

use crate::failure::{Exit, Failure};
use dovetail::Address;
use std::str::FromStr;

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
                    Some(at) => rest.split_at(at),
                    None => (rest, "/"),
                };
                // A colon inside brackets belongs to an IPv6 address.
                let has_port = authority
                    .rsplit_once(':')
                    .is_some_and(|(_, port)| !port.ends_with(']'));
                let authority = match has_port {
                    true => authority.to_owned(),
                    false => format!("{authority}:80"),
                };
                let address = authority.parse().map_err(|_| refuse(text))?;
                let http_path = Some(path.to_owned());
                Ok(Target { address, http_path })
            }
            Some(("https" | "tls", _)) => {
                let failure = format!("`{text}`: this version speaks no TLS");
                Err(Failure::new(Exit::Usage, failure)
                    .help("put a proxy that ends TLS before the server, and call the plain port"))
            }
            _ => Ok(Target {
                address: parse(text)?,
                http_path: None,
            }),
        }
    }
}

/// An address without a path.
pub(crate) fn parse(text: &str) -> Result<Address, Failure> {
    text.trim_end_matches('/').parse().map_err(|_| refuse(text))
}

fn refuse(text: &str) -> Failure {
    let failure = Failure::new(Exit::Usage, format!("`{text}` is no address"));
    match text.parse::<u16>() {
        Ok(port) => failure.help(format!("did you mean 127.0.0.1:{port}?")),
        Err(_) => failure.help(
            "an address is tcp://127.0.0.1:9090, unix:/run/api.sock, or http://host:8080/path",
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
            ("https://host", None),
        ];
        for (text, expected) in rows {
            let found = text.parse::<Target>().ok().map(|t| t.address.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
        let target: Target = "http://host/api".parse().unwrap();
        assert_eq!(target.http_path.as_deref(), Some("/api"));
    }
}

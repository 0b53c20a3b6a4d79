//! Requests to the API of a registry.

use serde::de::DeserializeOwned;
use std::time::Duration;
#[cfg(feature = "consul")]
use ureq::http::HeaderMap;
use ureq::http::Response;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, Error};

/// The time of a request that asks for no change.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

/// The time after a failure.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// An API, with the header that says who asks.
pub(super) struct Api {
    agent: Agent,
    /// `http://127.0.0.1:8500`.
    base: String,
    /// A name and a value.
    credentials: Option<(&'static str, String)>,
}

impl Api {
    /// `roots` are certificates in PEM; those of the system where there are none.
    pub(super) fn new(
        base: String,
        credentials: Option<(&'static str, String)>,
        roots: Option<&[u8]>,
    ) -> Self {
        let roots = roots.map(|pem| {
            let items = ureq::tls::parse_pem(pem).flatten();
            let certificates = items.filter_map(|item| match item {
                ureq::tls::PemItem::Certificate(certificate) => Some(certificate),
                _ => None,
            });
            RootCerts::new_with_certs(&certificates.collect::<Vec<Certificate<'static>>>())
        });
        let tls = TlsConfig::builder().root_certs(roots.unwrap_or(RootCerts::PlatformVerifier));
        let config = Agent::config_builder()
            .tls_config(tls.build())
            .timeout_connect(Some(TIMEOUT));
        Api {
            agent: config.build().into(),
            base,
            credentials,
        }
    }

    /// Asks for a document, and waits this long for an answer to begin, and then to end.
    pub(super) fn get(&self, path: &str, timeout: Duration) -> Result<Response<Body>, String> {
        let url = format!("{}{path}", self.base);
        let mut request = self.agent.get(&url);
        if let Some((name, value)) = &self.credentials {
            request = request.header(*name, value);
        }
        let request = request
            .config()
            .timeout_recv_response(Some(timeout))
            .timeout_recv_body(Some(timeout))
            .build();
        request.call().map_err(|error| failure(&url, &error))
    }

    /// Puts a document.
    #[cfg(feature = "consul")]
    pub(super) fn put(&self, path: &str, json: &str) -> Result<(), String> {
        let url = format!("{}{path}", self.base);
        let mut request = self.agent.put(&url);
        if let Some((name, value)) = &self.credentials {
            request = request.header(*name, value);
        }
        let request = request.config().timeout_global(Some(TIMEOUT)).build();
        let sent = request.send(json);
        sent.map(drop).map_err(|error| failure(&url, &error))
    }
}

/// Reads an answer in JSON.
pub(super) fn json<T: DeserializeOwned>(mut answer: Response<Body>) -> Result<T, String> {
    let text = answer.body_mut().read_to_string();
    let text = text.map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// Returns a header that is text.
#[cfg(feature = "consul")]
pub(super) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Returns a text for a part of a path or of a query.
pub(super) fn quoted(text: &str) -> String {
    let quoted = text.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    });
    quoted.collect()
}

#[cold]
fn failure(url: &str, error: &Error) -> String {
    format!("{url}: {error}")
}

use super::{Authenticator, Credentials, Principal};
use crate::Status;

/// Identifies callers by the certificate of their TLS connection.
///
/// The certificate was verified when the connection was made; see
/// [`ServerTls::clients`](crate::tls::ServerTls::clients). The name is the first of these among its
/// subject alternative names: a SPIFFE ID, another URI, a DNS name. The attributes `uris` and
/// `dns_names` have all of them, separated by spaces. A certificate without any has its
/// [subject](crate::tls::TlsPeer::subject) as the name; one without that identifies nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Certificates;

impl Certificates {
    /// Knows all callers with a certificate.
    pub fn new() -> Self {
        Certificates
    }
}

impl Authenticator for Certificates {
    fn authenticate(&self, credentials: &Credentials<'_>) -> Result<Option<Principal>, Status> {
        // A token says more than the program that brings it.
        let tls = credentials.tls().filter(|_| credentials.token().is_none());
        let Some(tls) = tls else {
            return Ok(None);
        };
        let (uris, names) = (tls.uris(), tls.dns_names());
        let spiffe = uris.iter().find(|uri| uri.starts_with("spiffe://"));
        let name = spiffe.or(uris.first()).or(names.first());
        let Some(name) = name.map(ToString::to_string).or_else(|| tls.subject()) else {
            return Ok(None);
        };
        let principal = Principal::new(name, Principal::CERTIFICATE)
            .with_attribute("uris", uris.join(" "))
            .with_attribute("dns_names", names.join(" "));
        Ok(Some(principal))
    }

    fn accepts(&self) -> &str {
        "a client certificate, over TLS"
    }
}

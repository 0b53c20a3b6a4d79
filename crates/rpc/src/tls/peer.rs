use super::Session;
use rustls::pki_types::CertificateDer;
use std::fmt;
use std::sync::Arc;
use webpki::EndEntityCert;
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// The other end of a TLS connection, as a handler sees its caller.
#[derive(Clone)]
pub struct TlsPeer {
    chain: Arc<[CertificateDer<'static>]>,
    /// The protocol that both ends have agreed on, by ALPN.
    agreed: Option<Arc<[u8]>>,
}

impl TlsPeer {
    /// Returns the peer of a connection whose handshake is done.
    pub(crate) fn of(session: &Session) -> Self {
        TlsPeer {
            chain: session.peer_certificates().unwrap_or_default().into(),
            agreed: session.alpn_protocol().map(Into::into),
        }
    }

    /// The protocol agreed on by ALPN; `None` if the peer named none.
    pub(crate) fn agreed(&self) -> Option<&[u8]> {
        self.agreed.as_deref()
    }

    /// The certificates that it has shown, in DER (ITU-T X.690), its own first. They are verified.
    /// None where it has shown none.
    pub fn certificates(&self) -> impl Iterator<Item = &[u8]> {
        self.chain.iter().map(AsRef::as_ref)
    }

    /// The DNS names that its certificate is for, of its subject alternative names (RFC 5280,
    /// 4.2.1.6).
    pub fn dns_names(&self) -> Vec<&str> {
        self.own()
            .map(|own| own.valid_dns_names().collect())
            .unwrap_or_default()
    }

    /// The URIs that its certificate is for, of its subject alternative names; SPIFFE IDs are such.
    pub fn uris(&self) -> Vec<&str> {
        self.own()
            .map(|own| own.valid_uri_names().collect())
            .unwrap_or_default()
    }

    /// The subject of its certificate, as RFC 4514 writes a distinguished name:
    /// `CN=checkout,O=Shop`, the most specific part first. `None` where it has shown no
    /// certificate, or the subject is empty.
    pub fn subject(&self) -> Option<String> {
        let own = Certificate::from_der(self.chain.first()?).ok()?;
        let subject = own.tbs_certificate.subject;
        (!subject.is_empty()).then(|| subject.to_string())
    }

    /// It was parsed when it was verified.
    fn own(&self) -> Option<EndEntityCert<'_>> {
        self.chain.first().and_then(|own| own.try_into().ok())
    }
}

impl fmt::Debug for TlsPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsPeer")
            .field("certificates", &self.chain.len())
            .field("dns_names", &self.dns_names())
            .field("uris", &self.uris())
            .finish()
    }
}

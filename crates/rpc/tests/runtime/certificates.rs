//! Certificates for a test.

use dovetail::tls::{ClientTls, ServerTls};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, SanType,
    date_time_ymd,
};
use std::sync::atomic::{AtomicUsize, Ordering};

/// An authority that signs certificates.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate.
    pub(crate) root: Vec<u8>,
}

/// A certificate, and its key.
pub(crate) struct Certified {
    pub(crate) chain: Vec<u8>,
    pub(crate) key: Vec<u8>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let mut params = CertificateParams::default();
        // Roots are told apart by their names.
        let name = format!("authority {}", NUMBER.fetch_add(1, Ordering::Relaxed));
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let root = params.self_signed(&key).expect("a certificate");
        Authority {
            root: root.pem().into_bytes(),
            issuer: Issuer::new(params, key),
        }
    }

    /// Signs one for these names; those with a colon are URIs.
    pub(crate) fn sign(&self, names: &[&str]) -> Certified {
        self.sign_with(names, |_| ())
    }

    /// Signs one without alternative names, for this subject.
    pub(crate) fn sign_subject(&self, subject: &[(DnType, &str)]) -> Certified {
        self.sign_with(&[], |params| {
            params.distinguished_name = DistinguishedName::new();
            for (kind, value) in subject {
                params.distinguished_name.push(kind.clone(), *value);
            }
        })
    }

    pub(crate) fn expired(&self, names: &[&str]) -> Certified {
        self.sign_with(names, |params| {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        })
    }

    fn sign_with(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Certified {
        let (uris, hosts): (Vec<&str>, Vec<&str>) =
            names.iter().partition(|name| name.contains(':'));
        let hosts: Vec<String> = hosts.into_iter().map(str::to_owned).collect();
        let mut params = CertificateParams::new(hosts).expect("names");
        let uris = uris.into_iter().map(|uri| uri.try_into().expect("ASCII"));
        params.subject_alt_names.extend(uris.map(SanType::URI));
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        let signed = params.signed_by(&key, &self.issuer).expect("a certificate");
        Certified {
            chain: signed.pem().into_bytes(),
            key: key.serialize_pem().into_bytes(),
        }
    }

    /// Returns settings that trust it.
    pub(crate) fn trusted(&self) -> ClientTls {
        ClientTls::roots(&*self.root).expect("a root")
    }
}

impl Certified {
    pub(crate) fn server(&self) -> ServerTls {
        ServerTls::new(&*self.chain, &*self.key).expect("a certificate and its key")
    }

    /// A client that trusts this authority and shows this certificate.
    pub(crate) fn client(&self, trusted: &ClientTls) -> ClientTls {
        let shown = trusted.identity(&*self.chain, &*self.key);
        shown.expect("a certificate and its key")
    }
}

/// The names that the test's servers listen on.
pub(crate) const NAMES: &[&str] = &["localhost", "127.0.0.1"];

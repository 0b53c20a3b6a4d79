//! Certificates for pairs that speak over TLS: both ends show one, and trust the same root.

use crate::stage;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, Error, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use std::fs;
use std::path::PathBuf;

/// The variable that tells peers their place.
pub(crate) const VARIABLE: &str = "INTEROP_CERTIFICATES";

/// The names that every server listens on, and every client calls.
const NAMES: [&str; 2] = ["127.0.0.1", "localhost"];

pub(crate) fn folder() -> PathBuf {
    stage::root().join("target/peers/certificates")
}

/// Makes `ca.pem`, and `peer.pem` and `peer.key`, which it has signed.
pub(crate) fn make() -> Result<(), String> {
    let files = files().map_err(|error| format!("cannot make certificates: {error}"))?;
    let write = |(name, text): &(&str, String)| fs::write(folder().join(name), text);
    fs::create_dir_all(folder())
        .and_then(|()| files.iter().try_for_each(write))
        .map_err(|error| format!("cannot write to {}: {error}", folder().display()))
}

fn files() -> Result<[(&'static str, String); 3], Error> {
    let (mut params, key) = (CertificateParams::default(), KeyPair::generate()?);
    // OpenSSL takes one for self-signed whose issuer has its own name.
    params.distinguished_name.push(DnType::CommonName, "root");
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = params.self_signed(&key)?;
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(NAMES.map(str::to_owned))?;
    params.use_authority_key_identifier_extension = true;
    let signed = params.signed_by(&key, &issuer)?;
    Ok([
        ("ca.pem", root.pem()),
        ("peer.pem", signed.pem()),
        ("peer.key", key.serialize_pem()),
    ])
}

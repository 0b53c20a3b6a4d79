//! Both ends of a pair that speaks over TLS show a certificate, and trust the same root.

use dovetail::tls::{ClientCertificate, ClientTls, ServerTls};
use std::error::Error;
use std::path::PathBuf;

/// The transport: what is buffered elsewhere, or HTTP, inside TLS.
pub(crate) const TLS: &str = "tls";

/// A file of the certificates that `cargo xtask interop` makes.
fn file(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let folder = std::env::var_os("INTEROP_CERTIFICATES")
        .ok_or("INTEROP_CERTIFICATES is not set: the folder of ca.pem, peer.pem and peer.key")?;
    Ok(PathBuf::from(folder).join(name))
}

pub(crate) fn server() -> Result<ServerTls, Box<dyn Error>> {
    let tls = ServerTls::new(file("peer.pem")?, file("peer.key")?)?;
    Ok(tls.clients(file("ca.pem")?, ClientCertificate::Required)?)
}

pub(crate) fn client() -> Result<ClientTls, Box<dyn Error>> {
    let tls = ClientTls::roots(file("ca.pem")?)?;
    Ok(tls.identity(file("peer.pem")?, file("peer.key")?)?)
}

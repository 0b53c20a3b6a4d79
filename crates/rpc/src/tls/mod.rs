//! TLS: what a server and a client show of themselves, and whom they trust. `docs/tls.md` has the
//! rules.
//!
//! Versions 1.2 (RFC 5246) and 1.3 (RFC 8446), by rustls with the cryptography of ring.
//! Certificates and keys are PEM (RFC 7468), in files or in memory.

mod client;
mod explain;
mod loaded;
mod peer;
mod pem;
mod pinned;
mod server;

pub use client::ClientTls;
pub(crate) use explain::explain;
pub use peer::TlsPeer;
pub use pem::Pem;
pub use server::{ClientCertificate, ServerTls};

use rustls::crypto::{CryptoProvider, ring};
use std::sync::{Arc, OnceLock};

/// One end of a connection.
pub(crate) type Session = rustls::Connection;

/// The cryptography, the same for all.
fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    PROVIDER
        .get_or_init(|| Arc::new(ring::default_provider()))
        .clone()
}

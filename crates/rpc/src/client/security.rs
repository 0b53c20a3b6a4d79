//! Whether connections go over TLS.

use super::options::Options;
use crate::tls::ClientTls;
#[cfg(feature = "async")]
use crate::transport::{AsyncSocket, AsyncTls};
use crate::{Address, Code, Status, Wire};
#[cfg(feature = "async")]
use std::io;

/// Whether connections go over TLS, and how.
#[derive(Clone, Debug)]
pub(crate) enum Security {
    Plain,
    /// With those that the system trusts.
    System,
    Tls(ClientTls),
}

impl Security {
    /// Returns the security that an address asks for.
    pub(super) fn of(address: &Address) -> Self {
        match address {
            Address::Tls(_) => Security::System,
            _ => Security::Plain,
        }
    }

    pub(super) fn tls(&self) -> Option<&ClientTls> {
        match self {
            Security::Tls(tls) => Some(tls),
            Security::Plain | Security::System => None,
        }
    }

    /// Reads what is still to be read.
    pub(super) fn settle(&mut self) -> Result<(), Status> {
        if let Security::System = self {
            let system = ClientTls::system();
            let unusable = |error| Status::new(Code::FailedPrecondition, format!("{error}"));
            *self = Security::Tls(system.map_err(unusable)?);
        }
        Ok(())
    }
}

/// Returns the protocol for ALPN. Stock servers of Thrift and msgpack-rpc know no name for theirs.
pub(super) fn protocol(wire: Wire) -> Option<&'static [u8]> {
    match wire {
        Wire::Dovetail => Some(b"dovetail/1"),
        wire if wire.is_http2() => Some(b"h2"),
        _ => None,
    }
}

/// `host:port` of an address for display.
pub(super) fn place(target: &str) -> &str {
    let place = target.strip_prefix("tls://");
    place.unwrap_or_else(|| target.trim_start_matches("tcp://"))
}

impl Options {
    /// Goes on over TLS where that is wanted.
    #[cfg(feature = "async")]
    pub(super) async fn secure(&self, socket: AsyncSocket) -> io::Result<AsyncSocket> {
        let Some(tls) = self.security.tls() else {
            return Ok(socket);
        };
        let session = tls.session(&self.client.http.host, protocol(self.wire))?;
        let tls = AsyncTls::over(socket, session)?;
        // On the heap: most connections are without.
        Box::pin(tls.handshake(&[])).await?;
        Ok(AsyncSocket::Tls(Box::new(tls)))
    }
}

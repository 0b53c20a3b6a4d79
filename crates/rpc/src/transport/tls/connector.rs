use super::handshake;
use crate::tls::ClientTls;
use crate::transport::{Connector, Stream};
use std::io;
use std::sync::Arc;
use std::time::Instant;

/// TLS over the connections of another transport, for blocking channels. A channel to `tls://…`
/// makes one by itself.
pub struct TlsConnector {
    connector: Arc<dyn Connector>,
    tls: ClientTls,
    protocol: Option<&'static [u8]>,
}

impl TlsConnector {
    /// TLS over what `connector` connects to. The certificate has to be for the host in its
    /// [target](Connector::target), unless [`ClientTls::server_name`] says otherwise.
    pub fn new(connector: Arc<dyn Connector>, tls: &ClientTls) -> Self {
        TlsConnector {
            connector,
            tls: tls.clone(),
            protocol: None,
        }
    }

    /// Offers this protocol by ALPN.
    pub(crate) fn offering(self, protocol: Option<&'static [u8]>) -> Self {
        TlsConnector { protocol, ..self }
    }
}

impl Connector for TlsConnector {
    fn is_private(&self) -> bool {
        true
    }

    fn connect(&self, deadline: Instant) -> io::Result<Arc<dyn Stream>> {
        let target = self.connector.target();
        let place = target.trim_start_matches("tcp://");
        let session = self.tls.session(place, self.protocol)?;
        let stream = self.connector.connect(deadline)?;
        Ok(handshake(stream, session, &[], deadline)?.0)
    }

    fn target(&self) -> String {
        self.connector.target().replacen("tcp://", "tls://", 1)
    }
}

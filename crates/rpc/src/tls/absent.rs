//! Stands in for TLS where the crate's feature `tls` is off.

use std::io;

/// There is none.
pub(crate) enum Session {}

/// There is none.
#[derive(Clone, Debug)]
pub(crate) enum TlsPeer {}

impl TlsPeer {
    pub(crate) fn agreed(&self) -> Option<&[u8]> {
        match *self {}
    }
}

/// There is none.
#[derive(Clone, Debug)]
pub(crate) enum ServerTls {}

impl ServerTls {
    pub(crate) fn requires_certificates(&self) -> bool {
        match *self {}
    }

    pub(crate) fn session(&self, _: bool) -> io::Result<Session> {
        match *self {}
    }
}

/// There is none.
#[derive(Clone, Debug)]
pub(crate) enum ClientTls {}

impl ClientTls {
    pub(crate) fn system() -> io::Result<Self> {
        let what = "TLS needs the feature `tls` of the crate";
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }

    pub(crate) fn session(&self, _: &str, _: Option<&[u8]>) -> io::Result<Session> {
        match *self {}
    }
}

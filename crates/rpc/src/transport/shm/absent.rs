//! Stands in for shared memory where there is none.

use crate::transport::{Socket, SocketListener, Stream};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

fn absent() -> io::Error {
    let what = "shared memory needs Linux, and the feature `shm` of the crate";
    io::Error::new(io::ErrorKind::Unsupported, what)
}

pub(crate) fn connect(_: &Path, _: Instant) -> io::Result<Arc<dyn Stream>> {
    Err(absent())
}

pub(crate) fn visitor(socket: Socket) -> Arc<dyn Stream> {
    Arc::new(socket)
}

pub(crate) fn admits(_: &impl std::os::fd::AsFd) -> bool {
    true
}

pub(crate) fn bind_upgrade() -> io::Result<(u128, SocketListener)> {
    Err(absent())
}

/// There is none.
#[cfg(feature = "async")]
pub(crate) struct AsyncMemory(std::convert::Infallible);

#[cfg(feature = "async")]
impl AsyncMemory {
    pub(crate) async fn connect(_: &Path) -> io::Result<Self> {
        Err(absent())
    }

    pub(crate) async fn chosen(_: &tokio::net::UnixStream) -> io::Result<Option<Self>> {
        Ok(None)
    }

    pub(crate) async fn gone(&self, _: bool) {
        match self.0 {}
    }

    pub(crate) fn try_read(&self, _: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }

    pub(crate) fn try_read_behind(&self, _: &mut bytes::BytesMut) -> io::Result<usize> {
        match self.0 {}
    }

    pub(crate) fn look(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn try_write(&self, _: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }

    pub(crate) async fn readable(&self) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) async fn writable(&self) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn shutdown_send(&self) {
        match self.0 {}
    }
}

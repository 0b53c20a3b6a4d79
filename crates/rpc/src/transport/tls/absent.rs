//! Stands in for TLS where there is none.

use crate::tls::{Session, TlsPeer};
use crate::transport::Stream;
use std::io;
use std::sync::Arc;
use std::time::Instant;

pub(crate) fn handshake(
    _: Arc<dyn Stream>,
    session: Session,
    _: &[u8],
    _: Instant,
) -> io::Result<(Arc<dyn Stream>, TlsPeer)> {
    match session {}
}

/// There is none.
#[cfg(feature = "async")]
pub(crate) struct AsyncTls(std::convert::Infallible);

#[cfg(feature = "async")]
mod unreachable {
    use super::{AsyncTls, Session, TlsPeer, io};
    use crate::transport::AsyncSocket;
    use bytes::BytesMut;
    use std::io::IoSlice;
    #[cfg(feature = "grpc")]
    use std::task::{Context, Poll};

    impl AsyncTls {
        pub(crate) fn over(_: AsyncSocket, session: Session) -> io::Result<Self> {
            match session {}
        }

        pub(crate) async fn handshake(&self, _: &[u8]) -> io::Result<TlsPeer> {
            match self.0 {}
        }

        pub(crate) async fn gone(&self, _: bool) {
            match self.0 {}
        }

        pub(crate) fn try_receive(&self, _: &mut [u8], _: &mut BytesMut) -> io::Result<usize> {
            match self.0 {}
        }

        pub(crate) fn try_send(&self, _: &[IoSlice<'_>]) -> io::Result<usize> {
            match self.0 {}
        }

        pub(crate) async fn readable(&self) -> io::Result<()> {
            match self.0 {}
        }

        pub(crate) async fn writable(&self) -> io::Result<()> {
            match self.0 {}
        }

        pub(crate) fn try_discard(&self, _: &mut [u8]) -> io::Result<usize> {
            match self.0 {}
        }

        pub(crate) async fn shutdown_send(&self) -> io::Result<()> {
            match self.0 {}
        }
    }

    #[cfg(feature = "grpc")]
    impl AsyncTls {
        pub(crate) fn poll_receive(
            &self,
            _: &mut Context<'_>,
            _: &mut BytesMut,
        ) -> Poll<io::Result<usize>> {
            match self.0 {}
        }

        pub(crate) fn poll_send(
            &self,
            _: &mut Context<'_>,
            _: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            match self.0 {}
        }

        pub(crate) fn poll_shutdown(&self) -> Poll<io::Result<()>> {
            match self.0 {}
        }
    }
}

//! A socket of which some has been received already, as libraries want it.

use super::AsyncSocket;
use bytes::{Buf, BytesMut};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A socket of which some has been received already. Libraries have nothing to do with shared memory.
pub(crate) struct Prefixed {
    received: BytesMut,
    socket: AsyncSocket,
}

impl Prefixed {
    pub(crate) fn new(received: BytesMut, socket: AsyncSocket) -> Self {
        Prefixed { received, socket }
    }
}

/// Calls a method of tokio's on the socket, whatever kind it is.
macro_rules! on_socket {
    ($self:ident.$method:ident($($argument:expr),*)) => {
        match &mut $self.get_mut().socket {
            AsyncSocket::Tcp(stream) => Pin::new(stream).$method($($argument),*),
            AsyncSocket::Unix { socket, .. } => Pin::new(socket).$method($($argument),*),
            AsyncSocket::Memory(_) => Poll::Ready(Err(io::ErrorKind::Unsupported.into())),
        }
    };
}

impl AsyncRead for Prefixed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.received.is_empty() {
            let length = self.received.len().min(into.remaining());
            into.put_slice(&self.received[..length]);
            self.received.advance(length);
            return Poll::Ready(Ok(()));
        }
        on_socket!(self.poll_read(context, into))
    }
}

impl AsyncWrite for Prefixed {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        on_socket!(self.poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_socket!(self.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_socket!(self.poll_shutdown(context))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        on_socket!(self.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

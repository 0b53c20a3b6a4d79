//! A socket some of whose bytes have been received already, as tokio's traits.

use super::poll::SpinWait;
use super::{AsyncSocket, Polling};
use bytes::{Buf, BytesMut};
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::yield_now;

/// Calls a method of tokio on a socket of any kind, or its counterpart over TLS.
macro_rules! on_socket {
    ($self:ident.$method:ident($($argument:expr),*), $tls:ident => $over_tls:expr) => {
        match &mut $self.socket {
            AsyncSocket::Tcp(stream) => Pin::new(stream).$method($($argument),*),
            AsyncSocket::Unix { socket, .. } => Pin::new(socket).$method($($argument),*),
            AsyncSocket::Memory(_) | AsyncSocket::Process(_) => Poll::Ready(Err(io::ErrorKind::Unsupported.into())),
            AsyncSocket::Tls($tls) => $over_tls,
        }
    };
}

/// A socket some of whose bytes have been received already. Libraries have nothing to do with
/// shared memory.
pub(crate) struct Prefixed {
    received: BytesMut,
    socket: AsyncSocket,
    spin_wait: SpinWait,
}

impl Prefixed {
    pub(crate) fn new(received: BytesMut, socket: AsyncSocket, polling: Polling) -> Self {
        Prefixed {
            received,
            socket,
            spin_wait: SpinWait::new(polling),
        }
    }

    fn read(&mut self, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Prefixed {
            received, socket, ..
        } = self;
        if let AsyncSocket::Tls(tls) = socket
            && received.is_empty()
        {
            // A record may hold more than is asked for.
            ready!(tls.poll_receive(context, received))?;
        } else if received.is_empty() {
            return on_socket!(self.poll_read(context, into), _tls => Poll::Ready(Ok(())));
        }
        let length = received.len().min(into.remaining());
        into.put_slice(&received[..length]);
        received.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Prefixed {
    /// If nothing has come, the task yields and polls again for as long as polling pays; the event
    /// loop runs in between.
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.read(context, into);
        if read.is_ready() {
            self.spin_wait.met();
        } else if self.spin_wait.goes_on() {
            return pin!(yield_now()).poll(context).map(Ok);
        }
        read
    }
}

impl AsyncWrite for Prefixed {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Bytes that are sent over TLS have left.
        on_socket!(self.poll_flush(context), _tls => Poll::Ready(Ok(())))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_socket!(self.poll_shutdown(context), tls => tls.poll_shutdown())
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = ready!(
            on_socket!(self.poll_write_vectored(context, slices), tls => tls.poll_send(context, slices))
        );
        if self.spin_wait.restart() {
            context.waker().wake_by_ref();
        }
        Poll::Ready(sent)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

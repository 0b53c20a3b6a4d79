//! A connection as the library of HTTP/2 reads it.

use crate::peer::traffic::Traffic;
use crate::transport::Prefixed;
use dovetail_protocol::http2::Authorities;
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::iter::once;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Makes hosts of authorities that are none, on their way to the library, which would refuse them.
pub(super) struct Socket<'a> {
    socket: Prefixed,
    authorities: Authorities,
    /// True once there was one.
    opaque: &'a Cell<bool>,
    traffic: &'a Traffic,
    /// Bytes to be read that have been counted before.
    counted: usize,
}

impl<'a> Socket<'a> {
    pub(super) fn new(
        socket: Prefixed,
        opaque: &'a Cell<bool>,
        traffic: &'a Traffic,
        counted: usize,
    ) -> Self {
        Socket {
            socket,
            authorities: Authorities::default(),
            opaque,
            traffic,
            counted,
        }
    }

    /// Counts the bytes that have been sent of these.
    fn count_sent<'b>(
        &self,
        sent: Poll<io::Result<usize>>,
        slices: impl Iterator<Item = &'b [u8]>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = &sent {
            self.traffic.sent(|| slices, 0, *count);
        }
        sent
    }
}

impl AsyncRead for Socket<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(context, into);
        if let Some(received) = into.filled_mut().get_mut(before..) {
            let known = self.counted.min(received.len());
            self.counted -= known;
            if let Some(new @ [_, ..]) = received.get(known..) {
                self.traffic.received(new);
            }
            self.authorities.pass(received);
            self.opaque.set(self.authorities.is_changed());
        }
        read
    }
}

impl AsyncWrite for Socket<'_> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.count_sent(sent, once(bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        self.count_sent(sent, slices.iter().map(|slice| &**slice))
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }
}

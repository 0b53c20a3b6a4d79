//! A socket on an event loop: of a server's connections, and of async clients.

use super::Experience;
use crate::buffers::Gathered;
use crate::{Address, buffers};
use bytes::BytesMut;
use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::time::Instant;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, UnixStream};

/// Where a thread receives small messages, whatever the connection: an idle connection keeps no buffer.
const SCRATCH: usize = 64 << 10;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; SCRATCH]);
}

/// The two kinds of socket, alike to what is above.
pub(crate) enum AsyncSocket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl AsyncSocket {
    /// Takes over a connected socket.
    pub(crate) fn new(socket: socket2::Socket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(match socket.local_addr()?.is_unix() {
            true => AsyncSocket::Unix(UnixStream::from_std(socket.into())?),
            false => {
                socket.set_tcp_nodelay(true)?;
                AsyncSocket::Tcp(TcpStream::from_std(socket.into())?)
            }
        })
    }

    pub(crate) async fn connect(address: &Address) -> io::Result<Self> {
        Ok(match address {
            Address::Tcp(place) => {
                let stream = TcpStream::connect(place).await?;
                stream.set_nodelay(true)?;
                AsyncSocket::Tcp(stream)
            }
            Address::Unix(path) => AsyncSocket::Unix(UnixStream::connect(path).await?),
        })
    }

    /// Receives behind what `input` holds, polling first where that has paid lately; 0 at the end. Nothing
    /// is lost where the future is dropped.
    pub(crate) async fn receive(
        &self,
        input: &mut BytesMut,
        needs: usize,
        experience: &mut Experience,
    ) -> io::Result<usize> {
        let start = Instant::now();
        if let Some(mut poll) = experience.poll(start) {
            loop {
                match self.try_receive(input, needs) {
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                    result => {
                        experience.met();
                        return result;
                    }
                }
                // Whatever else the loop has to do is done now, then the sockets are looked at.
                tokio::task::yield_now().await;
                if !experience.goes_on(&mut poll) {
                    break;
                }
            }
        }
        let result = self.when_readable(|| self.try_receive(input, needs)).await;
        experience.waited(start);
        result
    }

    fn try_receive(&self, input: &mut BytesMut, needs: usize) -> io::Result<usize> {
        if needs > SCRATCH {
            input.reserve(needs);
            return self.try_read_behind(input);
        }
        with_scratch(|scratch| {
            let received = self.try_read(scratch)?;
            if input.capacity() == 0 {
                *input = buffers::spare();
            }
            input.extend_from_slice(scratch.get(..received).unwrap_or_default());
            Ok(received)
        })
    }

    /// Receives until the peer closes, and keeps nothing.
    pub(crate) async fn discard(&self) {
        while let Ok(1..) = self
            .when_readable(|| with_scratch(|scratch| self.try_read(scratch)))
            .await
        {}
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            AsyncSocket::Tcp(stream) => stream.write_all(bytes).await,
            AsyncSocket::Unix(stream) => stream.write_all(bytes).await,
        }
    }

    /// The same with blobs from where they are.
    pub(crate) async fn send_gathered(&mut self, message: &Gathered) -> io::Result<()> {
        if message.blobs.is_empty() {
            return self.send(&message.bytes).await;
        }
        let mut slices = message.slices();
        let mut slices = &mut slices[..];
        while !slices.is_empty() {
            let sent = match self {
                AsyncSocket::Tcp(stream) => stream.write_vectored(slices).await?,
                AsyncSocket::Unix(stream) => stream.write_vectored(slices).await?,
            };
            if sent == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            IoSlice::advance_slices(&mut slices, sent);
        }
        Ok(())
    }

    /// Sends as much as the socket takes, once it takes something. Nothing is lost where the future is dropped.
    pub(crate) async fn send_some(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.try_send(bytes) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => match self {
                    AsyncSocket::Tcp(stream) => stream.writable().await?,
                    AsyncSocket::Unix(stream) => stream.writable().await?,
                },
                result => return result,
            }
        }
    }

    pub(crate) async fn shutdown_send(&mut self) -> io::Result<()> {
        match self {
            AsyncSocket::Tcp(stream) => stream.shutdown().await,
            AsyncSocket::Unix(stream) => stream.shutdown().await,
        }
    }

    async fn when_readable(
        &self,
        mut read: impl FnMut() -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            match read() {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => match self {
                    AsyncSocket::Tcp(stream) => stream.readable().await?,
                    AsyncSocket::Unix(stream) => stream.readable().await?,
                },
                result => return result,
            }
        }
    }

    /// Sends as much as the socket takes now; `WouldBlock` where that is nothing.
    pub(crate) fn try_send(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            AsyncSocket::Tcp(stream) => stream.try_write(bytes),
            AsyncSocket::Unix(stream) => stream.try_write(bytes),
        }
    }

    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            AsyncSocket::Tcp(stream) => stream.try_read(buffer),
            AsyncSocket::Unix(stream) => stream.try_read(buffer),
        }
    }

    /// Reads behind what the buffer holds, into memory that nobody has to clear before.
    fn try_read_behind(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        match self {
            AsyncSocket::Tcp(stream) => stream.try_read_buf(buffer),
            AsyncSocket::Unix(stream) => stream.try_read_buf(buffer),
        }
    }
}

fn with_scratch<R>(read: impl FnOnce(&mut [u8]) -> R) -> R {
    BUFFER.with_borrow_mut(|scratch| read(scratch))
}

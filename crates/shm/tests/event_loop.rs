//! A connection under an event loop: `AsyncRead` and `AsyncWrite` over it, as tokio wants them.
#![cfg(all(target_os = "linux", not(loom)))]
#![allow(clippy::unwrap_used)]

mod support;

use dovetail_shm::{Error, Handshake, Progress, Receiver, Sender};
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use support::{SMALL, pair};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, Interest, ReadBuf};
use tokio::net::UnixStream;

/// A half of a connection, and its descriptor where the event loop knows it.
struct Task<T> {
    half: T,
    line: UnixStream,
}

impl<T: AsFd> Task<T> {
    fn new(half: T) -> Self {
        let line = half.as_fd().try_clone_to_owned().unwrap();
        let line = std::os::unix::net::UnixStream::from(line);
        line.set_nonblocking(true).unwrap();
        let line = UnixStream::from_std(line).unwrap();
        Task { half, line }
    }

    /// Ready once the descriptor is readable; then `disarm` takes the wake-ups off it.
    fn poll_woken(
        &mut self,
        cx: &mut Context<'_>,
        disarm: impl FnOnce(&mut T),
    ) -> Poll<io::Result<()>> {
        ready!(self.line.poll_read_ready(cx))?;
        let half = &mut self.half;
        // The answer makes the loop forget that the descriptor was readable.
        let _: io::Result<()> = self.line.try_io(Interest::READABLE, || {
            disarm(half);
            Err(io::ErrorKind::WouldBlock.into())
        });
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Task<Receiver> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            match self.half.try_read(buffer.initialize_unfilled()) {
                Err(Error::WouldBlock) => {}
                received => {
                    buffer.advance(received?);
                    return Poll::Ready(Ok(()));
                }
            }
            if self.half.arm()? {
                ready!(self.poll_woken(cx, Receiver::disarm))?;
            }
        }
    }
}

impl AsyncWrite for Task<Sender> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            match self.half.try_write(&[bytes]) {
                Err(Error::WouldBlock) => {}
                written => return Poll::Ready(Ok(written?)),
            }
            if self.half.arm()? {
                ready!(self.poll_woken(cx, Sender::disarm))?;
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.half.end();
        Poll::Ready(Ok(()))
    }
}

fn run(body: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .unwrap()
        .block_on(body);
}

/// Both ends as tasks of one loop, each way, with messages that fit and some that do not.
#[test]
fn tasks() {
    const LENGTHS: [usize; 4] = [1, 100, 5000, 20_000];
    run(async {
        let (ours, theirs) = pair(&SMALL);
        let echo = tokio::spawn(async move {
            let (mut sender, mut receiver) = (Task::new(theirs.sender), Task::new(theirs.receiver));
            tokio::io::copy(&mut receiver, &mut sender).await.unwrap();
            sender.shutdown().await.unwrap();
        });
        let (mut sender, mut receiver) = (Task::new(ours.sender), Task::new(ours.receiver));
        let sends = tokio::spawn(async move {
            for round in 0..200 {
                let bytes = vec![round as u8; LENGTHS[round % LENGTHS.len()]];
                sender.write_all(&bytes).await.unwrap();
            }
            sender.shutdown().await.unwrap();
        });
        let mut buffer = vec![0; 20_000];
        for round in 0..200 {
            let message = &mut buffer[..LENGTHS[round % LENGTHS.len()]];
            receiver.read_exact(message).await.unwrap();
            assert!(message.iter().all(|byte| *byte == round as u8));
        }
        assert_eq!(receiver.read(&mut buffer).await.unwrap(), 0);
        sends.await.unwrap();
        echo.await.unwrap();
    });
}

/// The peer lets go while a task waits.
#[test]
fn ends_wake_tasks() {
    run(async {
        let (ours, theirs) = pair(&SMALL);
        let (mut sender, mut receiver) = (Task::new(ours.sender), Task::new(ours.receiver));
        let receives = tokio::spawn(async move { receiver.read(&mut [0; 10]).await });
        let sends = tokio::spawn(async move { sender.write_all(&[0; 10_000]).await });
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        drop(theirs);
        assert_eq!(receives.await.unwrap().unwrap(), 0);
        let error = sends.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    });
}

/// A handshake that waits by descriptor.
#[test]
fn handshakes() {
    run(async {
        let (client, server) = std::os::unix::net::UnixStream::pair().unwrap();
        server.set_nonblocking(true).unwrap();
        let line = UnixStream::from_std(server.try_clone().unwrap());
        let server = Handshake::accept(server, &SMALL);
        let Progress::Pending(server) = server.try_finish().unwrap() else {
            panic!("the client has not said anything");
        };
        let client = Handshake::connect(client, &SMALL).unwrap();
        line.unwrap().readable().await.unwrap();
        assert!(matches!(server.try_finish(), Ok(Progress::Done(_))));
        assert!(matches!(client.try_finish(), Ok(Progress::Done(_))));
    });
}

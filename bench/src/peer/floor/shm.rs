//! A connection through shared memory: the client makes it and hands it over a Unix socket, which
//! then only shows whether the other process is still there.

use super::Wait;
use super::ring::{BOTH, Ring};
use memmap2::MmapRaw;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recv, recvmsg, sendmsg,
};
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

pub(super) struct Shared {
    inbound: Ring,
    outbound: Ring,
    socket: UnixStream,
    wait: Wait,
    /// Polls that found nothing.
    misses: u32,
}

/// After so many polls one looks whether the other process is still there.
const PATIENCE: u32 = 1 << 16;

impl Shared {
    /// Makes the memory, and hands it to the server.
    pub(super) fn offer(socket: UnixStream, wait: Wait) -> io::Result<Self> {
        let memory = memfd_create("dovetail-bench", MemfdFlags::CLOEXEC)?;
        ftruncate(&memory, BOTH as u64)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let descriptors = [memory.as_fd()];
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
        let byte = [IoSlice::new(&[0])];
        sendmsg(&socket, &byte, &mut control, SendFlags::empty())?;
        let [outbound, inbound] = Ring::pair(MmapRaw::map_raw(&File::from(memory))?)?;
        Ok(Shared::new(inbound, outbound, socket, wait))
    }

    /// Takes the memory that a client hands over.
    pub(super) fn accept(socket: UnixStream, wait: Wait) -> io::Result<Self> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let buffer = &mut [IoSliceMut::new(&mut byte)];
        recvmsg(&socket, buffer, &mut control, RecvFlags::CMSG_CLOEXEC)?;
        let memory = control.drain().find_map(descriptor);
        let memory = memory.ok_or(ErrorKind::InvalidData)?;
        let [inbound, outbound] = Ring::pair(MmapRaw::map_raw(&File::from(memory))?)?;
        Ok(Shared::new(inbound, outbound, socket, wait))
    }

    fn new(inbound: Ring, outbound: Ring, socket: UnixStream, wait: Wait) -> Self {
        Shared {
            inbound,
            outbound,
            socket,
            wait,
            misses: 0,
        }
    }

    /// Waits as it is meant to: sleeps, or says that it would.
    fn idle(&mut self, sleep: impl FnOnce(&Self) -> io::Result<()>) -> io::Result<()> {
        match self.wait {
            Wait::Block => {
                sleep(self)?;
                self.is_there()
            }
            Wait::Poll => {
                self.misses = self.misses.wrapping_add(1);
                if self.misses.is_multiple_of(PATIENCE) {
                    self.is_there()?;
                }
                Err(ErrorKind::WouldBlock.into())
            }
        }
    }

    /// An error once the other process has closed its socket.
    fn is_there(&self) -> io::Result<()> {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match recv(&self.socket, &mut [0_u8], flags) {
            Ok((_, 0)) => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

fn descriptor(message: RecvAncillaryMessage<'_>) -> Option<OwnedFd> {
    match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    }
}

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.inbound.read(buffer) {
                0 => self.idle(|this| this.inbound.wait_for_bytes())?,
                count => return Ok(count),
            }
        }
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.outbound.write(bytes) {
                0 => self.idle(|this| this.outbound.wait_for_room())?,
                count => return Ok(count),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! A segment of shared memory that a peer may have written anything into.

use dovetail_shm::{Connection, Error, Handshake, Progress, Received, Settings};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    sendmsg, socketpair,
};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

const PAGE: usize = 4096;

/// The header of a segment with a ring of a page and two chunks of a page.
const HEADER: [u32; 6] = [0x5354_5644, 0x0102_4D48, 1, 4096, 4096, 2];

const SIZE: usize = 4 * PAGE;

/// The numbers that steer a connection: positions, whether they are over, sleeps, bells, returns.
const WORDS: [usize; 10] = [128, 132, 256, 260, 384, 512, 640, 768, 896, 900];

/// The first byte says whether the header is the input's too; the numbers follow, then what is in
/// the ring.
pub(crate) fn segment(input: &[u8]) {
    let Some((own_header, mut rest)) = input.split_first() else {
        return;
    };
    let mut memory = vec![0; SIZE];
    let mut put = |at: usize, bytes: &[u8]| memory[at..at + bytes.len()].copy_from_slice(bytes);
    for (index, number) in HEADER.into_iter().enumerate() {
        put(index * 4, &number.to_ne_bytes());
    }
    if own_header % 16 == 15 {
        put(0, take(&mut rest, 24));
    }
    for word in WORDS {
        put(word, take(&mut rest, 4));
    }
    put(PAGE, take(&mut rest, 3 * PAGE));
    // The system may be short of something; that is not the target's.
    let Ok((server, _client)) = offer(&memory) else {
        return;
    };
    let settings = Settings {
        ring: 4096,
        chunk: 4096,
        chunks: 1,
        largest_peer_segment: 1 << 20,
    };
    match Handshake::accept(server, &settings).try_finish() {
        Ok(Progress::Done(connection)) => drive(connection),
        Ok(Progress::Pending(_)) => panic!("the offer was there"),
        Err(_) => assert!(own_header % 16 == 15, "the header was a good one"),
    }
}

fn take<'a>(rest: &mut &'a [u8], most: usize) -> &'a [u8] {
    let (taken, later) = rest.split_at(most.min(rest.len()));
    *rest = later;
    taken
}

/// A socket with a client's offer on it, and the client's ends.
fn offer(memory: &[u8]) -> io::Result<(OwnedFd, [OwnedFd; 2])> {
    let pair = || {
        let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
        socketpair(family, kind, SocketFlags::CLOEXEC, None)
    };
    let (socket, server) = pair()?;
    let (line, theirs) = pair()?;
    let fd = memfd_create("fuzz", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&fd, SIZE as u64)?;
    rustix::io::pwrite(&fd, memory, 0)?;
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE | SealFlags::SEAL;
    fcntl_add_seals(&fd, seals)?;
    let fds = [fd.as_fd(), theirs.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&fds));
    let bytes = [IoSlice::new(b"\xD7SHM\x01\0\0\0")];
    sendmsg(&socket, &bytes, &mut control, SendFlags::empty())?;
    Ok((server, [socket, line]))
}

/// Receives and sends until neither goes on. A direction that was found broken stays so.
fn drive(connection: Connection) {
    let (mut sender, mut receiver) = (connection.sender, connection.receiver);
    let mut buffer = [0; 300];
    // A record takes 8 bytes of the ring at least, and has at most 4096 bytes.
    for turn in 0.. {
        assert!(
            turn < 512 * (4096 / 300 + 2),
            "more was received than a ring holds"
        );
        let received = match turn % 2 {
            0 => receiver.try_read(&mut buffer).map(|count| count > 0),
            _ => match receiver.try_receive(&mut buffer) {
                Ok(Received::Chunk(chunk)) => {
                    assert!((1..=4096).contains(&chunk.len()));
                    assert_eq!(chunk.to_vec().len(), chunk.len());
                    Ok(true)
                }
                Ok(Received::Bytes(count)) => Ok(count > 0),
                Err(e) => Err(e),
            },
        };
        match received {
            Ok(true) => {}
            Ok(false) => break,
            Err(Error::Misbehaved(_)) => {
                let again = receiver.try_read(&mut buffer);
                assert!(matches!(again, Err(Error::Misbehaved(_))));
                break;
            }
            Err(Error::WouldBlock) => {
                assert!(matches!(receiver.arm(), Ok(true)));
                break;
            }
            Err(e) => panic!("{e}"),
        }
    }
    let mut written = 0;
    while let Ok(count) = sender.try_write(&[&buffer]) {
        written += count;
        assert!((1..=300).contains(&count));
        // The peer's count of bytes that it has taken out does not change.
        assert!(written < 2 * 4096, "more was written than the ring holds");
    }
    if let Some(chunk) = sender.try_chunk() {
        // There is room for this record, or the error is one of ours.
        let _ = sender.try_send(chunk, 1);
    }
}

//! A peer that breaks the rules: an offer that is not what it should be, and one that writes
//! whatever it likes over every byte of its segment while transfers run. The worst that happens is
//! a typed error.
#![cfg(all(target_os = "linux", not(loom)))]
#![allow(clippy::unwrap_used, unsafe_code)]

mod support;

use dovetail_shm::{Connection, Error, Handshake, Received, Refusal, Settings};
use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::{SMALL, soon};

/// A client made by hand from the specification.
#[derive(Clone)]
struct Offer {
    bytes: Vec<u8>,
    /// The numbers at the beginning of the segment.
    header: [u32; 6],
    size: u64,
    seals: SealFlags,
    memory: MemfdFlags,
    /// How many descriptors of the second kind it sends.
    lines: usize,
    /// Sends a file in place of the socket.
    no_socket: bool,
}

const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::FUTURE_WRITE)
    .union(SealFlags::SEAL);

impl Default for Offer {
    fn default() -> Self {
        Offer {
            bytes: b"\xD7SHM\x01\0\0\0".to_vec(),
            header: [0x5354_5644, 0x0102_4D48, 1, 4096, 4096, 2],
            size: 4 * 4096,
            seals: SEALS,
            memory: MemfdFlags::empty(),
            lines: 1,
            no_socket: false,
        }
    }
}

/// The hand-made end of a connection.
struct Peer {
    memory: MmapRaw,
    socket: UnixStream,
    _line: UnixStream,
}

impl Peer {
    /// Writes a number of the segment.
    fn write(&self, at: usize, value: u32) {
        assert!(at.is_multiple_of(4) && at + 4 <= self.memory.len());
        // SAFETY: within the mapping, aligned, and mapped for nobody else in this process by this
        // address.
        unsafe {
            self.memory
                .as_mut_ptr()
                .add(at)
                .cast::<u32>()
                .write_volatile(value)
        }
    }
}

impl Offer {
    /// Makes the offer, and what the server says to it.
    fn make(&self) -> (Peer, Result<Connection, Error>) {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | self.memory;
        let memory = memfd_create("hostile", flags).unwrap();
        ftruncate(&memory, self.size).unwrap();
        let map = MmapOptions::new().len(4 * 4096).map_raw(&memory).unwrap();
        fcntl_add_seals(&memory, self.seals).unwrap();
        let (socket, server) = UnixStream::pair().unwrap();
        let (line, theirs) = UnixStream::pair().unwrap();
        let peer = Peer {
            memory: map,
            socket,
            _line: line,
        };
        // Bytes behind the end of the file cannot be written.
        if self.size >= 4096 {
            for (index, number) in self.header.iter().enumerate() {
                peer.write(index * 4, *number);
            }
        }
        let second: OwnedFd = match self.no_socket {
            true => std::fs::File::open("/dev/null").unwrap().into(),
            false => theirs.into(),
        };
        let mut fds = vec![memory.as_fd()];
        fds.extend(std::iter::repeat_n(second.as_fd(), self.lines));
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        let bytes = [IoSlice::new(&self.bytes)];
        sendmsg(&peer.socket, &bytes, &mut control, SendFlags::empty()).unwrap();
        let server = Handshake::accept(server, &SMALL).finish(soon());
        (peer, server)
    }
}

/// Each bad offer: what the server finds, and the verdict that the client reads.
#[test]
fn bad_offers() {
    const MISBEHAVED: Option<Refusal> = None;
    let good = Offer::default;
    let header = |at: usize, value: u32| {
        let mut offer = good();
        offer.header[at] = value;
        offer
    };
    let seals = |seals| Offer { seals, ..good() };
    let bytes = |bytes: &[u8]| Offer {
        bytes: bytes.to_vec(),
        ..good()
    };
    let rows = [
        (
            "other magic bytes",
            bytes(b"\xD7DVT\x01\0\0\0"),
            MISBEHAVED,
            3,
        ),
        ("cut", bytes(b"\xD7SHM"), MISBEHAVED, 0),
        (
            "version",
            bytes(b"\xD7SHM\x02\0\0\0"),
            Some(Refusal::Version),
            1,
        ),
        (
            "a refusal",
            bytes(b"\xD7SHM\x01\x02\0\0"),
            Some(Refusal::TooLarge),
            2,
        ),
        (
            "too few descriptors",
            Offer { lines: 0, ..good() },
            MISBEHAVED,
            3,
        ),
        (
            "too many descriptors",
            Offer { lines: 4, ..good() },
            MISBEHAVED,
            0,
        ),
        (
            "no socket",
            Offer {
                no_socket: true,
                ..good()
            },
            MISBEHAVED,
            3,
        ),
        (
            "can shrink",
            seals(SEALS - SealFlags::SHRINK),
            MISBEHAVED,
            3,
        ),
        ("can grow", seals(SEALS - SealFlags::GROW), MISBEHAVED, 3),
        (
            "others can write",
            seals(SEALS - SealFlags::FUTURE_WRITE),
            MISBEHAVED,
            3,
        ),
        (
            "more seals can come",
            seals(SEALS - SealFlags::SEAL),
            MISBEHAVED,
            3,
        ),
        ("magic number", header(0, 0), MISBEHAVED, 3),
        ("byte order", header(1, 0x484D_0201), MISBEHAVED, 3),
        ("layout", header(2, 2), Some(Refusal::Version), 1),
        ("no ring", header(3, 0), MISBEHAVED, 3),
        ("an odd ring", header(3, 4097), MISBEHAVED, 3),
        ("a huge ring", header(3, 1 << 31), MISBEHAVED, 3),
        ("an odd chunk", header(4, 100), MISBEHAVED, 3),
        ("a huge chunk", header(4, u32::MAX), MISBEHAVED, 3),
        ("more chunks than the size", header(5, 3), MISBEHAVED, 3),
        ("far too many chunks", header(5, u32::MAX), MISBEHAVED, 3),
        ("empty", Offer { size: 0, ..good() }, MISBEHAVED, 3),
        (
            "larger than it says",
            Offer {
                size: 5 * 4096,
                ..good()
            },
            MISBEHAVED,
            3,
        ),
        (
            "larger than we take",
            Offer {
                size: SMALL.largest_peer_segment + 1,
                ..good()
            },
            Some(Refusal::TooLarge),
            2,
        ),
    ];
    for (name, offer, refusal, verdict) in rows {
        let (mut peer, result) = offer.make();
        match (result, refusal) {
            (Err(Error::Refused(why)), Some(expected)) => assert_eq!(why, expected, "{name}"),
            (Err(Error::Misbehaved(_)), None) => {}
            (result, _) => panic!("{name}: {result:?}"),
        }
        let mut answer = Vec::new();
        peer.socket.read_to_end(&mut answer).unwrap();
        match verdict {
            0 => assert!(answer.is_empty(), "{name}: {answer:?}"),
            verdict => assert_eq!(answer, [0xD7, b'S', b'H', b'M', 1, verdict, 0, 0], "{name}"),
        }
    }
    assert!(good().make().1.is_ok());
}

/// Huge pages that are not there would be a SIGBUS.
#[test]
fn huge_pages() {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::HUGETLB;
    let Ok(memory) = memfd_create("hostile", flags) else {
        return;
    };
    fcntl_add_seals(&memory, SEALS).unwrap();
    let offer = Offer::default();
    let (socket, server) = UnixStream::pair().unwrap();
    let (line, _theirs) = UnixStream::pair().unwrap();
    let fds = [memory.as_fd(), line.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    let bytes = [IoSlice::new(&offer.bytes)];
    sendmsg(&socket, &bytes, &mut control, SendFlags::empty()).unwrap();
    let result = Handshake::accept(server, &SMALL).finish(soon());
    assert!(matches!(result, Err(Error::Misbehaved(_))), "{result:?}");
}

/// Numbers without rhythm: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32 % limit
    }
}

/// The places of the numbers that steer a connection: positions, whether they are over, sleeps,
/// bells, returns.
const PLACES: [usize; 11] = [128, 132, 256, 260, 384, 512, 640, 768, 896, 900, 904];

/// One thing that breaks the rules, or nearly does not.
fn scribble(peer: &Peer, random: &mut Random, tail: &mut u32) {
    let anything = random.below(u32::MAX);
    match random.below(8) {
        // A tail that grows as it may, and headers that are sometimes right.
        0..=3 => {
            let at = 4096 + (*tail % 4096) as usize;
            peer.write(at, random.below(40));
            peer.write(at + 4, random.below(4) * random.below(2));
            *tail = tail.wrapping_add(8 * (1 + random.below(6)));
            peer.write(128, *tail);
        }
        4 => peer.write(PLACES[random.below(11) as usize], random.below(9)),
        5 => peer.write(PLACES[random.below(11) as usize], anything),
        6 => peer.write(256, 8 * random.below(600)),
        _ => peer.write(4 * random.below(4096) as usize, anything),
    }
}

/// Uses the connection meanwhile; each step ends soon, and well or with a typed error.
fn use_it(connection: &mut Connection, random: &mut Random) -> Result<(), Error> {
    let mut buffer = [0; 500];
    let start = Instant::now();
    let soon = Some(start + Duration::from_micros(u64::from(random.below(300))));
    let result = match random.below(8) {
        0 => connection.receiver.try_read(&mut buffer).map(drop),
        1 => connection.receiver.read(&mut buffer, soon).map(drop),
        2 => connection.receiver.arm().map(drop),
        3 => connection.sender.arm().map(drop),
        4 => connection
            .sender
            .write_all(&[&buffer[..], &buffer[..300]], soon),
        5 => connection.sender.try_write(&[&buffer]).map(drop),
        6 => match connection.sender.try_chunk() {
            Some(chunk) => connection.sender.try_send(chunk, 10).map(drop),
            None => Ok(()),
        },
        _ => match connection.receiver.try_receive(&mut buffer) {
            Ok(Received::Chunk(chunk)) => {
                assert!(chunk.len() <= 4096);
                assert_eq!(chunk.to_vec().len(), chunk.len());
                Ok(())
            }
            result => result.map(drop),
        },
    };
    assert!(start.elapsed() < Duration::from_secs(5));
    connection.receiver.disarm();
    connection.sender.disarm();
    match result {
        Ok(()) | Err(Error::WouldBlock | Error::TimedOut | Error::Closed) => Ok(()),
        Err(e) => Err(e),
    }
}

/// Scribbles from another thread while the connection is used, again and again from the start.
#[test]
fn scribbling() {
    let mut misbehaved = 0;
    for round in 0..400 {
        let (peer, connection) = Offer::default().make();
        let mut connection = connection.unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut random, mut tail) = (Random(round * 2 + 1), 0);
                while !done.load(Ordering::Relaxed) {
                    scribble(&peer, &mut random, &mut tail);
                }
            });
            let mut random = Random(round * 2 + 2);
            for _ in 0..200 {
                match use_it(&mut connection, &mut random) {
                    Ok(()) => {}
                    // One direction may be broken, and the other one go on.
                    Err(Error::Misbehaved(_)) => misbehaved += 1,
                    Err(e) => panic!("{e:?}"),
                }
            }
            done.store(true, Ordering::Relaxed);
        });
    }
    assert!(misbehaved > 0);
}

/// Scribbles without a second thread: a step of the one, a step of the other, always in the same
/// order.
#[test]
fn scribbling_step_by_step() {
    for round in 0..2000 {
        let (peer, connection) = Offer::default().make();
        let mut connection = connection.unwrap();
        let (mut random, mut tail) = (Random(round + 1), 0);
        for _ in 0..60 {
            scribble(&peer, &mut random, &mut tail);
            match use_it(&mut connection, &mut random) {
                Ok(()) => {}
                Err(Error::Misbehaved(_)) => break,
                Err(e) => panic!("{e:?}"),
            }
        }
    }
}

/// Nobody can write what this end sends, through the descriptor that it passes.
#[test]
fn our_segment_is_ours() {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    let (socket, client) = UnixStream::pair().unwrap();
    let _handshake = Handshake::connect(client, &Settings::default()).unwrap();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [0; 8];
    let mut parts = [std::io::IoSliceMut::new(&mut bytes)];
    recvmsg(&socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC).unwrap();
    let Some(RecvAncillaryMessage::ScmRights(mut fds)) = control.drain().next() else {
        panic!("an offer has descriptors");
    };
    let memory = fds.next().unwrap();
    assert!(MmapOptions::new().len(4096).map_raw(&memory).is_err());
    assert!(rustix::io::write(&memory, b"x").is_err());
    assert!(ftruncate(&memory, 0).is_err());
    assert!(
        MmapOptions::new()
            .len(4096)
            .map_raw_read_only(&memory)
            .is_ok()
    );
}

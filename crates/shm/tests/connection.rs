//! Connections whose two ends follow the rules.
#![cfg(all(target_os = "linux", not(loom)))]
#![allow(clippy::unwrap_used)]

mod support;

use dovetail_shm::{Chunk, Error, Received, Receiver, Sender};
use proptest::prelude::*;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::io;
use std::thread;
use std::time::{Duration, Instant};
use support::{SMALL, pair, soon};

/// A step of a sender and its receiver.
#[derive(Clone, Debug)]
enum Step {
    /// Sends slices of these lengths.
    Write(Vec<usize>),
    /// Sends a chunk with so many bytes.
    SendChunk(usize),
    /// Receives into a buffer of this length.
    Read(usize),
    /// Receives either bytes or a chunk, and keeps the chunk.
    Receive(usize),
    /// Gives the oldest chunk back that was kept.
    Return,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let lengths = || prop_oneof![1usize..20, 1000usize..6000];
    let step = prop_oneof![
        4 => prop::collection::vec(lengths(), 0..4).prop_map(Step::Write),
        2 => (1usize..=4096).prop_map(Step::SendChunk),
        4 => lengths().prop_map(Step::Read),
        2 => lengths().prop_map(Step::Receive),
        1 => Just(Step::Return),
    ];
    prop::collection::vec(step, 1..200)
}

/// The bytes that are sent: their place in the stream, modulo a prime.
fn pattern(start: usize, length: usize) -> Vec<u8> {
    (start..start + length).map(|at| (at % 251) as u8).collect()
}

/// A queue beside the connection, with what it must deliver.
struct Model {
    sender: Sender,
    receiver: Receiver,
    queue: VecDeque<u8>,
    sent: usize,
    kept: VecDeque<(Chunk, Vec<u8>)>,
}

impl Model {
    fn sent(&mut self, bytes: &[u8]) {
        self.queue.extend(bytes);
        self.sent += bytes.len();
    }

    fn received(&mut self, bytes: &[u8]) {
        let expected: Vec<u8> = self.queue.drain(..bytes.len()).collect();
        assert!(bytes == expected, "{} bytes differ", bytes.len());
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Write(lengths) => {
                let bytes = pattern(self.sent, lengths.iter().sum());
                let mut rest = &bytes[..];
                let slices: Vec<&[u8]> = lengths
                    .iter()
                    .map(|length| rest.split_off(..*length).unwrap())
                    .collect();
                match self.sender.try_write(&slices) {
                    Ok(written) => self.sent(&bytes[..written]),
                    Err(Error::WouldBlock) => assert!(!self.queue.is_empty()),
                    Err(e) => panic!("{e}"),
                }
            }
            Step::SendChunk(length) => {
                let Some(mut chunk) = self.sender.try_chunk() else {
                    return;
                };
                let bytes = pattern(self.sent, length);
                chunk[..length].copy_from_slice(&bytes);
                match self.sender.try_send(chunk, length).unwrap() {
                    None => self.sent(&bytes),
                    Some(_) => assert!(!self.queue.is_empty()),
                }
            }
            Step::Read(length) => {
                let mut buffer = vec![0; length];
                match self.receiver.try_read(&mut buffer) {
                    // All that there is, up to the length.
                    Ok(count) => {
                        assert_eq!(count, length.min(self.queue.len()));
                        self.received(&buffer[..count]);
                    }
                    Err(Error::WouldBlock) => assert!(self.queue.is_empty()),
                    Err(e) => panic!("{e}"),
                }
            }
            Step::Receive(length) => {
                let mut buffer = vec![0; length];
                match self.receiver.try_receive(&mut buffer) {
                    Ok(Received::Bytes(count)) => {
                        assert_ne!(count, 0);
                        self.received(&buffer[..count]);
                    }
                    Ok(Received::Chunk(chunk)) => {
                        let bytes = chunk.to_vec();
                        self.received(&bytes);
                        self.kept.push_back((chunk, bytes));
                    }
                    Err(Error::WouldBlock) => assert!(self.queue.is_empty()),
                    Err(e) => panic!("{e}"),
                }
            }
            Step::Return => {
                if let Some((chunk, bytes)) = self.kept.pop_front() {
                    assert_eq!(chunk.to_vec(), bytes, "written while it was kept");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_connection_is_a_queue(steps in steps()) {
        let (ours, theirs) = pair(&SMALL);
        let mut model = Model {
            sender: ours.sender,
            receiver: theirs.receiver,
            queue: VecDeque::new(),
            sent: 0,
            kept: VecDeque::new(),
        };
        for step in steps {
            model.run(step);
        }
        drop(model.sender);
        let mut rest = Vec::new();
        let mut buffer = [0; 999];
        loop {
            match model.receiver.try_read(&mut buffer).unwrap() {
                0 => break,
                count => rest.extend_from_slice(&buffer[..count]),
            }
        }
        prop_assert_eq!(rest, Vec::from(model.queue));
    }
}

/// Two threads, each way at once, far more than fits.
#[test]
fn transfers_in_both_directions() {
    const TOTAL: usize = 3_000_000;
    let (ours, theirs) = pair(&SMALL);
    let send = |mut sender: Sender| {
        let bytes = pattern(0, TOTAL);
        for piece in bytes.chunks(70_001) {
            sender.write_all(&[piece], Some(soon())).unwrap();
        }
    };
    let receive = |mut receiver: Receiver| {
        let (mut all, mut buffer) = (Vec::new(), [0; 10_007]);
        loop {
            match receiver.read(&mut buffer, Some(soon())).unwrap() {
                0 => break,
                count => all.extend_from_slice(&buffer[..count]),
            }
        }
        assert!(all == pattern(0, TOTAL));
    };
    thread::scope(|scope| {
        scope.spawn(|| send(ours.sender));
        scope.spawn(|| send(theirs.sender));
        scope.spawn(|| receive(ours.receiver));
        receive(theirs.receiver);
    });
}

#[test]
fn chunks_run_out_and_come_back() {
    let (mut ours, mut theirs) = pair(&SMALL);
    let mut sent = 0;
    while let Some(chunk) = ours.sender.try_chunk() {
        assert!(ours.sender.try_send(chunk, 100).unwrap().is_none());
        sent += 1;
    }
    assert_eq!(sent, SMALL.chunks);
    let received = theirs.receiver.try_receive(&mut [0; 10]).unwrap();
    assert!(
        ours.sender.try_chunk().is_none(),
        "the receiver has it still"
    );
    drop(received);
    let first = ours.sender.try_chunk().unwrap();
    assert!(ours.sender.try_chunk().is_none(), "we have it");
    drop(first);
    assert!(ours.sender.try_chunk().is_some());
}

#[test]
fn chunks_that_make_no_sense() {
    let (mut ours, mut theirs) = pair(&SMALL);
    for length in [0, 4097] {
        let chunk = ours.sender.try_chunk().unwrap();
        let result = ours.sender.try_send(chunk, length);
        assert!(matches!(result, Err(Error::Invalid(_))), "{result:?}");
    }
    let chunk = ours.sender.try_chunk().unwrap();
    let result = theirs.sender.try_send(chunk, 1);
    assert!(matches!(result, Err(Error::Invalid(_))), "{result:?}");
}

#[test]
fn ends() {
    let (mut ours, mut theirs) = pair(&SMALL);
    ours.sender.try_write(&[b"last words"]).unwrap();
    ours.shutdown().send();
    assert!(matches!(ours.sender.try_write(&[b"x"]), Err(Error::Closed)));
    let mut buffer = [0; 100];
    assert_eq!(theirs.receiver.read(&mut buffer, None).unwrap(), 10);
    assert_eq!(theirs.receiver.read(&mut buffer, None).unwrap(), 0);
    assert_eq!(theirs.receiver.read(&mut buffer, None).unwrap(), 0);
    // The other direction goes on, until its receiver does not.
    theirs.sender.try_write(&[b"and yet"]).unwrap();
    assert_eq!(ours.receiver.read(&mut buffer, None).unwrap(), 7);
    drop(ours.receiver);
    let all = theirs.sender.write_all(&[&[0; 10_000]], Some(soon()));
    assert!(matches!(all, Err(Error::Closed)), "{all:?}");
}

/// The peer lets go of everything: what it had sent and ended can be read; a connection that it did
/// not end is lost.
#[test]
fn a_peer_that_lets_go() {
    let (mut ours, theirs) = pair(&SMALL);
    drop(theirs);
    assert_eq!(ours.receiver.read(&mut [0; 10], None).unwrap(), 0);
    let error = ours.sender.write_all(&[&[0; 10_000]], None).unwrap_err();
    let error = io::Error::from(error);
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn deadlines() {
    let (mut ours, _theirs) = pair(&SMALL);
    // Shorter and longer than the time after which a wait moves to the line.
    for wait in [0, 3, 30].map(Duration::from_millis) {
        let start = Instant::now();
        let read = ours.receiver.read(&mut [0; 10], Some(start + wait));
        assert!(matches!(read, Err(Error::TimedOut)), "{read:?}");
        assert!(start.elapsed() >= wait);
    }
    let until = Instant::now() + Duration::from_millis(30);
    let write = ours.sender.write_all(&[&[0; 10_000]], Some(until));
    assert!(matches!(write, Err(Error::TimedOut)), "{write:?}");
}

/// From another thread, while one waits; soon after it has begun, and long after.
#[test]
fn shutdowns_wake() {
    for after in [0, 1, 30].map(Duration::from_millis) {
        let (mut ours, _theirs) = pair(&SMALL);
        let shutdown = ours.shutdown();
        thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(ours.receiver.read(&mut [0; 10], None).unwrap(), 0);
            });
            scope.spawn(|| {
                let write = ours.sender.write_all(&[&[0; 10_000]], None);
                assert!(matches!(write, Err(Error::Closed)), "{write:?}");
            });
            thread::sleep(after);
            shutdown.recv();
            shutdown.send();
        });
    }
}

/// A reader may stop after any record: a sender that waits has the room of that one.
#[test]
fn a_sender_has_any_room_that_a_reader_leaves() {
    const RECORD: [u8; 1000] = [7; 1000];
    let is_woken = |sender: &Sender| {
        let mut fds = [PollFd::new(sender, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).unwrap() > 0
    };
    let reads: [fn(&mut Receiver, &mut [u8]); 2] = [
        |receiver, buffer| assert!(receiver.try_read(buffer).is_ok()),
        |receiver, buffer| assert!(receiver.try_receive(buffer).is_ok()),
    ];
    for read in reads {
        let (mut ours, mut theirs) = pair(&SMALL);
        // The last leaves no room for another header.
        for record in [&RECORD[..], &RECORD, &RECORD, &[7; 1060]] {
            assert_eq!(ours.sender.try_write(&[record]).unwrap(), record.len());
        }
        assert!(ours.sender.arm().unwrap());
        assert!(!is_woken(&ours.sender));
        read(&mut theirs.receiver, &mut [0; RECORD.len()]);
        assert!(is_woken(&ours.sender));
        ours.sender.disarm();
        assert_eq!(ours.sender.try_write(&[&RECORD]).unwrap(), RECORD.len());
    }
}

/// A wait that has moved to the line is woken there.
#[test]
fn wake_ups_after_a_long_wait() {
    let (mut ours, mut theirs) = pair(&SMALL);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..5 {
                thread::sleep(Duration::from_millis(25));
                ours.sender.try_write(&[b"x"]).unwrap();
            }
        });
        for _ in 0..5 {
            let read = theirs.receiver.read(&mut [0; 10], Some(soon()));
            assert_eq!(read.unwrap(), 1);
        }
    });
}

#[test]
fn credentials() {
    let (ours, _theirs) = pair(&SMALL);
    assert_eq!(ours.peer.pid, Some(std::process::id()));
    assert_eq!(ours.peer.uid, rustix::process::geteuid().as_raw());
    assert_eq!(ours.peer.gid, rustix::process::getegid().as_raw());
}

//! The algorithms under loom, which runs each model in every order in which two threads can see
//! each other's steps. A thread that loom finds waiting for ever is a lost wake-up; a cell of
//! memory that is written while another thread may look at it is a chunk, or a place in the ring,
//! given back too early.
#![allow(unsafe_code)]

use crate::error::Error;
use crate::place::Place;
use crate::pool::Pool;
use crate::ring::{Bounds, Consumer, Parts, Producer, Record, Sink, Source};
use crate::wake::{self, Bed, Bell, Ringer, Sleep, Sleeper};
use crate::word::Word;
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// Eight bytes of memory each, whose every access loom checks.
struct Memory(Vec<UnsafeCell<[u8; 8]>>);

// SAFETY: it is loom's to find out whether its cells are used by one thread at a time.
unsafe impl Sync for Memory {}

impl Memory {
    fn new(words: usize) -> Self {
        Memory((0..words).map(|_| UnsafeCell::default()).collect())
    }

    fn write(&self, at: u32, bytes: &[u8]) {
        for (offset, byte) in bytes.iter().enumerate() {
            let at = at as usize + offset;
            // SAFETY: loom has checked that nobody else is in the cell.
            self.0[at / 8].with_mut(|cell| unsafe { (*cell)[at % 8] = *byte });
        }
    }

    fn read(&self, at: u32, into: &mut [u8]) {
        for (offset, byte) in into.iter_mut().enumerate() {
            let at = at as usize + offset;
            // SAFETY: loom has checked that nobody writes the cell.
            *byte = self.0[at / 8].with(|cell| unsafe { (*cell)[at % 8] });
        }
    }
}

impl Sink for &Memory {
    fn write(&mut self, at: u32, bytes: &[u8]) {
        Memory::write(self, at, bytes);
    }
}

impl Source for &Memory {
    fn read(&self, at: u32, count: usize, into: &mut Place<'_>) {
        let mut bytes = vec![0; count];
        Memory::read(self, at, &mut bytes);
        into.put(&bytes);
    }
}

/// The state that two ends share.
struct Shared {
    ring: Memory,
    chunks: Memory,
    tail: Word,
    head: Word,
    returned: [Word; 1],
    receiver: Waiter,
    sender: Waiter,
}

/// How one side of the ring waits.
#[derive(Default)]
struct Waiter {
    sleep: Word,
    bell: Word,
    kernel: Kernel,
}

impl Waiter {
    fn impatient(impatient: bool) -> Self {
        let kernel = Kernel {
            impatient,
            ..Kernel::default()
        };
        Waiter {
            kernel,
            ..Waiter::default()
        }
    }

    fn wait(&self, sleeper: &mut Sleeper, is_there: impl FnMut() -> Result<bool, Error>) {
        wake::wait(sleeper, &self.sleep, &self.bell, &self.kernel, is_there).unwrap();
    }

    fn ring(&self, ringer: &Ringer) {
        ringer.ring(&self.sleep, &self.bell, &self.kernel);
    }
}

impl Shared {
    fn new(impatient: bool) -> Arc<Self> {
        Arc::new(Shared {
            ring: Memory::new(RING),
            chunks: Memory::new(1),
            tail: Word::default(),
            head: Word::default(),
            returned: Default::default(),
            receiver: Waiter::impatient(impatient),
            sender: Waiter::impatient(impatient),
        })
    }
}

/// The kernel's part: its futex compares and sleeps under one lock, its line counts.
#[derive(Default)]
struct Kernel {
    lock: Mutex<u32>,
    changed: Condvar,
    /// The futex times out at once.
    impatient: bool,
}

impl Bell for Kernel {
    fn wake(&self, _: &Word) {
        let _lock = self.lock.lock().unwrap();
        self.changed.notify_all();
    }

    fn signal(&self) {
        *self.lock.lock().unwrap() += 1;
        self.changed.notify_all();
    }
}

impl Bed for Kernel {
    type End = Error;

    fn on_futex(&self, bell: &Word, seen: u32) -> bool {
        let lock = self.lock.lock().unwrap();
        if self.impatient {
            return false;
        }
        if bell.observe() == seen {
            // As with a futex, one wake-up is enough to return.
            drop(self.changed.wait(lock).unwrap());
        }
        true
    }

    fn on_line(&self) -> Result<(), Error> {
        let mut lock = self.lock.lock().unwrap();
        while *lock == 0 {
            lock = self.changed.wait(lock).unwrap();
        }
        *lock = 0;
        Ok(())
    }
}

/// Runs in every order that has up to three preemptions, which takes seconds; without that bound it
/// takes hours. `LOOM_MAX_PREEMPTIONS` sets another one.
fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(body);
}

/// Words of the ring: two records of up to 8 bytes.
const RING: usize = 4;

const BOUNDS: Bounds = Bounds {
    ring: 8 * RING as u32,
    chunk: 8,
    chunks: 1,
};

/// Messages of a byte each, through a ring that does not hold all: each side waits for the other.
fn check_waiting(impatient: bool) {
    const MESSAGES: u8 = 3;
    model(move || {
        let shared = Shared::new(impatient);
        let there = shared.clone();
        let thread = thread::spawn(move || {
            let (mut sleeper, ringer) = (Sleeper::default(), Ringer::default());
            let mut consumer = Consumer::new(BOUNDS);
            for message in 0..MESSAGES {
                let is_there = || consumer.has_record(&there.tail);
                there.receiver.wait(&mut sleeper, is_there);
                let mut byte = [0];
                let next = consumer.next(&&there.ring, &there.tail, &there.head);
                assert_eq!(next.unwrap(), Some(Record::Inline(1)));
                let place = &mut Place::from(&mut byte[..]);
                let taken = consumer.take(&&there.ring, place, &there.head);
                assert_eq!((taken, byte), (1, [message]));
                if consumer.makes_room() {
                    there.sender.ring(&ringer);
                }
            }
        });
        let (mut sleeper, ringer) = (Sleeper::default(), Ringer::default());
        let mut producer = Producer::new(BOUNDS.ring);
        for message in 0..MESSAGES {
            let has_room = || producer.has_room(&shared.head);
            shared.sender.wait(&mut sleeper, has_room);
            let bytes: &[&[u8]] = &[&[message]];
            let (parts, mut ring) = (&mut Parts::new(bytes), &shared.ring);
            let written = producer.write(parts, &mut ring, &shared.head, &shared.tail);
            assert!(written.unwrap());
            shared.receiver.ring(&ringer);
        }
        thread.join().unwrap();
    });
}

#[test]
fn no_wake_up_by_futex_is_lost() {
    check_waiting(false);
}

#[test]
fn no_wake_up_by_the_line_is_lost() {
    check_waiting(true);
}

/// An event loop: it arms, looks, and is woken by the line.
#[test]
fn no_wake_up_of_an_event_loop_is_lost() {
    model(|| {
        let shared = Shared::new(false);
        let there = shared.clone();
        let thread = thread::spawn(move || {
            let (mut sleeper, waiter) = (Sleeper::default(), &there.receiver);
            for wanted in 1..=2 {
                while there.tail.observe() < wanted {
                    sleeper.begin(&waiter.sleep, Sleep::Line);
                    if there.tail.observe() < wanted {
                        waiter.kernel.on_line().unwrap();
                    }
                    sleeper.end(&waiter.sleep);
                }
            }
        });
        let ringer = Ringer::default();
        for step in 1..=2 {
            shared.tail.publish(step);
            shared.receiver.ring(&ringer);
        }
        thread.join().unwrap();
    });
}

/// Two threads of the peer that publish at once ring once for a sleep, and that is enough.
#[test]
fn two_ringers() {
    model(|| {
        let shared = Shared::new(false);
        let ringer = Arc::new(Ringer::default());
        let threads = [0; 2].map(|_| {
            let (shared, ringer) = (shared.clone(), ringer.clone());
            thread::spawn(move || {
                shared.tail.increment();
                shared.receiver.ring(&ringer);
            })
        });
        let is_there = || Ok(shared.tail.observe() == 2);
        shared.receiver.wait(&mut Sleeper::default(), is_there);
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
}

/// One chunk, sent twice: it is not written while the receiver has it, and comes back exactly once.
#[test]
fn a_chunk_is_given_back_after_it_was_read() {
    const RECORD: Record = Record::Chunk {
        index: 0,
        length: 1,
    };
    model(|| {
        let shared = Shared::new(false);
        let there = shared.clone();
        let thread = thread::spawn(move || {
            let mut consumer = Consumer::new(BOUNDS);
            for message in 0..2 {
                let record = loop {
                    match consumer.next(&&there.ring, &there.tail, &there.head) {
                        Ok(None) => thread::yield_now(),
                        record => break record.unwrap(),
                    }
                };
                let mut byte = [0];
                there.chunks.read(0, &mut byte);
                assert_eq!((record, byte), (Some(RECORD), [message]));
                there.returned[0].increment();
            }
        });
        let (mut producer, mut pool) = (Producer::new(BOUNDS.ring), Pool::new(1));
        for message in 0..2 {
            while pool.free(&shared.returned).next().is_none() {
                thread::yield_now();
            }
            shared.chunks.write(0, &[message]);
            let mut ring = &shared.ring;
            let written = producer.write_chunk(RECORD, &mut ring, &shared.head, &shared.tail);
            assert!(written.unwrap());
            pool.sent(0);
        }
        thread.join().unwrap();
        assert_eq!(pool.free(&shared.returned).next(), Some(0));
    });
}

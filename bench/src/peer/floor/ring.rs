//! A ring of bytes in memory that two processes share: one writes, the other one reads.

#![allow(unsafe_code)]

use memmap2::MmapRaw;
use rustix::fs::Timespec;
use rustix::io::Errno;
use rustix::thread::futex;
use std::io;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A direction of a connection.
pub(super) struct Ring {
    memory: Arc<MmapRaw>,
    /// The place in the memory where it begins.
    start: usize,
}

/// A power of two, so that counters may wrap.
const CAPACITY: usize = 1 << 20;
/// Bytes that are passed on at once: while one process reads them, the other one writes the next
/// piece.
const PIECE: usize = 64 << 10;
/// Counters have cache lines of their own, before the bytes.
const HEADER: usize = 4 << 10;
/// Bytes of a ring.
const SIZE: usize = HEADER + CAPACITY;
/// Bytes of two rings.
pub(super) const BOTH: usize = 2 * SIZE;

/// How many bytes have ever been written or read, modulo 2³², and whether somebody sleeps until
/// that changes.
struct Counter<'a> {
    count: &'a AtomicU32,
    sleeper: &'a AtomicU32,
}

impl Ring {
    /// The two rings of a connection, if the memory has room for them.
    pub(super) fn pair(memory: MmapRaw) -> io::Result<[Ring; 2]> {
        if memory.len() < BOTH {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let memory = Arc::new(memory);
        Ok([0, SIZE].map(|start| Ring {
            memory: memory.clone(),
            start,
        }))
    }

    /// Takes what is there, as much as fits into the buffer.
    pub(super) fn read(&self, buffer: &mut [u8]) -> usize {
        let (read, there) = (self.read_by_now().get(), self.filled());
        let count = there.min(buffer.len()).min(PIECE);
        let (first, rest) = buffer[..count].split_at_mut(self.before_the_end(read, count));
        for (part, at) in [(first, place(read)), (rest, 0)] {
            // SAFETY: `place` is below CAPACITY and the part ends before it, so the source is in
            // the mapping, as `pair` checked. The other process leaves alone what has been written
            // and not yet read.
            unsafe { ptr::copy_nonoverlapping(self.bytes().add(at), part.as_mut_ptr(), part.len()) }
        }
        self.read_by_now().advance(count);
        count
    }

    /// Adds as many bytes as there is room for.
    pub(super) fn write(&self, bytes: &[u8]) -> usize {
        let (written, room) = (self.written_by_now().get(), CAPACITY - self.filled());
        let count = room.min(bytes.len()).min(PIECE);
        let (first, rest) = bytes[..count].split_at(self.before_the_end(written, count));
        for (part, at) in [(first, place(written)), (rest, 0)] {
            // SAFETY: as in `read`; the other process leaves alone what has been read and not yet
            // written.
            unsafe { ptr::copy_nonoverlapping(part.as_ptr(), self.bytes().add(at), part.len()) }
        }
        self.written_by_now().advance(count);
        count
    }

    /// Sleeps in the kernel until there may be something to read, at most a second.
    pub(super) fn wait_for_bytes(&self) -> io::Result<()> {
        self.written_by_now().wait(self.read_by_now().get())
    }

    /// Sleeps in the kernel until there may be room, at most a second.
    pub(super) fn wait_for_room(&self) -> io::Result<()> {
        let full = self.written_by_now().get().wrapping_sub(CAPACITY as u32);
        self.read_by_now().wait(full)
    }

    /// Bytes that have been written and not yet read; never more than there can be, whatever the
    /// other process says.
    fn filled(&self) -> usize {
        let (written, read) = (self.written_by_now().get(), self.read_by_now().get());
        (written.wrapping_sub(read) as usize).min(CAPACITY)
    }

    /// How many of so many bytes come before the end of the ring.
    fn before_the_end(&self, counter: u32, count: usize) -> usize {
        count.min(CAPACITY - place(counter))
    }

    fn written_by_now(&self) -> Counter<'_> {
        Counter {
            count: self.word(0),
            sleeper: self.word(64),
        }
    }

    fn read_by_now(&self) -> Counter<'_> {
        Counter {
            count: self.word(128),
            sleeper: self.word(192),
        }
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: a mapping begins with a page, of which start and offset are multiples of 64; the
        // word lies in the header, and both processes use it as an atomic only.
        unsafe { AtomicU32::from_ptr(self.memory.as_mut_ptr().add(self.start + offset).cast()) }
    }

    fn bytes(&self) -> *mut u8 {
        // SAFETY: `pair` checked that the mapping has both rings whole.
        unsafe { self.memory.as_mut_ptr().add(self.start + HEADER) }
    }
}

fn place(counter: u32) -> usize {
    counter as usize % CAPACITY
}

impl Counter<'_> {
    fn get(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }

    /// Only one process does so: the writer or the reader.
    fn advance(&self, bytes: usize) {
        let next = self.get().wrapping_add(bytes as u32);
        // Both in one order for all, or else the sleeper could miss the bytes and this the sleeper.
        self.count.store(next, Ordering::SeqCst);
        if self.sleeper.load(Ordering::SeqCst) != 0 {
            // A waker that fails, fails again: the sleeper wakes up by itself in time.
            let _ = futex::wake(self.count, futex::Flags::empty(), 1);
        }
    }

    /// Waits while the counter has this value.
    fn wait(&self, value: u32) -> io::Result<()> {
        let second = Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        self.sleeper.store(1, Ordering::SeqCst);
        let waited = futex::wait(self.count, futex::Flags::empty(), value, Some(&second));
        self.sleeper.store(0, Ordering::SeqCst);
        match waited {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memmap2::MmapMut;

    #[test]
    fn bytes_come_out_in_order_also_over_the_end() {
        let memory = MmapMut::map_anon(BOTH).unwrap_or_else(|e| panic!("{e}"));
        let [ring, other] = Ring::pair(memory.into()).unwrap_or_else(|e| panic!("{e}"));
        // Three times around, in pieces that do not divide it.
        let sent: Vec<u8> = (0..3 * CAPACITY + 17).map(|i| (i % 251) as u8).collect();
        let (mut written, mut received) = (0, Vec::new());
        let mut buffer = [0; 40_001];
        while received.len() < sent.len() {
            written += ring.write(&sent[written..]);
            let count = ring.read(&mut buffer);
            received.extend_from_slice(&buffer[..count]);
        }
        assert!(received == sent);
        assert_eq!(ring.read(&mut buffer), 0);
        assert_eq!(other.read(&mut buffer), 0);
    }

    #[test]
    fn a_full_ring_takes_nothing() {
        let memory = MmapMut::map_anon(BOTH).unwrap_or_else(|e| panic!("{e}"));
        let [ring, _] = Ring::pair(memory.into()).unwrap_or_else(|e| panic!("{e}"));
        let mut written = 0;
        while let count @ 1.. = ring.write(&[7; PIECE]) {
            written += count;
        }
        assert_eq!(written, CAPACITY);
    }

    #[test]
    fn memory_that_is_too_small_is_refused() {
        let memory = MmapMut::map_anon(BOTH - 1).unwrap_or_else(|e| panic!("{e}"));
        assert!(Ring::pair(memory.into()).is_err());
    }
}

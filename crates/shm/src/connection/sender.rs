//! The outgoing direction.

use super::{Broken, End, remember};
use crate::error::Error;
use crate::line::Wait;
use crate::pool::Pool;
use crate::ring::{Parts, Producer, Record};
use crate::segment::{ChunkMut, OutputRing};
use crate::wake::{self, Sleep, Sleeper};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Instant;

/// The outgoing direction.
#[derive(Debug)]
pub struct Sender {
    pub(super) end: Arc<End>,
    ring: OutputRing,
    producer: Producer,
    pool: Pool,
    sleeper: Sleeper,
    broken: Broken,
}

/// So often a sender looks for room before it has to wait: together a few microseconds, in which a
/// peer that is awake takes out a record.
const LOOKS: u32 = 100;

impl Sender {
    pub(super) fn new(end: Arc<End>, ring: OutputRing) -> Self {
        let own = end.own.bounds();
        Sender {
            end,
            ring,
            producer: Producer::new(own.ring),
            pool: Pool::new(own.chunks),
            sleeper: Sleeper::default(),
            broken: None,
        }
    }

    /// Sends what there is room for, as one run of bytes, and says how many bytes these were: at
    /// least one of them, or `WouldBlock`.
    pub fn try_write(&mut self, slices: &[&[u8]]) -> Result<usize, Error> {
        self.write(&mut Parts::new(slices))
    }

    /// Sends all bytes, waiting for room until the deadline; `None` waits for ever.
    pub fn write_all(&mut self, slices: &[&[u8]], deadline: Option<Instant>) -> Result<(), Error> {
        let mut parts = Parts::new(slices);
        while parts.left() > 0 {
            match self.write(&mut parts) {
                Err(Error::WouldBlock) => self.wait(deadline)?,
                result => drop(result?),
            }
        }
        Ok(())
    }

    fn write(&mut self, parts: &mut Parts<'_>) -> Result<usize, Error> {
        self.check()?;
        let all = parts.left();
        while parts.left() > 0 {
            let (own, peer) = (self.end.own.words(), self.end.peer.words());
            let (ring, head) = (&mut self.ring, &peer.head.position);
            let written = self.producer.write(parts, ring, head, &own.tail.position);
            if !remember(&mut self.broken, written)? && !self.has_room_soon()? {
                break;
            }
        }
        match all - parts.left() {
            0 if all > 0 => Err(self.no_room()),
            written => {
                // Once for all records: a peer that sleeps would take out the first one, and sleep
                // again.
                self.end.ring_receiver();
                self.wake_up();
                Ok(written)
            }
        }
    }

    /// A chunk to write a large payload into, for [`try_send`](Self::try_send). `None` where the
    /// peer has all of them: then write the bytes.
    pub fn try_chunk(&mut self) -> Option<ChunkMut> {
        let returned = &self.end.peer.words().returned;
        self.pool
            .free(returned)
            .find_map(|index| self.end.own.lend(index))
    }

    /// Sends the first `length` bytes of a chunk, which come behind everything that was sent
    /// before. Where there is no room for the record that says so, the chunk comes back: wait, then
    /// try again.
    pub fn try_send(&mut self, chunk: ChunkMut, length: usize) -> Result<Option<ChunkMut>, Error> {
        self.check()?;
        if !chunk.is_of(&self.end.own) {
            return Err(Error::Invalid("the chunk belongs to another connection"));
        }
        if length == 0 || length > chunk.len() {
            return Err(Error::Invalid(
                "a chunk is sent with a byte at least, and no more than it has",
            ));
        }
        let (own, peer) = (self.end.own.words(), self.end.peer.words());
        let written = self.producer.write_chunk(
            Record::Chunk {
                index: chunk.index(),
                length: length as u32,
            },
            &mut self.ring,
            &peer.head.position,
            &own.tail.position,
        );
        if !remember(&mut self.broken, written)? {
            return match self.no_room() {
                Error::WouldBlock => Ok(Some(chunk)),
                e => Err(e),
            };
        }
        self.pool.sent(chunk.index());
        self.end.ring_receiver();
        self.wake_up();
        Ok(None)
    }

    /// Waits until there is room, or another reason to try again; `TimedOut` at the deadline,
    /// `None` waits for ever. It never polls.
    pub fn wait(&mut self, deadline: Option<Instant>) -> Result<(), Error> {
        self.check()?;
        let (end, producer) = (&*self.end, &mut self.producer);
        let (own, peer) = (end.own.words(), end.peer.words());
        let ended = || end.line_ended(&end.sending_over);
        let result = wake::wait(
            &mut self.sleeper,
            &own.sender_sleep,
            &peer.sender_bell,
            &Wait::new(&end.senders, deadline, &ended),
            || can_write(end, producer),
        );
        remember(&mut self.broken, result)
    }

    /// Prepares for an event loop to wait. True where there is no room yet: then the descriptor
    /// becomes readable once it is worth while to try again, and then [`disarm`](Self::disarm)
    /// comes first.
    pub fn arm(&mut self) -> Result<bool, Error> {
        self.check()?;
        let end = &*self.end;
        let sleep = &end.own.words().sender_sleep;
        self.sleeper.begin(sleep, Sleep::Line);
        let can = can_write(end, &mut self.producer);
        if !matches!(can, Ok(false)) {
            self.sleeper.end(sleep);
        }
        Ok(!remember(&mut self.broken, can)?)
    }

    /// Ends what [`arm`](Self::arm) began, and takes the wake-ups off the descriptor.
    pub fn disarm(&mut self) {
        self.wake_up();
        if !self.end.senders.drain() {
            self.end.line_ended(&self.end.sending_over);
        }
    }

    /// Ends sending: the peer receives what was sent, then the end.
    pub fn end(&self) {
        self.end.end_sending();
    }

    fn check(&self) -> Result<(), Error> {
        match self.broken {
            Some(how) => Err(Error::Misbehaved(how)),
            None if self.end.is_sending_over() => Err(Error::Closed),
            None if self.end.is_gone() => Err(Error::PeerGone),
            None => Ok(()),
        }
    }

    /// Why nothing more can be written. Only here it is looked up whether the peer still reads:
    /// that stands beside a number that the peer writes all the time.
    fn no_room(&self) -> Error {
        match self.end.peer.words().head.over.observe() {
            0 => Error::WouldBlock,
            _ => Error::Closed,
        }
    }

    /// Whether room comes at once, since the peer is just taking something out: sooner than a sleep
    /// would be over.
    fn has_room_soon(&mut self) -> Result<bool, Error> {
        self.end.ring_receiver();
        let head = &self.end.peer.words().head.position;
        for _ in 0..LOOKS {
            if remember(&mut self.broken, self.producer.has_room(head))? {
                return Ok(true);
            }
            std::hint::spin_loop();
        }
        Ok(false)
    }

    /// The peer need not wake this end any more.
    fn wake_up(&mut self) {
        self.sleeper.end(&self.end.own.words().sender_sleep);
    }
}

/// Whether a write would not answer `WouldBlock`.
fn can_write(end: &End, producer: &mut Producer) -> Result<bool, Error> {
    let head = &end.peer.words().head;
    Ok(end.is_sending_over()
        || end.is_gone()
        || head.over.observe() != 0
        || producer.has_room(&head.position)?)
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.end.end_sending();
    }
}

impl AsFd for Sender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.end.senders.as_fd()
    }
}

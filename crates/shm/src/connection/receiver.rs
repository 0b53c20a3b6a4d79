//! The incoming direction.

use super::{Broken, Chunk, End, remember};
use crate::error::Error;
use crate::line::Wait;
use crate::place::Place;
use crate::ring::{Consumer, Record};
use crate::wake::{self, Sleep, Sleeper};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Instant;

/// The result of a receive.
#[derive(Debug)]
pub enum Received {
    /// The number of bytes at the beginning of the buffer; 0 means that the peer has sent
    /// everything.
    Bytes(usize),
    /// A chunk of the peer's.
    Chunk(Chunk),
}

/// The incoming direction.
#[derive(Debug)]
pub struct Receiver {
    end: Arc<End>,
    consumer: Consumer,
    /// A chunk that is read as bytes, and how far.
    chunk: Option<(Chunk, usize)>,
    sleeper: Sleeper,
    broken: Broken,
}

impl Receiver {
    pub(super) fn new(end: Arc<End>) -> Self {
        let theirs = end.peer.bounds();
        Receiver {
            end,
            consumer: Consumer::new(theirs),
            chunk: None,
            sleeper: Sleeper::default(),
            broken: None,
        }
    }

    /// Receives what there is, up to the length of the buffer, chunks as the bytes in them: at
    /// least one byte, 0 where the peer has sent everything, or `WouldBlock`.
    pub fn try_read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let mut place = Place::from(buffer);
        self.fill(&mut place)?;
        Ok(place.filled())
    }

    /// Receives into memory that nobody has cleared. Returns the received bytes: the beginning of
    /// that memory, or nothing at the end.
    pub fn try_read_spare<'a>(
        &mut self,
        spare: &'a mut [MaybeUninit<u8>],
    ) -> Result<&'a mut [u8], Error> {
        let mut place = Place::new(spare);
        self.fill(&mut place)?;
        Ok(place.into_filled())
    }

    fn fill(&mut self, place: &mut Place<'_>) -> Result<(), Error> {
        let filled = self.fill_on(place);
        self.stop();
        filled
    }

    fn fill_on(&mut self, place: &mut Place<'_>) -> Result<(), Error> {
        while place.room() > 0 {
            if place.filled() > 0 && !self.is_ready() {
                // Why there is no more is for the next call to find out.
                break;
            }
            if self.read_chunk(place).is_some() {
                continue;
            }
            match self.next() {
                Ok(None) => break,
                Ok(Some(Record::Inline(_))) => {
                    self.take(place);
                }
                Ok(Some(Record::Chunk { index, length })) => {
                    self.chunk = Some((self.take_chunk(index, length), 0));
                }
                // Bytes that came before the error are returned first.
                Err(_) if place.filled() > 0 => break,
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// One look: false where [`try_read`](Self::try_read) would answer `WouldBlock`. For whoever
    /// polls.
    pub fn is_ready(&mut self) -> bool {
        // The peer writes the tail and the record: so they come from its cache at the same time,
        // not in turn.
        self.end.peer.expect(self.consumer.position());
        self.chunk.is_some() || !matches!(can_read(&self.end, &mut self.consumer), Ok(false))
    }

    /// Receives into the buffer, as [`try_read`](Self::try_read), waiting until the deadline;
    /// `None` waits for ever.
    pub fn read(&mut self, buffer: &mut [u8], deadline: Option<Instant>) -> Result<usize, Error> {
        loop {
            match self.try_read(buffer) {
                Err(Error::WouldBlock) => self.wait(deadline)?,
                result => return result,
            }
        }
    }

    /// Receives either bytes or a chunk, whichever comes next.
    pub fn try_receive(&mut self, buffer: &mut [u8]) -> Result<Received, Error> {
        if buffer.is_empty() {
            return Err(Error::Invalid("there is nowhere to receive to"));
        }
        let mut place = Place::from(buffer);
        if let Some(count) = self.read_chunk(&mut place) {
            return Ok(Received::Bytes(count));
        }
        let received = match self.next()? {
            None => Received::Bytes(0),
            Some(Record::Inline(_)) => Received::Bytes(self.take(&mut place)),
            Some(Record::Chunk { index, length }) => {
                Received::Chunk(self.take_chunk(index, length))
            }
        };
        self.stop();
        Ok(received)
    }

    /// Bytes of a chunk that is read as bytes, if there is one.
    fn read_chunk(&mut self, place: &mut Place<'_>) -> Option<usize> {
        let (chunk, at) = self.chunk.as_mut()?;
        let count = chunk.read(*at, place.room(), place);
        *at += count;
        if *at == chunk.len() {
            self.chunk = None;
        }
        Some(count)
    }

    /// Bytes of the inline record that is open.
    fn take(&mut self, place: &mut Place<'_>) -> usize {
        let head = &self.end.own.words().head.position;
        let count = self.consumer.take(&self.end.peer, place, head);
        self.go_on();
        count
    }

    fn take_chunk(&mut self, index: u32, length: u32) -> Chunk {
        self.go_on();
        Chunk::new(self.end.clone(), index, length)
    }

    /// Behind each record: more may follow.
    fn go_on(&mut self) {
        if self.consumer.makes_room() {
            self.end.ring_sender();
        }
    }

    /// Nobody knows when the next read comes: a writer that waits has any room that there is.
    fn stop(&mut self) {
        if self.consumer.made_room() {
            self.end.ring_sender();
        }
    }

    /// The next record; `None` at the end.
    fn next(&mut self) -> Result<Option<Record>, Error> {
        if let Some(record) = self.look()? {
            return Ok(Some(record));
        }
        let (end, tail) = (&self.end, &self.end.peer.words().tail);
        let over = tail.over.observe() != 0 || end.is_receiving_over();
        let gone = end.is_gone();
        // Bytes that were sent before the end come first.
        match self.look()? {
            None if over => Ok(None),
            None if gone => Err(Error::PeerGone),
            None => Err(Error::WouldBlock),
            record => Ok(record),
        }
    }

    fn look(&mut self) -> Result<Option<Record>, Error> {
        self.check()?;
        let (own, peer) = (self.end.own.words(), &self.end.peer);
        let tail = &peer.words().tail.position;
        let next = self.consumer.next(peer, tail, &own.head.position);
        let next = remember(&mut self.broken, next)?;
        if next.is_some() {
            self.sleeper.end(&own.receiver_sleep);
        }
        Ok(next)
    }

    /// Waits until there is something, or another reason to try again; `TimedOut` at the deadline,
    /// `None` waits for ever. It never polls.
    pub fn wait(&mut self, deadline: Option<Instant>) -> Result<(), Error> {
        self.check()?;
        let (end, consumer) = (&*self.end, &mut self.consumer);
        let (own, peer) = (end.own.words(), end.peer.words());
        let has_chunk = self.chunk.is_some();
        let ended = || end.line_ended(&end.receiving_over);
        let result = wake::wait(
            &mut self.sleeper,
            &own.receiver_sleep,
            &peer.receiver_bell,
            &Wait::new(&end.receivers, deadline, &ended),
            || Ok(has_chunk || can_read(end, consumer)?),
        );
        remember(&mut self.broken, result)
    }

    /// Prepares for an event loop to wait. True where there is nothing yet: then the descriptor
    /// becomes readable once it is worth while to try again, and then [`disarm`](Self::disarm)
    /// comes first.
    pub fn arm(&mut self) -> Result<bool, Error> {
        self.check()?;
        let end = &*self.end;
        let sleep = &end.own.words().receiver_sleep;
        self.sleeper.begin(sleep, Sleep::Line);
        let can = match self.chunk {
            Some(_) => Ok(true),
            None => can_read(end, &mut self.consumer),
        };
        if !matches!(can, Ok(false)) {
            self.sleeper.end(sleep);
        }
        Ok(!remember(&mut self.broken, can)?)
    }

    /// Ends what [`arm`](Self::arm) began, and takes the wake-ups off the descriptor.
    pub fn disarm(&mut self) {
        self.sleeper.end(&self.end.own.words().receiver_sleep);
        if !self.end.receivers.drain() {
            self.end.line_ended(&self.end.receiving_over);
        }
    }

    fn check(&self) -> Result<(), Error> {
        self.broken
            .map_or(Ok(()), |how| Err(Error::Misbehaved(how)))
    }
}

/// Whether a read would not answer `WouldBlock`.
fn can_read(end: &End, consumer: &mut Consumer) -> Result<bool, Error> {
    let tail = &end.peer.words().tail;
    Ok(end.is_receiving_over()
        || end.is_gone()
        || tail.over.observe() != 0
        || consumer.has_record(&tail.position)?)
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.end.end_receiving();
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.end.receivers.as_fd()
    }
}

//! A connection, once the handshake is over.

use crate::error::Error;
use crate::line::{self, Line, Wait};
use crate::place::Place;
use crate::pool::Pool;
use crate::ring::{Consumer, Parts, Producer, Record};
use crate::segment::{ChunkMut, OutputRing, OwnSegment, PeerSegment};
use crate::wake::{self, Ringer, Sleep, Sleeper};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Who is at the other end, as the system vouches for it: the process that connected, or that listened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The process; `None` where it is in another pid namespace.
    pub pid: Option<u32>,
    /// Its effective user.
    pub uid: u32,
    /// Its effective group.
    pub gid: u32,
}

/// A connection of two processes: a stream of bytes each way, with chunks for what is large.
///
/// Its halves can be used by different threads, and live as long as they like: each ends its direction when it
/// is dropped. Memory and descriptors are freed with the last half, [`Chunk`], [`ChunkMut`] and [`Shutdown`].
#[derive(Debug)]
pub struct Connection {
    /// The outgoing direction.
    pub sender: Sender,
    /// The incoming direction.
    pub receiver: Receiver,
    /// The peer.
    pub peer: Credentials,
}

/// Both mappings and both lines: what the halves have in common.
#[derive(Debug)]
pub(crate) struct End {
    own: Arc<OwnSegment>,
    peer: PeerSegment,
    /// Where the receivers of both ends wait.
    receivers: Line,
    /// Where the senders of both ends wait.
    senders: Line,
    receiver_ringer: Ringer,
    sender_ringer: Ringer,
    /// A line has ended: the peer's process has.
    gone: AtomicBool,
    /// This end sends no more.
    sending_over: AtomicBool,
    /// This end receives no more.
    receiving_over: AtomicBool,
}

impl End {
    pub(crate) fn new(
        own: Arc<OwnSegment>,
        peer: PeerSegment,
        receivers: Line,
        senders: Line,
    ) -> Self {
        End {
            own,
            peer,
            receivers,
            senders,
            receiver_ringer: Ringer::default(),
            sender_ringer: Ringer::default(),
            gone: AtomicBool::new(false),
            sending_over: AtomicBool::new(false),
            receiving_over: AtomicBool::new(false),
        }
    }

    fn ring_receiver(&self) {
        self.receiver_ringer.ring(
            &self.peer.words().receiver_sleep,
            &self.own.words().receiver_bell,
            &self.receivers,
        );
    }

    fn ring_sender(&self) {
        self.sender_ringer.ring(
            &self.peer.words().sender_sleep,
            &self.own.words().sender_bell,
            &self.senders,
        );
    }

    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    fn is_sending_over(&self) -> bool {
        self.sending_over.load(Ordering::Acquire)
    }

    fn is_receiving_over(&self) -> bool {
        self.receiving_over.load(Ordering::Acquire)
    }

    /// A thread of this process that begins to sleep on a bell at this moment is not woken: it notices when it
    /// moves to the line.
    fn end_sending(&self) {
        if !self.sending_over.swap(true, Ordering::AcqRel) {
            self.own.words().tail.over.publish(1);
            self.ring_receiver();
            self.senders.close();
            line::wake(self.peer.words().sender_bell.atomic());
        }
    }

    fn end_receiving(&self) {
        if !self.receiving_over.swap(true, Ordering::AcqRel) {
            self.own.words().head.over.publish(1);
            self.ring_sender();
            self.receivers.close();
            line::wake(self.peer.words().receiver_bell.atomic());
        }
    }

    /// A line has ended. If this end closed it, that says nothing about the peer.
    fn line_ended(&self, closed: &AtomicBool) {
        if !closed.load(Ordering::Acquire) {
            self.gone.store(true, Ordering::Release);
        }
    }
}

/// Ends the directions of a connection from anywhere, also while another thread waits there.
#[derive(Clone, Debug)]
pub struct Shutdown(Arc<End>);

impl Shutdown {
    /// Ends sending: the peer receives what was sent, then the end. A send that waits fails.
    pub fn send(&self) {
        self.0.end_sending();
    }

    /// Ends receiving: a receive that waits finds the end, once what has arrived is read.
    pub fn recv(&self) {
        self.0.end_receiving();
    }
}

impl Connection {
    pub(crate) fn new(end: End, ring: OutputRing, peer: Credentials) -> Self {
        let (own, theirs) = (end.own.bounds(), end.peer.bounds());
        let end = Arc::new(end);
        Connection {
            sender: Sender {
                end: end.clone(),
                ring,
                producer: Producer::new(own.ring),
                pool: Pool::new(own.chunks),
                sleeper: Sleeper::default(),
                broken: None,
            },
            receiver: Receiver {
                end,
                consumer: Consumer::new(theirs),
                chunk: None,
                sleeper: Sleeper::default(),
                broken: None,
            },
            peer,
        }
    }

    /// What ends the connection from elsewhere.
    pub fn shutdown(&self) -> Shutdown {
        Shutdown(self.sender.end.clone())
    }
}

/// How the rules were broken: then nothing of this direction can be trusted any more.
type Broken = Option<&'static str>;

fn remember<T>(broken: &mut Broken, result: Result<T, Error>) -> Result<T, Error> {
    if let Err(Error::Misbehaved(how)) = result {
        *broken = Some(how);
    }
    result
}

/// The outgoing direction.
#[derive(Debug)]
pub struct Sender {
    end: Arc<End>,
    ring: OutputRing,
    producer: Producer,
    pool: Pool,
    sleeper: Sleeper,
    broken: Broken,
}

/// So often a sender looks for room before it has to wait: together a few microseconds, in which a peer that is
/// awake takes out a record.
const LOOKS: u32 = 100;

impl Sender {
    /// Sends what there is room for, as one run of bytes, and says how many bytes these were: at least one of
    /// them, or `WouldBlock`.
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
                // Once for all records: a peer that sleeps would take out the first one, and sleep again.
                self.end.ring_receiver();
                self.wake_up();
                Ok(written)
            }
        }
    }

    /// A chunk to write a large payload into, for [`try_send`](Self::try_send). `None` where the peer has all of them:
    /// then write the bytes.
    pub fn try_chunk(&mut self) -> Option<ChunkMut> {
        let returned = &self.end.peer.words().returned;
        self.pool
            .free(returned)
            .find_map(|index| self.end.own.lend(index))
    }

    /// Sends the first `length` bytes of a chunk, which come behind everything that was sent before. Where there is
    /// no room for the record that says so, the chunk comes back: wait, then try again.
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

    /// Waits until there is room, or another reason to try again; `TimedOut` at the deadline, `None` waits for
    /// ever. It never polls.
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

    /// Prepares for an event loop to wait. True where there is no room yet: then the descriptor becomes readable
    /// once it is worth while to try again, and then [`disarm`](Self::disarm) comes first.
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

    /// Why nothing more can be written. Only here it is looked up whether the peer still reads: that stands
    /// beside a number that the peer writes all the time.
    fn no_room(&self) -> Error {
        match self.end.peer.words().head.over.observe() {
            0 => Error::WouldBlock,
            _ => Error::Closed,
        }
    }

    /// Whether room comes at once, since the peer is just taking something out: sooner than a sleep would be over.
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

/// What a receive has found.
#[derive(Debug)]
pub enum Received {
    /// So many bytes, at the beginning of the buffer; 0 means that the peer has sent everything.
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
    /// Receives what there is, up to the length of the buffer, chunks as the bytes in them: at least one byte,
    /// 0 where the peer has sent everything, or `WouldBlock`.
    pub fn try_read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let mut place = Place::from(buffer);
        self.fill(&mut place)?;
        Ok(place.filled())
    }

    /// The same into memory that nobody has cleared. Gives what was received: the beginning of that memory, or nothing
    /// at the end.
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
                // What comes first is told first.
                Err(_) if place.filled() > 0 => break,
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// One look: false where [`try_read`](Self::try_read) would answer `WouldBlock`. For whoever polls.
    pub fn is_ready(&mut self) -> bool {
        // The peer writes the tail and the record: so they come from its cache at the same time, not in turn.
        self.end.peer.expect(self.consumer.position());
        self.chunk.is_some() || !matches!(can_read(&self.end, &mut self.consumer), Ok(false))
    }

    /// Receives into the buffer, as [`try_read`](Self::try_read), waiting until the deadline; `None` waits for ever.
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
        Chunk {
            end: self.end.clone(),
            index,
            length,
        }
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
        // What was sent before the end was told.
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

    /// Waits until there is something, or another reason to try again; `TimedOut` at the deadline, `None` waits
    /// for ever. It never polls.
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

    /// Prepares for an event loop to wait. True where there is nothing yet: then the descriptor becomes readable
    /// once it is worth while to try again, and then [`disarm`](Self::disarm) comes first.
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

/// A large payload, where the peer has written it. The peer gets the memory back when this is dropped.
///
/// It does not dereference to a slice: a peer that breaks the rules can go on writing, and Rust may assume of
/// what stands behind a reference that it does not change. So bytes are copied out; what was copied is
/// checked, and used, and cannot change any more.
#[derive(Debug)]
pub struct Chunk {
    end: Arc<End>,
    index: u32,
    length: u32,
}

impl Chunk {
    /// How many bytes it has; at least one.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.length as usize
    }

    /// Copies the bytes from `at` on, as far as the buffer goes, and says how many these were.
    pub fn copy_to(&self, at: usize, buffer: &mut [u8]) -> usize {
        self.read(at, buffer.len(), &mut Place::from(buffer))
    }

    /// All of it, copied.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len()];
        self.copy_to(0, &mut bytes);
        bytes
    }

    fn read(&self, at: usize, count: usize, into: &mut Place<'_>) -> usize {
        let count = count.min(self.len().saturating_sub(at));
        self.end.peer.read_chunk(self.index, at, count, into)
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let returned = &self.end.own.words().returned;
        if let Some(count) = returned.get(self.index as usize) {
            count.increment();
        }
    }
}

//! One direction's ring of records: where the next one stands, and whether a position that the peer
//! names can be. A position counts the bytes since the beginning, modulo 2³²; the ring's size
//! divides that, and a record begins at a multiple of 8, so that its header is never cut by the
//! ring's end.

use crate::error::Error;
use crate::place::Place;
use crate::word::Word;

/// Bytes in front of a record: its length, then 0, or the number of a chunk plus 1.
const HEADER: u32 = 8;

/// The longest record, so that the peer takes out the first of a large transfer while the next is
/// written.
const PIECE: u32 = 16 << 10;

/// The memory of a ring as its writer sees it. Nobody asks for bytes beyond the ring's size.
pub(crate) trait Sink {
    fn write(&mut self, at: u32, bytes: &[u8]);
}

/// The memory of a ring as its reader sees it; the peer may change it at any time.
pub(crate) trait Source {
    /// Appends so many bytes.
    fn read(&self, at: u32, count: usize, into: &mut Place<'_>);
}

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// The number of bytes that follow.
    Inline(u32),
    /// Bytes of a chunk.
    Chunk { index: u32, length: u32 },
}

impl Record {
    fn to_bytes(self) -> [u8; HEADER as usize] {
        let (length, place) = match self {
            Record::Inline(length) => (length, 0),
            Record::Chunk { index, length } => (length, index + 1),
        };
        (u64::from(place) << 32 | u64::from(length)).to_ne_bytes()
    }

    fn from_bytes(bytes: [u8; HEADER as usize]) -> Self {
        let both = u64::from_ne_bytes(bytes);
        let (length, place) = (both as u32, (both >> 32) as u32);
        match place.checked_sub(1) {
            None => Record::Inline(length),
            Some(index) => Record::Chunk { index, length },
        }
    }

    /// The bytes of the ring that it takes.
    fn size(self) -> u32 {
        match self {
            Record::Inline(length) => HEADER + length.next_multiple_of(HEADER),
            Record::Chunk { .. } => HEADER,
        }
    }
}

/// Slices as one run of bytes.
pub(crate) struct Parts<'a> {
    /// The rest of the first slice.
    first: &'a [u8],
    /// The other ones.
    rest: &'a [&'a [u8]],
    /// The bytes of all of them.
    left: usize,
}

impl<'a> Parts<'a> {
    pub(crate) fn new(slices: &'a [&'a [u8]]) -> Self {
        Parts {
            first: &[],
            rest: slices,
            left: slices.iter().map(|slice| slice.len()).sum(),
        }
    }

    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// The next bytes that lie together, at most so many; none at the end.
    fn take(&mut self, most: usize) -> &'a [u8] {
        while let ([], [next, rest @ ..]) = (self.first, self.rest) {
            (self.first, self.rest) = (next, rest);
        }
        let (taken, first) = self.first.split_at(most.min(self.first.len()));
        self.first = first;
        self.left -= taken.len();
        taken
    }
}

/// The writing end.
#[derive(Debug)]
pub(crate) struct Producer {
    size: u32,
    tail: u32,
    /// The reader's position, when we last looked.
    head: u32,
}

impl Producer {
    pub(crate) fn new(size: u32) -> Self {
        Producer {
            size,
            tail: 0,
            head: 0,
        }
    }

    /// The room that there is at least; looks again where that is not enough.
    fn room(&mut self, enough: u32, head: &Word) -> Result<u32, Error> {
        let used = self.tail.wrapping_sub(self.head);
        if self.size - used >= enough {
            return Ok(self.size - used);
        }
        let now = head.observe();
        let still = self.tail.wrapping_sub(now);
        if still > used || !now.is_multiple_of(HEADER) {
            return Err(Error::Misbehaved("it took out what is not in the ring"));
        }
        self.head = now;
        Ok(self.size - still)
    }

    /// Whether anything can be written.
    pub(crate) fn has_room(&mut self, head: &Word) -> Result<bool, Error> {
        let least = Record::Inline(1).size();
        Ok(self.room(least, head)? >= least)
    }

    /// Writes the next record, with what fits; false where there is no room.
    pub(crate) fn write(
        &mut self,
        parts: &mut Parts<'_>,
        sink: &mut impl Sink,
        head: &Word,
        tail: &Word,
    ) -> Result<bool, Error> {
        let wanted = u32::try_from(parts.left()).map_or(PIECE, |left| left.min(PIECE));
        let room = self.room(Record::Inline(wanted).size(), head)?;
        let length = wanted.min(room.saturating_sub(HEADER));
        if length == 0 {
            return Ok(false);
        }
        self.put(sink, 0, &Record::Inline(length).to_bytes());
        let mut at = HEADER;
        while at < HEADER + length {
            let bytes = parts.take((HEADER + length - at) as usize);
            self.put(sink, at, bytes);
            at += bytes.len() as u32;
        }
        self.publish(Record::Inline(length), tail);
        Ok(true)
    }

    /// Writes the record of a chunk; false where there is no room.
    pub(crate) fn write_chunk(
        &mut self,
        record: Record,
        sink: &mut impl Sink,
        head: &Word,
        tail: &Word,
    ) -> Result<bool, Error> {
        if self.room(record.size(), head)? < record.size() {
            return Ok(false);
        }
        self.put(sink, 0, &record.to_bytes());
        self.publish(record, tail);
        Ok(true)
    }

    /// Writes bytes into the record that begins at the tail, around the end of the ring where need
    /// be.
    fn put(&self, sink: &mut impl Sink, at: u32, bytes: &[u8]) {
        let start = self.tail.wrapping_add(at) % self.size;
        let (now, later) = bytes.split_at(bytes.len().min((self.size - start) as usize));
        sink.write(start, now);
        if !later.is_empty() {
            sink.write(0, later);
        }
    }

    fn publish(&mut self, record: Record, tail: &Word) {
        self.tail = self.tail.wrapping_add(record.size());
        tail.publish(self.tail);
    }
}

/// The size that a segment promises: a bound for its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Bytes of the ring.
    pub(crate) ring: u32,
    /// Bytes of a chunk.
    pub(crate) chunk: u32,
    /// How many chunks there are.
    pub(crate) chunks: u32,
}

/// Room that a reader has made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    #[default]
    None,
    Some,
    Enough,
}

/// The reading end.
#[derive(Debug)]
pub(crate) struct Consumer {
    bounds: Bounds,
    /// The position of the first record that is not taken out.
    head: u32,
    /// The writer's position, when we last looked.
    tail: u32,
    /// The inline record at the head, once its header was read: its length, and what of it was
    /// taken.
    open: Option<(u32, u32)>,
    /// The room for which the writer has not been woken.
    room: Room,
}

impl Consumer {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Consumer {
            bounds,
            head: 0,
            tail: 0,
            open: None,
            room: Room::None,
        }
    }

    /// Returns the position of the next record.
    #[cfg(not(loom))]
    pub(crate) fn position(&self) -> u32 {
        self.head
    }

    /// Whether there is a record; looks again where there was none.
    pub(crate) fn has_record(&mut self, tail: &Word) -> Result<bool, Error> {
        if self.head == self.tail {
            let now = tail.observe();
            let there = now.wrapping_sub(self.head);
            if there > self.bounds.ring || !there.is_multiple_of(HEADER) {
                return Err(Error::Misbehaved("it wrote more than the ring holds"));
            }
            self.tail = now;
        }
        Ok(self.head != self.tail)
    }

    /// The next record, or what is left of an inline one. A chunk's is taken out by this.
    pub(crate) fn next(
        &mut self,
        source: &impl Source,
        tail: &Word,
        head: &Word,
    ) -> Result<Option<Record>, Error> {
        if let Some((length, taken)) = self.open {
            return Ok(Some(Record::Inline(length - taken)));
        }
        if !self.has_record(tail)? {
            return Ok(None);
        }
        let mut header = [0; HEADER as usize];
        self.get(source, 0, header.len(), &mut Place::from(&mut header[..]));
        let record = Record::from_bytes(header);
        match record {
            Record::Inline(length) => {
                // Lengths near 2³² first: their size is not a number of 32 bits.
                let there = self.tail.wrapping_sub(self.head);
                if length == 0 || length > there || record.size() > there {
                    return Err(Error::Misbehaved("a record is longer than what it wrote"));
                }
                self.open = Some((length, 0));
            }
            Record::Chunk { index, length } => {
                if index >= self.bounds.chunks || length == 0 || length > self.bounds.chunk {
                    return Err(Error::Misbehaved(
                        "a record names a chunk that is not there",
                    ));
                }
                self.advance(record, head);
            }
        }
        Ok(Some(record))
    }

    /// Takes bytes out of the inline record that [`next`](Self::next) has found; its room is given
    /// back with the last of them.
    pub(crate) fn take(
        &mut self,
        source: &impl Source,
        into: &mut Place<'_>,
        head: &Word,
    ) -> usize {
        let Some((length, taken)) = self.open else {
            return 0;
        };
        let count = into.room().min((length - taken) as usize);
        self.get(source, HEADER + taken, count, into);
        let taken = taken + count as u32;
        if taken < length {
            self.open = Some((length, taken));
        } else {
            self.open = None;
            self.advance(Record::Inline(length), head);
        }
        count
    }

    /// Reads bytes of the record that begins at the head, around the end of the ring where need be.
    fn get(&self, source: &impl Source, at: u32, count: usize, into: &mut Place<'_>) {
        let start = self.head.wrapping_add(at) % self.bounds.ring;
        let here = count.min((self.bounds.ring - start) as usize);
        source.read(start, here, into);
        if here < count {
            source.read(0, count - here, into);
        }
    }

    /// Whether so much room was made since this was asked last that a writer which waits for it is
    /// to be woken at once. Not for each record, or it would soon sleep again, and to look at its
    /// word takes time, too: where the ring has become half empty, and where everything is taken
    /// out. Whoever stops reading before asks [`made_room`](Self::made_room).
    pub(crate) fn makes_room(&mut self) -> bool {
        let wakes = self.room == Room::Enough;
        if wakes {
            self.room = Room::None;
        }
        wakes
    }

    /// Whether any room was made since the writer was woken last.
    pub(crate) fn made_room(&mut self) -> bool {
        std::mem::take(&mut self.room) != Room::None
    }

    fn advance(&mut self, record: Record, head: &Word) {
        let (half, before) = (self.bounds.ring / 2, self.tail.wrapping_sub(self.head));
        self.head = self.head.wrapping_add(record.size());
        head.publish(self.head);
        let left = self.tail.wrapping_sub(self.head);
        let enough = left == 0 || (left <= half && before > half);
        self.room = self
            .room
            .max(if enough { Room::Enough } else { Room::Some });
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

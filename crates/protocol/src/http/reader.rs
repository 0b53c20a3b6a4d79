//! Finds where requests and responses end.

use super::head::{BodyLength, Head, Side, Start, bad, parse, refused};
use super::{Error, Stop};
use crate::ConnectionLimits;
use bytes::{Buf, Bytes, BytesMut};

/// Splits requests or responses off what is received.
///
/// ```text
///          head ends        length known
///   Head ─────────────► Body ───────────────────────────────► (message) ─► Head
///     ▲                   │ chunked
///     │                   └─► Size ◄──► Data, DataEnd ─► Trailers ─► (message) ─► Head
///     └── 100 Continue, from a server
/// ```
pub(crate) struct Reader {
    side: Side,
    state: ReaderState,
    /// Bytes at the front of the input in which no line end was found.
    scanned: usize,
    /// A request waits for `100 Continue` before its body comes.
    must_continue: bool,
}

enum ReaderState {
    Head,
    Body(Box<Head>, BodyLength),
    Chunked {
        head: Box<Head>,
        body: BytesMut,
        part: ChunkPart,
    },
}

#[derive(Clone, Copy)]
enum ChunkPart {
    Size,
    Data(usize),
    DataEnd,
    /// Lines after the last chunk, and how many bytes they have had.
    Trailers(usize),
}

/// A line with the size of a chunk has no business being longer.
const CHUNK_LINE: usize = 256;

impl Reader {
    pub(crate) fn new(side: Side) -> Self {
        Reader {
            side,
            state: ReaderState::Head,
            scanned: 0,
            must_continue: false,
        }
    }

    /// True once for each request whose sender waits for `100 Continue`.
    pub(crate) fn take_continue(&mut self) -> bool {
        std::mem::take(&mut self.must_continue)
    }

    /// Returns whether a head has been taken in, but not all of its body.
    pub(crate) fn is_within(&self) -> bool {
        !matches!(self.state, ReaderState::Head)
    }

    /// Returns the head of a message of whose body a part is missing.
    pub(crate) fn waiting(&self) -> Option<&Head> {
        match &self.state {
            ReaderState::Head => None,
            ReaderState::Body(head, _) | ReaderState::Chunked { head, .. } => Some(head),
        }
    }

    /// Drops the message of whose body a part is missing. Its sender is not told to continue.
    pub(crate) fn give_up(&mut self) {
        self.state = ReaderState::Head;
        self.must_continue = false;
    }

    /// The bytes of a body that has come in part, and been taken off the input.
    pub(crate) fn held(&self) -> usize {
        match &self.state {
            ReaderState::Chunked { body, .. } => body.len(),
            ReaderState::Head | ReaderState::Body(..) => 0,
        }
    }

    /// The next complete message.
    pub(crate) fn next(
        &mut self,
        input: &mut BytesMut,
        limits: &ConnectionLimits,
        mut accept: impl FnMut(&mut Head) -> Result<(), Error>,
    ) -> Result<(Head, Bytes), Stop> {
        loop {
            match std::mem::replace(&mut self.state, ReaderState::Head) {
                ReaderState::Head => {
                    let mut head = self.head(input, limits)?;
                    if matches!(
                        head.start,
                        Start::Response {
                            status: 100..200,
                            ..
                        }
                    ) {
                        continue;
                    }
                    accept(&mut head)?;
                    self.state = self.begin_body(head, input, limits)?;
                }
                ReaderState::Body(head, BodyLength::Known(length)) if input.len() >= length => {
                    self.must_continue = false;
                    return Ok((*head, input.split_to(length).freeze()));
                }
                ReaderState::Body(head, length) => {
                    let missing = match length {
                        BodyLength::Known(length) => length - input.len(),
                        _ if input.len() > head.most(limits) => {
                            return Err(self.too_large(input.len() as u64, limits).into());
                        }
                        _ => 1,
                    };
                    self.state = ReaderState::Body(head, length);
                    return Err(Stop::Need(missing));
                }
                ReaderState::Chunked {
                    head,
                    mut body,
                    mut part,
                } => match self.chunks(input, &mut body, &mut part, (head.most(limits), limits)) {
                    Ok(()) => return Ok((*head, body.freeze())),
                    Err(stop) => {
                        self.state = ReaderState::Chunked { head, body, part };
                        return Err(stop);
                    }
                },
            }
        }
    }

    /// The connection has ended. `Some`: that was what the message waited for.
    pub(crate) fn end(&mut self, input: &mut BytesMut) -> Result<Option<(Head, Bytes)>, Error> {
        match std::mem::replace(&mut self.state, ReaderState::Head) {
            ReaderState::Head if input.is_empty() => Ok(None),
            ReaderState::Body(head, BodyLength::UntilEnd) => {
                Ok(Some((*head, input.split().freeze())))
            }
            _ => Err(Error::Truncated),
        }
    }

    fn head(&mut self, input: &mut BytesMut, limits: &ConnectionLimits) -> Result<Head, Stop> {
        if self.scanned == 0 {
            // Empty lines before a first line are tolerated, as RFC 9112 advises.
            let blank = input
                .iter()
                .take_while(|byte| matches!(byte, b'\r' | b'\n'));
            let blank = blank.count();
            input.advance(blank);
        }
        let within = input.len().min(limits.header_bytes);
        match head_end(&input[..within], self.scanned) {
            Some(end) => {
                self.scanned = 0;
                let bytes = input.split_to(end);
                Ok(parse(&bytes, self.side)?)
            }
            None if input.len() >= limits.header_bytes => Err(match self.side {
                Side::Server => refused(431, "the headers are too large").into(),
                Side::Client => Error::HeadersTooLarge {
                    limit: limits.header_bytes,
                }
                .into(),
            }),
            None => {
                self.scanned = input.len().saturating_sub(2);
                Err(Stop::Need(1))
            }
        }
    }

    fn begin_body(
        &mut self,
        head: Head,
        input: &BytesMut,
        limits: &ConnectionLimits,
    ) -> Result<ReaderState, Error> {
        if let BodyLength::Known(length) = head.body
            && length > head.most(limits)
        {
            return Err(self.too_large(length as u64, limits));
        }
        self.must_continue = head.expects_continue && input.is_empty();
        let length = head.body;
        let head = Box::new(head);
        Ok(match length {
            BodyLength::Chunked => ReaderState::Chunked {
                head,
                body: BytesMut::new(),
                part: ChunkPart::Size,
            },
            _ => ReaderState::Body(head, length),
        })
    }

    fn chunks(
        &mut self,
        input: &mut BytesMut,
        body: &mut BytesMut,
        part: &mut ChunkPart,
        (most, limits): (usize, &ConnectionLimits),
    ) -> Result<(), Stop> {
        loop {
            match *part {
                ChunkPart::Size => {
                    let line = self.line(input, CHUNK_LINE)?;
                    *part = match httparse::parse_chunk_size(&line) {
                        Ok(httparse::Status::Complete((_, 0))) => ChunkPart::Trailers(0),
                        Ok(httparse::Status::Complete((_, size))) => {
                            let total = (body.len() as u64).saturating_add(size);
                            if total > most as u64 {
                                return Err(self.too_large(total, limits).into());
                            }
                            ChunkPart::Data(size as usize)
                        }
                        _ => return Err(self.bad("the size of a chunk is not a number").into()),
                    };
                }
                ChunkPart::Data(left) => {
                    let take = left.min(input.len());
                    body.extend_from_slice(&input[..take]);
                    input.advance(take);
                    if take < left {
                        *part = ChunkPart::Data(left - take);
                        // At least a line end and the last chunk follow the chunk.
                        return Err(Stop::Need(left - take));
                    }
                    *part = ChunkPart::DataEnd;
                }
                ChunkPart::DataEnd => {
                    if !self.line(input, 2)?.trim_ascii().is_empty() {
                        return Err(self.bad("a chunk is longer than its size").into());
                    }
                    *part = ChunkPart::Size;
                }
                ChunkPart::Trailers(before) => {
                    let line = self.line(input, limits.header_bytes.saturating_sub(before))?;
                    if line.trim_ascii().is_empty() {
                        return Ok(());
                    }
                    *part = ChunkPart::Trailers(before + line.len());
                }
            }
        }
    }

    /// The next line, with its end.
    fn line(&mut self, input: &mut BytesMut, limit: usize) -> Result<BytesMut, Stop> {
        let within = &input[..input.len().min(limit)];
        let found = within[self.scanned..]
            .iter()
            .position(|byte| *byte == b'\n');
        match found {
            Some(index) => {
                let end = self.scanned + index + 1;
                self.scanned = 0;
                let line = input.split_to(end);
                match self.side {
                    Side::Server if !line.ends_with(b"\r\n") => Err(self
                        .bad("a line of a chunk ends without a carriage return")
                        .into()),
                    _ => Ok(line),
                }
            }
            None if within.len() == limit => Err(self.bad("a line is too long").into()),
            None => {
                self.scanned = input.len();
                Err(Stop::Need(1))
            }
        }
    }

    fn bad(&self, what: &'static str) -> Error {
        bad(self.side, what)
    }

    fn too_large(&self, size: u64, limits: &ConnectionLimits) -> Error {
        match self.side {
            Side::Server => refused(413, "the body is too large"),
            Side::Client => Error::MessageTooLarge {
                size,
                limit: limits.message(),
            },
        }
    }
}

/// Behind the empty line that ends the headers. Bytes before `from` are known to have no line end
/// with anything decisive behind it.
fn head_end(input: &[u8], from: usize) -> Option<usize> {
    let mut at = from.min(input.len());
    while let Some(index) = input[at..].iter().position(|byte| *byte == b'\n') {
        at += index + 1;
        match &input[at..] {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
    None
}

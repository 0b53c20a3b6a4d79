//! Messages behind their prefix, as gRPC and Connect send them: a byte that says whether they are
//! compressed, and their length in four bytes, the first of which is the highest.

use crate::limits::credible;
use crate::{Code, Execution, Status};
use bytes::{Buf, Bytes, BytesMut};
use std::fmt;

/// The length of the prefix.
pub const PREFIX: usize = 5;

/// The prefix of a message that is not compressed. `None` where the message is too long to have
/// one.
pub fn prefix(length: usize) -> Option<[u8; PREFIX]> {
    let [a, b, c, d] = u32::try_from(length).ok()?.to_be_bytes();
    Some([0, a, b, c, d])
}

/// The prefix of a message that is compressed, where it has one.
pub fn compressed_prefix(length: usize) -> Option<[u8; PREFIX]> {
    let [_, length @ ..] = prefix(length)?;
    let [a, b, c, d] = length;
    Some([COMPRESSED, a, b, c, d])
}

/// A message of the protocol's own, behind its prefix with this flag. `None` where it is too long
/// to have one.
pub(crate) fn flagged(flag: u8, message: &[u8]) -> Option<Vec<u8>> {
    let [_, length @ ..] = prefix(message.len())?;
    Some([&[flag], &length[..], message].concat())
}

/// A message as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// It is compressed, by the coding of the headers.
    pub compressed: bool,
    /// It is the protocol's own, and says how the answer ends.
    pub end: bool,
    /// The message.
    pub message: Bytes,
}

/// Why what came is no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The first byte has flags that mean nothing.
    Flag(u8),
    /// The message is longer than allowed.
    TooLong {
        /// Its length.
        length: usize,
        /// The limit.
        most: usize,
    },
    /// The stream ends within a message.
    Cut {
        /// The bytes that have come of the message and its prefix.
        received: usize,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::Flag(flag) => {
                write!(f, "a message begins with {flag}: 0 is plain, 1 compressed")
            }
            FrameError::TooLong { length, most } => {
                write!(f, "a message of {length} bytes, the limit is {most}")
            }
            FrameError::Cut { received } => {
                write!(
                    f,
                    "the stream ends within a message, after {received} bytes of it"
                )
            }
        }
    }
}

impl std::error::Error for FrameError {}

/// The status of a request whose messages cannot be split: no handler has begun to answer it.
impl From<FrameError> for Status {
    fn from(error: FrameError) -> Self {
        let code = match error {
            FrameError::TooLong { .. } => Code::ResourceExhausted,
            FrameError::Flag(_) | FrameError::Cut { .. } => Code::Internal,
        };
        Status::new(code, error.to_string()).with_execution(Execution::NotStarted)
    }
}

/// Puts the messages of a stream together from its pieces, whose bounds mean nothing.
#[derive(Debug)]
pub struct Assembler {
    most: usize,
    /// A prefix, or the part of a message that has come.
    partial: BytesMut,
    /// The flags and the length of the message whose prefix has come.
    head: Option<(u8, usize)>,
    /// The flag of the message that says how an answer ends; 0 where none does.
    end: u8,
}

/// The flag of a compressed message.
const COMPRESSED: u8 = 1;

impl Assembler {
    /// Takes messages of at most so many bytes.
    pub fn new(most: usize) -> Self {
        Assembler {
            most,
            partial: BytesMut::new(),
            head: None,
            end: 0,
        }
    }

    /// Makes a reader of an answer, which a message with this flag ends.
    #[must_use]
    pub fn ending_with(self, flag: u8) -> Self {
        Assembler { end: flag, ..self }
    }

    /// Takes what it needs off the front of `piece`, and gives the next message; `None` where
    /// `piece` is used up.
    pub fn take(&mut self, piece: &mut Bytes) -> Result<Option<Frame>, FrameError> {
        let (flags, length) = match self.head {
            Some(head) => head,
            None => match self.head(piece)? {
                Some(head) => *self.head.insert(head),
                None => return Ok(None),
            },
        };
        let missing = length.saturating_sub(self.partial.len());
        let message = if self.partial.is_empty() && piece.len() >= length {
            piece.split_to(length)
        } else {
            let part = piece.split_to(missing.min(piece.len()));
            let room = credible(missing, self.partial.len() + part.len());
            self.partial.reserve(room);
            self.partial.extend_from_slice(&part);
            if part.len() < missing {
                return Ok(None);
            }
            self.partial.split().freeze()
        };
        self.head = None;
        Ok(Some(Frame {
            compressed: flags & COMPRESSED != 0,
            end: flags & self.end != 0,
            message,
        }))
    }

    fn head(&mut self, piece: &mut Bytes) -> Result<Option<(u8, usize)>, FrameError> {
        let missing = PREFIX.saturating_sub(self.partial.len());
        let part = piece.split_to(missing.min(piece.len()));
        self.partial.extend_from_slice(&part);
        if self.partial.len() < PREFIX {
            return Ok(None);
        }
        let mut prefix = self.partial.split_to(PREFIX);
        let flags = prefix.get_u8();
        if flags & !(COMPRESSED | self.end) != 0 {
            return Err(FrameError::Flag(flags));
        }
        let length = prefix.get_u32() as usize;
        let most = self.most;
        match length > most {
            true => Err(FrameError::TooLong { length, most }),
            false => Ok(Some((flags, length))),
        }
    }

    /// How many bytes are kept of a message that has come in part.
    pub fn partial(&self) -> usize {
        self.partial.len()
    }

    /// The stream has ended: an error where that is within a message.
    pub fn end(&self) -> Result<(), FrameError> {
        let received = self.partial.len() + self.head.map_or(0, |_| PREFIX);
        match received {
            0 => Ok(()),
            _ => Err(FrameError::Cut { received }),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn frame(flag: u8, message: &[u8]) -> Vec<u8> {
        let mut bytes = prefix(message.len()).unwrap().to_vec();
        bytes[0] = flag;
        bytes.extend_from_slice(message);
        bytes
    }

    /// All that comes of a stream in pieces of this size.
    fn assemble(stream: &[u8], size: usize) -> Result<Vec<Frame>, FrameError> {
        let mut assembler = Assembler::new(1000);
        let mut frames = Vec::new();
        for piece in stream.chunks(size) {
            let mut piece = Bytes::copy_from_slice(piece);
            while let Some(frame) = assembler.take(&mut piece)? {
                frames.push(frame);
            }
            assert!(piece.is_empty());
        }
        assembler.end().map(|()| frames)
    }

    #[test]
    fn messages_in_pieces_of_every_size() {
        let long = vec![7; 1000];
        let stream = [frame(0, b""), frame(1, b"ab"), frame(0, &long)].concat();
        for size in 1..=stream.len() {
            let frames = assemble(&stream, size).unwrap();
            let all: Vec<(bool, &[u8])> = frames
                .iter()
                .map(|frame| (frame.compressed, &frame.message[..]))
                .collect();
            assert_eq!(all, [(false, &b""[..]), (true, b"ab"), (false, &long)]);
        }
    }

    #[test]
    fn the_end_of_an_answer_has_a_flag() {
        for (flag, end, read) in [
            (2, 0, Err(FrameError::Flag(2))),
            (0, 2, Ok((false, false))),
            (2, 2, Ok((false, true))),
            (3, 2, Ok((true, true))),
            (0x80, 2, Err(FrameError::Flag(0x80))),
            (0x81, 0x80, Ok((true, true))),
        ] {
            let mut assembler = Assembler::new(1000).ending_with(end);
            let frame = assembler.take(&mut frame(flag, b"a").into());
            let flags =
                frame.map(|frame| frame.map(|frame| (frame.compressed, frame.end)).unwrap());
            assert_eq!(flags, read, "{flag} {end}");
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let (length, most) = (1001, 1000);
        for (stream, error) in [
            (frame(2, b""), FrameError::Flag(2)),
            (frame(0, &[0; 1001]), FrameError::TooLong { length, most }),
            (
                frame(0, b"abc")[..7].to_vec(),
                FrameError::Cut { received: 7 },
            ),
            (frame(0, b"")[..3].to_vec(), FrameError::Cut { received: 3 }),
        ] {
            for size in 1..=stream.len() {
                assert_eq!(assemble(&stream, size), Err(error.clone()));
            }
        }
    }
}

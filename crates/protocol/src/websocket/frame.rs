//! Frames of a client, and the messages that they make up.

use super::{Error, FIN, MAX_CONTROL, opcode};
use crate::ConnectionLimits;
use crate::limits::credible;
use bytes::{Buf, Bytes, BytesMut};

/// A message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Text, which is UTF-8.
    Text(Bytes),
    /// Bytes.
    Binary(Bytes),
    /// To be answered with a pong of the same bytes.
    Ping(Bytes),
    /// An answer to a ping, or a sign of life.
    Pong,
    /// The last message, to be answered with a close of the same code; `None` where it has none.
    Close(Option<u16>),
}

/// Splits messages off what a client sends.
///
/// # Calling contract
///
/// - Append what is received to a buffer of your own, and call [`receive`](Self::receive) until it
///   returns `None`. [`needs`](Self::needs) says how much to read next.
/// - After an error, or [`Message::Close`], nothing that comes means anything.
pub struct Reader {
    most: usize,
    needs: usize,
    /// The beginning of a message in several frames: its kind, and its bytes.
    begun: Option<(u8, BytesMut)>,
}

/// The bytes before those of a frame.
struct Head {
    opcode: u8,
    last: bool,
    length: u64,
    mask: [u8; 4],
    /// How long the head itself is.
    size: usize,
}

impl Reader {
    /// Makes a reader for a socket on which nothing has been read.
    pub fn new(limits: &ConnectionLimits) -> Self {
        Reader {
            most: limits.message(),
            needs: 1,
            begun: None,
        }
    }

    /// Splits the next message off the front of `input`; `None` where more must be received first.
    pub fn receive(&mut self, input: &mut BytesMut) -> Result<Option<Message>, Error> {
        loop {
            let Some(head) = Head::read(input)? else {
                self.needs = 1;
                return Ok(None);
            };
            let length = self.check(&head)?;
            let whole = head.size + length;
            if input.len() < whole {
                self.needs = credible(whole - input.len(), input.len());
                return Ok(None);
            }
            let mut payload = input.split_to(whole);
            payload.advance(head.size);
            unmask(&mut payload, head.mask);
            if let Some(message) = self.take(&head, payload)? {
                return Ok(Some(message));
            }
        }
    }

    /// How many more bytes the current frame surely needs, after `receive` said `None`. At least
    /// one, and never much more than the peer has sent already.
    pub fn needs(&self) -> usize {
        self.needs
    }

    /// The bytes of the frames of a message of which others are missing.
    pub fn held(&self) -> usize {
        self.begun.as_ref().map_or(0, |(_, bytes)| bytes.len())
    }

    /// Returns whether frames of a message have come, but not its last one.
    pub fn is_within(&self) -> bool {
        self.begun.is_some()
    }

    /// The length of a frame that may come here.
    fn check(&self, head: &Head) -> Result<usize, Error> {
        let control = head.opcode >= opcode::CLOSE;
        if control && !head.last {
            return Err(broken("a control frame in fragments"));
        }
        if control && head.length > MAX_CONTROL as u64 {
            return Err(broken("a control frame of more than 125 bytes"));
        }
        match (head.opcode, &self.begun) {
            (opcode::CONTINUATION, None) => {
                return Err(broken("a continuation of no message"));
            }
            (opcode::TEXT | opcode::BINARY, Some(_)) => {
                return Err(broken("a new message within another one"));
            }
            _ => {}
        }
        let before = match (&self.begun, control) {
            (Some((_, begun)), false) => begun.len(),
            _ => 0,
        };
        let size = head.length.saturating_add(before as u64);
        match usize::try_from(head.length) {
            Ok(length) if size <= self.most as u64 || control => Ok(length),
            _ => Err(Error::TooLarge {
                size,
                limit: self.most,
            }),
        }
    }

    /// The message that is complete with this frame.
    fn take(&mut self, head: &Head, payload: BytesMut) -> Result<Option<Message>, Error> {
        let (kind, message) = match (head.opcode, self.begun.take()) {
            (opcode::CONTINUATION, Some((kind, mut message))) => {
                message.extend_from_slice(&payload);
                (kind, message)
            }
            // Control frames come between the frames of a message, too.
            (kind, begun) => {
                self.begun = begun;
                (kind, payload)
            }
        };
        if !head.last {
            self.begun = Some((kind, message));
            return Ok(None);
        }
        let message = message.freeze();
        Ok(Some(match kind {
            opcode::TEXT => Message::Text(text(message)?),
            opcode::BINARY => Message::Binary(message),
            opcode::CLOSE => Message::Close(close_code(&message)?),
            opcode::PING => Message::Ping(message),
            _ => Message::Pong,
        }))
    }
}

impl Head {
    /// The head of the frame that `input` begins with; `None` where not all of it has come.
    fn read(input: &[u8]) -> Result<Option<Self>, Error> {
        let Some((&[first, second], rest)) = input.split_first_chunk() else {
            return Ok(None);
        };
        if first & 0x70 != 0 {
            return Err(broken("a reserved bit: no extension was agreed on"));
        }
        let opcode = first & 0x0f;
        if matches!(opcode, 3..=7 | 11..) {
            return Err(broken("an opcode that is not known"));
        }
        if second & 0x80 == 0 {
            return Err(broken("a frame without a mask, which clients have to use"));
        }
        let Some((length, rest)) = length(second & 0x7f, rest)? else {
            return Ok(None);
        };
        let Some((&mask, payload)) = rest.split_first_chunk() else {
            return Ok(None);
        };
        Ok(Some(Head {
            opcode,
            last: first & FIN != 0,
            length,
            mask,
            size: input.len() - payload.len(),
        }))
    }
}

/// The length of a frame, which is said in seven bits or in the bytes behind them, in as few as
/// possible; and what follows.
fn length(short: u8, rest: &[u8]) -> Result<Option<(u64, &[u8])>, Error> {
    let (least, long) = match short {
        126 => {
            let long = rest.split_first_chunk();
            (
                126,
                long.map(|(long, rest)| (u16::from_be_bytes(*long).into(), rest)),
            )
        }
        127 => {
            let long = rest.split_first_chunk();
            (
                1 << 16,
                long.map(|(long, rest)| (u64::from_be_bytes(*long), rest)),
            )
        }
        _ => (0, Some((short.into(), rest))),
    };
    match long {
        Some((length, _)) if length < least => Err(broken("a length in more bytes than it needs")),
        Some((length, _)) if length > i64::MAX as u64 => {
            Err(broken("a length of more than 63 bits"))
        }
        long => Ok(long),
    }
}

fn unmask(payload: &mut [u8], mask: [u8; 4]) {
    let mut words = payload.chunks_exact_mut(8);
    let [a, b, c, d] = mask;
    let mask = [a, b, c, d, a, b, c, d];
    let both = |bytes: &mut [u8]| {
        let bytes = bytes.iter_mut();
        bytes.zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    };
    words.by_ref().for_each(both);
    both(words.into_remainder());
}

fn text(message: Bytes) -> Result<Bytes, Error> {
    match std::str::from_utf8(&message) {
        Ok(_) => Ok(message),
        Err(_) => Err(Error::NotText),
    }
}

/// The code of a close, if it has one: a number that may be sent, before a reason.
fn close_code(message: &[u8]) -> Result<Option<u16>, Error> {
    let Some((code, reason)) = message.split_first_chunk() else {
        return match message {
            [] => Ok(None),
            _ => Err(broken("a close with half a code")),
        };
    };
    let code = u16::from_be_bytes(*code);
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(broken("a close with a code that is never sent"));
    }
    std::str::from_utf8(reason).map_err(|_| Error::NotText)?;
    Ok(Some(code))
}

#[cold]
fn broken(what: &'static str) -> Error {
    Error::Frame { what }
}

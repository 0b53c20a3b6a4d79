//! Finds where an unframed message ends.
//!
//! A scan is told again and again what has come of one message, and goes on where it stopped: no
//! byte is looked at twice, apart from the few of a length or field header that came in pieces. It
//! keeps an explicit stack, bounded by the depth limit, so that no input costs more memory or a
//! deep recursion.

use super::ProtocolError;
use super::message::{Stop, truncate, varint, word};
use crate::ConnectionLimits;

/// Finds the end of one message; made anew for each.
pub trait Scan: Send {
    /// Goes on. `message` is everything that has come since the message began, perhaps more than
    /// it.
    fn scan(&mut self, message: &[u8]) -> Result<Scanned, ProtocolError>;
}

/// How far a scan has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scanned {
    /// The message has this many bytes.
    Complete(usize),
    /// At least this many bytes are missing.
    Need(usize),
}

/// How the struct at the end of a binary or compact message lies in the bytes.
pub(crate) trait Grammar {
    /// The fewest bytes that a string, a list and a map take.
    const LEAST: [u64; 3];

    /// A field's header; `None` ends the struct.
    fn field(unread: &[u8]) -> Result<(Option<Shape>, usize), Stop>;
    /// The length of a string.
    fn length(unread: &[u8]) -> Result<(u64, usize), Stop>;
    /// The element's type and the count of a list or set.
    fn list(unread: &[u8]) -> Result<((u8, u64), usize), Stop>;
    /// The types and the count of a map.
    fn map(unread: &[u8]) -> Result<((u8, u8, u64), usize), Stop>;
    /// The shape of a type inside a container.
    fn shape(code: u8) -> Result<Shape, ProtocolError>;
}

/// As much of a type as is needed to step over its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Always this many bytes.
    Fixed(u8),
    /// Ends with the first byte below 0x80.
    Varint,
    /// A length and as many bytes.
    String,
    List,
    Map,
    Struct,
}

/// An open value at some depth.
#[derive(Debug)]
enum Level {
    Struct,
    /// A list, set or map: values left, the shapes that they have in turn.
    Values {
        left: u64,
        shapes: [Shape; 2],
    },
    /// Nothing but varints, and how many bytes of the current one have passed.
    Varints {
        left: u64,
        passed: u8,
    },
}

/// A [`Scan`] of the struct behind a message's head.
pub(crate) struct StructScan<G> {
    /// The first byte not yet stepped over; may lie beyond what has come.
    position: usize,
    /// A value that is to be read next, before going on with the stack.
    pending: Option<Shape>,
    stack: Vec<Level>,
    depth: usize,
    size: usize,
    grammar: std::marker::PhantomData<fn() -> G>,
}

impl<G: Grammar> StructScan<G> {
    pub(crate) fn new(limits: &ConnectionLimits) -> Self {
        StructScan {
            position: 0,
            pending: Some(Shape::Struct),
            stack: Vec::new(),
            depth: limits.depth,
            size: limits.message(),
            grammar: std::marker::PhantomData,
        }
    }

    /// Goes on until the struct ends; returns where.
    fn run(&mut self, message: &[u8]) -> Result<usize, Stop> {
        loop {
            if let Some(shape) = self.pending {
                self.value(shape, unread(message, self.position)?)?;
                self.pending = None;
            }
            match self.stack.last_mut() {
                None => {
                    return match self.position.checked_sub(message.len()) {
                        None | Some(0) => Ok(self.position),
                        Some(missing) => Err(Stop::Need(missing)),
                    };
                }
                Some(Level::Struct) => {
                    let (shape, len) = G::field(unread(message, self.position)?)?;
                    self.advance(len as u64)?;
                    match shape {
                        Some(_) => self.pending = shape,
                        None => drop(self.stack.pop()),
                    }
                }
                Some(Level::Values { left: 0, .. } | Level::Varints { left: 0, .. }) => {
                    self.stack.pop();
                }
                Some(Level::Values { left, shapes }) => {
                    // An even number is left before a key.
                    self.pending = Some(shapes[(*left % 2) as usize]);
                    *left -= 1;
                }
                Some(Level::Varints { left, passed }) => {
                    let unread = unread(message, self.position)?;
                    let room = self.size - self.position;
                    let len = skip_varints(unread, left, passed, room)?;
                    self.advance(len as u64)?;
                }
            }
        }
    }

    /// Steps over a value, or opens it. Nothing has changed where bytes are missing.
    fn value(&mut self, shape: Shape, unread: &[u8]) -> Result<(), Stop> {
        match shape {
            Shape::Fixed(size) => self.advance(size.into())?,
            Shape::Varint => {
                let (_, len) = varint(unread)?;
                self.advance(len as u64)?;
            }
            Shape::String => {
                let (length, len) = G::length(unread)?;
                self.advance(len as u64 + length)?;
            }
            Shape::Struct => self.push(Level::Struct)?,
            Shape::List => {
                let ((code, count), len) = G::list(unread)?;
                self.advance(len as u64)?;
                // Some writers give an empty container elements of no type.
                if count > 0 {
                    let shape = G::shape(code)?;
                    self.open(count, [shape, shape])?;
                }
            }
            Shape::Map => {
                let ((key, value, count), len) = G::map(unread)?;
                self.advance(len as u64)?;
                if count > 0 {
                    self.open(2 * count, [G::shape(key)?, G::shape(value)?])?;
                }
            }
        }
        Ok(())
    }

    /// Opens a container of so many values, or steps over it where that tells its size.
    fn open(&mut self, values: u64, shapes: [Shape; 2]) -> Result<(), ProtocolError> {
        // Values have at least this size: a count that the limit has no room for is refused at
        // once. Counts have at most 33 bits, sizes at most 5: no overflow.
        let least = shapes.map(Self::least);
        let least = (least[0] + least[1]) * values / 2;
        match shapes {
            [Shape::Fixed(_), Shape::Fixed(_)] if self.stack.len() < self.depth => {
                self.advance(least)
            }
            _ => {
                self.fits(least)?;
                self.push(match shapes {
                    [Shape::Varint, Shape::Varint] => Level::Varints {
                        left: values,
                        passed: 0,
                    },
                    _ => Level::Values {
                        left: values,
                        shapes,
                    },
                })
            }
        }
    }

    fn least(shape: Shape) -> u64 {
        match shape {
            Shape::Fixed(size) => size.into(),
            Shape::Varint | Shape::Struct => 1,
            Shape::String => G::LEAST[0],
            Shape::List => G::LEAST[1],
            Shape::Map => G::LEAST[2],
        }
    }

    fn push(&mut self, level: Level) -> Result<(), ProtocolError> {
        if self.stack.len() >= self.depth {
            return Err(ProtocolError::TooDeep { limit: self.depth });
        }
        self.stack.push(level);
        Ok(())
    }

    /// Begins anew, with the memory of before.
    pub(crate) fn restart(&mut self, position: usize) {
        self.position = position;
        self.pending = Some(Shape::Struct);
        self.stack.clear();
    }

    fn advance(&mut self, bytes: u64) -> Result<(), ProtocolError> {
        self.fits(bytes)?;
        // Within the limit, which is a `usize`.
        self.position += bytes as usize;
        Ok(())
    }

    /// Whether so many more bytes are within the limit.
    fn fits(&self, bytes: u64) -> Result<(), ProtocolError> {
        let size = (self.position as u64).saturating_add(bytes);
        if size > self.size as u64 {
            return Err(ProtocolError::MessageTooLarge {
                size,
                limit: self.size,
            });
        }
        Ok(())
    }
}

impl<G: Grammar> Scan for StructScan<G> {
    fn scan(&mut self, message: &[u8]) -> Result<Scanned, ProtocolError> {
        // Bytes beyond the limit are not looked at: else the error would depend on how many of them
        // have come.
        let message = &message[..message.len().min(self.size)];
        match self.run(message) {
            Ok(len) => Ok(Scanned::Complete(len)),
            Err(Stop::Need(missing)) if missing > self.size - message.len() => {
                Err(ProtocolError::MessageTooLarge {
                    size: message.len() as u64 + missing as u64,
                    limit: self.size,
                })
            }
            Err(Stop::Need(missing)) => Ok(Scanned::Need(missing)),
            Err(Stop::Error(error)) => Err(error),
        }
    }
}

/// Returns the bytes behind the position; none yet is a `Need` of all that lies between.
fn unread(message: &[u8], position: usize) -> Result<&[u8], Stop> {
    match message.get(position..) {
        Some(unread) => Ok(unread),
        None => Err(Stop::Need(position - message.len() + 1)),
    }
}

/// Steps over varints until none is left or the bytes end. There is room for so many bytes within
/// the limit; that the varints need more is seen where they get there.
fn skip_varints(
    unread: &[u8],
    left: &mut u64,
    passed: &mut u8,
    room: usize,
) -> Result<usize, Stop> {
    for (index, byte) in unread.iter().enumerate() {
        *passed += 1;
        if byte & 0x80 == 0 {
            *passed = 0;
            *left -= 1;
            if *left == 0 {
                return Ok(index + 1);
            }
        } else if *passed == 10 {
            return Err(ProtocolError::malformed("a varint of more than ten bytes").into());
        }
    }
    match unread.len() {
        0 => Err(Stop::Need((*left).min(room.max(1) as u64) as usize)),
        len => Ok(len),
    }
}

/// The grammar of Thrift binary.
pub(crate) struct Binary;

impl Grammar for Binary {
    const LEAST: [u64; 3] = [4, 5, 6];

    fn field(unread: &[u8]) -> Result<(Option<Shape>, usize), Stop> {
        match unread.first() {
            Some(0) => Ok((None, 1)),
            Some(code) if unread.len() >= 3 => Ok((Some(Self::shape(*code)?), 3)),
            Some(_) => Err(Stop::Need(3 - unread.len())),
            None => Err(Stop::Need(1)),
        }
    }

    fn length(unread: &[u8]) -> Result<(u64, usize), Stop> {
        Ok((count(word(unread, 0)?)?, 4))
    }

    fn list(unread: &[u8]) -> Result<((u8, u64), usize), Stop> {
        let count = count(word(unread, 1)?)?;
        Ok(((unread[0], count), 5))
    }

    fn map(unread: &[u8]) -> Result<((u8, u8, u64), usize), Stop> {
        let count = count(word(unread, 2)?)?;
        Ok(((unread[0], unread[1], count), 6))
    }

    fn shape(code: u8) -> Result<Shape, ProtocolError> {
        Ok(match code {
            2 | 3 => Shape::Fixed(1),
            4 | 10 => Shape::Fixed(8),
            6 => Shape::Fixed(2),
            8 => Shape::Fixed(4),
            11 => Shape::String,
            12 => Shape::Struct,
            13 => Shape::Map,
            14 | 15 => Shape::List,
            16 => Shape::Fixed(16),
            found => return Err(ProtocolError::InvalidType { found }),
        })
    }
}

/// The grammar of Thrift compact.
pub(crate) struct Compact;

impl Grammar for Compact {
    const LEAST: [u64; 3] = [1, 1, 1];

    fn field(unread: &[u8]) -> Result<(Option<Shape>, usize), Stop> {
        let first = *unread.first().ok_or(Stop::Need(1))?;
        let shape = match first & 0x0f {
            0 => return Ok((None, 1)),
            // The type says whether it is true.
            1 | 2 => Shape::Fixed(0),
            code => Self::shape(code)?,
        };
        let id = match first >> 4 {
            0 => varint(&unread[1..])?.1,
            _ => 0,
        };
        Ok((Some(shape), 1 + id))
    }

    fn length(unread: &[u8]) -> Result<(u64, usize), Stop> {
        let (length, len) = varint(unread)?;
        Ok((count(truncate(length))?, len))
    }

    fn list(unread: &[u8]) -> Result<((u8, u64), usize), Stop> {
        let first = *unread.first().ok_or(Stop::Need(1))?;
        match first >> 4 {
            15 => {
                let (size, len) = Self::length(&unread[1..])?;
                Ok(((first & 0x0f, size), 1 + len))
            }
            size => Ok(((first & 0x0f, size.into()), 1)),
        }
    }

    fn map(unread: &[u8]) -> Result<((u8, u8, u64), usize), Stop> {
        let (size, len) = Self::length(unread)?;
        if size == 0 {
            return Ok(((0, 0, 0), len));
        }
        let types = *unread.get(len).ok_or(Stop::Need(1))?;
        Ok(((types >> 4, types & 0x0f, size), len + 1))
    }

    fn shape(code: u8) -> Result<Shape, ProtocolError> {
        Ok(match code {
            1..=3 => Shape::Fixed(1),
            4..=6 => Shape::Varint,
            7 => Shape::Fixed(8),
            8 => Shape::String,
            9 | 10 => Shape::List,
            11 => Shape::Map,
            12 => Shape::Struct,
            13 => Shape::Fixed(16),
            found => return Err(ProtocolError::InvalidType { found }),
        })
    }
}

/// A length or count: 31 bits, the sign bit refused.
fn count(word: u32) -> Result<u64, ProtocolError> {
    match word.cast_signed() {
        length @ 0.. => Ok(length as u64),
        length => Err(ProtocolError::NegativeLength {
            length: length.into(),
        }),
    }
}

/// A [`Scan`] of a JSON message: an array, and whatever is in it. Only brackets are counted;
/// whether they match is the decoder's to say.
pub(crate) struct JsonScan {
    position: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
    limits: [usize; 2],
}

impl JsonScan {
    pub(crate) fn new(limits: &ConnectionLimits) -> Self {
        // JSON nests at most three brackets for one of Thrift's: the field's, the type's and the
        // value's.
        let depth = limits.depth.saturating_mul(3).saturating_add(1);
        JsonScan {
            position: 0,
            depth: 0,
            in_string: false,
            escaped: false,
            limits: [limits.message(), depth],
        }
    }

    /// Begins anew.
    pub(crate) fn restart(&mut self) {
        (self.position, self.depth) = (0, 0);
        (self.in_string, self.escaped) = (false, false);
    }
}

impl Scan for JsonScan {
    fn scan(&mut self, message: &[u8]) -> Result<Scanned, ProtocolError> {
        let [size_limit, depth_limit] = self.limits;
        let end = message.len().min(size_limit);
        while let Some(byte) = message[..end].get(self.position) {
            self.position += 1;
            if self.depth == 0 && *byte != b'[' {
                return Err(ProtocolError::malformed("a JSON message begins with `[`"));
            }
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'[' | b'{' => {
                    self.depth += 1;
                    if self.depth > depth_limit {
                        return Err(ProtocolError::TooDeep {
                            limit: depth_limit / 3,
                        });
                    }
                }
                b']' | b'}' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Ok(Scanned::Complete(self.position));
                    }
                }
                _ => {}
            }
        }
        if message.len() >= size_limit {
            return Err(ProtocolError::MessageTooLarge {
                size: message.len() as u64,
                limit: size_limit,
            });
        }
        // Every bracket that is open needs one to close it.
        Ok(Scanned::Need(
            self.depth.clamp(1, size_limit - message.len()),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static LOOKS: Cell<usize> = const { Cell::new(0) };
    }

    /// Counts how often the bytes are looked at; a look is at most eleven bytes.
    struct Counted<G>(std::marker::PhantomData<G>);

    fn look<T>(result: T) -> T {
        LOOKS.set(LOOKS.get() + 1);
        result
    }

    impl<G: Grammar> Grammar for Counted<G> {
        const LEAST: [u64; 3] = G::LEAST;

        fn field(unread: &[u8]) -> Result<(Option<Shape>, usize), Stop> {
            look(G::field(unread))
        }
        fn length(unread: &[u8]) -> Result<(u64, usize), Stop> {
            look(G::length(unread))
        }
        fn list(unread: &[u8]) -> Result<((u8, u64), usize), Stop> {
            look(G::list(unread))
        }
        fn map(unread: &[u8]) -> Result<((u8, u8, u64), usize), Stop> {
            look(G::map(unread))
        }
        fn shape(code: u8) -> Result<Shape, ProtocolError> {
            G::shape(code)
        }
    }

    /// Scans the bytes in pieces; returns how often they were looked at.
    fn looks<G: Grammar>(bytes: &[u8], piece: usize) -> usize {
        LOOKS.set(0);
        let mut scan = StructScan::<Counted<G>>::new(&ConnectionLimits::default());
        for end in (piece..bytes.len()).step_by(piece) {
            match scan.scan(&bytes[..end]) {
                Ok(Scanned::Need(missing)) => assert!(end + missing <= bytes.len()),
                other => panic!("{other:?} after {end} of {} bytes", bytes.len()),
            }
        }
        assert_eq!(scan.scan(bytes), Ok(Scanned::Complete(bytes.len())));
        LOOKS.get()
    }

    fn binary_of_everything(times: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..times {
            bytes.extend(b"\x02\0\x01\x01\x08\0\x02\0\0\0\x07\x0b\0\x03\0\0\0\x03abc");
            bytes.extend(b"\x0c\0\x04\x0a\0\x0112345678\0\x0f\0\x05\x0c\0\0\0\x02\0\0");
            bytes.extend(b"\x0d\0\x06\x0b\x0f\0\0\0\x01\0\0\0\x01k\x06\0\0\0\x02\0\x01\0\x02");
            bytes.extend(b"\x0d\0\x06\0\0\0\0\0\0\x10\0\x07ABCDEFGHIJKLMNOP");
        }
        bytes.push(0);
        bytes
    }

    fn compact_of_everything(times: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..times {
            bytes.extend(b"\x11\x15\x0e\x18\x03abc\x1c\x16\x80\x01\0\x19\x2c\0\0");
            bytes.extend(b"\x1b\x01\x89\x01k\x24\x02\x80\x04\x1b\0\x1dABCDEFGHIJKLMNOP");
            bytes.extend(
                b"\x07\xff\x0112345678\x19\xf5\x10\x01\x80\x01\x03\x04\x05\x06\x07\x08\x09",
            );
            bytes.extend(b"\x0a\x0b\x0c\x0d\x0e\x0f\x10\x01\x1a\x21\x01\x02");
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn no_byte_is_looked_at_again_and_again() {
        for (name, once, all) in [
            (
                "binary",
                binary_of_everything(1000),
                looks::<Binary> as fn(&[u8], usize) -> usize,
            ),
            ("compact", compact_of_everything(1000), looks::<Compact>),
        ] {
            let whole = all(&once, usize::MAX);
            for piece in [1, 2, 3, 7, 64, 1000] {
                let looks = all(&once, piece);
                // One look more for every piece that ended within a header.
                let most = whole + once.len() / piece + 1;
                assert!(
                    looks <= most,
                    "{name} in pieces of {piece}: {looks}, not {most}"
                );
            }
        }
    }
}

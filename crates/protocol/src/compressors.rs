//! The compressors of this build. Decompression never makes more than it is allowed to.

#[cfg(not(feature = "lz4"))]
pub(crate) use absent as lz4;
#[cfg(not(feature = "zstd"))]
pub(crate) use absent as zstd;

use std::borrow::Cow;

/// How large the result of a decompression may become.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// For so many bytes there is memory at once.
    pub(crate) first: usize,
    /// There are never more.
    pub(crate) most: usize,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It would be larger than it may become.
    TooLarge,
    /// The bytes are none that a compressor made.
    Broken(Cow<'static, str>),
}

impl Room {
    /// Makes room for more output: at first as said, then for as much as there is, and for one byte
    /// more than is allowed, which tells that there is more.
    pub(crate) fn grow(self, output: &mut Vec<u8>) -> Result<(), Failure> {
        let left = self.most.saturating_add(1).saturating_sub(output.len());
        if left == 0 {
            return Err(Failure::TooLarge);
        }
        if output.len() == output.capacity() {
            output.reserve_exact(output.len().max(self.first).max(64).min(left));
        }
        Ok(())
    }

    /// The result, unless it is too large.
    pub(crate) fn holds(self, output: Vec<u8>) -> Result<Vec<u8>, Failure> {
        match output.len() > self.most {
            true => Err(Failure::TooLarge),
            false => Ok(output),
        }
    }
}

impl Failure {
    #[cold]
    pub(crate) fn broken(why: impl ToString) -> Self {
        Failure::Broken(why.to_string().into())
    }
}

/// Zstandard's frames.
#[cfg(feature = "zstd")]
pub(crate) mod zstd {
    use super::{Failure, Room};
    use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

    /// Windows that a frame may ask for, whatever the size of the result: all that RFC 8878
    /// recommends to take.
    const WINDOW: usize = 8 << 20;

    /// Compressing from memory into memory has nothing that could fail.
    pub(crate) fn compress(input: &[u8], level: i32) -> Option<Vec<u8>> {
        zstd::bulk::compress(input, level).ok()
    }

    /// The result grows as bytes come out, whatever the frame claims.
    pub(crate) fn decompress(input: &[u8], room: Room) -> Result<Vec<u8>, Failure> {
        let mut decoder = Decoder::new().map_err(Failure::broken)?;
        // The window is memory that a few bytes can ask for.
        let window = room.most.clamp(WINDOW, 1 << 27).next_power_of_two().ilog2();
        decoder
            .set_parameter(DParameter::WindowLogMax(window))
            .map_err(Failure::broken)?;
        let mut unread = InBuffer::around(input);
        let mut output = Vec::new();
        loop {
            let (read, made) = (unread.pos(), output.len());
            room.grow(&mut output)?;
            let mut free = OutBuffer::around_pos(&mut output, made);
            let left = decoder
                .run(&mut unread, &mut free)
                .map_err(Failure::broken)?;
            if left == 0 {
                return match unread.pos() == input.len() {
                    true => room.holds(output),
                    false => Err(Failure::broken("bytes follow the frame")),
                };
            }
            if unread.pos() == read && output.len() == made {
                return Err(Failure::broken("the frame ends too early"));
            }
        }
    }
}

/// LZ4's block format.
#[cfg(feature = "lz4")]
pub(crate) mod lz4 {
    use super::{Failure, Room};
    use lz4_flex::block::{self, DecompressError};

    /// The most bytes that one compressed byte can stand for.
    const MAX_RATIO: usize = 255;

    /// There are no levels.
    pub(crate) fn compress(input: &[u8], _: i32) -> Option<Vec<u8>> {
        Some(block::compress(input))
    }

    /// The block does not say how large the result is: there is memory for all that it may be,
    /// unless so few bytes cannot stand for that much.
    pub(crate) fn decompress(input: &[u8], room: Room) -> Result<Vec<u8>, Failure> {
        let most = room.most.min(input.len().saturating_mul(MAX_RATIO));
        let mut output = vec![0; most];
        let length = block::decompress_into(input, &mut output).map_err(|error| match error {
            DecompressError::OutputTooSmall { .. } => Failure::TooLarge,
            error => Failure::broken(error),
        })?;
        output.truncate(length);
        Ok(output)
    }
}

/// Stands for a compressor that this build does not have.
#[cfg(not(all(feature = "lz4", feature = "zstd")))]
pub(crate) mod absent {
    use super::{Failure, Room};

    /// There is never a result.
    pub(crate) fn compress(_: &[u8], _: i32) -> Option<Vec<u8>> {
        None
    }

    /// There is never a result.
    pub(crate) fn decompress(_: &[u8], _: Room) -> Result<Vec<u8>, Failure> {
        Err(Failure::broken("this program is built without the feature"))
    }
}

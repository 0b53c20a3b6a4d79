//! The transforms of THeader for the bytes of a message. Decompression never makes more than it is
//! allowed to.

use super::{ProtocolError, Transform};
use crate::compressors::{Failure, Room, zstd};
use crate::limits::is_taken;
use dovetail_wire::Bytes;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// zstd's default.
const LEVEL: i32 = 3;

/// Undoes one transform. The result grows as bytes come out, whatever the input claims.
pub(crate) fn undo(
    transform: Transform,
    input: &[u8],
    limit: usize,
) -> Result<Bytes, ProtocolError> {
    let room = Room {
        first: 2 * input.len(),
        most: limit,
    };
    let output = match transform {
        Transform::Zlib => inflate(input, room),
        Transform::Zstd => zstd::decompress(input, room),
    };
    output.map(Bytes::from).map_err(|failure| match failure {
        Failure::TooLarge => ProtocolError::DecompressedTooLarge { limit },
        Failure::Broken(why) => broken(transform, &why),
    })
}

fn inflate(input: &[u8], room: Room) -> Result<Vec<u8>, Failure> {
    let mut stream = Decompress::new(true);
    let mut output = Vec::new();
    loop {
        let (read, made) = (stream.total_in(), output.len());
        room.grow(&mut output)?;
        // As much as has been read of it, so within it.
        let unread = &input[read as usize..];
        match stream.decompress_vec(unread, &mut output, FlushDecompress::None) {
            Ok(Status::StreamEnd) => return room.holds(output),
            Ok(_) if stream.total_in() == read && output.len() == made => {
                return Err(Failure::broken("the stream ends too early"));
            }
            Ok(_) => {}
            Err(error) => return Err(Failure::broken(error)),
        }
    }
}

#[cold]
fn broken(transform: Transform, why: &str) -> ProtocolError {
    let name = transform.name();
    ProtocolError::malformed(format!("{name} cannot decompress a message: {why}"))
}

/// Applies one transform to what stands in `out` from `start` on. False where `out` is as it was:
/// the message would become so small that its receiver refused it. Compressing from memory into
/// memory has nothing else that could fail.
#[must_use]
pub(crate) fn apply(transform: Transform, out: &mut Vec<u8>, start: usize) -> bool {
    let compressed = match transform {
        Transform::Zlib => deflate(&out[start..]),
        Transform::Zstd => zstd::compress(&out[start..], LEVEL),
    };
    let taken = |compressed: &Vec<u8>| is_taken(compressed.len(), out.len() - start);
    match compressed.filter(taken) {
        Some(compressed) => {
            out.truncate(start);
            out.extend_from_slice(&compressed);
            true
        }
        None => false,
    }
}

fn deflate(input: &[u8]) -> Option<Vec<u8>> {
    let mut stream = Compress::new(Compression::default(), true);
    let mut output = Vec::with_capacity(input.len() / 2 + 64);
    loop {
        let unread = input.get(stream.total_in() as usize..)?;
        match stream.compress_vec(unread, &mut output, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => return Some(output),
            Ok(_) => output.reserve(output.capacity()),
            Err(_) => return None,
        }
    }
}

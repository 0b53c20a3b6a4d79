//! What THeader does to the bytes of a message. Decompression never makes more than it is allowed to.

use super::{ProtocolError, Transform};
use dovetail_wire::Bytes;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

/// Undoes one transform. The result grows as bytes come out, whatever the input claims.
pub(crate) fn undo(
    transform: Transform,
    input: &[u8],
    limit: usize,
) -> Result<Bytes, ProtocolError> {
    let output = match transform {
        Transform::Zlib => inflate(input, limit),
        Transform::Zstd => unzstd(input, limit),
    }?;
    if output.len() > limit {
        return Err(ProtocolError::DecompressedTooLarge { limit });
    }
    Ok(output.into())
}

fn inflate(input: &[u8], limit: usize) -> Result<Vec<u8>, ProtocolError> {
    let mut stream = Decompress::new(true);
    let mut output = Vec::new();
    loop {
        let (read, made) = (stream.total_in(), output.len());
        grow(&mut output, input.len(), limit)?;
        // As much as has been read of it, so within it.
        let unread = &input[read as usize..];
        match stream.decompress_vec(unread, &mut output, FlushDecompress::None) {
            Ok(Status::StreamEnd) => return Ok(output),
            Ok(_) if stream.total_in() == read && output.len() == made => {
                return Err(broken(Transform::Zlib, "the stream ends too early"));
            }
            Ok(_) => {}
            Err(error) => return Err(broken(Transform::Zlib, &error.to_string())),
        }
    }
}

fn unzstd(input: &[u8], limit: usize) -> Result<Vec<u8>, ProtocolError> {
    let broken = |error: &dyn ToString| broken(Transform::Zstd, &error.to_string());
    let mut decoder = Decoder::new().map_err(|error| broken(&error))?;
    // The window is memory that a few bytes can ask for: no larger than a message may be.
    let window = limit.clamp(1 << 20, 1 << 27).next_power_of_two().ilog2();
    decoder
        .set_parameter(DParameter::WindowLogMax(window))
        .map_err(|error| broken(&error))?;
    let mut unread = InBuffer::around(input);
    let mut output = Vec::new();
    loop {
        let (read, made) = (unread.pos(), output.len());
        grow(&mut output, input.len(), limit)?;
        let mut room = OutBuffer::around_pos(&mut output, made);
        let left = decoder
            .run(&mut unread, &mut room)
            .map_err(|error| broken(&error))?;
        if left == 0 && unread.pos() == input.len() {
            return Ok(output);
        }
        if unread.pos() == read && output.len() == made {
            return Err(broken(&"the frame ends too early"));
        }
    }
}

/// Makes room for more output: at first for twice the input, then for as much as there is, and for one
/// byte more than the limit, which tells that there is more.
fn grow(output: &mut Vec<u8>, input: usize, limit: usize) -> Result<(), ProtocolError> {
    let left = limit + 1 - output.len().min(limit + 1);
    if left == 0 {
        return Err(ProtocolError::DecompressedTooLarge { limit });
    }
    if output.len() == output.capacity() {
        output.reserve_exact(output.len().max(2 * input).max(64).min(left));
    }
    Ok(())
}

#[cold]
fn broken(transform: Transform, why: &str) -> ProtocolError {
    let name = transform.name();
    ProtocolError::malformed(format!("{name} cannot decompress a message: {why}"))
}

/// Applies one transform to what stands in `out` from `start` on. Compressing from memory into memory has
/// nothing that could fail; if it does all the same, false, and `out` is as it was.
#[must_use]
pub(crate) fn apply(transform: Transform, out: &mut Vec<u8>, start: usize) -> bool {
    let compressed = match transform {
        Transform::Zlib => deflate(&out[start..]),
        Transform::Zstd => {
            zstd::bulk::compress(&out[start..], zstd::DEFAULT_COMPRESSION_LEVEL).ok()
        }
    };
    match compressed {
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

//! What THeader does to the bytes of a message. Decompression never makes more than it is allowed to.

use super::{ProtocolError, Transform};
use dovetail_wire::Bytes;
use std::io::Read;

/// Undoes one transform. The result grows as bytes come out, whatever the input claims.
pub(crate) fn undo(
    transform: Transform,
    input: &[u8],
    limit: usize,
) -> Result<Bytes, ProtocolError> {
    let result = match transform {
        Transform::Zlib => read_all(flate2::bufread::ZlibDecoder::new(input), limit),
        Transform::Zstd => unzstd(input, limit),
    };
    match result {
        Ok(output) if output.len() > limit => Err(ProtocolError::DecompressedTooLarge { limit }),
        Ok(output) => Ok(output.into()),
        Err(error) => Err(ProtocolError::malformed(format!(
            "{} cannot decompress a message: {error}",
            transform.name()
        ))),
    }
}

fn unzstd(input: &[u8], limit: usize) -> std::io::Result<Vec<u8>> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(input)?;
    // The window is memory that a few bytes of header can ask for: no larger than the message may be.
    let window = limit.max(1 << 20).next_power_of_two().ilog2();
    decoder.window_log_max(window.min(27))?;
    read_all(decoder, limit)
}

/// One byte more than the limit tells that there is more.
fn read_all(decoder: impl Read, limit: usize) -> std::io::Result<Vec<u8>> {
    let mut output = Vec::new();
    decoder
        .take(limit as u64 + 1)
        .read_to_end(&mut output)
        .map(|_| output)
}

/// Applies one transform to what stands in `out` from `start` on.
pub(crate) fn apply(transform: Transform, out: &mut Vec<u8>, start: usize) {
    let compressed = match transform {
        Transform::Zlib => {
            let level = flate2::Compression::default();
            let encoder = flate2::bufread::ZlibEncoder::new(&out[start..], level);
            read_all(encoder, usize::MAX >> 1)
        }
        Transform::Zstd => zstd::bulk::compress(&out[start..], zstd::DEFAULT_COMPRESSION_LEVEL),
    };
    // Compressing from memory into memory has nothing that could fail.
    if let Ok(compressed) = compressed {
        out.truncate(start);
        out.extend_from_slice(&compressed);
    }
}

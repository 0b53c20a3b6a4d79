//! Messages that are compressed.

use crate::{Code, Status};
use dovetail_protocol::Execution;
use dovetail_protocol::grpc::{Coding, ZstdError, compress_zstd, decompress_zstd};
use dovetail_wire::Bytes;
use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use std::io::Read;

/// A compressed message; `None` where that is not possible.
pub(super) fn compress(coding: Coding, message: &[u8]) -> Option<Vec<u8>> {
    match coding {
        Coding::Gzip => {
            let mut packed = Vec::new();
            let mut encoder = GzEncoder::new(message, Compression::fast());
            // From memory into memory, which does not fail.
            encoder.read_to_end(&mut packed).ok().map(|_| packed)
        }
        Coding::Zstd => compress_zstd(message),
    }
}

/// The message. Never makes more than is allowed, and one byte.
pub(super) fn decompress(coding: Coding, message: &[u8], most: usize) -> Result<Bytes, Status> {
    match coding {
        Coding::Gzip => gunzip(message, most),
        Coding::Zstd => decompress_zstd(message, most)
            .map(Bytes::from)
            .map_err(|error| refused(&error)),
    }
}

/// Decompresses a message of gzip.
pub(crate) fn gunzip(message: &[u8], most: usize) -> Result<Bytes, Status> {
    let mut plain = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let read = GzDecoder::new(message).take(limit).read_to_end(&mut plain);
    match read {
        Ok(length) if length <= most => Ok(plain.into()),
        Ok(_) => {
            let what = format!("a message of more than {most} bytes, decompressed");
            let why = Status::new(Code::ResourceExhausted, what);
            Err(why.with_execution(Execution::NotStarted))
        }
        Err(error) => {
            let what = format!("a message that gzip did not make: {error}");
            Err(Status::new(Code::Internal, what).with_execution(Execution::NotStarted))
        }
    }
}

#[cold]
fn refused(error: &ZstdError) -> Status {
    let code = match error {
        ZstdError::TooLong { .. } => Code::ResourceExhausted,
        ZstdError::Broken(_) => Code::Internal,
    };
    Status::new(code, error.to_string()).with_execution(Execution::NotStarted)
}

//! How messages over HTTP are compressed, each by itself. gzip itself is a driver's.

use crate::compressors::{Failure, Room, zstd};
use std::borrow::Cow;
use std::fmt;

/// How messages are compressed, as headers name it: `grpc-encoding`, `Connect-Content-Encoding` and
/// their like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// `gzip`.
    Gzip,
    /// `zstd`: Zstandard's frames (RFC 8878). There where the feature `zstd` is.
    Zstd,
}

/// Zstandard's own default.
const LEVEL: i32 = 3;

impl Coding {
    /// All that this build has, the best one first.
    pub const ALL: &[Self] = match cfg!(feature = "zstd") {
        true => &[Coding::Zstd, Coding::Gzip],
        false => &[Coding::Gzip],
    };

    /// The codings that this build can decompress, as a header lists them.
    pub const ACCEPTED: &'static str = match cfg!(feature = "zstd") {
        true => "identity,gzip,zstd",
        false => "identity,gzip",
    };

    /// The name of gRPC's header in which messages say how they are compressed.
    pub const HEADER: &'static str = "grpc-encoding";

    /// The name of gRPC's header in which an end says what it can decompress.
    pub const ACCEPT_HEADER: &'static str = "grpc-accept-encoding";

    /// Its name in headers.
    pub const fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Zstd => "zstd",
        }
    }

    /// The one with this name, where this build has it.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        match name {
            b"gzip" => Some(Coding::Gzip),
            b"zstd" if cfg!(feature = "zstd") => Some(Coding::Zstd),
            _ => None,
        }
    }
}

/// Why zstd gives no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZstdError {
    /// The message is longer than allowed.
    TooLong {
        /// The limit.
        most: usize,
    },
    /// The bytes are none that zstd made.
    Broken(Cow<'static, str>),
}

impl fmt::Display for ZstdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ZstdError::TooLong { most } => {
                write!(f, "a message of more than {most} bytes, decompressed")
            }
            ZstdError::Broken(why) => write!(f, "a message that zstd did not make: {why}"),
        }
    }
}

impl std::error::Error for ZstdError {}

/// Compresses a message; `None` where that is not possible.
pub fn compress_zstd(message: &[u8]) -> Option<Vec<u8>> {
    zstd::compress(message, LEVEL)
}

/// Decompresses a message. Never makes more than `most` bytes, and one.
pub fn decompress_zstd(message: &[u8], most: usize) -> Result<Vec<u8>, ZstdError> {
    let room = Room {
        first: message.len(),
        most,
    };
    zstd::decompress(message, room).map_err(|failure| match failure {
        Failure::TooLarge => ZstdError::TooLong { most },
        Failure::Broken(why) => ZstdError::Broken(why),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in Coding::ACCEPTED.split(',').skip(1) {
            let coding = Coding::from_name(name.as_bytes()).unwrap();
            assert_eq!(coding.name(), name);
        }
        for name in [&b""[..], b"identity", b"br", b"GZIP"] {
            assert_eq!(Coding::from_name(name), None);
        }
    }

    #[cfg(feature = "zstd")]
    #[test]
    fn what_is_compressed_is_decompressed_within_limits() {
        let packed = compress_zstd(&[7; 1000]).unwrap();
        assert!(packed.len() < 100);
        let too_long = ZstdError::TooLong { most: 999 };
        assert_eq!(decompress_zstd(&packed, 1000), Ok(vec![7; 1000]));
        assert_eq!(decompress_zstd(&packed, 999), Err(too_long));
        for broken in [&packed[..packed.len() - 1], b"", b"no frame"] {
            let plain = decompress_zstd(broken, 1000);
            assert!(matches!(plain, Err(ZstdError::Broken(_))), "{plain:?}");
        }
    }
}

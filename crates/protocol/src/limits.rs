/// Limits on the memory that a peer may make this end keep for one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// One message, before and after decompression. Default 64 MiB; never more than the 1 GiB that
    /// the wire itself allows.
    pub message_bytes: usize,
    /// How many times as long as a compressed message what it decompresses to may be, beyond 1 MiB,
    /// which every message may. Default 1,050, which what gzip and zlib make never exceeds; ends of
    /// Dovetail's compress nothing beyond that.
    pub decompression_ratio: usize,
    /// One frame on Dovetail's own wire; longer messages come in several, which takes longer.
    /// Default, and the most that the wire allows, 16 MiB less a byte; the least is 16 KiB.
    pub frame_bytes: usize,
    /// The headers of one message: THeader's, or HTTP's with the first line. Default 16 KiB.
    pub header_bytes: usize,
    /// The name of a method, with the service before it. Default 1 KiB.
    pub name_bytes: usize,
    /// Structs and containers inside one another, where a message has to be walked to find its end.
    /// Default 64.
    pub depth: usize,
    /// Objects of either end that the other one has references to, on Dovetail's own wire, and
    /// calls that have promised one: each by itself. Default 10,000.
    pub objects: usize,
}

/// The longest frame that detection can tell from other first bytes, as fbthrift and Apache have
/// it.
pub(crate) const MAX_FRAME: usize = 0x3fff_ffff;

/// The default of [`ConnectionLimits::decompression_ratio`].
const RATIO: usize = 1_050;

/// To so much every message may decompress.
const ANY_RATIO: usize = 1 << 20;

fn within_ratio(compressed: usize, ratio: usize) -> usize {
    compressed.saturating_mul(ratio).max(ANY_RATIO)
}

/// True if compression makes a message smaller, within the ratio that receivers accept.
pub fn repays(compressed: usize, plain: usize) -> bool {
    compressed < plain && is_taken(compressed, plain)
}

/// True if the compression ratio of a message is within the receiver's limit.
pub(crate) fn is_taken(compressed: usize, plain: usize) -> bool {
    plain <= within_ratio(compressed, RATIO)
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        ConnectionLimits {
            message_bytes: 64 << 20,
            decompression_ratio: RATIO,
            frame_bytes: (16 << 20) - 1,
            header_bytes: 16 << 10,
            name_bytes: 1 << 10,
            depth: 64,
            objects: 10_000,
        }
    }
}

impl ConnectionLimits {
    /// The limit of a message, as far as the wire goes.
    pub(crate) fn message(&self) -> usize {
        self.message_bytes.min(MAX_FRAME)
    }

    /// The most bytes that a message may have which came compressed, in so many.
    pub fn decompressed(&self, compressed: usize) -> usize {
        within_ratio(compressed, self.decompression_ratio).min(self.message_bytes)
    }
}

/// How far a driver may trust the announced length of a message: a few times as far as the peer has
/// sent already, so that a large one moves seldom while it grows, and a first piece on credit. A
/// claim alone thus never costs more than that piece.
pub(crate) fn credible(needed: usize, received: usize) -> usize {
    const CREDIT: usize = 128 << 10;
    const TIMES: usize = 4;
    needed.min(received.saturating_mul(TIMES).max(CREDIT))
}

use dovetail_wire::visible;
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// A breach of the protocol by the peer, which ends the connection, with advice.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A message larger than [`ConnectionLimits::message_bytes`](crate::ConnectionLimits).
    MessageTooLarge {
        /// Its size as far as it is known: at least this.
        size: u64,
        /// The limit.
        limit: usize,
    },
    /// Values nested deeper than [`ConnectionLimits::depth`](crate::ConnectionLimits).
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// A method's name longer than [`ConnectionLimits::name_bytes`](crate::ConnectionLimits).
    NameTooLong {
        /// Its length.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// A response to no request that waits for one.
    UnknownReply {
        /// The number that it carries.
        id: u32,
    },
    /// The connection ends in the middle of a message.
    Truncated,
    /// A message that takes its sender too long. The driver, which has a clock, says so.
    TooSlow {
        /// How long a message may take.
        limit: Duration,
    },
    /// Bytes that are not MessagePack, or not a message of msgpack-rpc.
    Malformed {
        /// The problem, in a few words.
        what: Cow<'static, str>,
    },
}

impl ProtocolError {
    /// Something that is no message.
    #[cold]
    pub(super) fn malformed(what: impl Into<Cow<'static, str>>) -> Self {
        ProtocolError::Malformed { what: what.into() }
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MessageTooLarge { size, limit } => write!(
                f,
                "a message of at least {size} bytes, over the limit of {limit}; raise \
                 `message_bytes` if messages may be that large"
            ),
            Self::TooDeep { limit } => write!(
                f,
                "values nested deeper than the limit of {limit}; raise `depth` if they may be that \
                 deep"
            ),
            Self::NameTooLong { length, limit } => write!(
                f,
                "a method's name of {length} bytes, over the limit of {limit}; raise `name_bytes` \
                 if names may be that long"
            ),
            Self::UnknownReply { id } => write!(
                f,
                "a response with the number {id}, which no request that waits for one has"
            ),
            Self::Truncated => f.write_str("the connection ends in the middle of a message"),
            Self::TooSlow { limit } => write!(f, "a message takes longer than {limit:?} to arrive"),
            Self::Malformed { what } => {
                write!(f, "no message of msgpack-rpc: {}", visible(what))
            }
        }
    }
}

impl std::error::Error for ProtocolError {}

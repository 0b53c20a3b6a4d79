use dovetail_wire::visible;
use std::borrow::Cow;
use std::fmt;

/// A breach of the protocol by the peer, which ends the connection.
///
/// After one of these the bytes that follow have no meaning: the machine has queued a GOODBYE that
/// says so.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The first bytes are not those of this wire: the peer speaks something else.
    WrongPreface {
        /// The first bytes, at most eight.
        first: Vec<u8>,
    },
    /// A version of the wire that this end does not know.
    InvalidVersion {
        /// As sent.
        found: u64,
    },
    /// A kind of frame that the wire does not define, or not here.
    InvalidFrame {
        /// As sent.
        kind: u8,
    },
    /// Flags that this kind of frame does not have.
    InvalidFlags {
        /// The kind of frame.
        kind: u8,
        /// As sent.
        flags: u8,
    },
    /// A frame longer than this end said it takes.
    FrameTooLarge {
        /// Its payload's length.
        length: usize,
        /// The largest size that this end takes.
        largest: usize,
    },
    /// The name of a method, with its service, longer than
    /// [`ConnectionLimits::name_bytes`](crate::ConnectionLimits).
    NameTooLong {
        /// Its length.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// A frame or the connection ends in the middle of something.
    Truncated {
        /// The kind of thing.
        what: &'static str,
    },
    /// Something else that the grammar of frames forbids.
    Malformed {
        /// The problem, in a few words.
        what: Cow<'static, str>,
    },
    /// The peer gave the connection up.
    Goodbye {
        /// Its reason.
        why: String,
    },
}

impl ProtocolError {
    #[cold]
    pub(super) fn malformed(what: impl Into<Cow<'static, str>>) -> Self {
        ProtocolError::Malformed { what: what.into() }
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongPreface { first } => write!(
                f,
                "the peer does not speak Dovetail's wire: it began with {}; \
                 choose its wire, for example `binary+framed`",
                first.escape_ascii()
            ),
            Self::InvalidVersion { found } => {
                write!(
                    f,
                    "version {found} of Dovetail's wire, where this end has 1"
                )
            }
            Self::InvalidFrame { kind } => write!(f, "a frame of kind {kind} is not known here"),
            Self::InvalidFlags { kind, flags } => {
                write!(
                    f,
                    "a frame of kind {kind} cannot have the flags {flags:#04x}"
                )
            }
            Self::FrameTooLarge { length, largest } => {
                write!(
                    f,
                    "a frame of {length} bytes where {largest} were agreed on"
                )
            }
            Self::NameTooLong { length, limit } => {
                write!(
                    f,
                    "a method's name of {length} bytes, where {limit} are allowed"
                )
            }
            Self::Truncated { what } => write!(f, "{what} ends in the middle"),
            Self::Malformed { what } => write!(f, "{}", visible(what)),
            Self::Goodbye { why } => {
                write!(f, "the peer gave the connection up: {}", visible(why))
            }
        }
    }
}

impl std::error::Error for ProtocolError {}

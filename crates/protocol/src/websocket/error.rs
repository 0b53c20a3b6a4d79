use dovetail_wire::visible;
use std::fmt;
use std::time::Duration;

/// Why a socket is closed, as RFC 6455 numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseCode {
    /// 1000: all is said.
    Normal,
    /// 1001: the server goes down, or the socket has been idle for too long.
    GoingAway,
    /// 1002: frames that break the rules.
    Protocol,
    /// 1003: a kind of message that means nothing here.
    Unsupported,
    /// 1007: text that is no UTF-8.
    InvalidText,
    /// 1008: a message that means nothing where it comes, or takes too long.
    Policy,
    /// 1009: a message that is too long.
    TooLarge,
}

impl CloseCode {
    /// The number.
    pub fn number(self) -> u16 {
        match self {
            CloseCode::Normal => 1000,
            CloseCode::GoingAway => 1001,
            CloseCode::Protocol => 1002,
            CloseCode::Unsupported => 1003,
            CloseCode::InvalidText => 1007,
            CloseCode::Policy => 1008,
            CloseCode::TooLarge => 1009,
        }
    }
}

/// A mistake of a client. The socket is closed with the [code](Self::code), and with this text as
/// the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A frame that RFC 6455 does not allow.
    Frame {
        /// The problem.
        what: &'static str,
    },
    /// A text message, or the reason of a close, that is no UTF-8.
    NotText,
    /// A binary message where only text means something.
    Binary,
    /// A message that means nothing where it comes.
    Message {
        /// The messages that would mean something.
        what: &'static str,
    },
    /// A message longer than [`ConnectionLimits::message_bytes`](crate::ConnectionLimits).
    TooLarge {
        /// Its size as far as it is known: at least this, in bytes.
        size: u64,
        /// The limit, in bytes.
        limit: usize,
    },
    /// A message that takes longer than this.
    TooSlow {
        /// The limit.
        limit: Duration,
    },
    /// The connection ends in the middle of a message.
    Truncated,
}

impl Error {
    /// The code that tells the client.
    pub fn code(&self) -> CloseCode {
        match self {
            Error::Frame { .. } | Error::Truncated => CloseCode::Protocol,
            Error::NotText => CloseCode::InvalidText,
            Error::Binary => CloseCode::Unsupported,
            Error::TooLarge { .. } => CloseCode::TooLarge,
            Error::Message { .. } | Error::TooSlow { .. } => CloseCode::Policy,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Frame { what } | Error::Message { what } => write!(f, "{}", visible(what)),
            Error::NotText => f.write_str("text that is no UTF-8"),
            Error::Binary => f.write_str("a binary message: calls are text messages, in JSON"),
            Error::TooLarge { size, limit } => {
                write!(f, "a message of {size} bytes or more, the limit is {limit}")
            }
            Error::TooSlow { limit } => write!(f, "a message took longer than {limit:?}"),
            Error::Truncated => f.write_str("the connection ends in the middle of a message"),
        }
    }
}

impl std::error::Error for Error {}

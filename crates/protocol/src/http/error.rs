use dovetail_wire::visible;
use std::borrow::Cow;
use std::fmt;

/// A mistake of a peer over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A request that is answered with an error, after which the connection ends.
    Refused {
        /// The status of the answer.
        status: u16,
        /// The problem.
        what: &'static str,
    },
    /// A response larger than [`ConnectionLimits::message_bytes`](crate::ConnectionLimits).
    MessageTooLarge {
        /// Its size as far as it is known: at least this.
        size: u64,
        /// The limit.
        limit: usize,
    },
    /// A response whose headers are larger than
    /// [`ConnectionLimits::header_bytes`](crate::ConnectionLimits).
    HeadersTooLarge {
        /// The limit.
        limit: usize,
    },
    /// The connection ends in the middle of a request or response.
    Truncated,
    /// A response that breaks HTTP's grammar.
    Malformed {
        /// How, in a few words.
        what: Cow<'static, str>,
    },
}

impl Error {
    #[cold]
    pub(crate) fn malformed(what: impl Into<Cow<'static, str>>) -> Self {
        Error::Malformed { what: what.into() }
    }

    /// The status of the answer to a request that cannot be taken.
    pub fn status(&self) -> u16 {
        match self {
            Error::Refused { status, .. } => *status,
            Error::MessageTooLarge { .. } => 413,
            Error::HeadersTooLarge { .. } => 431,
            Error::Truncated | Error::Malformed { .. } => 400,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused { status, what } => write!(f, "{what} (HTTP status {status})"),
            Error::MessageTooLarge { size, limit } => {
                write!(f, "a message of {size} bytes or more, the limit is {limit}")
            }
            Error::HeadersTooLarge { limit } => {
                write!(f, "headers of more than the limit of {limit} bytes")
            }
            Error::Truncated => f.write_str("an HTTP message ends too early"),
            Error::Malformed { what } => write!(f, "{}", visible(what)),
        }
    }
}

impl std::error::Error for Error {}

/// Why reading from the front of bytes stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// At least this many bytes are missing: call again when more have come.
    Need(usize),
    /// More bytes will not help.
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Error(error)
    }
}

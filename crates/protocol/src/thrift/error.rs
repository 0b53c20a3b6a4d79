use super::MessageKind;
use crate::Name;
use crate::http;
use dovetail_wire::visible;
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// A breach of the protocol by the peer, which ends the connection, with advice.
///
/// After one of these the bytes that follow have no meaning. A server says
/// [`goodbye`](super::ServerConnection::goodbye) and closes; a client fails the calls that are
/// outstanding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The first bytes are those of no protocol that this end speaks.
    UnknownProtocol {
        /// The first bytes, at most eight.
        first: Vec<u8>,
    },
    /// The peer began a TLS handshake.
    Tls,
    /// The peer began HTTP/2.
    Http2,
    /// A message begins as one of another protocol than those before, or than the one agreed on.
    WrongProtocol {
        /// The protocol that was agreed on.
        expected: &'static str,
        /// The protocol that came.
        found: &'static str,
    },
    /// A message larger than [`ConnectionLimits::message_bytes`](crate::ConnectionLimits).
    MessageTooLarge {
        /// Its size as far as it is known: at least this.
        size: u64,
        /// The limit.
        limit: usize,
    },
    /// A message that decompresses to more than
    /// [`ConnectionLimits::message_bytes`](crate::ConnectionLimits).
    DecompressedTooLarge {
        /// The limit.
        limit: usize,
    },
    /// Headers larger than [`ConnectionLimits::header_bytes`](crate::ConnectionLimits).
    HeadersTooLarge {
        /// The limit.
        limit: usize,
    },
    /// A method's name longer than [`ConnectionLimits::name_bytes`](crate::ConnectionLimits).
    NameTooLong {
        /// Its length.
        length: u64,
        /// The limit.
        limit: usize,
    },
    /// A method's name that is not UTF-8.
    InvalidName,
    /// Values nested deeper than [`ConnectionLimits::depth`](crate::ConnectionLimits).
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// A length or count below zero.
    NegativeLength {
        /// As sent.
        length: i64,
    },
    /// A type number that the protocol does not define.
    InvalidType {
        /// As sent.
        found: u8,
    },
    /// A version of the protocol that this end does not know.
    InvalidVersion {
        /// As sent.
        found: u32,
    },
    /// A kind of message that the protocol does not define.
    InvalidMessageKind {
        /// As sent.
        found: i64,
    },
    /// A reply sent to a server, or a call sent to a client.
    UnexpectedMessage {
        /// The kind that was sent.
        kind: MessageKind,
    },
    /// THeader names a protocol that this end does not know.
    UnsupportedProtocol {
        /// As sent.
        id: u32,
    },
    /// THeader names a transform that this end does not know.
    UnsupportedTransform {
        /// As sent.
        id: u32,
    },
    /// The connection or frame ends in the middle of something.
    Truncated {
        /// The kind of thing.
        what: &'static str,
    },
    /// A message that takes its sender too long. The driver, which has a clock, says so.
    TooSlow {
        /// How long a message may take.
        limit: Duration,
    },
    /// Something else that the protocol's grammar forbids.
    Malformed {
        /// The problem, in a few words.
        what: Cow<'static, str>,
    },
    /// An HTTP request that is answered with an error.
    Http {
        /// The status of the answer.
        status: u16,
        /// The problem.
        what: &'static str,
    },
    /// A reply that belongs to no outstanding call.
    UnknownReply {
        /// The number that it carries.
        seqid: i32,
        /// The method that it names.
        method: Name,
    },
    /// A reply that names another method than the call with its number.
    WrongMethod {
        /// The method of the call.
        expected: Name,
        /// The method that the reply names.
        found: Name,
    },
}

impl ProtocolError {
    /// Something that the protocol's grammar forbids.
    #[cold]
    pub fn malformed(what: impl Into<Cow<'static, str>>) -> Self {
        ProtocolError::Malformed { what: what.into() }
    }

    /// Returns advice for the reader of the error; empty where the message says it all.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::UnknownProtocol { .. } => {
                "is the peer a Thrift client of this port, without a proxy or port scanner between?"
            }
            Self::Tls => "connect without TLS, or give the listener a certificate",
            Self::Http2 => "this listener takes HTTP/1.1; gRPC needs one that speaks HTTP/2",
            Self::WrongProtocol { .. } => "choose the same protocol and transport at both ends",
            Self::MessageTooLarge { .. } => {
                "raise `message_bytes` if messages may be that large; a wrong transport (framed or \
                 unframed) also looks like this"
            }
            Self::DecompressedTooLarge { .. } => {
                "raise `message_bytes` if messages may be that large"
            }
            Self::HeadersTooLarge { .. } => "raise `header_bytes` if headers may be that large",
            Self::NameTooLong { .. } => "a wrong transport (framed or unframed) looks like this",
            Self::TooDeep { .. } => "raise `depth` if values may be nested that deep",
            Self::UnsupportedTransform { .. } => "use zlib or zstd, or none",
            Self::UnexpectedMessage { .. } => "are both ends servers, or both clients?",
            Self::UnknownReply { .. } | Self::WrongMethod { .. } => {
                "is the connection shared with another client?"
            }
            _ => "",
        }
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownProtocol { first } => {
                write!(f, "no known protocol begins with the bytes")?;
                first.iter().try_for_each(|byte| write!(f, " {byte:02x}"))
            }
            Self::Tls => f.write_str("the peer speaks TLS, this end does not"),
            Self::Http2 => f.write_str("the peer speaks HTTP/2, this end does not"),
            Self::WrongProtocol { expected, found } => {
                write!(f, "a message in {found} where {expected} was expected")
            }
            Self::MessageTooLarge { size, limit } => {
                write!(f, "a message of {size} bytes or more, the limit is {limit}")
            }
            Self::DecompressedTooLarge { limit } => {
                write!(
                    f,
                    "a message decompresses to more than the limit of {limit} bytes"
                )
            }
            Self::HeadersTooLarge { limit } => {
                write!(f, "headers of more than the limit of {limit} bytes")
            }
            Self::NameTooLong { length, limit } => {
                write!(f, "a method name of {length} bytes, the limit is {limit}")
            }
            Self::InvalidName => f.write_str("a method name that is not UTF-8"),
            Self::TooDeep { limit } => write!(f, "values nested deeper than the limit of {limit}"),
            Self::NegativeLength { length } => write!(f, "a length of {length}"),
            Self::InvalidType { found } => write!(f, "{found} is no type of this protocol"),
            Self::InvalidVersion { found } => {
                write!(f, "version {found:#x} of the protocol is not known")
            }
            Self::InvalidMessageKind { found } => write!(f, "{found} is no kind of message"),
            Self::UnexpectedMessage { kind } => {
                write!(
                    f,
                    "a message of kind {kind} from a peer that cannot send it"
                )
            }
            Self::UnsupportedProtocol { id } => {
                write!(f, "protocol {id} inside THeader is not known")
            }
            Self::UnsupportedTransform { id } => write!(f, "transform {id} is not known"),
            Self::Truncated { what } => write!(f, "{what} ends too early"),
            Self::TooSlow { limit } => {
                write!(
                    f,
                    "a message that is not complete after {limit:?}, the limit"
                )
            }
            Self::Malformed { what } => write!(f, "{}", visible(what)),
            Self::Http { status, what } => write!(f, "{what} (HTTP status {status})"),
            Self::UnknownReply { seqid, method } => {
                write!(
                    f,
                    "a reply to `{}` with the number {seqid}, which no call has",
                    visible(method)
                )
            }
            Self::WrongMethod { expected, found } => {
                write!(
                    f,
                    "a reply to `{}` with the number of a call of `{expected}`",
                    visible(found)
                )
            }
        }?;
        match self.hint() {
            "" => Ok(()),
            hint => write!(f, "; {hint}"),
        }
    }
}

impl std::error::Error for ProtocolError {}

impl From<http::Error> for ProtocolError {
    fn from(error: http::Error) -> Self {
        match error {
            http::Error::Refused { status, what } => Self::Http { status, what },
            http::Error::MessageTooLarge { size, limit } => Self::MessageTooLarge { size, limit },
            http::Error::HeadersTooLarge { limit } => Self::HeadersTooLarge { limit },
            http::Error::Truncated => Self::Truncated {
                what: "an HTTP message",
            },
            http::Error::Malformed { what } => Self::Malformed { what },
        }
    }
}

use crate::{Field, Kind, visible};
use std::borrow::Cow;
use std::fmt;

/// Why bytes could not be turned into a value, and where in the value it happened.
///
/// One pointer wide, so that results of hot functions stay in registers.
#[derive(Clone, PartialEq, Eq)]
pub struct DecodeError(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: DecodeErrorKind,
    /// Innermost first.
    path: Vec<Cow<'static, str>>,
}

/// The problem of the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The bytes end in the middle of a value.
    Truncated,
    /// Bytes are left after the value.
    TrailingBytes {
        /// How many.
        left: usize,
    },
    /// A length or count below zero.
    NegativeLength {
        /// As sent.
        length: i64,
    },
    /// A length or count that the rest of the message cannot hold.
    LengthBeyondInput {
        /// As sent.
        length: u64,
        /// Bytes that are left.
        left: usize,
    },
    /// Structs and containers nested deeper than [`Limits::depth`](crate::Limits::depth), or than
    /// there is [stack](crate::Limits::stack) for.
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The value would take more memory than [`Limits::allocation`](crate::Limits::allocation).
    AllocationLimit {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A string or binary of more bytes than [`Limits::string`](crate::Limits::string).
    StringTooLong {
        /// Its length, in bytes.
        length: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// A list, set or map of more elements than [`Limits::elements`](crate::Limits::elements).
    TooManyElements {
        /// The limit.
        limit: usize,
    },
    /// A string that is not UTF-8.
    InvalidUtf8,
    /// A type number that the encoding does not define.
    InvalidType {
        /// As sent.
        found: u8,
    },
    /// A value of another type than the contract says.
    TypeMismatch {
        /// The kind in the contract.
        expected: Kind,
        /// The kind that was sent, as the encoding names it.
        found: Cow<'static, str>,
    },
    /// A required field is absent.
    MissingField {
        /// Its name.
        name: Cow<'static, str>,
    },
    /// A reference to a node that is not there.
    BadReference {
        /// The number of the node.
        number: u64,
        /// The problem of the node.
        problem: &'static str,
    },
    /// A reference to an object, where the encoding has none. Dovetail's own wire and Cap'n Proto's
    /// protocol pass objects.
    NoObjects,
    /// The connection has as many objects as it may have.
    TooManyObjects {
        /// The limit.
        limit: usize,
    },
    /// Anything else that the encoding's grammar forbids.
    Malformed {
        /// The problem, in a few words.
        what: Cow<'static, str>,
    },
}

impl DecodeError {
    /// An error of the encoding's grammar.
    #[cold]
    pub fn malformed(what: impl Into<Cow<'static, str>>) -> Self {
        DecodeErrorKind::Malformed { what: what.into() }.into()
    }

    /// [`Message::read_field`](crate::Message::read_field) was asked for an id that its table
    /// lacks.
    #[cold]
    pub fn no_such_field(id: i32) -> Self {
        Self::malformed(format!("no field with the id {id}"))
    }

    /// Returns the problem.
    pub fn kind(&self) -> &DecodeErrorKind {
        &self.0.kind
    }

    /// The field in which it happened, from the outside in, as in `Order.lines[].price`; empty at
    /// the top.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for segment in self.0.path.iter().rev() {
            if !path.is_empty() && !segment.starts_with('[') {
                path.push('.');
            }
            path.push_str(segment);
        }
        path
    }

    /// Adds an outer segment to [`path`](Self::path) while the error travels outward.
    #[cold]
    #[must_use]
    pub fn within(mut self, segment: impl Into<Cow<'static, str>>) -> Self {
        self.0.path.push(segment.into());
        self
    }

    /// Adds a field as an outer segment. The error of a sensitive field does not repeat its value.
    #[cold]
    #[must_use]
    pub fn within_field(mut self, field: &Field<'_>) -> Self {
        use DecodeErrorKind::{Malformed, TypeMismatch};
        if field.sensitive && matches!(self.0.kind, Malformed { .. } | TypeMismatch { .. }) {
            let what = "its value cannot be decoded, and is not shown, since it is sensitive";
            self = Self::malformed(what);
        }
        self.within(field.name.to_owned())
    }
}

impl From<DecodeErrorKind> for DecodeError {
    #[cold]
    fn from(kind: DecodeErrorKind) -> Self {
        DecodeError(Box::new(Inner {
            kind,
            path: Vec::new(),
        }))
    }
}

impl fmt::Display for DecodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => write!(f, "the message ends in the middle of a value"),
            Self::TrailingBytes { left } => write!(f, "{left} bytes are left after the value"),
            Self::NegativeLength { length } => write!(f, "a length of {length}"),
            Self::LengthBeyondInput { length, left } => {
                write!(f, "a length of {length} where {left} bytes are left")
            }
            Self::TooDeep { limit } => write!(f, "nested deeper than the limit of {limit}"),
            Self::StringTooLong { length, limit } => write!(
                f,
                "a string of {length} bytes; the limit `string` allows {limit}"
            ),
            Self::TooManyElements { limit } => write!(
                f,
                "a list, set or map of more than {limit} elements, which the limit `elements` allows"
            ),
            Self::AllocationLimit { limit } => {
                write!(
                    f,
                    "the value would take more than the limit of {limit} bytes of memory"
                )
            }
            Self::InvalidUtf8 => write!(f, "a string that is not UTF-8"),
            Self::InvalidType { found } => write!(f, "{found} is no type of this encoding"),
            Self::TypeMismatch { expected, found } => {
                write!(f, "expected {expected:?}, the peer sent {}", visible(found))
            }
            Self::MissingField { name } => write!(f, "the required field `{name}` is absent"),
            Self::BadReference { number, problem } => {
                write!(f, "a reference to node {number}, which {problem}")
            }
            Self::NoObjects => f.write_str(
                "references to objects need Dovetail's own wire, or Cap'n Proto's protocol",
            ),
            Self::TooManyObjects { limit } => write!(
                f,
                "the connection has {limit} objects already; `ConnectionLimits::objects` allows more"
            ),
            Self::Malformed { what } => write!(f, "{}", visible(what)),
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        if !path.is_empty() {
            write!(f, "{}: ", visible(&path))?;
        }
        fmt::Display::fmt(&self.0.kind, f)
    }
}

impl fmt::Debug for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecodeError")
            .field("kind", &self.0.kind)
            .field("path", &self.path())
            .finish()
    }
}

impl std::error::Error for DecodeError {}

/// Why a value could not be written in an encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// Structs and containers nested deeper than the writer's limit; most often a value that holds
    /// itself.
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// A string or container with more bytes or elements than the encoding can count.
    TooLong {
        /// Its length.
        length: usize,
    },
    /// A message with more bytes than the other end takes.
    TooLarge {
        /// Its length in bytes.
        length: usize,
        /// The largest message that the other end takes, in bytes.
        limit: usize,
    },
    /// The value has not just the fields of the contract: some are unknown, or one is not there.
    /// Only an encoding that says which fields come can carry it.
    NeedsTags,
    /// A reference to an object, where the encoding has none. Dovetail's own wire and Cap'n Proto's
    /// protocol pass objects.
    NoObjects,
    /// The connection has as many objects as it may have.
    TooManyObjects {
        /// The limit.
        limit: usize,
    },
    /// The encoding has no form for this.
    Unsupported {
        /// The value, in a few words.
        what: &'static str,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooDeep { limit } => {
                write!(f, "the value is nested deeper than the limit of {limit}")
            }
            Self::TooLong { length } => write!(f, "a length of {length} does not fit the encoding"),
            Self::TooLarge { length, limit } => write!(
                f,
                "a message of {length} bytes, where the other end takes {limit}; its `message_bytes` allows more"
            ),
            Self::NeedsTags => f.write_str(
                "the value has not just the fields of the contract: only an encoding with field ids can carry it",
            ),
            Self::NoObjects => f.write_str("references to objects need Dovetail's own wire, or Cap'n Proto's protocol"),
            Self::TooManyObjects { limit } => write!(
                f,
                "the connection has {limit} objects already; `ConnectionLimits::objects` allows more"
            ),
            Self::Unsupported { what } => write!(f, "the encoding cannot carry {what}"),
        }
    }
}

impl std::error::Error for EncodeError {}

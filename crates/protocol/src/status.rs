use dovetail_wire::{Any, visible};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// Why a call failed: the one error type of all wires.
///
/// Each wire has exactly one module that maps its own codes to and from this one. Exceptions that a
/// contract declares are values of their own types, not a `Status`.
#[derive(Clone, PartialEq, Eq)]
pub struct Status(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    code: Code,
    origin: Origin,
    execution: Execution,
    message: Cow<'static, str>,
    details: Vec<Any>,
    asks_for_description: bool,
    retry_after: Option<Duration>,
}

/// The kind of failure, named as gRPC names it, so that one table serves all wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Code {
    /// The caller gave the call up.
    Cancelled = 1,
    /// Something that fits no other code.
    Unknown = 2,
    /// The arguments are wrong, whatever the state of the server.
    InvalidArgument = 3,
    /// The time given to the call is over.
    DeadlineExceeded = 4,
    /// The requested thing does not exist.
    NotFound = 5,
    /// The thing to be made exists.
    AlreadyExists = 6,
    /// The caller is known and may not do this.
    PermissionDenied = 7,
    /// A limit or quota is reached; the message says which.
    ResourceExhausted = 8,
    /// The server is not in the state that the call needs.
    FailedPrecondition = 9,
    /// The call lost against a concurrent one.
    Aborted = 10,
    /// Past the valid range.
    OutOfRange = 11,
    /// The peer has no such service or method, or the wire no such feature.
    Unimplemented = 12,
    /// A promise of the system is broken: a bug.
    Internal = 13,
    /// No connection, or it was lost; trying again later may help.
    Unavailable = 14,
    /// Data are lost or corrupted.
    DataLoss = 15,
    /// The caller is not known.
    Unauthenticated = 16,
}

/// The end that reports a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// This end.
    Local,
    /// The other end, in its answer.
    Peer,
}

/// Whether the handler ran, as far as that is known: it decides if a call may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Execution {
    /// No byte of the call left this process.
    NotSent,
    /// It was sent, and the server is known not to have started it.
    NotStarted,
    /// It was sent; nothing more is known.
    MayHaveRun,
    /// The server answered it.
    Finished,
}

impl Status {
    /// A failure found at this end, of a call of which no byte was sent. Where more is known, say
    /// so with [`with_execution`](Self::with_execution).
    #[cold]
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Status(Box::new(Inner {
            code,
            origin: Origin::Local,
            execution: Execution::NotSent,
            message: message.into(),
            details: Vec::new(),
            asks_for_description: false,
            retry_after: None,
        }))
    }

    /// A failure that the peer reported in its answer to the call.
    #[cold]
    pub fn from_peer(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        let mut status = Status::new(code, message);
        status.0.origin = Origin::Peer;
        status.0.execution = Execution::Finished;
        status
    }

    /// Adds to the failure what is known about the execution.
    #[must_use]
    pub fn with_execution(mut self, execution: Execution) -> Self {
        self.0.execution = execution;
        self
    }

    /// Adds messages that say more, for programs: their values in protobuf, their types' names
    /// behind `type.googleapis.com/`. They travel over gRPC, gRPC-Web and Connect, and are dropped
    /// elsewhere.
    #[must_use]
    pub fn with_details(mut self, details: Vec<Any>) -> Self {
        self.0.details = details;
        self
    }

    /// Messages that say more; see [`with_details`](Self::with_details).
    pub fn details(&self) -> &[Any] {
        &self.0.details
    }

    /// Adds the time after which the caller may try again; `Duration::MAX` for never. It travels on
    /// every wire in whole milliseconds; `docs/throttling.md` has the table.
    #[must_use]
    pub fn with_retry_after(mut self, after: Duration) -> Self {
        self.0.retry_after = Some(after);
        self
    }

    /// Returns the time after which the caller may try again, where the server has said one;
    /// `Duration::MAX` for never.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// True for the refusal of a server that compares contracts: the call is to be sent again with
    /// the description of its contract, which channels do by themselves.
    #[doc(hidden)]
    pub fn asks_for_description(&self) -> bool {
        self.0.asks_for_description
    }

    pub(crate) fn ask_for_description(&mut self) {
        self.0.asks_for_description = true;
    }

    /// The kind of failure.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Returns the end that found it.
    pub fn origin(&self) -> Origin {
        self.0.origin
    }

    /// Whether the handler ran.
    pub fn execution(&self) -> Execution {
        self.0.execution
    }

    /// For a person: what happened and what to do next.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl Code {
    /// All of them, by number.
    pub const ALL: [Self; 16] = [
        Code::Cancelled,
        Code::Unknown,
        Code::InvalidArgument,
        Code::DeadlineExceeded,
        Code::NotFound,
        Code::AlreadyExists,
        Code::PermissionDenied,
        Code::ResourceExhausted,
        Code::FailedPrecondition,
        Code::Aborted,
        Code::OutOfRange,
        Code::Unimplemented,
        Code::Internal,
        Code::Unavailable,
        Code::DataLoss,
        Code::Unauthenticated,
    ];

    /// The code with this [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }

    /// The name as gRPC spells it, `DEADLINE_EXCEEDED` for example.
    pub fn name(self) -> &'static str {
        match self {
            Code::Cancelled => "CANCELLED",
            Code::Unknown => "UNKNOWN",
            Code::InvalidArgument => "INVALID_ARGUMENT",
            Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Code::NotFound => "NOT_FOUND",
            Code::AlreadyExists => "ALREADY_EXISTS",
            Code::PermissionDenied => "PERMISSION_DENIED",
            Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Code::FailedPrecondition => "FAILED_PRECONDITION",
            Code::Aborted => "ABORTED",
            Code::OutOfRange => "OUT_OF_RANGE",
            Code::Unimplemented => "UNIMPLEMENTED",
            Code::Internal => "INTERNAL",
            Code::Unavailable => "UNAVAILABLE",
            Code::DataLoss => "DATA_LOSS",
            Code::Unauthenticated => "UNAUTHENTICATED",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Execution::NotSent => "not sent",
            Execution::NotStarted => "not started",
            Execution::MayHaveRun => "may have run",
            Execution::Finished => "finished",
        })
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            code,
            origin,
            execution,
            message,
            details: _,
            asks_for_description: _,
            retry_after: _,
        } = &*self.0;
        let by = match origin {
            Origin::Local => "",
            Origin::Peer => ", says the peer",
        };
        write!(f, "{code}: {} ({execution}{by})", visible(message))
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Status {}

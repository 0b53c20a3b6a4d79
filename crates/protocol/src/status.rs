use crate::Code;
use crate::code::with_codes;
use dovetail_wire::{Any, visible};
use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
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
    source: Source,
}

/// The error that a failure comes from. It counts for nothing where failures are compared.
#[derive(Clone, Debug, Default)]
struct Source(Option<Arc<dyn Error + Send + Sync>>);

impl PartialEq for Source {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Source {}

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
            source: Source::default(),
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

    /// Adds the error that the failure comes from, for [`source`](Error::source). It stays in this
    /// process: peers are told the message alone.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.source = Source(Some(source.into().into()));
        self
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

macro_rules! constructors {
    ($($(#[$meta:meta])* $code:ident = $number:literal, $name:literal, $constructor:ident;)*) => {
        /// A failure of each code, as [`new`](Status::new) makes it.
        impl Status {
            $($(#[$meta])*
            #[cold]
            pub fn $constructor(message: impl Into<Cow<'static, str>>) -> Self {
                Status::new(Code::$code, message)
            })*
        }
    };
}

with_codes!(constructors);

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
            source: _,
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

impl Error for Status {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let source = self.0.source.0.as_ref()?;
        Some(&**source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_kept_and_not_compared() {
        let plain = Status::unavailable("no connection");
        assert!(plain.source().is_none());
        let caused = plain.clone().with_source("the port is closed");
        assert_eq!(plain, caused);
        let source = caused.source().map(ToString::to_string);
        assert_eq!(source.as_deref(), Some("the port is closed"));
        assert_eq!(plain.to_string(), caused.to_string());
    }

    #[test]
    fn constructors_have_their_codes() {
        assert_eq!(Status::not_found("").code(), Code::NotFound);
        assert_eq!(Status::unauthenticated("").code(), Code::Unauthenticated);
    }
}

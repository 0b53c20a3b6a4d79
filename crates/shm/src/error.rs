use std::{fmt, io};

/// Why a connection cannot go on, or not yet.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// There is nothing to receive, or no room to send. Wait, then try again.
    WouldBlock,
    /// The deadline passed first.
    TimedOut,
    /// This end has stopped sending, or the peer has stopped receiving.
    Closed,
    /// The peer ended, or let go of the connection, without saying that it has sent everything.
    PeerGone,
    /// The peer broke the rules of the transport, and this is how. The connection is of no use any
    /// more.
    Misbehaved(&'static str),
    /// The peer does not want the connection.
    Refused(Refusal),
    /// An argument makes no sense, and this is why.
    Invalid(&'static str),
    /// The operating system does not let us.
    Io(io::Error),
}

/// Why an end refuses a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It does not know the version of the layout.
    Version,
    /// The segment is larger than it takes.
    TooLarge,
    /// The offer is not what the specification says, or could not be used.
    Offer,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::WouldBlock => f.write_str("there is nothing to receive, or no room to send"),
            Error::TimedOut => f.write_str("the deadline passed"),
            Error::Closed => f.write_str("this direction of the connection is closed"),
            Error::PeerGone => f.write_str("the peer's process ended or gave up the connection"),
            Error::Misbehaved(how) => write!(f, "the peer broke the shared memory's rules: {how}"),
            Error::Refused(why) => write!(f, "the peer refuses shared memory: {why}"),
            Error::Invalid(why) => f.write_str(why),
            Error::Io(e) => write!(f, "shared memory: {e}"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Version => "it does not know this version of the layout",
            Refusal::TooLarge => "the segment is larger than it takes",
            Refusal::Offer => "the offer does not follow the specification",
        })
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(e) => Some(e),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        Error::Io(e)
    }
}

#[cfg(all(target_os = "linux", not(loom)))]
impl From<rustix::io::Errno> for Error {
    fn from(e: rustix::io::Errno) -> Self {
        Error::Io(e.into())
    }
}

impl From<Error> for io::Error {
    fn from(e: Error) -> Self {
        let kind = match e {
            // On the way of every call: without an allocation.
            Error::WouldBlock => return io::ErrorKind::WouldBlock.into(),
            Error::TimedOut => return io::ErrorKind::TimedOut.into(),
            Error::Io(e) => return e,
            Error::Closed => io::ErrorKind::BrokenPipe,
            Error::PeerGone => io::ErrorKind::ConnectionReset,
            Error::Misbehaved(_) => io::ErrorKind::InvalidData,
            Error::Refused(_) => io::ErrorKind::ConnectionRefused,
            Error::Invalid(_) => io::ErrorKind::InvalidInput,
        };
        io::Error::new(kind, e)
    }
}

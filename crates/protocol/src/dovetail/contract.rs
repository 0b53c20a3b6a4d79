use super::status;
use crate::{Name, Status};
use dovetail_wire::description;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A method as one end knows it.
#[derive(Debug)]
pub struct Contract {
    /// The service that it is called by; empty for the first one that has such a method.
    pub service: Name,
    /// The name in the contract.
    pub method: Name,
    /// The messages beside the parameters.
    pub kind: MethodKind,
    /// Its description by the contract, in canonical form; `None` where only the name is known.
    pub description: Option<Description>,
}

/// The messages beside the parameters of a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MethodKind {
    /// An answer.
    #[default]
    Unary,
    /// Nothing, not even an answer.
    OneWay,
    /// A stream of the caller's, then the answer.
    ClientStream,
    /// An answer, then a stream of the callee's.
    ServerStream,
    /// A stream of the caller's; an answer, then a stream of the callee's.
    BothStreams,
}

impl MethodKind {
    /// The kind with these properties. A method with streams is not one-way.
    pub const fn new(oneway: bool, client_streams: bool, server_streams: bool) -> Self {
        match (client_streams, server_streams) {
            (true, true) => MethodKind::BothStreams,
            (true, false) => MethodKind::ClientStream,
            (false, true) => MethodKind::ServerStream,
            (false, false) if oneway => MethodKind::OneWay,
            (false, false) => MethodKind::Unary,
        }
    }

    /// Returns whether there is no answer.
    pub const fn is_oneway(self) -> bool {
        matches!(self, MethodKind::OneWay)
    }

    /// Returns whether the caller sends a stream.
    pub const fn client_streams(self) -> bool {
        matches!(self, MethodKind::ClientStream | MethodKind::BothStreams)
    }

    /// Returns whether the callee sends a stream.
    pub const fn server_streams(self) -> bool {
        matches!(self, MethodKind::ServerStream | MethodKind::BothStreams)
    }

    /// Returns whether there is a stream.
    pub const fn streams(self) -> bool {
        self.client_streams() || self.server_streams()
    }

    /// The flags of BIND, which are those of a description.
    pub(super) const fn flags(self) -> u8 {
        match self {
            MethodKind::Unary => 0,
            MethodKind::OneWay => 1,
            MethodKind::ClientStream => 2,
            MethodKind::ServerStream => 4,
            MethodKind::BothStreams => 6,
        }
    }

    pub(super) fn from_flags(flags: u8) -> Option<Self> {
        Some(match flags {
            0 => MethodKind::Unary,
            1 => MethodKind::OneWay,
            2 => MethodKind::ClientStream,
            4 => MethodKind::ServerStream,
            6 => MethodKind::BothStreams,
            _ => return None,
        })
    }
}

impl fmt::Display for MethodKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MethodKind::Unary => "a call with an answer",
            MethodKind::OneWay => "a one-way call",
            MethodKind::ClientStream => "a call with a stream of the caller's",
            MethodKind::ServerStream => "a call with a stream of the server's",
            MethodKind::BothStreams => "a call with streams both ways",
        })
    }
}

/// The canonical form of a method: `docs/spec/encoding.md`, "Descriptions and fingerprints".
#[derive(Debug)]
pub struct Description {
    bytes: Cow<'static, [u8]>,
    fingerprint: [u8; 16],
}

impl Description {
    /// Takes the canonical form.
    pub fn new(bytes: impl Into<Cow<'static, [u8]>>) -> Self {
        let bytes = bytes.into();
        let fingerprint = description::fingerprint(&bytes);
        Description { bytes, fingerprint }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn fingerprint(&self) -> [u8; 16] {
        self.fingerprint
    }
}

/// Says "no description".
pub(super) const NO_FINGERPRINT: [u8; 16] = [0; 16];

impl Contract {
    pub(super) fn fingerprint(&self) -> [u8; 16] {
        let description = self.description.as_ref();
        description.map_or(NO_FINGERPRINT, |description| description.fingerprint)
    }
}

/// The directory of the methods that an end answers.
pub trait Directory {
    /// The method's contract, and the number under which the driver knows its handler. The status
    /// goes to the caller.
    fn find(&self, service: &str, method: &str) -> Result<(usize, Arc<Contract>), Status>;
}

/// The directory of an end that answers nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoMethods;

impl Directory for NoMethods {
    fn find(&self, _: &str, method: &str) -> Result<(usize, Arc<Contract>), Status> {
        Err(status::no_methods(method))
    }
}

use super::status;
use crate::{Name, Status};
use dovetail_wire::description;
use std::borrow::Cow;
use std::sync::Arc;

/// A method as one end knows it.
#[derive(Debug)]
pub struct Contract {
    /// The service that it is called by; empty for the first one that has such a method.
    pub service: Name,
    /// The name in the contract.
    pub method: Name,
    /// True where no answer is sent.
    pub oneway: bool,
    /// What the contract says about it, in canonical form; `None` where only the name is known.
    pub description: Option<Description>,
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

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
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

/// Where an end finds the methods that it answers.
pub trait Directory {
    /// The method's contract, and the number under which the driver knows its handler. The status goes to the
    /// caller.
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

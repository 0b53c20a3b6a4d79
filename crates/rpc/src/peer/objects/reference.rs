use crate::Service;
use crate::peer::objects::Remote;
use dovetail_wire::{DecodeError, EncodeError, Reader, Writer};
use std::fmt;
use std::sync::Arc;

/// A reference to an object, of this end or of the other one: what the types are made of that
/// [`object!`](crate::object) makes of services.
///
/// Clones lead to the same object, and are equal. `Default` leads to none, and cannot be sent.
#[derive(Clone, Default)]
pub struct ObjectRef(ObjectPlace);

#[derive(Clone, Default)]
pub(crate) enum ObjectPlace {
    #[default]
    Nothing,
    Here(Arc<dyn Service>),
    There(Arc<Remote>),
}

impl ObjectRef {
    /// An object of this end's, whose calls this service answers. It is dropped when nobody has a
    /// reference any longer, here or at the other ends that it was sent to.
    pub fn new(service: impl Service) -> Self {
        Self::here(Arc::new(service))
    }

    pub(crate) fn here(service: Arc<dyn Service>) -> Self {
        ObjectRef(ObjectPlace::Here(service))
    }

    pub(crate) fn there(remote: Arc<Remote>) -> Self {
        ObjectRef(ObjectPlace::There(remote))
    }

    pub(crate) fn place(&self) -> &ObjectPlace {
        &self.0
    }

    /// True for an object of this end's, also for one that has come home.
    pub fn is_here(&self) -> bool {
        matches!(self.0, ObjectPlace::Here(_))
    }

    /// Writes the reference.
    pub fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.object(self)
    }

    /// Reads a reference over this one.
    pub fn read<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        let object = reader.object()?.downcast();
        let object = object.map_err(|_| DecodeError::malformed("an object of another kind"));
        *self = *object?;
        Ok(())
    }
}

impl PartialEq for ObjectRef {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (ObjectPlace::Nothing, ObjectPlace::Nothing) => true,
            (ObjectPlace::Here(ours), ObjectPlace::Here(theirs)) => {
                std::ptr::addr_eq(Arc::as_ptr(ours), Arc::as_ptr(theirs))
            }
            (ObjectPlace::There(ours), ObjectPlace::There(theirs)) => Arc::ptr_eq(ours, theirs),
            _ => false,
        }
    }
}

impl Eq for ObjectRef {}

impl fmt::Debug for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            ObjectPlace::Nothing => "no object",
            ObjectPlace::Here(service) => service.descriptor().name,
            ObjectPlace::There(_) => "an object of the other end's",
        })
    }
}

use crate::peer::objects::ObjectRef;
use dovetail_wire::{DecodeError, EncodeError, ObjectNumbers};
use std::any::Any;
use std::sync::{Mutex, PoisonError};

/// The objects of a call inside this process: they are handed over as they are.
#[derive(Default)]
pub(crate) struct Passage(Mutex<Vec<ObjectRef>>);

impl ObjectNumbers for Passage {
    fn number(&self, object: &dyn Any) -> Result<u64, EncodeError> {
        let object: &ObjectRef = object.downcast_ref().ok_or(EncodeError::Unsupported {
            what: "an object of another kind",
        })?;
        let mut passed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        passed.push(object.clone());
        Ok(passed.len() as u64 - 1)
    }

    fn object(&self, number: u64) -> Result<Box<dyn Any>, DecodeError> {
        let passed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = usize::try_from(number).ok();
        let object = index.and_then(|index| passed.get(index)).cloned();
        let object = object.ok_or_else(|| DecodeError::malformed("an object that was not passed"));
        Ok(Box::new(object?))
    }

    fn undo(&self) {}
}

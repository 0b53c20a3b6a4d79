//! The table of objects of a message whose values name the objects by their places in it, as those
//! of Cap'n Proto's protocol do.

use crate::peer::objects::{ObjectRef, Transfer};
use dovetail_wire::capnp::NO_OBJECT;
use dovetail_wire::{DecodeError, EncodeError, ObjectNumbers};
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The table of a message that leaves.
pub(crate) struct SentCaps {
    transfer: Arc<Transfer>,
    table: Mutex<Vec<u64>>,
}

impl SentCaps {
    pub(crate) fn new(transfer: Arc<Transfer>) -> Self {
        SentCaps {
            transfer,
            table: Mutex::default(),
        }
    }

    /// The numbers of the objects, in their places.
    pub(crate) fn take(&self) -> Vec<u64> {
        std::mem::take(&mut *self.table())
    }

    fn table(&self) -> MutexGuard<'_, Vec<u64>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ObjectNumbers for SentCaps {
    fn number(&self, object: &dyn Any) -> Result<u64, EncodeError> {
        let number = self.transfer.number(object)?;
        let mut table = self.table();
        table.push(number);
        Ok(table.len() as u64 - 1)
    }

    fn object(&self, _: u64) -> Result<Box<dyn Any>, DecodeError> {
        Err(missing())
    }

    fn undo(&self) {
        self.table().clear();
        self.transfer.undo();
    }
}

/// The table of a message that has come. Each place of it is a reference, which is given back where
/// nobody takes the object.
pub(crate) struct ReceivedCaps {
    transfer: Transfer,
    table: Mutex<Vec<Cap>>,
}

enum Cap {
    Untaken(u64),
    Taken(ObjectRef),
}

impl ReceivedCaps {
    /// Makes the table of objects with these numbers.
    pub(crate) fn new(transfer: Transfer, numbers: Vec<u64>) -> Self {
        let table = numbers.into_iter().map(Cap::Untaken).collect();
        ReceivedCaps {
            transfer,
            table: Mutex::new(table),
        }
    }
}

impl ObjectNumbers for ReceivedCaps {
    fn number(&self, _: &dyn Any) -> Result<u64, EncodeError> {
        Err(EncodeError::NoObjects)
    }

    fn object(&self, place: u64) -> Result<Box<dyn Any>, DecodeError> {
        if place == NO_OBJECT {
            return Ok(Box::new(ObjectRef::default()));
        }
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let place = usize::try_from(place).ok();
        let cap = place.and_then(|place| table.get_mut(place));
        let cap = cap.ok_or_else(missing)?;
        let object = match cap {
            Cap::Taken(object) => object.clone(),
            Cap::Untaken(NO_OBJECT) => ObjectRef::default(),
            Cap::Untaken(number) => self.transfer.reference(*number)?,
        };
        *cap = Cap::Taken(object.clone());
        Ok(Box::new(object))
    }

    /// Does nothing: the references are there, whether the message can be read or not.
    fn undo(&self) {}
}

impl Drop for ReceivedCaps {
    fn drop(&mut self) {
        let table = self.table.get_mut().unwrap_or_else(PoisonError::into_inner);
        for cap in table.drain(..) {
            if let Cap::Untaken(number) = cap
                && number != NO_OBJECT
            {
                // An object that is taken and dropped is given back.
                let _ = self.transfer.reference(number);
            }
        }
    }
}

#[cold]
fn missing() -> DecodeError {
    DecodeError::malformed("an object that is not in the table of the message")
}

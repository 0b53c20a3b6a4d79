use crate::peer::objects::reference::{ObjectPlace, ObjectRef};
use crate::peer::objects::{Lease, Objects, Remote};
use crate::{Service, Status};
use dovetail_protocol::dovetail::{
    Awaits, MAX_RESULTS, Owner, Target, of_receiver, of_result, of_sender, owner,
};
use dovetail_wire::{DecodeError, EncodeError, ObjectNumbers};
use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The objects of one message.
pub(crate) struct Transfer {
    objects: Arc<Objects>,
    moved: Mutex<Moved>,
    /// Until a message that has come is read.
    _lease: Option<Lease>,
    /// The results of earlier calls of the other end's: the call, and the object of this end's.
    results: Vec<(u32, u32)>,
}

#[derive(Default)]
struct Moved {
    exported: Vec<u32>,
    imported: Vec<Arc<Remote>>,
    /// The reference that was written first.
    first: Option<u64>,
    /// The calls whose results were written.
    awaited: Vec<u32>,
    /// Why there is no object that was to be written.
    failed: Option<Status>,
}

impl Transfer {
    pub(crate) fn new(objects: Arc<Objects>, lease: Option<Lease>) -> Self {
        Transfer {
            objects,
            moved: Mutex::default(),
            _lease: lease,
            results: Vec::new(),
        }
    }

    /// Adds the results of earlier calls to which the message refers.
    pub(crate) fn with_results(self, results: Vec<(u32, u32)>) -> Self {
        Transfer { results, ..self }
    }

    /// The value for an object of the other end's.
    fn there(&self, remote: &Remote) -> Result<u64, EncodeError> {
        let mut moved = self.moved();
        let call = match remote.target() {
            Ok(Target::Object(number)) => return Ok(of_receiver(number)),
            Ok(Target::Result(call)) => call,
            Err(why) => {
                moved.failed = Some(why);
                return Err(NOT_RETURNED);
            }
        };
        if !moved.awaited.contains(&call) {
            let limit = MAX_RESULTS;
            if moved.awaited.len() >= limit {
                return Err(EncodeError::TooManyObjects { limit });
            }
            moved.awaited.push(call);
        }
        Ok(of_result(call))
    }

    /// The object for which a number stands. It counts, whatever becomes of the message.
    pub(super) fn reference(&self, number: u64) -> Result<ObjectRef, DecodeError> {
        match owner(number) {
            Some(Owner::Sender(number)) => Ok(ObjectRef::there(self.objects.import(number)?)),
            Some(Owner::Receiver(number)) => Ok(ObjectRef::here(self.own(number)?)),
            Some(Owner::Result(_)) | None => Err(unknown()),
        }
    }

    /// An object of this end's to which the other end refers.
    fn own(&self, number: u32) -> Result<Arc<dyn Service>, DecodeError> {
        let object = self.objects.get(number);
        let object = object.filter(|object| object.is_for_caller(&self.objects));
        object.map(|object| object.service).ok_or_else(unknown)
    }

    fn moved(&self) -> MutexGuard<'_, Moved> {
        self.moved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the message has objects of this end's.
    pub(crate) fn exports(&self) -> bool {
        !self.moved().exported.is_empty()
    }

    /// Why the message could not be written, where that is because another call failed.
    pub(crate) fn failure(&self) -> Option<Status> {
        self.moved().failed.clone()
    }

    /// The object of this end's that was written first.
    pub(crate) fn first(&self) -> Option<u32> {
        match self.moved().first.and_then(owner) {
            Some(Owner::Sender(number)) => Some(number),
            _ => None,
        }
    }
}

impl fmt::Debug for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transfer")
    }
}

impl Awaits for Transfer {
    fn awaits(&self) -> Vec<u32> {
        self.moved().awaited.clone()
    }
}

impl ObjectNumbers for Transfer {
    fn number(&self, object: &dyn Any) -> Result<u64, EncodeError> {
        let value = match object.downcast_ref().map(ObjectRef::place) {
            None | Some(ObjectPlace::Nothing) => return Err(NOTHING),
            Some(ObjectPlace::Here(service)) => {
                let number = self.objects.export(service)?;
                self.moved().exported.push(number);
                of_sender(number)
            }
            Some(ObjectPlace::There(remote))
                if Arc::ptr_eq(&remote.home.objects, &self.objects) =>
            {
                self.there(remote)?
            }
            Some(ObjectPlace::There(_)) => return Err(FOREIGN),
        };
        self.moved().first.get_or_insert(value);
        Ok(value)
    }

    fn object(&self, number: u64) -> Result<Box<dyn Any>, DecodeError> {
        let object = match owner(number) {
            Some(Owner::Result(call)) => {
                let mut results = self.results.iter();
                let result = results.find(|(earlier, _)| *earlier == call);
                let (_, number) = result.ok_or_else(unknown)?;
                ObjectRef::here(self.own(*number)?)
            }
            _ => self.reference(number)?,
        };
        if let ObjectPlace::There(remote) = object.place() {
            self.moved().imported.push(remote.clone());
        }
        Ok(Box::new(object))
    }

    fn undo(&self) {
        let mut moved = self.moved();
        let exported = std::mem::take(&mut moved.exported);
        let imported = std::mem::take(&mut moved.imported);
        moved.awaited.clear();
        drop(moved);
        for number in exported {
            self.objects.take_back(number);
        }
        for remote in &imported {
            remote.remove_reference();
        }
    }
}

const NOTHING: EncodeError = EncodeError::Unsupported {
    what: "a reference to no object",
};

const NOT_RETURNED: EncodeError = EncodeError::Unsupported {
    what: "a reference to an object that was not returned",
};

const FOREIGN: EncodeError = EncodeError::Unsupported {
    what: "a reference to an object of another connection",
};

#[cold]
fn unknown() -> DecodeError {
    DecodeError::malformed("a reference to an object that is not there")
}

/// The objects of a message that has not been sent. Dropped, they count for nothing.
pub(crate) struct Unsent(Option<Arc<Transfer>>);

impl Unsent {
    pub(crate) fn new(transfer: Arc<Transfer>) -> Self {
        Unsent(Some(transfer))
    }

    pub(crate) fn sent(mut self) {
        self.0 = None;
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        if let Some(transfer) = &self.0 {
            transfer.undo();
            transfer.objects.tidy();
        }
    }
}

impl fmt::Debug for Unsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unsent")
    }
}

/// The numbers in a message that nobody takes.
#[derive(Default)]
pub(crate) struct Collected(Mutex<Vec<u64>>);

impl Collected {
    pub(crate) fn take(&self) -> Vec<u64> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ObjectNumbers for Collected {
    fn number(&self, _: &dyn Any) -> Result<u64, EncodeError> {
        Err(NOTHING)
    }

    fn object(&self, number: u64) -> Result<Box<dyn Any>, DecodeError> {
        let mut numbers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.push(number);
        Ok(Box::new(ObjectRef::default()))
    }

    fn undo(&self) {}
}

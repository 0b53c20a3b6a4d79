use crate::Status;
use crate::peer::link::Link;
use dovetail_protocol::dovetail::Target;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An object of the other end's. With the last reference to it the other end is told.
pub(crate) struct Remote {
    /// The connection by which it came.
    pub(crate) home: Arc<Link>,
    slot: Slot,
}

/// The state of an object of the other end's, shared with the call that is to return it.
#[derive(Clone)]
pub(crate) struct Slot(Arc<Mutex<ObjectState>>);

/// ```text
///   Promised ── answer ──► Here | Failed;    any ── dropped ──► Gone
/// ```
pub(crate) enum ObjectState {
    /// The other end has sent the number so often.
    Here { number: u32, count: u64 },
    /// The call with this number is to return it.
    Promised(u32),
    /// There is no object.
    Failed(Status),
    /// Nobody wants it any longer.
    Gone,
}

impl Slot {
    pub(crate) fn lock(&self) -> MutexGuard<'_, ObjectState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remote {
    pub(super) fn new(home: Arc<Link>, number: u32) -> Self {
        Self::with_state(home, ObjectState::Here { number, count: 1 })
    }

    /// An object that a call is to return which is about to be made.
    pub(crate) fn promised(home: Arc<Link>) -> Self {
        Self::with_state(home, ObjectState::Gone)
    }

    fn with_state(home: Arc<Link>, state: ObjectState) -> Self {
        Remote {
            home,
            slot: Slot(Arc::new(Mutex::new(state))),
        }
    }

    pub(crate) fn slot(&self) -> &Slot {
        &self.slot
    }

    /// How calls are addressed to it. To be asked under the lock of its connection, whose answers
    /// change it.
    pub(crate) fn target(&self) -> Result<Target, Status> {
        match &*self.slot.lock() {
            ObjectState::Here { number, .. } => Ok(Target::Object(*number)),
            ObjectState::Promised(call) => Ok(Target::Result(*call)),
            ObjectState::Failed(why) => Err(why.clone()),
            ObjectState::Gone => Err(super::no_object()),
        }
    }

    /// It was sent once more.
    pub(super) fn add_reference(&self) {
        if let ObjectState::Here { count, .. } = &mut *self.slot.lock() {
            *count += 1;
        }
    }

    /// The message by which it came last counts for nothing.
    pub(super) fn remove_reference(&self) {
        if let ObjectState::Here { count, .. } = &mut *self.slot.lock() {
            *count = count.saturating_sub(1);
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let state = std::mem::replace(&mut *self.slot.lock(), ObjectState::Gone);
        if let ObjectState::Here { number, count } = state {
            self.home.release(number, count, self);
        }
    }
}

//! Facts that a connection remembers of its caller, where its wire has no headers to say them with
//! each call.

use crate::identity::Principal;
use crate::sessions::Handle;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Most connections remember nothing: they have room for no more than the address of what they do.
#[derive(Default)]
pub(crate) struct Remembered(OnceLock<Box<Mutex<Facts>>>);

#[derive(Default)]
struct Facts {
    /// Its identity by a login.
    principal: Option<Principal>,
    /// The sessions that it has resumed, one of each kind.
    sessions: Vec<(usize, Handle)>,
}

impl Remembered {
    fn known(&self) -> Option<MutexGuard<'_, Facts>> {
        let facts = self.0.get()?;
        Some(facts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        let facts = self.0.get_or_init(Box::default);
        facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn principal(&self) -> Option<Principal> {
        self.known()?.principal.clone()
    }

    pub(crate) fn set_principal(&self, principal: Option<Principal>) {
        self.facts().principal = principal;
    }

    pub(crate) fn session(&self, kind: usize) -> Option<Handle> {
        let facts = self.known()?;
        let mut sessions = facts.sessions.iter().filter(|(own, _)| *own == kind);
        sessions.next().map(|(_, handle)| *handle)
    }

    pub(crate) fn set_session(&self, kind: usize, handle: Handle) {
        let mut facts = self.facts();
        facts.sessions.retain(|(other, _)| *other != kind);
        facts.sessions.push((kind, handle));
    }
}

//! The state of a session in the hands of a handler.

use super::session::Ticket;
use super::{Handle, SessionEnd};
use crate::Status;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// The state of a session, for one call alone: others of the session wait until this is dropped.
///
/// A changed state is saved then, before the call is answered, where the sessions have a store. A
/// handler that panics after it has changed the state ends the session.
pub struct Turn<T: Send + Sync + 'static>(Ticket<T>);

/// The state of a session, for calls of methods that are
/// [concurrent](super::SessionsBuilder::concurrent).
pub struct SharedTurn<T: Send + Sync + 'static>(Ticket<T>);

const HELD: &str = "a turn has the state until it ends";

impl<T: Send + Sync + 'static> Turn<T> {
    /// The ticket has come, and is exclusive.
    pub(super) fn new(ticket: Ticket<T>) -> Self {
        Turn(ticket)
    }

    /// Returns the handle of the session.
    pub fn handle(&self) -> Handle {
        self.0.handle()
    }

    /// Saves the state now. Otherwise that is done at the end of the turn, where an error is only
    /// logged.
    pub fn save(&mut self) -> Result<(), Status> {
        self.0.save()
    }

    /// Ends the session with this call. Calls that wait for it, and later ones, are refused; what
    /// is to be done at the end of a session runs when the turn is dropped.
    pub fn end(&mut self) {
        self.0.end(SessionEnd::Ended);
    }
}

impl<T: Send + Sync + 'static> SharedTurn<T> {
    /// The ticket has come.
    pub(super) fn new(ticket: Ticket<T>) -> Self {
        SharedTurn(ticket)
    }

    /// Returns the handle of the session.
    pub fn handle(&self) -> Handle {
        self.0.handle()
    }
}

#[expect(clippy::expect_used, reason = "a turn has the state")]
impl<T: Send + Sync + 'static> Deref for Turn<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.state().expect(HELD)
    }
}

#[expect(
    clippy::expect_used,
    reason = "a turn has the state, and nobody else does"
)]
impl<T: Send + Sync + 'static> DerefMut for Turn<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.state_mut().expect(HELD)
    }
}

#[expect(clippy::expect_used, reason = "a turn has the state")]
impl<T: Send + Sync + 'static> Deref for SharedTurn<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.state().expect(HELD)
    }
}

impl<T: fmt::Debug + Send + Sync + 'static> fmt::Debug for Turn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Turn").field(&**self).finish()
    }
}

impl<T: fmt::Debug + Send + Sync + 'static> fmt::Debug for SharedTurn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedTurn").field(&**self).finish()
    }
}

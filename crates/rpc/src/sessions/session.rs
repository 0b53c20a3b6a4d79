//! One session: its state, its owner, and the calls that use it.

use super::queue::{Number, Queue, Use};
use super::table::Table;
use super::{Handle, SessionEnd};
use crate::identity::Principal;
use crate::{Code, Status, clock};
use dovetail_protocol::Execution;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

pub(super) struct Session<T> {
    pub(super) handle: Handle,
    /// The principal that has begun it; anybody who has the handle may use one that has none.
    pub(super) owner: Option<Principal>,
    /// Tells callers apart, for the limit of sessions that each may have.
    pub(super) caller: Option<u128>,
    inner: Mutex<Inner<T>>,
}

struct Inner<T> {
    /// Calls that are exclusive take it out while they run.
    state: Option<Arc<T>>,
    queue: Queue,
    used: Instant,
    end: Option<SessionEnd>,
}

impl<T> Session<T> {
    pub(super) fn new(
        handle: Handle,
        owner: Option<Principal>,
        caller: Option<u128>,
        state: T,
    ) -> Self {
        Session {
            handle,
            owner,
            caller,
            inner: Mutex::new(Inner {
                state: Some(Arc::new(state)),
                queue: Queue::default(),
                used: clock::now(),
                end: None,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses callers to whom it does not belong.
    pub(super) fn check(&self, principal: Option<&Principal>) -> Result<(), Status> {
        let Some(owner) = &self.owner else {
            return Ok(());
        };
        match principal.is_some_and(|principal| principal.is(owner)) {
            true => Ok(()),
            false => Err(refused(
                Code::PermissionDenied,
                "the session belongs to another principal",
            )),
        }
    }

    /// Returns since when no call has used it; `None` while one does.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let inner = self.lock();
        inner.queue.is_empty().then_some(inner.used)
    }

    /// Ends it: later calls, and those that wait, are refused. Returns the state if no call has it;
    /// otherwise the last call that has it gives it to the table. Only the first end counts.
    pub(super) fn end(&self, end: SessionEnd) -> Option<(T, SessionEnd)> {
        let mut inner = self.lock();
        let end = *inner.end.get_or_insert(end);
        let state = match inner.queue.is_idle() {
            true => inner.state.take(),
            false => None,
        };
        drop(inner);
        // Idle, the session has the only reference.
        let state = state.and_then(Arc::into_inner)?;
        Some((state, end))
    }
}

/// A call of a session: in the queue, or at its turn. Dropped, it lets the next one pass.
pub(super) struct Ticket<T: Send + Sync + 'static> {
    table: Arc<Table<T>>,
    session: Arc<Session<T>>,
    kind: Use,
    /// Its number while it waits.
    number: Option<Number>,
    /// The state, from its turn on.
    state: Option<Arc<T>>,
    changed: bool,
}

impl<T: Send + Sync + 'static> Ticket<T> {
    /// Puts a call at the end of the queue.
    pub(super) fn new(
        table: &Arc<Table<T>>,
        session: Arc<Session<T>>,
        kind: Use,
    ) -> Result<Self, Status> {
        let mut inner = session.lock();
        if inner.end.is_some() {
            return Err(no_session());
        }
        let number = inner.queue.enter(kind);
        drop(inner);
        let mut ticket = Ticket {
            table: table.clone(),
            session,
            kind,
            number,
            state: None,
            changed: false,
        };
        if number.is_none() {
            ticket.begin()?;
        }
        Ok(ticket)
    }

    pub(super) fn is_of(&self, table: &Arc<Table<T>>) -> bool {
        Arc::ptr_eq(&self.table, table)
    }

    pub(super) fn handle(&self) -> Handle {
        self.session.handle
    }

    pub(super) fn kind(&self) -> Use {
        self.kind
    }

    pub(super) fn has_come(&self) -> bool {
        self.number.is_none()
    }

    /// Takes the state at the beginning of its turn.
    fn begin(&mut self) -> Result<(), Status> {
        let mut inner = self.session.lock();
        if inner.end.is_some() {
            return Err(no_session());
        }
        self.state = match self.kind {
            Use::Exclusive => inner.state.take(),
            Use::Shared => inner.state.clone(),
        };
        Ok(())
    }

    /// Waits for its turn.
    pub(super) async fn turn(mut self) -> Result<Self, Status> {
        if let Some(number) = self.number {
            let session = self.session.clone();
            ToCome(&session, number).await;
            self.number = None;
            self.begin()?;
        }
        Ok(self)
    }

    /// The state; a call has one from its turn on.
    pub(super) fn state(&self) -> Option<&T> {
        self.state.as_deref()
    }

    /// The state, to be changed. A call that is exclusive has the only reference.
    pub(super) fn state_mut(&mut self) -> Option<&mut T> {
        self.changed = true;
        self.state.as_mut().and_then(Arc::get_mut)
    }

    /// Saves the state, where it may have changed.
    pub(super) fn save(&mut self) -> Result<(), Status> {
        match &self.state {
            Some(state) if self.changed => {
                let session = &self.session;
                self.table
                    .save(session.handle, session.owner.as_ref(), state)?;
                self.changed = false;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Ends the session with this call.
    pub(super) fn end(&self, end: SessionEnd) {
        self.table.end(&self.session, end);
    }

    /// Gives back the state, and the place in the queue.
    fn leave(&mut self) {
        let state = self.state.take();
        let mut inner = self.session.lock();
        inner.used = clock::now();
        match self.kind {
            Use::Exclusive if state.is_some() => inner.state = state,
            _ => drop(state),
        }
        let wakers = match self.number.take() {
            Some(number) => inner.queue.give_up(number, self.kind),
            None => inner.queue.leave(self.kind),
        };
        let end = inner.end;
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
        if let Some(end) = end {
            // The last call of a session that has ended hands its state over.
            self.table.end(&self.session, end);
        }
    }
}

impl<T: Send + Sync + 'static> Drop for Ticket<T> {
    fn drop(&mut self) {
        if self.changed && std::thread::panicking() {
            // The handler may have left the state half changed.
            self.end(SessionEnd::Panicked);
        } else if let Err(error) = self.save() {
            tracing::error!(session = ?self.session.handle, %error, "the state of a session was not saved");
        }
        self.leave();
    }
}

/// A call that waits for its turn.
struct ToCome<'a, T>(&'a Session<T>, Number);

impl<T> Future for ToCome<'_, T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut inner = self.0.lock();
        match inner.queue.has_come(self.1, context.waker()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

/// Refuses a call whose handler has not run.
pub(super) fn refused(code: Code, why: impl Into<std::borrow::Cow<'static, str>>) -> Status {
    Status::new(code, why).with_execution(Execution::NotStarted)
}

/// A handle that leads to no session.
#[cold]
pub(super) fn no_session() -> Status {
    let what = "there is no such session: it has ended, or was not used for too long";
    refused(Code::NotFound, what)
}

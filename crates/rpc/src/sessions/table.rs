//! All sessions of a service.

use super::session::{Session, no_session, refused};
use super::store::Record;
use super::{Handle, SessionCounters, SessionEnd, SessionStore};
use crate::identity::{CallerKeys, Principal};
use crate::{Code, Context, Status, clock};
use dovetail_protocol::Execution;
use dovetail_wire::{Bytes, Encoding, Value};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak,
};
use std::time::{Duration, Instant};

/// The pause between two looks for idle sessions is at least so long.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

/// Sessions that have ended and are not yet out of the order: as many as are open, and these.
const SPARE: u64 = 1000;

type Begin<T> = Box<dyn Fn(&Context) -> Result<T, Status> + Send + Sync>;
type Ended<T> = Box<dyn Fn(T, SessionEnd) + Send + Sync>;

pub(super) struct Settings<T> {
    pub(super) begin: Begin<T>,
    pub(super) ended: Option<Ended<T>>,
    pub(super) idle: Duration,
    pub(super) most: usize,
    pub(super) per_caller: usize,
    pub(super) store: Option<Stored<T>>,
}

/// A store, and how a state is written to it.
pub(super) struct Stored<T> {
    store: Box<dyn SessionStore>,
    write: fn(&T) -> io::Result<Vec<u8>>,
    read: fn(&Bytes) -> io::Result<T>,
}

impl<T: Value> Stored<T> {
    pub(super) fn new(store: impl SessionStore) -> Self {
        Stored {
            store: Box::new(store),
            write: |state| {
                let written = Encoding::Tagged.to_bytes(state);
                written.map_err(|error| invalid(&error))
            },
            read: |state| {
                let read = Encoding::Tagged.from_bytes(state);
                read.map_err(|error| invalid(&error))
            },
        }
    }
}

impl<T> Stored<T> {
    fn save(&self, handle: Handle, owner: Option<&Principal>, state: &T) -> io::Result<()> {
        let record = Record {
            owner: owner.cloned(),
            state: (self.write)(state)?.into(),
        };
        let record = record.to_bytes().map_err(|error| invalid(&error))?;
        self.store.save(handle, &record)
    }

    fn load(&self, handle: Handle) -> io::Result<(Option<Principal>, T)> {
        let record = Record::from_bytes(self.store.load(handle)?);
        let record = record.map_err(|error| invalid(&error))?;
        let state = (self.read)(&record.state)?;
        Ok((record.owner, state))
    }
}

fn invalid(error: &dyn std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

type Sessions<T> = HashMap<Handle, Arc<Session<T>>>;

pub(super) struct Table<T> {
    settings: Settings<T>,
    callers: CallerKeys,
    sessions: RwLock<Sessions<T>>,
    order: Mutex<Order>,
    /// There is a [`Sweeper`]. It is set and reset under the lock of the order.
    sweeping: AtomicBool,
}

/// Sessions in the order in which they may be idle. Its lock is the inner one: none is taken under
/// it.
#[derive(Default)]
struct Order {
    /// When each is to be looked at.
    due: VecDeque<(Instant, Handle)>,
    /// Sessions by caller.
    callers: HashMap<u128, usize>,
    counters: SessionCounters,
}

impl<T: Send + Sync + 'static> Table<T> {
    pub(super) fn new(settings: Settings<T>) -> Arc<Self> {
        Arc::new(Table {
            settings,
            callers: CallerKeys::default(),
            sessions: RwLock::default(),
            order: Mutex::default(),
            sweeping: AtomicBool::new(false),
        })
    }

    /// Takes the sessions that the store has.
    pub(super) fn restore(&self) -> io::Result<()> {
        let Some(stored) = &self.settings.store else {
            return Ok(());
        };
        for handle in stored.store.handles()? {
            match stored.load(handle) {
                Ok((owner, state)) => {
                    let caller = owner.as_ref().map(|owner| self.callers.of_principal(owner));
                    let mut order = self.order();
                    if let Some(caller) = caller {
                        *order.callers.entry(caller).or_default() += 1;
                    }
                    order.counters.open += 1;
                    order
                        .due
                        .push_back((clock::now() + self.settings.idle, handle));
                    drop(order);
                    let session = Session::new(handle, owner, caller, state);
                    self.write().insert(handle, Arc::new(session));
                }
                Err(error) => {
                    tracing::error!(session = ?handle, %error, "a stored session cannot be read");
                }
            }
        }
        Ok(())
    }

    fn read(&self) -> RwLockReadGuard<'_, Sessions<T>> {
        self.sessions.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, handle: Handle) -> Option<Arc<Session<T>>> {
        self.read().get(&handle).cloned()
    }

    fn order(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Sessions<T>> {
        self.sessions
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn counters(&self) -> SessionCounters {
        self.order().counters
    }

    /// Finds a session for a caller to whom it belongs.
    pub(super) fn find(
        self: &Arc<Self>,
        context: &Context,
        handle: Handle,
    ) -> Result<Arc<Session<T>>, Status> {
        self.keep_sweeping();
        let session = self.get(handle).ok_or_else(no_session)?;
        if session
            .idle_since()
            .is_some_and(|since| self.is_over(since))
        {
            self.end(&session, SessionEnd::Idle);
            return Err(no_session());
        }
        session.check(context.principal())?;
        Ok(session)
    }

    fn is_over(&self, idle_since: Instant) -> bool {
        clock::now().saturating_duration_since(idle_since) >= self.settings.idle
    }

    /// Begins a session for a caller, with the state that the server makes, or with this one.
    pub(super) fn begin(
        self: &Arc<Self>,
        context: &Context,
        state: Option<T>,
    ) -> Result<Handle, Status> {
        let caller = self.callers.key(context);
        self.reserve(caller)?;
        let begun = self.begin_reserved(context, caller, state);
        if begun.is_err() {
            self.unreserve(Some(caller));
        }
        self.keep_sweeping();
        begun
    }

    fn begin_reserved(
        &self,
        context: &Context,
        caller: u128,
        state: Option<T>,
    ) -> Result<Handle, Status> {
        let state = match state {
            Some(state) => state,
            None => (self.settings.begin)(context)?,
        };
        let handle = Handle::random().map_err(|error| unsaved(&error))?;
        let owner = context.principal();
        self.save(handle, owner, &state)?;
        let session = Session::new(handle, owner.cloned(), Some(caller), state);
        self.write().insert(handle, Arc::new(session));
        let mut order = self.order();
        order.counters.begun += 1;
        order
            .due
            .push_back((clock::now() + self.settings.idle, handle));
        let is_full = order.due.len() as u64 > 2 * order.counters.open + SPARE;
        drop(order);
        if is_full {
            self.forget_ended();
        }
        Ok(handle)
    }

    /// Takes sessions that have ended out of the order.
    #[cold]
    fn forget_ended(&self) {
        let sessions = self.read();
        let is_open = |(_, handle): &(_, Handle)| sessions.contains_key(handle);
        self.order().due.retain(is_open);
    }

    /// Counts a session that is to begin, if there is room for one.
    fn reserve(&self, caller: u128) -> Result<(), Status> {
        let (most, per_caller) = (self.settings.most, self.settings.per_caller);
        let mut order = self.order();
        let own = order.callers.get(&caller).copied().unwrap_or(0);
        let why = match () {
            () if own >= per_caller => format!("the caller has {own} sessions: end one first"),
            () if order.counters.open >= most as u64 => {
                format!("there are {most} sessions, no more can begin now")
            }
            () => {
                *order.callers.entry(caller).or_default() += 1;
                order.counters.open += 1;
                return Ok(());
            }
        };
        order.counters.refused += 1;
        Err(refused(Code::ResourceExhausted, why))
    }

    fn unreserve(&self, caller: Option<u128>) {
        let mut order = self.order();
        order.counters.open -= 1;
        let Some(caller) = caller else {
            return;
        };
        if let Some(own) = order.callers.get_mut(&caller) {
            *own -= 1;
            if *own == 0 {
                order.callers.remove(&caller);
            }
        }
    }

    /// Saves the state of a session, where there is a store.
    pub(super) fn save(
        &self,
        handle: Handle,
        owner: Option<&Principal>,
        state: &T,
    ) -> Result<(), Status> {
        let Some(stored) = &self.settings.store else {
            return Ok(());
        };
        let saved = stored.save(handle, owner, state);
        saved.map_err(|error| unsaved(&error))
    }

    /// Ends a session, now or when the last call that uses it ends.
    pub(super) fn end(&self, session: &Session<T>, end: SessionEnd) {
        let ended = session.end(end);
        if self.write().remove(&session.handle).is_some() {
            self.unreserve(session.caller);
            self.order().counters.count(end);
            if let Some(stored) = &self.settings.store
                && let Err(error) = stored.store.remove(session.handle)
            {
                tracing::error!(session = ?session.handle, %error, "a session was not removed from its store");
            }
        }
        self.destroy(ended);
    }

    fn destroy(&self, ended: Option<(T, SessionEnd)>) {
        if let (Some((state, end)), Some(destroy)) = (ended, &self.settings.ended) {
            destroy(state, end);
        }
    }

    /// Has somebody look for idle sessions, as long as there are any: a task of the runtime, or a
    /// thread where there is none.
    fn keep_sweeping(self: &Arc<Self>) {
        if self.sweeping.load(Relaxed) {
            return;
        }
        let order = self.order();
        if order.due.is_empty() || self.sweeping.swap(true, Relaxed) {
            return;
        }
        drop(order);
        let sweeper = Sweeper(Arc::downgrade(self));
        #[cfg(feature = "async")]
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                while let Some(pause) = sweeper.sweep() {
                    tokio::time::sleep(pause).await;
                }
            });
            return;
        }
        let thread = std::thread::Builder::new().name("dovetail-sessions".to_owned());
        let spawned = thread.spawn(move || {
            while let Some(pause) = sweeper.sweep() {
                std::thread::sleep(pause);
            }
        });
        // Without a thread the next call tries again.
        drop(spawned);
    }

    /// Ends the sessions that are idle. Returns the time to the next look; `None` if there are no
    /// sessions left.
    fn sweep(&self) -> Option<Duration> {
        loop {
            let now = clock::now();
            let mut order = self.order();
            let Some((due, handle)) = order.due.front().copied() else {
                self.sweeping.store(false, Relaxed);
                return None;
            };
            if due > now {
                return Some((due - now).max(SHORTEST_PAUSE));
            }
            order.due.pop_front();
            drop(order);
            let Some(session) = self.get(handle) else {
                continue;
            };
            match session.idle_since() {
                Some(since) if self.is_over(since) => self.end(&session, SessionEnd::Idle),
                since => {
                    let due = since.unwrap_or(now) + self.settings.idle;
                    self.order().due.push_back((due, handle));
                }
            }
        }
    }
}

/// Sessions that their store keeps go on after a restart; all others end.
impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        if self.settings.store.is_some() {
            return;
        }
        let sessions = self
            .sessions
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        for session in std::mem::take(sessions).into_values() {
            let ended = session.end(SessionEnd::Shutdown);
            if let (Some((state, end)), Some(destroy)) = (ended, &self.settings.ended) {
                destroy(state, end);
            }
        }
    }
}

/// The one who looks for idle sessions. Dropped, as by the end of its runtime, it leaves that to
/// another.
struct Sweeper<T: Send + Sync + 'static>(Weak<Table<T>>);

impl<T: Send + Sync + 'static> Sweeper<T> {
    fn sweep(&self) -> Option<Duration> {
        self.0.upgrade()?.sweep()
    }
}

impl<T: Send + Sync + 'static> Drop for Sweeper<T> {
    fn drop(&mut self) {
        if let Some(table) = self.0.upgrade() {
            let _order = table.order();
            table.sweeping.store(false, Relaxed);
        }
    }
}

#[cold]
fn unsaved(error: &io::Error) -> Status {
    let what = format!("the session cannot be saved: {error}");
    Status::new(Code::Unavailable, what).with_execution(Execution::MayHaveRun)
}

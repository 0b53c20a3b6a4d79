//! Sessions: state on the server that a caller comes back to, call after call. `docs/sessions.md`
//! has the rules.
//!
//! ```text
//!   dovetail.Sessions/begin_session ──► Table ──► handle
//!
//!   call with a handle ──► find, check the owner ──► queue of the session ──► Turn ──► handler
//!                                                                              └─► store, at its end
//! ```

mod handle;
mod queue;
mod service;
mod session;
mod store;
mod table;
mod turn;

pub use handle::{Handle, ParseHandleError};
pub use store::{FileStore, SessionStore};
pub use turn::{SharedTurn, Turn};

pub(crate) use service::{AnySessions, SessionService};

use crate::block_on::wait_until;
use crate::peer::intercept::{CallEnd, CallHead, Decision, DecisionFuture, ServerInterceptor};
use crate::{Code, Context, Status};
use dovetail_wire::Value;
use queue::Use;
use session::Ticket;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use table::{Settings, Stored, Table};

/// The header that names the session of a call.
pub const HEADER: &str = "dovetail-session";

/// Sessions whose state is a `T`. Clones are the same.
///
/// [`Server::sessions`](crate::Server::sessions) gives them to a service. A caller begins a session
/// with `dovetail.Sessions/begin_session`, and gets its handle, which it sends with its calls as
/// the header `dovetail-session`; on wires without headers the connection remembers it. Handlers
/// then find its state with [`enter`](Self::enter). The calls of a session run one after another,
/// in the order in which they came.
///
/// ```
/// use dovetail::sessions::Sessions;
/// use dovetail::{Context, Server, Status};
/// use std::time::Duration;
///
/// #[derive(Default)]
/// struct Cart(Vec<String>);
///
/// /// The handler of `shop.Cart`.
/// struct Carts(Sessions<Cart>);
///
/// impl Carts {
///     async fn add(&self, context: Context, item: String) -> Result<i32, Status> {
///         let mut cart = self.0.enter(&context)?;
///         cart.0.push(item);
///         Ok(cart.0.len() as i32)
///     }
/// }
///
/// # fn serve(service: impl Fn(Carts) -> Box<dyn dovetail::Service>) {
/// let carts = Sessions::builder(|_| Ok(Cart::default()))
///     .idle(Duration::from_secs(1800))
///     .per_caller(5)
///     .ended(|cart, why| println!("a cart of {} has ended: {why:?}", cart.0.len()))
///     .build();
/// let handler = Carts(carts.clone());
/// // Server::new().service(CartServer::new(handler)).sessions("shop.Cart", &carts)
/// # let _ = (Server::new(), service(handler));
/// # }
/// ```
pub struct Sessions<T: Send + Sync + 'static> {
    table: Arc<Table<T>>,
    concurrent: Arc<Concurrent>,
}

/// The methods that do not wait for each other.
#[derive(Debug, Default)]
struct Concurrent {
    all: bool,
    methods: Vec<String>,
}

impl<T: Send + Sync + 'static> Clone for Sessions<T> {
    fn clone(&self) -> Self {
        Sessions {
            table: self.table.clone(),
            concurrent: self.concurrent.clone(),
        }
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for Sessions<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counters = self.counters();
        f.debug_struct("Sessions")
            .field("open", &counters.open)
            .finish_non_exhaustive()
    }
}

/// The end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionEnd {
    /// Its caller or its handler has ended it.
    Ended,
    /// No call has used it for too long.
    Idle,
    /// A handler has panicked while it changed the state.
    Panicked,
    /// The server has ended, and no store keeps the session.
    Shutdown,
}

/// Counts of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionCounters {
    /// Sessions that are open.
    pub open: u64,
    /// Sessions that have begun since the start.
    pub begun: u64,
    /// Sessions that their callers or handlers have ended.
    pub ended: u64,
    /// Sessions that have ended because no call used them.
    pub idle: u64,
    /// Sessions that have ended by a panic of a handler.
    pub panicked: u64,
    /// Sessions that were refused for want of room.
    pub refused: u64,
}

impl SessionCounters {
    fn count(&mut self, end: SessionEnd) {
        match end {
            SessionEnd::Ended => self.ended += 1,
            SessionEnd::Idle => self.idle += 1,
            SessionEnd::Panicked => self.panicked += 1,
            SessionEnd::Shutdown => {}
        }
    }
}

/// Sessions that are being put together.
#[must_use = "there are no sessions before `build`"]
pub struct SessionsBuilder<T: Send + Sync + 'static> {
    settings: Settings<T>,
    concurrent: Concurrent,
}

impl<T: Send + Sync + 'static> Sessions<T> {
    /// Makes sessions that begin with the state which this function returns, or are refused with
    /// its error. It runs on the thread of the call that begins a session, and must not block it.
    pub fn builder(
        begin: impl Fn(&Context) -> Result<T, Status> + Send + Sync + 'static,
    ) -> SessionsBuilder<T> {
        SessionsBuilder {
            settings: Settings {
                begin: Box::new(begin),
                ended: None,
                idle: Duration::from_secs(30 * 60),
                most: 100_000,
                per_caller: 1000,
                store: None,
            },
            concurrent: Concurrent::default(),
        }
    }

    /// Returns the state of the session that a call is for. Its turn has come; other calls of the
    /// session wait until the result is dropped.
    ///
    /// An error of code `INTERNAL` where the sessions are not those of the service, or the call has
    /// entered already, and for methods that are [concurrent](SessionsBuilder::concurrent).
    pub fn enter(&self, context: &Context) -> Result<Turn<T>, Status> {
        match self.take(context)? {
            ticket if ticket.kind() == Use::Exclusive => Ok(Turn::new(ticket)),
            _ => Err(misused(
                "the method is concurrent: `Sessions::share` has its state",
            )),
        }
    }

    /// Returns the state of the session that a call is for, to be looked at. While a method that is
    /// concurrent looks, others that are look, too.
    pub fn share(&self, context: &Context) -> Result<SharedTurn<T>, Status> {
        self.take(context).map(SharedTurn::new)
    }

    fn take(&self, context: &Context) -> Result<Ticket<T>, Status> {
        let entered = context.get::<Entered<T>>().and_then(Entered::take);
        let own = entered.filter(|ticket| ticket.is_of(&self.table));
        own.ok_or_else(|| {
            misused("the call has no session left: is `Server::sessions` set for its service, and entered once?")
        })
    }

    /// Begins a session for the caller, and returns its handle: for contracts with a method of
    /// their own for that. `None` has the function of the [builder](Self::builder) make the state.
    pub fn begin(&self, context: &Context, state: impl Into<Option<T>>) -> Result<Handle, Status> {
        self.table.begin(context, state.into())
    }

    /// Waits for the turn of a call in the session whose handle it has as a parameter. Calls of one
    /// session run in the order in which they come here.
    pub async fn enter_by(&self, context: &Context, handle: &str) -> Result<Turn<T>, Status> {
        let handle = handle.parse::<Handle>();
        let handle =
            handle.map_err(|error| session::refused(Code::InvalidArgument, error.to_string()))?;
        let session = self.table.find(context, handle)?;
        let ticket = Ticket::new(&self.table, session, Use::Exclusive)?;
        ticket.turn().await.map(Turn::new)
    }

    /// Returns the counts of the sessions.
    pub fn counters(&self) -> SessionCounters {
        self.table.counters()
    }

    pub(crate) fn interceptor(&self) -> impl ServerInterceptor + use<T> {
        InSessions(self.clone())
    }

    fn kind(&self, method: &str) -> Use {
        let methods = &self.concurrent.methods;
        match self.concurrent.all || methods.iter().any(|known| known == method) {
            true => Use::Shared,
            false => Use::Exclusive,
        }
    }
}

impl<T: Send + Sync + 'static> SessionsBuilder<T> {
    /// Runs at the end of each session, once, with its state: on the thread of the call that ends
    /// it, or of an event loop. It must not block.
    pub fn ended(mut self, ended: impl Fn(T, SessionEnd) + Send + Sync + 'static) -> Self {
        self.settings.ended = Some(Box::new(ended));
        self
    }

    /// Ends a session that no call has used for so long. Default: 30 minutes.
    pub fn idle(mut self, idle: Duration) -> Self {
        self.settings.idle = idle;
        self
    }

    /// Limits the sessions. Default: 100,000.
    pub fn most(mut self, most: usize) -> Self {
        self.settings.most = most;
        self
    }

    /// Limits the sessions of each caller: of a principal, or else an address. Default: 1,000.
    pub fn per_caller(mut self, most: usize) -> Self {
        self.settings.per_caller = most;
        self
    }

    /// Lets calls of this method run at the same time, where no other method of the session runs.
    /// They have the state by [`Sessions::share`].
    pub fn concurrent(mut self, method: &str) -> Self {
        self.concurrent.methods.push(method.to_owned());
        self
    }

    /// Lets all calls run at the same time.
    pub fn all_concurrent(mut self) -> Self {
        self.concurrent.all = true;
        self
    }

    /// Makes the sessions.
    pub fn build(self) -> Sessions<T> {
        let table = Table::new(self.settings);
        Sessions {
            table,
            concurrent: Arc::new(self.concurrent),
        }
    }

    /// Makes sessions whose states are kept in a store, with those that it has. A session that
    /// cannot be read is logged, and left where it is.
    ///
    /// A state is a value that contracts can have: a generated type, or one with `derive(Message)`.
    /// It is stored in Dovetail's tagged encoding, so that fields can be added later. The handles
    /// in the store are secrets.
    pub fn build_with(mut self, store: impl SessionStore) -> io::Result<Sessions<T>>
    where
        T: Value,
    {
        self.settings.store = Some(Stored::new(store));
        let sessions = self.build();
        sessions.table.restore()?;
        Ok(sessions)
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for SessionsBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionsBuilder")
            .field("idle", &self.settings.idle)
            .finish_non_exhaustive()
    }
}

impl<T: Send + Sync + 'static> AnySessions for Sessions<T> {
    fn begin(&self, context: &Context) -> Result<Handle, Status> {
        self.table.begin(context, None)
    }

    fn check(&self, context: &Context, handle: Handle) -> Result<(), Status> {
        self.table.find(context, handle).map(drop)
    }

    fn end(&self, context: &Context, handle: Handle) -> Result<(), Status> {
        let session = self.table.find(context, handle)?;
        self.table.end(&session, SessionEnd::Ended);
        Ok(())
    }

    fn identity(&self) -> usize {
        Arc::as_ptr(&self.table).addr()
    }
}

/// The place of a call in the queue of its session, until its handler enters.
struct Entered<T: Send + Sync + 'static>(Mutex<Option<Ticket<T>>>);

impl<T: Send + Sync + 'static> Entered<T> {
    fn take(&self) -> Option<Ticket<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, ticket: Ticket<T>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(ticket);
    }
}

/// Has calls wait for their turn, in the order in which they come: before a thread of a pool is
/// taken for them.
struct InSessions<T: Send + Sync + 'static>(Sessions<T>);

impl<T: Send + Sync + 'static> ServerInterceptor for InSessions<T> {
    fn before(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        let sessions = &self.0;
        let handle = service::session_of(call.context(), sessions.identity())?;
        let session = sessions.table.find(call.context(), handle)?;
        let kind = sessions.kind(call.method().name);
        let ticket = Ticket::new(&sessions.table, session, kind)?;
        let has_come = ticket.has_come();
        call.insert(Entered(Mutex::new(Some(ticket))));
        Ok(match has_come {
            true => Decision::Proceed,
            false => Decision::Wait,
        })
    }

    fn before_async<'a>(&'a self, call: &'a mut CallHead<'_>) -> DecisionFuture<'a> {
        Box::pin(async move {
            let deadline = call.deadline();
            if let Some(entered) = call.get::<Entered<T>>()
                && let Some(ticket) = entered.take()
            {
                let turn = wait_until(ticket.turn(), deadline).await;
                entered.put(turn.unwrap_or_else(|| Err(crate::peer::failures::too_late()))?);
            }
            Ok(Decision::Proceed)
        })
    }

    fn after(&self, call: &Context, _: &CallEnd<'_>) {
        // The session is free, even if the handler has not entered, and its context is kept.
        drop(call.get::<Entered<T>>().and_then(Entered::take));
    }
}

#[cold]
fn misused(why: &'static str) -> Status {
    Status::new(Code::Internal, why)
}

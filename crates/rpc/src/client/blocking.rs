//! The client without an async runtime.
//!
//! Any number of threads share a [`Channel`]. There is no thread of its own behind it: whoever calls sends,
//! for all that have queued meanwhile, and one of those that wait reads for all of them.
//!
//! ```text
//!   caller ─ lock: encode, queue ─► is somebody sending?  yes: it takes mine along
//!                                                         no:  I send until the queue is empty
//!          ─ wait                ─► is somebody reading?  yes: sleep until my reply is handed to me
//!                                                         no:  I read, hand out replies, then hand the
//!                                                              reading to another that waits
//! ```

use super::dial::Dial;
use super::options::{Options, handle, settings};
use super::table::{Outgoing, Table, lost, misbehaved, too_late};
use super::{Body, Retries, decode, decode_into};
use crate::transport::{Connector, Polling, Receiver, Stream, Wait};
use crate::{Address, Code, Exceptions, Execution, Method, Status};
use dovetail_protocol::thrift::CallId;
use dovetail_wire::{Decode, Encode, FieldValue, WriteParams};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// A connection that nobody used for so long is looked at before it is trusted with a call.
const DOUBTFUL: Duration = Duration::from_secs(1);

/// A buffer for calls that has grown beyond this is not kept.
const KEPT: usize = 16 << 10;

/// A blocking connection to a server. Cheap to clone; safe to share between threads.
#[derive(Clone)]
pub struct Channel {
    shared: Arc<Shared>,
    options: Arc<Options>,
}

/// The settings of a channel that is being made.
#[must_use = "a builder does nothing before `build`"]
pub struct ChannelBuilder {
    connector: Arc<dyn Connector>,
    options: Options,
}

struct Shared {
    connector: Arc<dyn Connector>,
    places: Vec<Place>,
    next: AtomicUsize,
}

/// Where a connection goes, and why there is none.
#[derive(Default)]
struct Place {
    connection: Mutex<Option<Arc<Connection>>>,
    dial: Mutex<Dial>,
}

impl Channel {
    handle!();

    /// A channel to an address: `tcp://127.0.0.1:9090`, `unix:/path`.
    pub fn builder(address: &str) -> Result<ChannelBuilder, Status> {
        let address: Address = address
            .parse()
            .map_err(|error| Status::new(Code::InvalidArgument, format!("{error}")))?;
        Ok(Self::through(Arc::new(address)))
    }

    /// A channel over any transport.
    pub fn through(connector: Arc<dyn Connector>) -> ChannelBuilder {
        let mut options = Options::default();
        options.client.http.host = connector.target().trim_start_matches("tcp://").to_owned();
        ChannelBuilder { connector, options }
    }

    /// Calls a method and waits for its answer.
    pub fn call<P: WriteParams, T: FieldValue, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<T, E> {
        let params = (&params, method.params);
        let body = self.exchange(self.outgoing(method.name, &params), method.idempotent);
        decode(method.name, body, self.options.decoding)
    }

    /// Calls a one-way method; returns when the call is handed to the transport. Over HTTP, it returns when
    /// the server has taken the call: every request has a response there.
    pub fn notify<P: WriteParams>(&self, method: &'static Method, params: P) -> Result<(), Status> {
        self.notify_raw(method.name, &(&params, method.params))
    }

    /// Calls a method that no generated code describes: `params` is the struct of parameters, `reply` the
    /// struct with the result (field 0) or a declared exception.
    pub fn call_raw(
        &self,
        method: &str,
        params: &impl Encode,
        reply: &mut impl Decode,
    ) -> Result<(), Status> {
        let body = self.exchange(self.outgoing(method, params), false)?;
        decode_into(reply, method, body, self.options.decoding)
    }

    /// Calls a one-way method that no generated code describes.
    pub fn notify_raw(&self, method: &str, params: &impl Encode) -> Result<(), Status> {
        let call = Outgoing {
            oneway: true,
            ..self.outgoing(method, params)
        };
        self.attempt(call, false).map(drop)
    }

    fn exchange(&self, call: Outgoing<'_, impl Encode>, idempotent: bool) -> Result<Body, Status> {
        let body = self.attempt(call, idempotent)?;
        body.ok_or_else(|| Status::new(Code::Internal, "a call without an answer"))
    }

    /// Tries a call, and again on a fresh connection where that cannot do harm: when the old one was lost
    /// before the call was sent, or, once, when the contract says that twice is as good as once.
    fn attempt(
        &self,
        call: Outgoing<'_, impl Encode>,
        idempotent: bool,
    ) -> Result<Option<Body>, Status> {
        let deadline = Instant::now() + self.options.timeout;
        let mut retries = Retries::new(idempotent);
        loop {
            match self
                .connection()?
                .call(call, self.options.timeout, deadline)
            {
                Err(status) if retries.again(&status) && Instant::now() < deadline => {}
                result => return result,
            }
        }
    }

    fn connection(&self) -> Result<Arc<Connection>, Status> {
        let places = &self.shared.places;
        let turn = match places.len() {
            1 => 0,
            several => self.shared.next.fetch_add(1, Ordering::Relaxed) % several,
        };
        let place = &places[turn];
        if let Some(connection) = &*lock(&place.connection)
            && connection.usable()
        {
            return Ok(connection.clone());
        }
        self.dial(place)
    }

    /// Connects; one caller at a time, the others wait for what it gets.
    fn dial(&self, place: &Place) -> Result<Arc<Connection>, Status> {
        let mut dial = lock(&place.dial);
        if let Some(connection) = &*lock(&place.connection)
            && connection.usable()
        {
            return Ok(connection.clone());
        }
        let now = Instant::now();
        dial.check(now)?;
        let patience = self.options.connect_timeout.min(self.options.timeout);
        let connector = &self.shared.connector;
        match connector.connect(now + patience) {
            Ok(stream) => {
                dial.succeeded();
                let made = Connection::new(stream, connector.target(), &self.options);
                let connection = Arc::new(made);
                *lock(&place.connection) = Some(connection.clone());
                Ok(connection)
            }
            Err(error) => {
                let target = connector.target();
                Err(dial.failed(Instant::now(), &self.options.backoff, &target, &error))
            }
        }
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Channel({}, {})",
            self.shared.connector.target(),
            self.options.wire
        )
    }
}

impl ChannelBuilder {
    settings!();

    /// Chooses when a waiting caller polls before it sleeps.
    pub fn polling(mut self, polling: Polling) -> Self {
        self.options.polling = polling;
        self
    }

    /// The channel. It connects with the first call.
    #[must_use]
    pub fn build(self) -> Channel {
        let places = (0..self.options.connections)
            .map(|_| Place::default())
            .collect();
        let shared = Shared {
            connector: self.connector,
            places,
            next: AtomicUsize::new(0),
        };
        Channel {
            shared: Arc::new(shared),
            options: Arc::new(self.options),
        }
    }
}

struct Connection {
    stream: Arc<dyn Stream>,
    target: String,
    state: Mutex<State>,
    /// Taken by whoever reads.
    receiver: Mutex<Receiver>,
    /// Notified when a caller that waits for its turn may have it.
    turn: Condvar,
}

struct State {
    table: Table<Arc<Waiter>>,
    sending: bool,
    reading: bool,
    /// Callers that wait for their turn.
    queueing: usize,
    last_used: Instant,
}

/// A caller that waits: where its reply goes, and how to wake it.
struct Waiter {
    thread: Thread,
    reply: Mutex<Option<Result<Body, Status>>>,
}

impl Waiter {
    fn new() -> Arc<Self> {
        Arc::new(Waiter {
            thread: thread::current(),
            reply: Mutex::new(None),
        })
    }

    fn deliver(&self, reply: Result<Body, Status>) {
        *lock(&self.reply) = Some(reply);
        self.thread.unpark();
    }

    fn take(&self) -> Option<Result<Body, Status>> {
        lock(&self.reply).take()
    }
}

impl State {
    /// Somebody must read as long as somebody waits.
    fn wake_a_reader(&self) {
        if let Some(next) = self.table.any_waiter()
            && !self.reading
        {
            next.thread.unpark();
        }
    }
}

impl Connection {
    fn new(stream: Arc<dyn Stream>, target: String, options: &Options) -> Self {
        Connection {
            stream,
            target,
            state: Mutex::new(State {
                table: Table::new(options),
                sending: false,
                reading: false,
                queueing: 0,
                last_used: Instant::now(),
            }),
            receiver: Mutex::new(Receiver::new(options.polling)),
            turn: Condvar::new(),
        }
    }

    /// False where the connection is known to be lost; asks the socket where it was idle for long.
    fn usable(&self) -> bool {
        let mut state = lock(&self.state);
        if state.table.broken() {
            return false;
        }
        if state.last_used.elapsed() > DOUBTFUL && state.table.idle() && !state.reading {
            let silent = self.stream.recv(&mut [0], Wait::Poll);
            if !silent.is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock) {
                // Closed, or talking without being asked.
                let why: &str = "the server closed it while it was idle";
                state.table.fail(lost(&self.target, &why));
                return false;
            }
        }
        true
    }

    /// Sends a call and waits for its answer; `None` for a one-way call that has none.
    fn call(
        &self,
        call: Outgoing<'_, impl Encode>,
        timeout: Duration,
        deadline: Instant,
    ) -> Result<Option<Body>, Status> {
        let mut state = lock(&self.state);
        let answered = !call.oneway || state.table.answers_oneway();
        let waiter = answered.then(Waiter::new);
        let id = loop {
            match state.table.call(call, waiter.clone())? {
                Some(id) => break id,
                None => state = self.wait_for_turn(state, call.method, timeout, deadline)?,
            }
        };
        self.send(state, deadline);
        match waiter {
            Some(waiter) => match self.wait(&waiter, id, deadline) {
                Some(reply) => reply.map(Some),
                None => Err(too_late(call.method, timeout, Execution::MayHaveRun)),
            },
            None => match lock(&self.state).table.broken() {
                true => Err(lost(&self.target, &"it broke while the call was sent")),
                false => Ok(None),
            },
        }
    }

    /// Waits until other calls are answered on a connection that takes one at a time.
    fn wait_for_turn<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        method: &str,
        timeout: Duration,
        deadline: Instant,
    ) -> Result<MutexGuard<'a, State>, Status> {
        state.queueing += 1;
        let left = deadline.saturating_duration_since(Instant::now());
        let waited = self
            .turn
            .wait_timeout_while(state, left, |state| !state.table.turn());
        let (mut state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        state.queueing -= 1;
        match waited.timed_out() {
            true => Err(too_late(method, timeout, Execution::NotSent)),
            false => Ok(state),
        }
    }

    fn offer_turn(&self, state: &State) {
        if state.queueing > 0 {
            self.turn.notify_all();
        }
    }

    /// Sends what is queued, unless another caller does so already and takes it along.
    fn send<'a>(&'a self, mut state: MutexGuard<'a, State>, deadline: Instant) {
        if state.sending {
            return;
        }
        state.sending = true;
        while !state.table.out.is_empty() && !state.table.broken() {
            let mut out = std::mem::take(&mut state.table.out);
            drop(state);
            let sent = self.stream.send_all(&out, Some(deadline));
            state = lock(&self.state);
            match sent {
                Ok(()) if state.table.out.is_empty() && out.capacity() <= KEPT => {
                    out.clear();
                    state.table.out = out;
                }
                Ok(()) => {}
                // Part of a message may have left: nothing can follow it.
                Err(error) => self.give_up(&mut state, lost(&self.target, &error)),
            }
        }
        state.sending = false;
        state.last_used = Instant::now();
    }

    /// Waits for the reply; `None` where the time is over.
    fn wait(
        &self,
        waiter: &Arc<Waiter>,
        call: CallId,
        deadline: Instant,
    ) -> Option<Result<Body, Status>> {
        loop {
            if let Some(reply) = waiter.take() {
                return Some(reply);
            }
            let mut state = lock(&self.state);
            // It may have come before the lock.
            if let Some(reply) = waiter.take() {
                return Some(reply);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                state.table.abandon(call);
                self.offer_turn(&state);
                state.wake_a_reader();
                return None;
            }
            if state.reading {
                drop(state);
                thread::park_timeout(left);
                continue;
            }
            state.reading = true;
            self.read(state, waiter, deadline);
        }
    }

    /// Reads for all, until this caller has its reply or no time left; then another one reads.
    fn read<'a>(&'a self, mut state: MutexGuard<'a, State>, own: &Waiter, deadline: Instant) {
        let mut receiver = lock(&self.receiver);
        loop {
            let needs = state.table.needs();
            let mut input = std::mem::take(&mut state.table.input);
            drop(state);
            let received = receiver.receive(&*self.stream, &mut input, needs, deadline);
            state = lock(&self.state);
            state.table.input = input;
            match received {
                Err(e) if e.kind() == io::ErrorKind::TimedOut => break,
                received => self.take_in(&mut state, received),
            }
            if lock(&own.reply).is_some() || state.table.broken() {
                break;
            }
        }
        receiver.relax(&mut state.table.input);
        drop(receiver);
        state.reading = false;
        state.last_used = Instant::now();
        state.wake_a_reader();
    }

    fn take_in(&self, state: &mut State, received: io::Result<usize>) {
        let deliver = |waiter: Arc<Waiter>, reply| waiter.deliver(reply);
        let outcome = match received {
            Ok(0) => match state.table.end(deliver) {
                Ok(()) => Err(lost(&self.target, &"the server closed it")),
                Err(error) => Err(lost(&self.target, &error)),
            },
            Ok(_) => state
                .table
                .receive(deliver)
                .map_err(|error| misbehaved(&self.target, &error)),
            Err(error) => Err(lost(&self.target, &error)),
        };
        if let Err(why) = outcome {
            self.give_up(state, why);
        }
        self.offer_turn(state);
    }

    fn give_up(&self, state: &mut State, why: Status) {
        for waiter in state.table.fail(why.clone()) {
            waiter.deliver(Err(why.clone()));
        }
        self.stream.shutdown();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

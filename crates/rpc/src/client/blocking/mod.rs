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

mod streams;

pub use streams::{Answer, Receiver, Sender, Streamed, Upload};

use super::dial::Dial;
use super::moving::PATIENCE;
use super::options::{Options, handle, settings};
use super::table::{ObjectCall, Outgoing, Queued, Table, lost, misbehaved, too_late};
use super::{Answered, Retries, decode, decode_into, read_objects, unnamed};
use crate::block_on::block_on;
use crate::objects::{
    Home, ObjectPlace, ObjectRef, Objects, Remote, WeakHome, local, no_reference, wrong_channel,
};
use crate::reply::ReplySlot;
use crate::streams::Wake;
use crate::transport::{Connector, Receiver as Reader, Stream, Wait};
use crate::{
    Address, Code, Exceptions, Execution, Method, Service, ServiceDescriptor, Status, Wire, buffers,
};
use dovetail_protocol::dovetail::NoMethods;
use dovetail_wire::{Decode, Encode, FieldValue, WriteParams};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// A connection that nobody used for so long is looked at before it is trusted with a call.
const DOUBTFUL: Duration = Duration::from_secs(1);

/// How long telling the server that a call was given up may hold its caller up.
const LAST_WORD: Duration = Duration::from_millis(10);

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

/// What is called.
enum Shared {
    /// A server, on connections that are made when they are needed.
    Server(Server),
    /// An object of the other end's, as one of this service.
    Object(Arc<Connection>, Arc<Remote>, &'static ServiceDescriptor),
    /// An object of this process.
    Local(Arc<dyn Service>),
    /// A reference that cannot be called, and why.
    Nothing(Status),
}

impl Shared {
    fn object(&self) -> Option<ObjectCall<'_>> {
        match self {
            Shared::Object(_, remote, service) => Some(ObjectCall { remote, service }),
            _ => None,
        }
    }
}

struct Server {
    connector: Arc<dyn Connector>,
    places: Vec<Arc<Place>>,
    next: AtomicUsize,
}

/// Where a connection goes, and why there is none.
#[derive(Default)]
struct Place {
    connection: Mutex<Option<Arc<Connection>>>,
    dial: Mutex<Dial>,
}

impl Place {
    /// The connection that is there, where it is not known to be lost.
    fn usable(self: &Arc<Self>, options: &Arc<Options>) -> Option<Arc<Connection>> {
        let place = lock(&self.connection);
        let connection = place.as_ref()?;
        if let Some(address) = connection.usable()? {
            let (place, old, options) = (self.clone(), connection.clone(), options.clone());
            let moving = move || place.replace(&old, &address, &options);
            let thread = thread::Builder::new().name("dovetail move".to_owned());
            // Without a thread it stays where it is.
            let _ = thread.spawn(moving);
        }
        Some(connection.clone())
    }

    /// Has calls made on another connection from now on, if that can be had.
    fn replace(&self, old: &Arc<Connection>, address: &Address, options: &Options) {
        let Ok(stream) = address.connect(Instant::now() + PATIENCE) else {
            return;
        };
        let new = Connection::new(stream, old.target.clone(), options);
        let mut place = lock(&self.connection);
        let is_there = place.as_ref().is_some_and(|there| Arc::ptr_eq(there, old));
        if is_there && lock(&old.state).table.give_way() {
            *place = Some(new);
        }
    }
}

impl Channel {
    handle!();

    /// A channel to a service of this process, with no wire between: its handlers run where they are called. For
    /// tests, with a [`Mock`](crate::Mock) too. It has no streams.
    pub fn in_process(service: impl Service) -> Self {
        Channel {
            shared: Arc::new(Shared::Local(Arc::new(service))),
            options: Arc::default(),
        }
    }

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
    pub fn call<P: WriteParams, T: FieldValue + 'static, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<T, E> {
        let params = (&params, method.params);
        let call = Outgoing {
            read: Some(read_objects::<T, E>),
            ..self.outgoing(method, &params)
        };
        let body = self.exchange(call, method.idempotent);
        let Options {
            recycled, decoding, ..
        } = &*self.options;
        decode(method.name, body, recycled.take(), *decoding)
    }

    /// A channel to an object.
    pub(crate) fn to_object(object: &ObjectRef, service: &'static ServiceDescriptor) -> Self {
        let shared = match object.place() {
            ObjectPlace::There(remote) => match &remote.home {
                Home::Blocking(connection) => {
                    Shared::Object(connection.clone(), remote.clone(), service)
                }
                Home::Link(_) => Shared::Nothing(wrong_channel("an async")),
            },
            ObjectPlace::Here(service) => Shared::Local(service.clone()),
            ObjectPlace::Nothing => Shared::Nothing(no_reference()),
        };
        let options = Options {
            wire: Wire::Dovetail,
            ..Options::default()
        };
        Channel {
            shared: Arc::new(shared),
            options: Arc::new(options),
        }
    }

    /// Calls a method that returns an object, and gives that object before it has been returned: what is called on
    /// it travels at once, and fails as not started where this call fails. Waits for no more than the
    /// connection. Needs Dovetail's own wire.
    pub fn pipelined<P: WriteParams, T: FieldValue + From<ObjectRef> + 'static, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<T, Status> {
        if let Shared::Local(_) = &*self.shared {
            let returned: Result<T, E> = self.call(method, params);
            return returned.map_err(|exception| local::failure(method.name, &exception));
        }
        let params = (&params, method.params);
        let deadline = Instant::now() + self.options.timeout;
        let mut retries = Retries::new(false);
        loop {
            let connection = self.connection()?;
            let remote = Remote::promised(Home::Blocking(connection.clone()));
            let call = Outgoing {
                read: Some(read_objects::<T, E>),
                promise: Some(remote.slot()),
                ..self.outgoing(method, &params)
            };
            match connection.queue(call, deadline) {
                Err(status)
                    if self.redials() && retries.again(&status) && Instant::now() < deadline => {}
                queued => return queued.map(|()| ObjectRef::there(Arc::new(remote)).into()),
            }
        }
    }

    /// Calls a one-way method; returns when the call is handed to the transport. Over HTTP, it returns when
    /// the server has taken the call: every request has a response there.
    pub fn notify<P: WriteParams>(&self, method: &'static Method, params: P) -> Result<(), Status> {
        let params = (&params, method.params);
        let call = Outgoing {
            oneway: true,
            ..self.outgoing(method, &params)
        };
        self.attempt(call, false).map(drop)
    }

    /// Calls a method that answers with a stream: a [`Receiver`], or a result and one.
    pub fn stream<P: WriteParams, O: Streamed, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<O, E> {
        let deadline = Instant::now() + self.options.timeout;
        let mut retries = Retries::new(method.idempotent);
        loop {
            let call = self.open(method, &params, deadline)?;
            match call.answer(deadline) {
                Err(status)
                    if self.redials() && retries.again(&status) && Instant::now() < deadline => {}
                body => return Answer::streamed(call).read(body),
            }
        }
    }

    /// Calls a method that takes a stream: where to send it, and the answer.
    pub fn upload<P: WriteParams, T: FieldValue, S: Exceptions, R: FieldValue, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<Upload<T, R, S, E>, Status> {
        let deadline = Instant::now() + self.options.timeout;
        let call = self.open(method, &params, deadline)?;
        Ok((Sender::new(call.clone()), Answer::last(call)))
    }

    /// Calls a method that takes a stream and answers with one: where to send the one, and the answer, behind
    /// which the other one comes.
    pub fn chat<P: WriteParams, T: FieldValue, S: Exceptions, O: Streamed, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<Upload<T, O, S, E>, Status> {
        let deadline = Instant::now() + self.options.timeout;
        let call = self.open(method, &params, deadline)?;
        Ok((Sender::new(call.clone()), Answer::streamed(call)))
    }

    /// Begins a call with streams.
    fn open(
        &self,
        method: &'static Method,
        params: &impl WriteParams,
        deadline: Instant,
    ) -> Result<streams::Call, Status> {
        let params = (params, method.params);
        let connection = self.connection()?;
        connection.open(
            self.outgoing(method, &params),
            method,
            &self.options,
            deadline,
        )
    }

    /// Calls a method that no generated code describes: `params` is the struct of parameters, `reply` the
    /// struct with the result (field 0) or a declared exception.
    pub fn call_raw(
        &self,
        method: &str,
        params: &impl Encode,
        reply: &mut impl Decode,
    ) -> Result<(), Status> {
        let body = self.exchange(self.outgoing_by_name(method, params), false)?;
        decode_into(reply, method, body, self.options.decoding)
    }

    /// Calls a method by its name, without a contract: `let sum: i32 = channel.call_by_name("add", (1, 2))?`. The
    /// parameters, a tuple, are numbered from 1 in order; an exception that the method declares is a `Status`. Own
    /// types are given by reference.
    pub fn call_by_name<T: FieldValue>(
        &self,
        method: &str,
        params: impl WriteParams,
    ) -> Result<T, Status> {
        let mut slot = ReplySlot::<T, Status>::over(None);
        let params = (&params, unnamed(&params));
        self.call_raw(method, &params, &mut slot)?;
        slot.into_result(method)
    }

    /// Calls a one-way method that no generated code describes.
    pub fn notify_raw(&self, method: &str, params: &impl Encode) -> Result<(), Status> {
        let call = Outgoing {
            oneway: true,
            ..self.outgoing_by_name(method, params)
        };
        self.attempt(call, false).map(drop)
    }

    fn exchange(
        &self,
        call: Outgoing<'_, impl Encode>,
        idempotent: bool,
    ) -> Result<Answered, Status> {
        let body = self.attempt(call, idempotent)?;
        body.ok_or_else(|| Status::new(Code::Internal, "a call without an answer"))
    }

    /// Tries a call, and again on a fresh connection where that cannot do harm: when the old one was lost
    /// before the call was sent, or, once, when the contract says that twice is as good as once.
    fn attempt(
        &self,
        call: Outgoing<'_, impl Encode>,
        idempotent: bool,
    ) -> Result<Option<Answered>, Status> {
        if let Shared::Local(service) = &*self.shared {
            return block_on(local::call(service, call, self.options.decoding));
        }
        let deadline = Instant::now() + self.options.timeout;
        let mut retries = Retries::new(idempotent);
        loop {
            match self
                .connection()?
                .call(call, self.options.timeout, deadline)
            {
                Err(status)
                    if self.redials() && retries.again(&status) && Instant::now() < deadline => {}
                result => return result,
            }
        }
    }

    fn connection(&self) -> Result<Arc<Connection>, Status> {
        let server = match &*self.shared {
            Shared::Server(server) => server,
            Shared::Object(connection, ..) => return Ok(connection.clone()),
            Shared::Local(_) => return Err(local::no_streams()),
            Shared::Nothing(why) => return Err(why.clone()),
        };
        let turn = match server.places.len() {
            1 => 0,
            several => server.next.fetch_add(1, Ordering::Relaxed) % several,
        };
        let place = &server.places[turn];
        match place.usable(&self.options) {
            Some(connection) => Ok(connection),
            None => self.dial(place, &*server.connector),
        }
    }

    /// True where a lost connection is replaced by another one.
    fn redials(&self) -> bool {
        matches!(&*self.shared, Shared::Server(_))
    }

    /// Connects; one caller at a time, the others wait for what it gets.
    fn dial(
        &self,
        place: &Arc<Place>,
        connector: &dyn Connector,
    ) -> Result<Arc<Connection>, Status> {
        let mut dial = lock(&place.dial);
        if let Some(connection) = place.usable(&self.options) {
            return Ok(connection);
        }
        // A server that goes down waits for its clients to let go.
        *lock(&place.connection) = None;
        let now = Instant::now();
        dial.check(now)?;
        let patience = self.options.connect_timeout.min(self.options.timeout);
        match connector.connect(now + patience) {
            Ok(stream) => {
                dial.succeeded();
                let connection = Connection::new(stream, connector.target(), &self.options);
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
        let target = match &*self.shared {
            Shared::Server(server) => server.connector.target(),
            Shared::Object(connection, _, service) => {
                format!("{} at {}", service.name, connection.target)
            }
            Shared::Local(_) => "in-process".to_owned(),
            Shared::Nothing(_) => "nothing".to_owned(),
        };
        write!(f, "Channel({target}, {})", self.options.wire)
    }
}

impl ChannelBuilder {
    settings!();

    /// The channel. It connects with the first call.
    #[must_use]
    pub fn build(self) -> Channel {
        let places = (0..self.options.connections)
            .map(|_| Arc::default())
            .collect();
        let shared = match self.options.wire {
            Wire::Grpc => Shared::Nothing(super::no_grpc()),
            _ => Shared::Server(Server {
                connector: self.connector,
                places,
                next: AtomicUsize::new(0),
            }),
        };
        Channel {
            shared: Arc::new(shared),
            options: Arc::new(self.options),
        }
    }
}

/// A connection that any number of callers share.
pub(crate) struct Connection {
    stream: Arc<dyn Stream>,
    target: String,
    /// What this end has of the other one's.
    pub(crate) objects: Arc<Objects>,
    state: Mutex<State>,
    /// Taken by whoever reads.
    reader: Mutex<Reader>,
    /// Notified when a caller that waits for its turn may have it.
    turn: Condvar,
}

struct State {
    table: Table<Thread>,
    sending: bool,
    reading: bool,
    /// Callers that wait for their turn.
    queueing: usize,
    last_used: Instant,
}

impl Wake for Thread {
    fn wake(&self) {
        self.unpark();
    }
}

impl State {
    /// Somebody must read as long as somebody waits.
    fn wake_a_reader(&self) {
        if !self.reading {
            self.table.wake_any();
        }
    }
}

impl Connection {
    fn new(stream: Arc<dyn Stream>, target: String, options: &Options) -> Arc<Self> {
        let table = Table::new(options, false).may_move(options, stream.ports());
        let connection = Arc::new(Connection {
            stream,
            target,
            objects: table.objects.clone(),
            state: Mutex::new(State {
                table,
                sending: false,
                reading: false,
                queueing: 0,
                last_used: Instant::now(),
            }),
            reader: Mutex::new(Reader::new(options.polling)),
            turn: Condvar::new(),
        });
        let home = WeakHome::Blocking(Arc::downgrade(&connection));
        connection.objects.settle(home);
        connection
    }

    /// Sends a call whose answer somebody else takes in.
    fn queue(&self, call: Outgoing<'_, impl Encode>, deadline: Instant) -> Result<(), Status> {
        let mut state = lock(&self.state);
        state.table.call(call, thread::current)?;
        drop(self.send(state, deadline));
        Ok(())
    }

    /// This end has no longer so many references to an object.
    pub(crate) fn release(&self, object: u32, count: u64) {
        let mut state = lock(&self.state);
        state.table.release(object, count);
        self.given_up(state);
    }

    /// `None` where the connection is known to be lost; asks the socket where it was idle for long. With it comes,
    /// once, where to go on.
    fn usable(&self) -> Option<Option<Address>> {
        let mut state = lock(&self.state);
        if state.table.broken() {
            return None;
        }
        if state.last_used.elapsed() > DOUBTFUL && state.table.idle() && !state.reading {
            // More than a poll, which may not see that the other process is gone.
            let silent = self
                .stream
                .recv(&mut [0], Wait::Until(Some(Instant::now())));
            if !silent.is_err_and(|e| e.kind() == io::ErrorKind::TimedOut) {
                // Closed, or talking without being asked.
                let why: &str = "the server closed it while it was idle";
                state.table.fail(&lost(&self.target, &why));
                return None;
            }
        }
        Some(state.table.begin_to_move())
    }

    /// Sends a call and waits for its answer; `None` for a one-way call that has none.
    fn call(
        &self,
        call: Outgoing<'_, impl Encode>,
        timeout: Duration,
        deadline: Instant,
    ) -> Result<Option<Answered>, Status> {
        let mut state = lock(&self.state);
        let id = loop {
            match state.table.call(call, thread::current)? {
                Some(Queued(id)) => break id,
                None => state = self.wait_for_turn(state, call.name, timeout, deadline)?,
            }
        };
        let state = self.send(state, deadline);
        match id {
            Some(id) => match self.wait(state, id, deadline) {
                Some(reply) => reply.map(Some),
                None => Err(too_late(call.name, timeout, Execution::MayHaveRun)),
            },
            None => match state.table.broken() {
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
    fn send<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        deadline: Instant,
    ) -> MutexGuard<'a, State> {
        if state.sending {
            return state;
        }
        state.sending = true;
        while !state.table.out.is_empty() && !state.table.broken() {
            let mut out = state.table.take_out(Vec::new());
            drop(state);
            let sent = self.stream.send_all(&out, Some(deadline));
            state = lock(&self.state);
            match sent {
                Ok(()) if state.table.out.is_empty() => {
                    buffers::sent(&mut out);
                    state.table.out = out;
                }
                Ok(()) => {}
                // Part of a message may have left: nothing can follow it.
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    self.give_up(&mut state, &lost(&self.target, &error));
                }
                Err(error) => state.table.cut(&lost(&self.target, &error)),
            }
        }
        state.sending = false;
        state.last_used = Instant::now();
        state
    }

    /// Waits for the reply; `None` where the time is over.
    fn wait<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        call: u64,
        deadline: Instant,
    ) -> Option<Result<Answered, Status>> {
        let (mut state, reply) = self.wait_for(state, deadline, |table| table.take(call));
        if reply.is_none() {
            let objects = state.table.abandon(call);
            self.given_up(state);
            drop(objects);
        }
        reply
    }

    /// Somebody has given a call up: the server is told, where the wire has a word for it.
    fn given_up(&self, state: MutexGuard<'_, State>) {
        self.offer_turn(&state);
        state.wake_a_reader();
        drop(self.send(state, Instant::now() + LAST_WORD));
    }

    /// Waits for something that whoever reads finds, reading where nobody else does; `None` where the time is
    /// over. The table wakes this thread when it is worth to look again.
    fn wait_for<'a, R>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        deadline: Instant,
        mut look: impl FnMut(&mut Table<Thread>) -> Option<R>,
    ) -> (MutexGuard<'a, State>, Option<R>) {
        loop {
            if let Some(found) = look(&mut state.table) {
                return (state, Some(found));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return (state, None);
            }
            if state.reading {
                drop(state);
                thread::park_timeout(left);
                state = lock(&self.state);
                continue;
            }
            state.reading = true;
            match self.read(state, deadline, &mut look) {
                (state, Some(found)) => return (state, Some(found)),
                (left, None) => state = left,
            }
        }
    }

    /// Reads for all, until this caller has what it waits for or no time left; then another one reads.
    fn read<'a, R>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        deadline: Instant,
        look: &mut impl FnMut(&mut Table<Thread>) -> Option<R>,
    ) -> (MutexGuard<'a, State>, Option<R>) {
        let mut reader = lock(&self.reader);
        let found = loop {
            let needs = state.table.needs();
            let mut input = std::mem::take(&mut state.table.input);
            drop(state);
            let received = reader.receive(&*self.stream, &mut input, needs, deadline);
            state = lock(&self.state);
            state.table.input = input;
            match received {
                Err(e) if e.kind() == io::ErrorKind::TimedOut => break None,
                received => self.take_in(&mut state, received),
            }
            if !state.table.out.is_empty() {
                // What the wire itself has to say.
                state = self.send(state, deadline);
            }
            let found = look(&mut state.table);
            if found.is_some() || state.table.broken() {
                break found;
            }
        };
        reader.relax(&mut state.table.input);
        drop(reader);
        state.reading = false;
        state.last_used = Instant::now();
        state.wake_a_reader();
        (state, found)
    }

    fn take_in(&self, state: &mut State, received: io::Result<usize>) {
        let outcome = match received {
            Ok(0) => match state.table.end() {
                Ok(()) => Err(lost(&self.target, &"the server closed it")),
                Err(error) => Err(lost(&self.target, &error)),
            },
            Ok(_) => state
                .table
                .receive(&NoMethods)
                .1
                .map_err(|fault| misbehaved(&self.target, &fault)),
            Err(error) => Err(lost(&self.target, &error)),
        };
        if let Err(why) = outcome {
            self.give_up(state, &why);
        }
        self.offer_turn(state);
    }

    fn give_up(&self, state: &mut State, why: &Status) {
        state.table.fail(why);
        self.stream.shutdown();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

use super::dial::Dial;
use super::options::{Options, handle, settings};
use super::table::{Outgoing, Queued, Table, lost, misbehaved, too_late};
use super::{Body, Retries, decode, decode_into};
use crate::streams::{Answer, Link, Locked, Sender, StreamCall, Streamed, Upload};
use crate::{Address, Code, Exceptions, Execution, Method, Status, buffers};
use bytes::BytesMut;
use dovetail_wire::{Decode, Encode, FieldValue, Limits, WriteParams};
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::timeout;

/// An async connection to a server. Cheap to clone; safe to share between tasks.
///
/// One task per connection sends what all callers have queued in one piece, and hands out the replies. A
/// call whose future is dropped is given up; its reply is dropped when it comes.
#[derive(Clone)]
pub struct Channel {
    shared: Arc<Shared>,
    options: Arc<Options>,
}

/// The settings of a channel that is being made.
#[must_use = "a builder does nothing before `build`"]
pub struct ChannelBuilder {
    address: Address,
    options: Options,
}

struct Shared {
    address: Address,
    places: Vec<Place>,
    next: AtomicUsize,
}

/// Where a connection goes, and why there is none.
#[derive(Default)]
struct Place {
    connection: Mutex<Option<Arc<Connection>>>,
    dial: tokio::sync::Mutex<Dial>,
}

impl Channel {
    handle!();

    /// A channel to an address: `tcp://127.0.0.1:9090`, `unix:/path`.
    pub fn builder(address: &str) -> Result<ChannelBuilder, Status> {
        let address: Address = address
            .parse()
            .map_err(|error| Status::new(Code::InvalidArgument, format!("{error}")))?;
        let mut options = Options::default();
        options.client.http.host = address.to_string().trim_start_matches("tcp://").to_owned();
        Ok(ChannelBuilder { address, options })
    }

    /// Calls a method and waits for its answer.
    pub async fn call<P: WriteParams, T: FieldValue, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<T, E> {
        let params = (&params, method.params);
        let call = self.outgoing(method, &params);
        let body = self.exchange(call, method.idempotent).await;
        decode(method.name, body, self.options.decoding)
    }

    /// Calls a one-way method; returns when the call is queued on a connection. Over HTTP, it returns when
    /// the server has taken the call: every request has a response there.
    pub async fn notify<P: WriteParams>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<(), Status> {
        let params = (&params, method.params);
        let call = Outgoing {
            oneway: true,
            ..self.outgoing(method, &params)
        };
        self.in_time(call, false).await.map(drop)
    }

    /// Calls a method that answers with a stream: a [`Receiver`](crate::Receiver), or a result and one.
    pub async fn stream<P: WriteParams, O: Streamed, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<O, E> {
        let limit = self.options.timeout;
        let late = || too_late(method.name, limit, Execution::MayHaveRun);
        let opened = timeout(limit, async {
            let mut retries = Retries::new(method.idempotent);
            loop {
                let call = self.open(method, &params).await?;
                match poll_fn(|context| call.poll_answer(context)).await {
                    Err(status) if retries.again(&status) => {}
                    body => return Ok::<_, Status>((call, body)),
                }
            }
        });
        let (call, body) = opened.await.unwrap_or_else(|_| Err(late()))?;
        Answer::streamed(call).read(body)
    }

    /// Calls a method that takes a stream: where to send it, and the answer.
    pub async fn upload<
        P: WriteParams,
        T: FieldValue,
        S: Exceptions,
        R: FieldValue,
        E: Exceptions,
    >(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<Upload<T, R, S, E>, Status> {
        let call = self.open_in_time(method, &params).await?;
        Ok((Sender::new(call.clone()), Answer::last(call)))
    }

    /// Calls a method that takes a stream and answers with one: where to send the one, and the answer, behind
    /// which the other one comes.
    pub async fn chat<P: WriteParams, T: FieldValue, S: Exceptions, O: Streamed, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<Upload<T, O, S, E>, Status> {
        let call = self.open_in_time(method, &params).await?;
        Ok((Sender::new(call.clone()), Answer::streamed(call)))
    }

    async fn open_in_time(
        &self,
        method: &'static Method,
        params: &impl WriteParams,
    ) -> Result<StreamCall, Status> {
        let limit = self.options.timeout;
        let late = || too_late(method.name, limit, Execution::NotSent);
        timeout(limit, self.open(method, params))
            .await
            .unwrap_or_else(|_| Err(late()))
    }

    /// Begins a call with streams.
    async fn open(
        &self,
        method: &'static Method,
        params: &impl WriteParams,
    ) -> Result<StreamCall, Status> {
        let params = (params, method.params);
        let link = StreamLink {
            connection: self.connection().await?,
            limits: self.options.decoding,
        };
        match link.connection.queue(self.outgoing(method, &params))? {
            // It was a number of 32 bits when it was given.
            Some(Queued(Some(call))) => {
                let call = StreamCall::new(Arc::new(link), call as u32);
                Ok(call.named(method.name))
            }
            _ => Err(Status::new(Code::Internal, "a call without an answer")),
        }
    }

    /// Calls a method that no generated code describes: `params` is the struct of parameters, `reply` the
    /// struct with the result (field 0) or a declared exception.
    pub async fn call_raw(
        &self,
        method: &str,
        params: &impl Encode,
        reply: &mut impl Decode,
    ) -> Result<(), Status> {
        let body = self
            .exchange(self.outgoing_by_name(method, params), false)
            .await?;
        decode_into(reply, method, body, self.options.decoding)
    }

    /// Calls a one-way method that no generated code describes.
    pub async fn notify_raw(&self, method: &str, params: &impl Encode) -> Result<(), Status> {
        let call = Outgoing {
            oneway: true,
            ..self.outgoing_by_name(method, params)
        };
        self.in_time(call, false).await.map(drop)
    }

    async fn exchange(
        &self,
        call: Outgoing<'_, impl Encode>,
        idempotent: bool,
    ) -> Result<Body, Status> {
        let body = self.in_time(call, idempotent).await?;
        body.ok_or_else(|| Status::new(Code::Internal, "a call without an answer"))
    }

    async fn in_time(
        &self,
        call: Outgoing<'_, impl Encode>,
        idempotent: bool,
    ) -> Result<Option<Body>, Status> {
        let limit = self.options.timeout;
        let late = || too_late(call.name, limit, Execution::MayHaveRun);
        timeout(limit, self.attempt(call, idempotent))
            .await
            .unwrap_or_else(|_| Err(late()))
    }

    /// Tries a call, and again on a fresh connection where that cannot do harm.
    async fn attempt(
        &self,
        call: Outgoing<'_, impl Encode>,
        idempotent: bool,
    ) -> Result<Option<Body>, Status> {
        let mut retries = Retries::new(idempotent);
        loop {
            match self.connection().await?.call(call).await {
                Err(status) if retries.again(&status) => {}
                result => return result,
            }
        }
    }

    async fn connection(&self) -> Result<Arc<Connection>, Status> {
        let places = &self.shared.places;
        let turn = self.shared.next.fetch_add(1, Ordering::Relaxed) % places.len();
        let place = &places[turn];
        match place.usable() {
            Some(connection) => Ok(connection),
            None => self.dial(place).await,
        }
    }

    /// Connects; one caller at a time, the others wait for what it gets.
    async fn dial(&self, place: &Place) -> Result<Arc<Connection>, Status> {
        let mut dial = place.dial.lock().await;
        if let Some(connection) = place.usable() {
            return Ok(connection);
        }
        // A server that goes down waits for its clients to let go.
        *lock(&place.connection) = None;
        dial.check(Instant::now())?;
        let target = self.shared.address.to_string();
        let patience = self.options.connect_timeout.min(self.options.timeout);
        let made = timeout(
            patience,
            Connection::start(&self.shared.address, &self.options),
        )
        .await;
        match made.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(connection) => {
                dial.succeeded();
                *lock(&place.connection) = Some(connection.clone());
                Ok(connection)
            }
            Err(e) => Err(dial.failed(Instant::now(), &self.options.backoff, &target, &e)),
        }
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Channel({}, {})", self.shared.address, self.options.wire)
    }
}

impl ChannelBuilder {
    settings!();

    /// The channel. It connects with the first call.
    #[must_use]
    pub fn build(self) -> Channel {
        let places = (0..self.options.connections)
            .map(|_| Place::default())
            .collect();
        let shared = Shared {
            address: self.address,
            places,
            next: AtomicUsize::new(0),
        };
        Channel {
            shared: Arc::new(shared),
            options: Arc::new(self.options),
        }
    }
}

impl Place {
    fn usable(&self) -> Option<Arc<Connection>> {
        let connection = lock(&self.connection);
        connection
            .as_ref()
            .filter(|connection| !lock(&connection.table).broken())
            .cloned()
    }
}

/// A connection as the streams of one channel's calls use it.
struct StreamLink {
    connection: Arc<Connection>,
    limits: Limits,
}

impl StreamLink {
    /// Something may have been queued.
    fn flush(&self) {
        self.connection.queued.notify_one();
    }
}

impl Link for StreamLink {
    fn with(&self, work: &mut dyn FnMut(&mut Locked<'_>)) {
        let mut table = lock(&self.connection.table);
        if let Some((machine, inboxes, out)) = table.locked() {
            work(&mut Locked {
                machine,
                inboxes,
                out,
            });
        }
        table.transmit();
        let queued = !table.out.is_empty();
        drop(table);
        if queued {
            self.flush();
        }
    }

    fn leave(&self, call: u32) {
        lock(&self.connection.table).leave(call);
        self.flush();
    }

    fn close(&self, call: u32) {
        lock(&self.connection.table).close(call);
        self.flush();
    }

    fn limits(&self) -> Limits {
        self.limits
    }
}

struct Connection {
    target: String,
    table: Mutex<Table<Waker>>,
    /// Something is queued, or the connection is no longer wanted.
    queued: Arc<Notify>,
    /// Notified when callers that wait for their turn may have it.
    turn: Notify,
}

/// The answer to a call. A call whose future is dropped before is given up.
struct Pending<'a> {
    connection: &'a Connection,
    call: u64,
    done: bool,
}

impl Future for Pending<'_> {
    type Output = Result<Body, Status>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut table = lock(&self.connection.table);
        if let Some(reply) = table.take(self.call) {
            drop(table);
            self.done = true;
            return Poll::Ready(reply);
        }
        match table.waiter(self.call) {
            Some(waiter) => {
                waiter.clone_from(context.waker());
                Poll::Pending
            }
            None => Poll::Ready(Err(lost(&self.connection.target, &"it was given up"))),
        }
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.done {
            lock(&self.connection.table).abandon(self.call);
            self.connection.turn.notify_waiters();
            // The server may have to be told.
            self.connection.queued.notify_one();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.queued.notify_one();
    }
}

impl Connection {
    async fn start(address: &Address, options: &Options) -> io::Result<Arc<Self>> {
        let queued = Arc::new(Notify::new());
        let connection = Arc::new(Connection {
            target: address.to_string(),
            table: Mutex::new(Table::new(options)),
            queued: queued.clone(),
            turn: Notify::new(),
        });
        let weak = Arc::downgrade(&connection);
        match address {
            Address::Tcp(place) => {
                let stream = TcpStream::connect(place).await?;
                stream.set_nodelay(true)?;
                let (receiver, sender) = stream.into_split();
                tokio::spawn(run(receiver, sender, weak, queued));
            }
            Address::Unix(path) => {
                let (receiver, sender) = UnixStream::connect(path).await?.into_split();
                tokio::spawn(run(receiver, sender, weak, queued));
            }
        }
        Ok(connection)
    }

    /// Sends a call and waits for its answer; `None` for a one-way call that has none.
    async fn call(&self, call: Outgoing<'_, impl Encode>) -> Result<Option<Body>, Status> {
        let call = loop {
            // Before the look at the table: a turn that is offered in between is not missed.
            let turn = self.turn.notified();
            if let Some(Queued(call)) = self.queue(call)? {
                break call;
            }
            turn.await;
        };
        match call {
            None => Ok(None),
            Some(call) => {
                let answer = Pending {
                    connection: self,
                    call,
                    done: false,
                };
                answer.await.map(Some)
            }
        }
    }

    /// `None` where the call has to wait for its turn.
    fn queue(&self, call: Outgoing<'_, impl Encode>) -> Result<Option<Queued>, Status> {
        let mut table = lock(&self.table);
        // Whoever waits says so when it is polled.
        let queued = table.call(call, || Waker::noop().clone())?;
        drop(table);
        if queued.is_some() {
            self.queued.notify_one();
        }
        Ok(queued)
    }

    fn fail(&self, why: &Status) {
        lock(&self.table).fail(why);
        self.turn.notify_waiters();
    }

    /// Takes in what was received.
    fn take_in(&self, received: io::Result<usize>) -> Result<(), Status> {
        let target = &self.target;
        let mut table = lock(&self.table);
        let understood = match received {
            Ok(0) => {
                table.end().map_err(|fault| lost(target, &fault))?;
                let why = lost(target, &"the server closed it");
                Err(why.with_execution(table.left_behind()))
            }
            Ok(_) => table.receive().map_err(|fault| misbehaved(target, &fault)),
            Err(e) => Err(lost(target, &e)),
        };
        if !table.out.is_empty() {
            // The wire itself has something to say.
            self.queued.notify_one();
        }
        understood
    }
}

/// The task of a connection: ends when the connection is lost, or when no channel holds it any longer.
async fn run(
    mut receiver: impl AsyncRead + Unpin,
    mut sender: impl AsyncWrite + Unpin,
    connection: Weak<Connection>,
    queued: Arc<Notify>,
) {
    let sending = async {
        let mut out = Vec::new();
        loop {
            queued.notified().await;
            let Some(connection) = connection.upgrade() else {
                return;
            };
            if lock(&connection.table).crowded() {
                // Whoever else is about to call comes along: tokio runs this task before them.
                yield_now().await;
            }
            // The two buffers take turns.
            std::mem::swap(&mut lock(&connection.table).out, &mut out);
            let sent = sender.write_all(&out).await;
            buffers::sent(&mut out);
            if let Err(e) = sent {
                lock(&connection.table).cut(&lost(&connection.target, &e));
                // What the server had to say before is still to be received.
                return std::future::pending().await;
            }
        }
    };
    let receiving = async {
        let mut input = BytesMut::new();
        loop {
            let needs = match connection.upgrade() {
                Some(connection) => {
                    let mut table = lock(&connection.table);
                    // What is left of a message stays at the front.
                    std::mem::swap(&mut table.input, &mut input);
                    table.needs()
                }
                None => return,
            };
            input.reserve(needs.max(RECEIVED));
            let received = receiver.read_buf(&mut input).await;
            let Some(connection) = connection.upgrade() else {
                return;
            };
            std::mem::swap(&mut lock(&connection.table).input, &mut input);
            if let Err(why) = connection.take_in(received) {
                return connection.fail(&why);
            }
            connection.turn.notify_waiters();
        }
    };
    tokio::select! {
        () = sending => {}
        () = receiving => {}
    }
}

/// The least room that is made for what is received.
const RECEIVED: usize = 16 << 10;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

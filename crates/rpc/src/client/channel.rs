use super::dial::Dial;
use super::options::{Options, handle, settings};
use super::table::{Outgoing, Table, lost, misbehaved, too_late};
use super::{Body, Retries, decode, decode_into};
use crate::{Address, Code, Exceptions, Execution, Method, Status};
use dovetail_protocol::thrift::CallId;
use dovetail_wire::{Decode, Encode, FieldValue, WriteParams};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{Notify, oneshot};
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
        let call = self.outgoing(method.name, &params);
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
        self.notify_raw(method.name, &(&params, method.params))
            .await
    }

    /// Calls a method that no generated code describes: `params` is the struct of parameters, `reply` the
    /// struct with the result (field 0) or a declared exception.
    pub async fn call_raw(
        &self,
        method: &str,
        params: &impl Encode,
        reply: &mut impl Decode,
    ) -> Result<(), Status> {
        let body = self.exchange(self.outgoing(method, params), false).await?;
        decode_into(reply, method, body, self.options.decoding)
    }

    /// Calls a one-way method that no generated code describes.
    pub async fn notify_raw(&self, method: &str, params: &impl Encode) -> Result<(), Status> {
        let call = Outgoing {
            oneway: true,
            ..self.outgoing(method, params)
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
        let late = || too_late(call.method, limit, Execution::MayHaveRun);
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

type Reply = oneshot::Sender<Result<Body, Status>>;

/// A call that is on its way, and where its answer comes, if one does.
type Queued = (CallId, Option<oneshot::Receiver<Result<Body, Status>>>);

struct Connection {
    target: String,
    table: Mutex<Table<Reply>>,
    /// Something is queued, or the connection is no longer wanted.
    queued: Arc<Notify>,
    /// Notified when callers that wait for their turn may have it.
    turn: Notify,
}

/// Gives a call up when its future is dropped.
struct Abandon<'a> {
    connection: &'a Connection,
    call: CallId,
}

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        lock(&self.connection.table).abandon(self.call);
        self.connection.turn.notify_waiters();
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
                tokio::spawn(run(stream, weak, queued));
            }
            Address::Unix(path) => {
                tokio::spawn(run(UnixStream::connect(path).await?, weak, queued));
            }
        }
        Ok(connection)
    }

    /// Sends a call and waits for its answer; `None` for a one-way call that has none.
    async fn call(&self, call: Outgoing<'_, impl Encode>) -> Result<Option<Body>, Status> {
        let (id, answer) = loop {
            // Before the look at the table: a turn that is offered in between is not missed.
            let turn = self.turn.notified();
            if let Some(queued) = self.queue(call)? {
                break queued;
            }
            turn.await;
        };
        let Some(answer) = answer else {
            return Ok(None);
        };
        let given_up = Abandon {
            connection: self,
            call: id,
        };
        let answer = answer.await;
        std::mem::forget(given_up);
        match answer {
            Ok(reply) => reply.map(Some),
            Err(_) => Err(lost(&self.target, &"its task has ended")),
        }
    }

    fn queue(&self, call: Outgoing<'_, impl Encode>) -> Result<Option<Queued>, Status> {
        let mut table = lock(&self.table);
        let (reply, answer) = match !call.oneway || table.answers_oneway() {
            true => {
                let (reply, answer) = oneshot::channel();
                (Some(reply), Some(answer))
            }
            false => (None, None),
        };
        let Some(id) = table.call(call, reply)? else {
            return Ok(None);
        };
        self.queued.notify_one();
        Ok(Some((id, answer)))
    }

    fn fail(&self, why: Status) {
        for waiter in lock(&self.table).fail(why.clone()) {
            // A caller that is gone needs no answer.
            let _ = waiter.send(Err(why.clone()));
        }
        self.turn.notify_waiters();
    }
}

/// The task of a connection: ends when the connection is lost, or when no channel holds it any longer.
async fn run<S>(stream: S, connection: Weak<Connection>, queued: Arc<Notify>)
where
    S: AsyncRead + AsyncWrite + Send,
{
    let (mut receiver, mut sender) = tokio::io::split(stream);
    let sending = async {
        loop {
            queued.notified().await;
            let Some(connection) = connection.upgrade() else {
                return;
            };
            let out = std::mem::take(&mut lock(&connection.table).out);
            if let Err(e) = sender.write_all(&out).await {
                return connection.fail(lost(&connection.target, &e));
            }
        }
    };
    let receiving = async {
        let mut scratch = vec![0; 16 << 10];
        loop {
            let received = receiver.read(&mut scratch).await;
            let Some(connection) = connection.upgrade() else {
                return;
            };
            if let Err(why) = take_in(&connection, &mut scratch, received) {
                return connection.fail(why);
            }
            connection.turn.notify_waiters();
            let needs = lock(&connection.table).needs();
            if needs > scratch.len() {
                scratch.resize(needs.next_power_of_two().min(1 << 20), 0);
            }
        }
    };
    tokio::select! {
        () = sending => {}
        () = receiving => {}
    }
}

fn take_in(
    connection: &Connection,
    scratch: &mut [u8],
    received: io::Result<usize>,
) -> Result<(), Status> {
    let target = &connection.target;
    let deliver = |reply: Reply, body| {
        // A caller that is gone needs no answer.
        let _ = reply.send(body);
    };
    let mut table = lock(&connection.table);
    match received {
        Ok(0) => {
            table.end(deliver).map_err(|error| lost(target, &error))?;
            Err(lost(target, &"the server closed it"))
        }
        Ok(received) => {
            table
                .input
                .extend_from_slice(scratch.get(..received).unwrap_or_default());
            table
                .receive(deliver)
                .map_err(|error| misbehaved(target, &error))
        }
        Err(e) => Err(lost(target, &e)),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

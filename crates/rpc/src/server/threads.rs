//! The blocking driver: one thread for each connection, no async runtime. Sockets under
//! [`Model::ThreadPerConnection`](super::Model), and every stream that is not a socket under any
//! model.

use super::admission::ended_with;
use super::aside::{Aside, Line, Waiter, Waiters};
use super::session::{Outbox, Session};
use super::{ConnectionGuard, Entered, Entry, LINGER, ListenerKind, Shared, entrance};
use crate::block_on::{block_on, block_on_while};
use crate::buffers::Gathered;
use crate::counters::count;
use crate::dispatch::running::{RunningCall, refusal};
use crate::peer::cancellation::Cancellation;
use crate::peer::context::Caller;
use crate::peer::failures::no_thread;
use crate::peer::incoming::{Arrival, Incoming};
use crate::peer::link::{Flush, Link};
use crate::peer::share::Share;
use crate::transport::{Listener, Receiver, Stream, Wait};
use crate::web;
use bytes::BytesMut;
use std::future::poll_fn;
use std::io;
use std::iter::once;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// Accepts until the listener is closed.
pub(super) fn accept(listener: &dyn Listener, shared: &Arc<Shared>) {
    let kind = shared.listener_kind(&listener.address());
    loop {
        match listener.accept() {
            Ok(None) => return,
            Ok(Some(stream)) => spawn(stream, shared, kind),
            // Out of descriptors, or a peer that is gone already: the next one may be better.
            Err(error) => {
                shared.accept_failed(&error);
                thread::sleep(super::ACCEPT_PAUSE);
            }
        }
    }
}

/// Serves a connection in a thread of its own.
pub(super) fn spawn(stream: Arc<dyn Stream>, shared: &Arc<Shared>, kind: ListenerKind) {
    let Some(mut guard) = shared.admit(Some(stream.clone()), kind, &stream.peer()) else {
        return stream.shutdown();
    };
    let theirs = shared.clone();
    let started = thread::Builder::new()
        .name("dovetail".to_owned())
        .spawn(move || {
            let served = theirs.in_runtime(|| serve(&stream, &theirs, &mut guard, kind));
            if let Err(error) = served {
                ended_with(&error, &stream.peer());
            }
            stream.shutdown();
            drop(guard);
        });
    if started.is_err() {
        // The stream went with the thread that could not be made, and is closed with it.
        count(&shared.counters.refused_connections);
    }
}

/// Serves one connection until either end closes it.
pub(super) fn serve(
    stream: &Arc<dyn Stream>,
    shared: &Arc<Shared>,
    guard: &mut ConnectionGuard,
    kind: ListenerKind,
) -> io::Result<()> {
    let (mut peer, process) = (stream.peer(), stream.process());
    let mut received = BytesMut::new();
    if shared.is_proxy(&peer)
        && let Some(caller) = entrance::announced(stream, shared, &mut received)?
    {
        guard.announced(caller.ip());
        peer = caller.to_string();
    }
    let Some(entered) = entrance::enter(stream, shared, guard, received)? else {
        return Ok(());
    };
    let admission = guard.admission(kind, entered.tls.is_some());
    let checks_hosts = shared.checks_hosts(kind, entered.tls.is_some());
    let Entered {
        stream,
        received,
        tls,
    } = entered;
    let caller = Caller::new(peer, true)
        .with_proxies(shared.proxies.as_ref())
        .with_ports(stream.ports())
        .with_tls(tls)
        .with_process(process)
        .with_hosts_checked(checks_hosts);
    let sender = Arc::new(Sender {
        stream: stream.clone(),
        shared: shared.clone(),
        transfer: shared.limits().transfer,
        sending: Mutex::new(()),
        waiters: Waiters::default(),
        caller: OnceLock::new(),
    });
    let mut session = Session::new(shared, caller, admission, sender.clone());
    guard.entry().called_by(session.caller(), shared);
    session.input = received;
    // There is only one.
    let _ = sender.caller.set(session.caller().clone());
    let polling = session.polling();
    let mut connection = ThreadConnection {
        shared,
        session,
        sender: &sender,
        entry: guard.entry(),
        receiver: Receiver::new(polling),
        out: Outbox::default(),
        cancellation: None,
    };
    thread::scope(|scope| {
        let mut aside = Aside::new(scope, &sender);
        let served = connection.serve(&mut aside);
        if served.is_err() {
            // Nobody is left to be waited for.
            connection.session.lost();
            sender.waiters.lost();
        }
        aside.wait(&connection.line());
        served
    })?;
    let lingers = connection
        .session
        .farewell(&mut connection.out.waiting.bytes);
    sender.send(&mut connection.out)?;
    match lingers {
        true => linger(&*stream, &mut connection.receiver),
        false => stream.shutdown_send(),
    }
    Ok(())
}

/// One connection, as its own thread sees it.
struct ThreadConnection<'a> {
    shared: &'a Arc<Shared>,
    session: Session<'a>,
    sender: &'a Sender,
    entry: &'a Entry,
    receiver: Receiver,
    out: Outbox,
    /// The flag by which the handler of the call before could find out that its caller had gone.
    cancellation: Option<Arc<Cancellation>>,
}

/// How often a connection whose handlers wait looks whether they still do.
const ASIDE: Duration = Duration::from_secs(1);

impl<'a> ThreadConnection<'a> {
    /// Receives and answers, until no further call is taken.
    fn serve<'scope>(&mut self, aside: &mut Aside<'scope, '_>) -> io::Result<()>
    where
        'a: 'scope,
    {
        if self.shared.draining.load(Ordering::SeqCst) {
            self.session.going_down();
        }
        loop {
            while let Some(arrival) = self.session.next(&mut self.out.waiting.bytes) {
                let mut call = match arrival {
                    Arrival::Call(call) => call,
                    Arrival::Cancelled(call) => {
                        self.sender.waiters.cancel(call);
                        continue;
                    }
                };
                if call.acknowledge(&mut self.out.waiting.bytes) || self.session.greets() {
                    self.sender.send(&mut self.out)?;
                }
                self.start(call, aside)?;
                if self.out.is_full() {
                    self.sender.send(&mut self.out)?;
                }
            }
            #[cfg(feature = "grpc")]
            if self.session.is_http2() {
                // Once more, and it is refused.
                continue;
            }
            if self.session.is_over() && aside.is_empty() {
                self.session.refuse_received();
                continue;
            }
            if self.session.ends() && (!self.session.drains() || aside.is_empty()) {
                return Ok(());
            }
            self.session.transmit(&mut self.out.waiting.bytes);
            self.sender.send(&mut self.out)?;
            self.session.flush();
            self.receive(aside)?;
        }
    }

    /// Runs a handler in place; one that waits gets a thread where the peer tells answers apart, so
    /// that this one can receive what it may wait for.
    fn start<'scope>(
        &mut self,
        mut call: Box<Incoming>,
        aside: &mut Aside<'scope, '_>,
    ) -> io::Result<()>
    where
        'a: 'scope,
    {
        while !self.session.affords(&call) && !aside.is_empty() && !self.line().is_gone() {
            // One that has been answered wakes this thread.
            thread::park_timeout(ASIDE);
        }
        // Nothing overtakes a one-way call where nobody could tell.
        let aside_too = self.session.is_multiplexed()
            || self.session.is_socket()
            || (self.session.tells_apart() && !call.oneway);
        let cancellation = self.cancellation();
        call.cancellation = Some(cancellation.clone());
        let waiter = Waiter::new(&call, cancellation.clone());
        let oneway = call.oneway;
        let mut running = self.session.start(call, self.out.buffer());
        let mut now = Context::from_waker(Waker::noop());
        let most = self.session.limits().calls_per_connection;
        let answer = match Pin::new(&mut running).poll(&mut now) {
            Poll::Ready(_) if cancellation.was_cancelled() && !oneway => return Err(self.gone()),
            Poll::Ready(answer) => answer,
            Poll::Pending if aside_too && aside.len() < most => {
                let reply = running.reply().clone();
                let released = self.session.released(&reply);
                match aside.run(running, waiter, released) {
                    Ok(()) => return Ok(()),
                    Err(error) => refusal(&reply, &no_thread(&error), Vec::new()),
                }
            }
            Poll::Pending if oneway => block_on(running),
            Poll::Pending => {
                let reply = self.session.streaming().cloned();
                let answer = match reply {
                    Some(reply) => self.stream(running, &reply),
                    None => self.wait(running),
                };
                answer.ok_or_else(|| self.gone())?
            }
        };
        self.out.put(answer);
        Ok(())
    }

    /// The connection, for those who look at it.
    fn line(&self) -> Line {
        Line {
            stream: Arc::downgrade(&self.sender.stream),
            shared: self.shared.clone(),
            half: self.session.is_gone_with_half(),
        }
    }

    /// Returns the flag by which a handler finds out that its caller has gone: that of the call
    /// before, where nobody has it any longer.
    fn cancellation(&mut self) -> Arc<Cancellation> {
        let last = self.cancellation.as_mut().and_then(Arc::get_mut);
        if last.is_none_or(|last| last.was_cancelled()) {
            let line = self.line();
            self.cancellation = Some(Arc::new(Cancellation::looking(move || line.is_gone())));
        }
        self.cancellation.clone().unwrap_or_default()
    }

    /// The caller of the call that ran has gone, and nobody takes its answer.
    fn gone(&self) -> io::Error {
        count(&self.shared.counters.cancelled_calls);
        io::ErrorKind::ConnectionAborted.into()
    }

    /// Waits for a handler in place; `None` where its caller goes before.
    fn wait(&self, running: RunningCall<'a>) -> Option<Gathered> {
        let line = self.line();
        block_on_while(running, || !line.is_gone())
    }

    /// Runs a handler that has items to send.
    fn stream(&mut self, running: RunningCall<'a>, reply: &web::WebReplyTo) -> Option<Gathered> {
        let line = self.line();
        let answer = stream(running, reply, |items| {
            self.out.put(items.into());
            if self.sender.send(&mut self.out).is_err() {
                self.session.lost();
            }
        });
        block_on_while(answer, || !line.is_gone())
    }

    /// Waits for the first bytes of a connection, as long as a peer that is about to call may take.
    fn receive_late(&mut self) {
        let limit = self.session.leave();
        receive_late(&*self.sender.stream, &mut self.session.input, limit);
        if self.session.input.is_empty() {
            self.session.closed();
        }
    }

    fn receive(&mut self, aside: &mut Aside<'_, '_>) -> io::Result<()> {
        if let Some(call) = self.session.full() {
            let room = poll_fn(|context| match call.has_room(context) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            });
            let line = self.line();
            let room = block_on_while(room, || !line.is_gone());
            return room.ok_or_else(|| io::ErrorKind::ConnectionAborted.into());
        }
        if self.session.is_over() {
            // Until one of its calls has been answered, which wakes this thread.
            thread::park_timeout(ASIDE);
            return Ok(());
        }
        self.receiver.relax(&mut self.session.input);
        // It is this end that makes the peer wait where handlers do.
        let waits = !aside.is_empty();
        let waits_for_peer = !waits || !self.session.is_idle();
        let read_timeout = match waits_for_peer {
            true => self.session.read_timeout(),
            false => ASIDE,
        };
        let needs = self.session.needs();
        let idle = !waits && self.session.is_idle() && self.session.may_make_room();
        let deadline = || {
            if idle {
                self.entry.idles(self.shared);
            }
            Instant::now() + read_timeout
        };
        let stream = &*self.sender.stream;
        let input = &mut self.session.input;
        let received = self.receiver.receive(stream, input, needs, deadline);
        if idle {
            self.entry.works();
        }
        match received {
            Ok(0) if self.entry.is_asked_to_leave() => self.session.make_room(),
            // The receiving side was shut down to wake this thread; what comes can still be read.
            Ok(0) if self.session.is_leaving() => self.receive_late(),
            Ok(0) if waits && self.line().is_gone() => {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            Ok(0) => self.session.closed(),
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::TimedOut => {
                if waits_for_peer {
                    self.session.timed_out();
                }
            }
            Err(e) => return Err(self.session.broken(e)),
        }
        Ok(())
    }
}

/// The answer of a handler, whose items are sent as it makes them.
pub(super) async fn stream(
    mut running: RunningCall<'_>,
    reply: &web::WebReplyTo,
    mut send: impl FnMut(Vec<u8>),
) -> Gathered {
    poll_fn(|context| {
        loop {
            if let Poll::Ready(answer) = Pin::new(&mut running).poll(context) {
                return Poll::Ready(answer);
            }
            let mut items = Vec::new();
            reply.transmit(&mut items);
            if items.is_empty() {
                return Poll::Pending;
            }
            send(items);
        }
    })
    .await
}

/// How often a connection of which the receiving side is shut down is looked at.
const LATE: Duration = Duration::from_millis(5);

/// Receives what a peer says that was about to, on a connection of which the receiving side is shut
/// down.
pub(super) fn receive_late(stream: &dyn Stream, input: &mut BytesMut, limit: Duration) {
    let deadline = Instant::now() + limit;
    let mut piece = [0; 4096];
    while Instant::now() < deadline {
        if let Ok(received @ 1..) = stream.recv(&mut piece, Wait::Poll) {
            return input.extend_from_slice(piece.get(..received).unwrap_or_default());
        }
        thread::sleep(LATE);
    }
}

/// Lets the peer read what it was told last; see [`LINGER`].
pub(super) fn linger(stream: &dyn Stream, receiver: &mut Receiver) {
    stream.shutdown_send();
    let deadline = Instant::now() + LINGER;
    while Instant::now() < deadline
        && let Ok(1..) = receiver.discard(stream, deadline)
    {}
}

/// The sending side of a connection, which its calls share.
pub(super) struct Sender {
    stream: Arc<dyn Stream>,
    pub(super) shared: Arc<Shared>,
    /// How long the peer may take to take its answers.
    transfer: Duration,
    /// Held by who sends.
    sending: Mutex<()>,
    /// Its calls on threads of their own.
    pub(super) waiters: Waiters,
    /// The peer, once it may call.
    caller: OnceLock<Arc<Caller>>,
}

impl Sender {
    /// The peer's share of the server's memory.
    pub(super) fn share(&self) -> Option<&Arc<Share>> {
        self.caller.get()?.share.as_ref()
    }

    fn send(&self, out: &mut Outbox) -> io::Result<()> {
        if out.waiting.is_empty() {
            return Ok(());
        }
        let sending = self.lock();
        let sent = self.send_gathered(&out.waiting);
        drop(sending);
        out.sent();
        sent
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For threads beside the one of the connection.
    pub(super) fn send_or_shut_down(&self, answer: &Gathered) {
        if !answer.is_empty() {
            let sending = self.lock();
            let sent = self.send_gathered(answer);
            drop(sending);
            self.shut_down_after(&sent);
        }
    }

    /// Whoever receives finds out.
    fn shut_down_after(&self, sent: &io::Result<()>) {
        if sent.is_err() {
            self.stream.shutdown();
        }
    }

    fn send_gathered(&self, answers: &Gathered) -> io::Result<()> {
        match answers.blobs.is_empty() {
            true => self.send_all(&answers.bytes),
            false => {
                self.in_time(|deadline| {
                    let mut slices = answers.slices();
                    self.stream.send_all_vectored(&mut slices, deadline)
                })?;
                self.sent(|| answers.pieces(), answers.len());
                Ok(())
            }
        }
    }

    fn send_all(&self, bytes: &[u8]) -> io::Result<()> {
        self.in_time(|deadline| self.stream.send_all(bytes, deadline))?;
        self.sent(|| once(bytes), bytes.len());
        Ok(())
    }

    fn sent<'b, I: Iterator<Item = &'b [u8]>>(&self, bytes: impl FnOnce() -> I, count: usize) {
        if let Some(caller) = self.caller.get() {
            caller.traffic.sent(bytes, 0, count);
        }
    }

    /// Sends, or counts that the peer has taken too long.
    fn in_time(&self, send: impl FnOnce(Option<Instant>) -> io::Result<()>) -> io::Result<()> {
        let deadline = Instant::now() + self.transfer;
        send(Some(deadline)).inspect_err(|e| {
            if e.kind() == io::ErrorKind::TimedOut {
                count(&self.shared.counters.transfer_timeouts);
            }
        })
    }
}

impl Flush for Sender {
    fn flush(&self, link: &Link, _: Vec<u8>, _: Option<Instant>) {
        // Nobody else sends between taking and sending.
        let sending = self.lock();
        let out = link.lock().take_out(Vec::new());
        let sent = self.send_all(&out);
        drop(sending);
        self.shut_down_after(&sent);
    }
}

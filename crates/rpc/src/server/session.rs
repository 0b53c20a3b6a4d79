//! One connection of a server without its socket: what drivers on threads and on event loops have
//! in common.

use super::aside::Waiter;
#[cfg(feature = "async")]
use super::event_loop::{Handlers, Timed};
use super::http::Socket;
use super::machine::{Fault, GOING_DOWN, Machine, Progress};
use super::pace::Pace;
use super::{LINGER, LiveOptions, MAX_REFUSED, REFUSES, ServerLimits, Shared};
use crate::buffers::{self, Gathered};
use crate::counters::count;
#[cfg(feature = "async")]
use crate::dispatch::pool;
use crate::dispatch::running::{RunningCall, crowded};
#[cfg(feature = "async")]
use crate::method::Method;
use crate::peer::cancellation::Cancellation;
#[cfg(feature = "async")]
use crate::peer::cancellation::CancelsWhenDropped;
use crate::peer::context::Caller;
use crate::peer::incoming::{Arrival, Incoming, ReplyTo};
use crate::peer::link::{Flush, Link};
use crate::peer::share::{Charge, Over, SMALL, Share};
use crate::transport::Polling;
use crate::{Code, Status, clock, web};
use bytes::BytesMut;
#[cfg(feature = "async")]
use dovetail_wire::{Encoding, Kind};
#[cfg(feature = "async")]
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
#[cfg(feature = "async")]
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// The input of a connection, the time that the peer may take, and the reason why the connection
/// ends.
///
/// A driver receives behind [`input`](Self::input), takes calls with [`next`](Self::next), and
/// starts them when it likes. Once [`ends`](Self::ends), it sends the answers that are still
/// missing, then what [`farewell`](Self::farewell) says, and closes.
pub(super) struct Session<'a> {
    shared: &'a Arc<Shared>,
    caller: Arc<Caller>,
    admission: Admission,
    /// The first call has been started.
    started: bool,
    machine: Machine,
    driver: Arc<dyn Flush>,
    pub(super) input: BytesMut,
    /// Memory charged for incomplete messages.
    received: Charge,
    /// Why that is too much.
    over: Option<Over>,
    pace: Pace,
    /// Those of the server when the connection began.
    options: Arc<LiveOptions>,
    /// The machine when it last received.
    progress: Progress,
    connected: Instant,
    end: Option<SessionEnd>,
    /// The first call that was refused because the server goes down.
    refuses: Option<Instant>,
}

/// Whether calls of a connection are answered. Where they are not, the first one is refused, and it
/// is the last one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    Granted,
    /// It is one too many.
    Crowded,
    /// Its address has too many.
    Greedy,
    /// It came without TLS where that is needed.
    Insecure,
}

/// Why a connection ends.
enum SessionEnd {
    /// Either end has closed it, between two messages.
    Closed,
    /// The answer to the last call says so.
    LastCall,
    /// The server goes down, and has said so.
    Drained,
    /// The peer broke the rules, or a limit. Rare, so it takes no room in each session.
    Broken(Box<Fault>),
}

/// The answer to callers that come without TLS where it is needed.
const NEEDS_TLS: &str = "this address takes TLS alone: connect to tls://…";

impl<'a> Session<'a> {
    /// `driver` sends what calls with streams have to say, in its own time.
    pub(super) fn new(
        shared: &'a Arc<Shared>,
        caller: Caller,
        admission: Admission,
        driver: Arc<dyn Flush>,
    ) -> Self {
        let share = shared.account.open(&caller.peer);
        Session {
            shared,
            received: Charge::new(Some(&share)),
            over: None,
            caller: Arc::new(caller.with_share(share)),
            admission,
            started: false,
            machine: Machine::Detecting,
            driver,
            input: BytesMut::new(),
            pace: Pace::default(),
            options: shared.live.get(),
            progress: Progress::default(),
            connected: clock::now(),
            end: None,
            refuses: None,
        }
    }

    pub(super) fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }

    /// Returns the next arrival; `None` where more has to be received first, or the connection
    /// ends. Bytes of the wire itself that have to leave at once go to `out`.
    pub(super) fn next(&mut self, out: &mut Vec<u8>) -> Option<Arrival> {
        if self.ends() && !self.drains() {
            return None;
        }
        let more = self.pace.received(self.input.len());
        if more > 0 {
            let new = self.input.len() - more;
            let new = self.input.get(new..).unwrap_or_default();
            self.caller.traffic.received(new);
        }
        let received = self.machine.receive(
            &mut self.input,
            self.shared,
            &self.caller,
            &self.driver,
            out,
            &mut self.progress,
        );
        if !self.ends() && self.is_draining() && self.machine.is_multiplexed() {
            // A peer whose wire has just become known can be told.
            self.drain();
        }
        self.pace.taken(self.input.len());
        self.count_received();
        if self.machine.socket().is_some_and(Socket::is_over) {
            self.end.get_or_insert(SessionEnd::LastCall);
        }
        match received {
            Ok(arrival) => {
                let arrival = arrival?;
                self.pace.arrived();
                if let Arrival::Call(call) = &arrival {
                    self.note_call(call);
                    if call.reply.closes() || !self.is_admitted() || self.is_stubborn() {
                        self.end = Some(SessionEnd::LastCall);
                    }
                }
                Some(arrival)
            }
            Err(fault) => {
                self.fail(fault);
                None
            }
        }
    }

    /// Returns the limits of the connection.
    pub(super) fn limits(&self) -> &ServerLimits {
        &self.options.limits
    }

    pub(super) fn polling(&self) -> Polling {
        self.options.polling
    }

    /// Counts a call of the peer.
    pub(super) fn note_call(&self, call: &Incoming) {
        self.caller.traffic.called(|| call.reply.wire());
    }

    /// The peer's share of the server's memory.
    pub(super) fn share(&self) -> Option<&Arc<Share>> {
        self.caller.share.as_ref()
    }

    /// Charges the peer for a call that waits for its handler. False where there is no room for it,
    /// and it is refused.
    #[cfg(feature = "async")]
    pub(super) fn charge(&self, call: &mut Incoming) -> bool {
        call.charge(&self.caller).is_ok()
    }

    /// True if there is room for a call, or its wire refuses it at once, because the peer has to be
    /// heard.
    pub(super) fn affords(&self, call: &Incoming) -> bool {
        let weight = call.weight();
        weight < SMALL
            || self.is_multiplexed()
            || self.share().is_none_or(|share| share.room() >= weight)
    }

    /// Charges the peer for what is held of messages of which there is a part, and of calls that it
    /// has not finished.
    fn count_received(&mut self) {
        let size = self.input.len() + self.progress.held;
        let grown = self.received.follow(size);
        let still = self.over.and(self.share()).and_then(|share| share.over());
        self.over = grown.err().or(still);
    }

    /// Hands on what has been received.
    #[cfg(feature = "grpc")]
    pub(super) fn take_input(&mut self) -> BytesMut {
        let input = std::mem::take(&mut self.input);
        self.count_received();
        input
    }

    /// True if more has been received than the peer's share allows. Nothing more is received until
    /// one of its calls is answered.
    pub(super) fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// Ends the connection where that is so. For one without calls that could be waited for.
    pub(super) fn refuse_received(&mut self) {
        if let Some(over) = self.over.take()
            && !self.ends()
        {
            self.received.refused();
            let fault = self.machine.too_much(self.input.len(), over, &self.input);
            self.fail(fault);
        }
    }

    /// True once, before the first call, where the wire wants its own words to be sent before.
    pub(super) fn greets(&mut self) -> bool {
        let first = !std::mem::replace(&mut self.started, true);
        // A socket has one call, but there may have been requests before.
        self.is_socket() || (first && matches!(self.machine, Machine::Dovetail(_)))
    }

    /// Starts a call; its answer comes in `buffer`, which is empty.
    pub(super) fn start(&self, call: Box<Incoming>, buffer: Vec<u8>) -> RunningCall<'a> {
        match self.no_room() {
            None => self
                .shared
                .dispatcher
                .start(call, self.caller.clone(), buffer),
            Some(why) => self.shared.dispatcher.turn_away(&call, &why, buffer),
        }
    }

    /// Starts a call on the thread of a loop; its answer comes in `buffer`, which is empty.
    #[cfg(feature = "async")]
    pub(super) fn start_on_loop(
        &self,
        call: Box<Incoming>,
        handlers: Handlers,
        buffer: Vec<u8>,
    ) -> Timed<'a> {
        let dispatcher = &self.shared.dispatcher;
        let moves = handlers == Handlers::Loop;
        Timed::new(|| match self.no_room() {
            None => dispatcher.start_on_loop(call, self.caller.clone(), buffer, moves),
            Some(why) => dispatcher.turn_away(&call, &why, buffer),
        })
    }

    /// The calls that wait for the answer to this one, for a thread beside the connection's.
    pub(super) fn released(&self, reply: &ReplyTo) -> Option<Released<'a>> {
        let link = reply.promised_to()?.clone();
        Some(Released {
            shared: self.shared,
            caller: self.caller.clone(),
            link,
        })
    }

    /// Why calls are refused just now.
    pub(super) fn no_room(&self) -> Option<Status> {
        let limits = self.limits();
        match self.admission {
            Admission::Granted => {}
            Admission::Crowded => {
                let why = format!("the server has {} connections", limits.connections);
                return Some(crowded(why));
            }
            Admission::Greedy => {
                let why = format!(
                    "this address has half of the {} connections of the server, and few are left",
                    limits.connections
                );
                return Some(crowded(why));
            }
            Admission::Insecure => {
                return Some(Status::new(Code::FailedPrecondition, NEEDS_TLS));
            }
        }
        if self.is_draining() && self.refuses_by_call() {
            return Some(Status::new(Code::Unavailable, GOING_DOWN));
        }
        (self.shared.waiting.load(Ordering::Relaxed) >= limits.calls)
            .then(|| crowded(format!("the server has {} calls waiting", limits.calls)))
    }

    /// True if the parameters of a call take long to decompress or decode.
    #[cfg(feature = "async")]
    pub(super) fn is_long(&self, call: &Incoming) -> bool {
        if call.weight() <= LONG {
            return false;
        }
        let blobs = || {
            let route = self.shared.dispatcher.routes.find(&call.target).ok();
            route.is_some_and(|route| is_copied(route.method, call.encoding))
        };
        call.body.is_compressed() || !blobs()
    }

    /// The answer to a call whose parameters are decoded by a thread beside the loop, on which the
    /// handler runs.
    #[cfg(feature = "async")]
    pub(super) fn decoded_aside(
        &self,
        call: Box<Incoming>,
        handlers: Handlers,
    ) -> impl Future<Output = Gathered> + use<> {
        let (shared, caller) = (self.shared.clone(), self.caller.clone());
        let dispatcher = self.shared.dispatcher.clone();
        let answer = Box::pin(async move {
            let moves = handlers == Handlers::Loop;
            let running = dispatcher.start_on_loop(call, caller, Vec::new(), moves);
            // So far runs the thread beside the loop.
            let mut decoded = true;
            poll_fn(|_| match std::mem::take(&mut decoded) {
                true => Poll::Pending,
                false => Poll::Ready(()),
            })
            .await;
            Timed::from(running).await
        });
        async move {
            // Fails only where it has been closed, which nobody does.
            let permit = shared.decoders.acquire().await.ok();
            let decoded = pool::poll_once(answer, Waker::noop().clone()).await;
            drop(permit);
            match decoded {
                Some((answer, _)) => answer.await,
                // The runtime is going down, and nobody is there to be answered.
                None => Gathered::default(),
            }
        }
    }

    /// The answer of a handler in the pool, for a call there is room for. A handler that waits has
    /// no thread, and is dropped where this is.
    #[cfg(feature = "async")]
    pub(super) fn in_pool(
        &self,
        mut call: Box<Incoming>,
    ) -> impl Future<Output = Gathered> + use<> {
        let (shared, caller) = (self.shared.clone(), self.caller.clone());
        let cancellation = Arc::<Cancellation>::default();
        call.cancellation = Some(cancellation.clone());
        let gone = CancelsWhenDropped(cancellation);
        async move {
            let answer = shared.dispatcher.start_in_pool(call, caller).await;
            drop(gone);
            answer
        }
    }

    /// Returns whether a caller that has closed its sending side takes no answers.
    pub(super) fn is_gone_with_half(&self) -> bool {
        self.machine.is_gone_with_half(self.shared.half_closed)
    }

    /// Returns whether no further call is taken.
    pub(super) fn ends(&self) -> bool {
        self.end.is_some()
    }

    /// Returns whether no further call is taken, but the input of open calls with streams still is.
    pub(super) fn drains(&self) -> bool {
        matches!(self.end, Some(SessionEnd::Drained))
            && matches!(self.machine, Machine::Dovetail(_))
    }

    /// Why a request is refused that names these hosts.
    #[cfg(feature = "grpc")]
    pub(super) fn foreign_host<'h>(&self, named: impl Iterator<Item = &'h [u8]>) -> Option<Status> {
        match self.caller.checks_hosts {
            true => self.shared.foreign_host(named),
            false => None,
        }
    }

    /// Returns whether [`next`](Self::next) is known to return nothing before more is received, or
    /// a handler has something to say.
    #[cfg(feature = "async")]
    pub(super) fn has_taken_all(&self) -> bool {
        self.progress.taken_all && !self.ends()
    }

    /// Returns whether nothing has arrived that waits to be a call.
    pub(super) fn is_idle(&self) -> bool {
        self.input.is_empty() && self.progress.parts.is_none()
    }

    /// True for a connection with one call, whose items come and go while it runs.
    pub(super) fn is_socket(&self) -> bool {
        self.machine.socket().is_some()
    }

    /// Returns whether part of a message has come that belongs to the call which runs, and the rest
    /// is waited for.
    #[cfg(feature = "async")]
    pub(super) fn expects_items(&self) -> bool {
        self.is_socket() && !self.ends() && !self.is_idle() && self.full().is_none()
    }

    /// The call whose handler has to take items before more are received.
    pub(super) fn full(&self) -> Option<Arc<web::Exchange>> {
        self.machine.socket()?.full().cloned()
    }

    /// How much to receive next.
    pub(super) fn needs(&self) -> usize {
        let needs = self.progress.needs;
        match (needs > PIECE).then(|| self.share()).flatten() {
            // No buffer for what there is no room for.
            Some(share) => share.room().clamp(PIECE, needs),
            None => needs,
        }
    }

    /// Moves the bytes of the wire itself between answers.
    pub(super) fn transmit(&mut self, out: &mut Vec<u8>) {
        self.machine.transmit(out);
    }

    /// Sends what calls with streams and objects have queued, for a driver that does so in place.
    pub(super) fn flush(&self) {
        self.machine.flush();
    }

    /// Moves the queue of calls with streams, for a driver that sends it itself.
    #[cfg(feature = "async")]
    pub(super) fn transmit_streams(&mut self, out: &mut Vec<u8>) {
        self.machine.transmit_streams(out);
    }

    /// See [`Machine::streaming`].
    pub(super) fn streaming(&self) -> Option<&web::WebReplyTo> {
        self.machine.streaming()
    }

    /// The last words, behind all answers. True where the peer may still be sending, so that its
    /// bytes have to be received for a while; see [`LINGER`](super::LINGER).
    pub(super) fn farewell(&mut self, out: &mut Vec<u8>) -> bool {
        self.lost();
        self.machine.transmit_at_once(out);
        if let Some(SessionEnd::Broken(fault)) = &self.end {
            self.machine.goodbye(fault, out);
        }
        // The peer answers a close.
        !matches!(self.end, Some(SessionEnd::Closed)) || self.is_socket()
    }

    /// How long to wait for the peer, from now.
    pub(super) fn read_timeout(&mut self) -> Duration {
        if self.is_leaving() && self.is_idle() {
            return self.leave();
        }
        self.pace.waits(self.progress.parts);
        match (self.is_idle(), &self.machine) {
            (true, Machine::Detecting) => {
                let silent = clock::now().saturating_duration_since(self.connected);
                let remote = self.caller.is_remote() || !self.is_admitted();
                self.limits().silence(remote).saturating_sub(silent)
            }
            (true, _) => self.idle_limit(),
            (false, _) => self.allowed().1,
        }
    }

    /// The driver does not receive: that a message is incomplete is not its sender's fault.
    #[cfg(feature = "async")]
    pub(super) fn hold(&mut self) {
        self.pace.hold();
    }

    /// How long what is incomplete may take, and how much of that is left.
    fn allowed(&self) -> (Duration, Duration) {
        self.pace.allowed(self.message_limit(), self.limits())
    }

    /// How long a connection may be silent between two calls.
    pub(super) fn idle_limit(&self) -> Duration {
        match self.is_admitted() {
            true => self.limits().idle,
            false => self.limits().handshake,
        }
    }

    fn message_limit(&self) -> Duration {
        match self.machine.is_known() {
            true => self.limits().transfer,
            false => self.limits().handshake,
        }
    }

    /// Nothing can be received any longer: counted where that is the peer's doing.
    pub(super) fn broken(&self, error: io::Error) -> io::Error {
        if error.kind() == io::ErrorKind::InvalidData {
            count(&self.shared.counters.protocol_errors);
        }
        error
    }

    fn is_draining(&self) -> bool {
        self.shared.draining.load(Ordering::SeqCst)
    }

    /// Returns whether the server goes down and the peer, which may be about to call, has not been
    /// told: its wire is not known yet, or has no word for that but the answer to a call.
    pub(super) fn is_leaving(&self) -> bool {
        !self.ends() && self.is_draining() && (self.is_detecting() || self.refuses_by_call())
    }

    fn is_detecting(&self) -> bool {
        matches!(self.machine, Machine::Detecting)
    }

    /// Returns whether the wire says that the server goes down in answers to calls alone.
    fn refuses_by_call(&self) -> bool {
        matches!(self.machine, Machine::Thrift(_) | Machine::MsgpackRpc(_))
    }

    /// How long to listen to a peer that is to be told that the server goes down.
    pub(super) fn leave(&self) -> Duration {
        match self.is_detecting() {
            true => LINGER,
            false => REFUSES,
        }
    }

    /// Returns whether a peer goes on to call though it was told often enough that the server goes
    /// down.
    fn is_stubborn(&mut self) -> bool {
        if !self.is_draining() || !self.refuses_by_call() {
            return false;
        }
        let now = clock::now();
        let since = *self.refuses.get_or_insert(now);
        now.saturating_duration_since(since) >= MAX_REFUSED
    }

    /// The peer let the time pass that [`read_timeout`](Self::read_timeout) gave it.
    pub(super) fn timed_out(&mut self) {
        if self.is_leaving() && self.is_idle() {
            self.end = Some(SessionEnd::Closed);
            return;
        }
        let counters = &self.shared.counters;
        match self.is_idle() {
            true => {
                count(&counters.idle_timeouts);
                self.machine.idled();
                self.end = Some(SessionEnd::Closed);
            }
            false => {
                count(&counters.transfer_timeouts);
                let limit = self.allowed().0;
                let fault = self.machine.too_slow(limit, &self.input);
                self.break_off(fault);
            }
        }
    }

    /// True for a connection that may be closed while it is idle without loss: no references to
    /// objects were passed on it.
    pub(super) fn may_make_room(&self) -> bool {
        !self.machine.has_objects()
    }

    /// The connection, which is idle, is closed to make room for another one.
    pub(super) fn make_room(&mut self) {
        count(&self.shared.counters.closed_for_room);
        self.machine.idled();
        self.end = Some(SessionEnd::Closed);
    }

    /// The server goes down while the connection is idle.
    pub(super) fn going_down(&mut self) {
        if !self.is_leaving() {
            self.closed();
        }
    }

    /// The peer has closed its side, or this end wants to close while the connection is idle.
    pub(super) fn closed(&mut self) {
        if self.is_draining() && !self.drains() && self.drain() {
            return;
        }
        match self.machine.end(&mut self.input) {
            Ok(()) => {
                self.end = Some(SessionEnd::Closed);
                self.machine.lost();
            }
            Err(fault) => self.fail(fault),
        }
    }

    /// The server goes down: no further call is taken. False where the peer cannot know.
    pub(super) fn drain(&mut self) -> bool {
        let announced = self.machine.drain();
        if announced && !self.ends() {
            self.end = Some(SessionEnd::Drained);
        }
        announced
    }

    /// Returns whether the peer is listened to at all times; see [`Machine::is_multiplexed`].
    pub(super) fn is_multiplexed(&self) -> bool {
        self.machine.is_multiplexed()
    }

    /// True for a connection that is for another driver; see [`Machine::is_http2`].
    #[cfg(feature = "grpc")]
    pub(super) fn is_http2(&self) -> bool {
        !self.ends() && self.machine.is_http2()
    }

    /// False for a connection whose calls are refused.
    pub(super) fn is_admitted(&self) -> bool {
        self.admission == Admission::Granted
    }

    /// See [`Machine::tells_apart`].
    pub(super) fn tells_apart(&self) -> bool {
        self.machine.tells_apart()
    }

    /// The connection is lost: handlers that wait for the peer need not.
    pub(super) fn lost(&self) {
        self.machine.lost();
    }

    fn fail(&mut self, fault: Fault) {
        count(&self.shared.counters.protocol_errors);
        self.break_off(fault);
        self.machine.lost();
    }

    /// Ends the connection for what the peer has done.
    fn break_off(&mut self, fault: Fault) {
        let peer = &*self.caller().peer;
        tracing::debug!(peer, error = %fault, "the peer has broken the protocol of its connection");
        self.end = Some(SessionEnd::Broken(Box::new(fault)));
    }
}

/// More bytes than these, decompressed, take so long to be decoded that other connections of a loop
/// would wait.
#[cfg(feature = "async")]
const LONG: usize = 256 << 10;

/// True if long parameters are decoded as fast as short ones: numbers, and bytes that are not
/// copied.
#[cfg(feature = "async")]
fn is_copied(method: &Method, encoding: Encoding) -> bool {
    let text = matches!(
        encoding,
        Encoding::Json | Encoding::ThriftJson | Encoding::Custom(_)
    );
    let copied = |kind| !matches!(kind, Kind::List | Kind::Set | Kind::Map | Kind::Struct);
    !text && method.params.iter().all(|param| copied(param.kind))
}

/// As much is received at a time whatever there is room for.
const PIECE: usize = 64 << 10;

/// Calls that may go on once another one is answered.
#[derive(Clone)]
pub(super) struct Released<'a> {
    shared: &'a Arc<Shared>,
    caller: Arc<Caller>,
    link: Arc<Link>,
}

impl<'a> Released<'a> {
    /// The next one, if there is any.
    pub(super) fn next(&self) -> Option<Box<Incoming>> {
        loop {
            let called = self.link.ready(&self.shared.dispatcher.routes)?;
            if let Arrival::Call(call) = Arrival::over(called, &self.link) {
                return Some(call);
            }
        }
    }

    /// Starts one, and says how it is given up.
    pub(super) fn start(&self, mut call: Box<Incoming>) -> (RunningCall<'a>, Waiter) {
        let cancellation = Arc::<Cancellation>::default();
        call.cancellation = Some(cancellation.clone());
        let waiter = Waiter::new(&call, cancellation);
        let running = self
            .shared
            .dispatcher
            .start(call, self.caller.clone(), Vec::new());
        (running, waiter)
    }
}

impl Drop for Session<'_> {
    /// However it ended: who keeps a channel to the caller is told.
    fn drop(&mut self) {
        self.lost();
    }
}

/// Answers that wait to be sent together. Two buffers take turns, so that answers one at a time
/// cost no copy and no allocation.
#[derive(Default)]
pub(super) struct Outbox {
    pub(super) waiting: Gathered,
    spare: Vec<u8>,
}

/// Answers that wait for calls which have arrived with theirs leave at the latest when they are
/// this long.
const FLUSH: usize = 64 << 10;

impl Outbox {
    /// An empty buffer for an answer.
    pub(super) fn buffer(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.spare)
    }

    /// Takes an answer to be sent.
    pub(super) fn put(&mut self, answer: Gathered) {
        self.spare = self.waiting.append(answer);
    }

    /// Returns whether there is no buffer yet to be used again.
    #[cfg(feature = "async")]
    pub(super) fn is_new(&self) -> bool {
        self.waiting.bytes.capacity() == 0 && self.spare.capacity() == 0
    }

    /// Returns whether it is time to send the answers that are there.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() > FLUSH
    }

    /// Everything has been sent. Gives the buffer where it has grown too large to be kept.
    pub(super) fn sent(&mut self) -> Option<Vec<u8>> {
        self.waiting.blobs.clear();
        buffers::sent(&mut self.waiting.bytes)
    }

    /// Takes a buffer, which is empty, for the next answer.
    #[cfg(feature = "async")]
    pub(super) fn lend(&mut self, buffer: Vec<u8>) {
        let spare = std::mem::replace(&mut self.spare, buffer);
        if self.waiting.bytes.capacity() == 0 {
            self.waiting.bytes = spare;
        }
    }
}

//! One connection on a loop: receives, starts calls, and sends their answers, all at the same time.

#[cfg(feature = "grpc")]
use super::http2;
use super::in_flight::{InFlight, Waits};
use super::spares;
use super::spread::LoopClaim;
use super::{Accepted, Handlers, LoopContext, Phase, entrance};
use crate::buffers::{self, Gathered};
use crate::counters::count;
use crate::dispatch::running::crowded;
use crate::peer::context::Caller;
use crate::peer::incoming::{Arrival, Incoming};
use crate::peer::share::Charge;
use crate::server::admission::ended_with;
use crate::server::session::{Outbox, Session};
use crate::server::{ConnectionGuard, Entered, LINGER, ListenerKind, Shared};
use crate::transport::{AsyncSocket, Choice, SpinPolicy};
use bytes::BytesMut;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, error::Elapsed, timeout, timeout_at};

/// Serves a connection until either end closes it.
///
/// The future of an idle connection is most of its memory, so what is not needed for long is on the
/// heap.
pub(super) async fn serve(loop_context: Rc<LoopContext>, accepted: Box<Accepted<AsyncSocket>>) {
    let Some(mut connection) = Box::pin(entered(&loop_context, accepted)).await else {
        return;
    };
    let served = connection.run().await;
    #[cfg(feature = "grpc")]
    if served.is_ok() && connection.session.is_http2() {
        let caller = connection.session.caller().clone();
        let served = Box::pin(connection.serve_http2()).await;
        return note(&served, &caller);
    }
    note(&served, connection.session.caller());
    // Nobody waits for one-way calls, so that it is all the same to them that their caller has
    // gone.
    Box::pin(connection.into_in_flight().finish_oneway()).await;
}

fn note(served: &io::Result<()>, caller: &Caller) {
    if let Err(error) = served {
        ended_with(error, &caller.peer);
    }
}

/// Returns a connection that may call; `None` for one that has ended before.
async fn entered(
    loop_context: &LoopContext,
    accepted: Box<Accepted<AsyncSocket>>,
) -> Option<LoopConnection<'_>> {
    let listened = tracing::enabled!(tracing::Level::DEBUG);
    let peer = listened.then(|| accepted.peer.clone());
    match (enter(loop_context, accepted).await, peer) {
        (Ok(connection), _) => connection,
        (Err(error), Some(peer)) => {
            ended_with(&error, &peer);
            None
        }
        (Err(_), None) => None,
    }
}

/// Finds out who calls, and whether over TLS. `None` for a peer that says nothing.
async fn enter(
    loop_context: &LoopContext,
    accepted: Box<Accepted<AsyncSocket>>,
) -> io::Result<Option<LoopConnection<'_>>> {
    let Accepted {
        mut stream,
        mut peer,
        mut guard,
        kind,
        claim,
    } = *accepted;
    // The socket goes where shared memory takes its place.
    let process = stream.process();
    let mut received = BytesMut::new();
    if loop_context.shared.is_proxy(&peer)
        && let Some(caller) = entrance::announced(loop_context, &mut stream, &mut received).await?
    {
        guard.announced(caller.ip());
        peer = caller.to_string();
    }
    let entered = match &loop_context.shared.tls {
        None => Entered {
            received,
            ..Entered::plain(stream)
        },
        Some(tls) => match entrance::enter(loop_context, &guard, stream, tls, received).await? {
            Some(entered) => entered,
            None => return Ok(None),
        },
    };
    let admission = guard.admission(kind, entered.tls.is_some());
    let checks_hosts = loop_context
        .shared
        .checks_hosts(kind, entered.tls.is_some());
    let Entered {
        stream,
        received,
        tls,
    } = entered;
    let caller = Caller::new(peer, loop_context.handlers == Handlers::Pool)
        .with_ports(stream.ports())
        .with_tls(tls)
        .with_hosts_checked(checks_hosts);
    let caller = match kind {
        // The application says who calls, and this process is not the caller.
        ListenerKind::Mounted => caller.with_believed_headers(),
        _ => caller
            .with_proxies(loop_context.shared.proxies.as_ref())
            .with_process(process),
    };
    let mut session = Session::new(
        &loop_context.shared,
        caller,
        admission,
        guard.entry().clone(),
    );
    guard
        .entry()
        .called_by(session.caller(), &loop_context.shared);
    session.input = received;
    let unsent = session.share().cloned();
    let spin_policy = SpinPolicy::new(session.polling());
    Ok(Some(LoopConnection {
        shared: &loop_context.shared,
        handlers: loop_context.handlers,
        phase: loop_context.phase.clone(),
        claim,
        session,
        guard,
        stream,
        in_flight: InFlight::default(),
        out: Outbox::default(),
        leaving: None,
        unsent: Charge::new(unsent.as_ref()),
        spin_policy,
        turn: 0,
    }))
}

/// True for a call that must not run beside others of its connection: the answer has to keep its
/// place, so the caller expects the order of a stock Thrift server, or there is no answer, so the
/// caller cannot tell when the next call may follow.
fn runs_alone(call: &Incoming) -> bool {
    call.reply.ordered() || (call.oneway && call.reply.cancelled_as().is_none())
}

struct LoopConnection<'a> {
    shared: &'a Arc<Shared>,
    handlers: Handlers,
    phase: watch::Receiver<Phase>,
    claim: LoopClaim,
    session: Session<'a>,
    guard: ConnectionGuard,
    stream: AsyncSocket,
    in_flight: InFlight<'a>,
    out: Outbox,
    leaving: Option<Box<Leaving>>,
    /// Bytes that wait for the peer to make room.
    unsent: Charge,
    spin_policy: SpinPolicy,
    /// The calls since the others had their turn.
    turn: u32,
}

/// Bytes for which there was no room in the socket. The rest of the connection goes on meanwhile: a
/// peer may have to be heard before it makes room.
struct Leaving {
    message: Gathered,
    /// How much of it has left.
    sent: usize,
    /// When the peer has had long enough to take it.
    deadline: Instant,
}

/// The calls of a connection after which the others of its loop have their turn: those that have
/// arrived, and those of a caller that calls again at once. More of them cost less, as the caches
/// have then what they need, but all others wait so long: docs/benchmarks.md has the figures.
const TURN: u32 = 4;

/// The bytes of later calls that are received while the answer to one is being streamed.
const AHEAD: usize = 16 << 10;

/// An event that a connection waits for.
enum LoopEvent {
    /// There is room again, or the time for that is over.
    Room(Result<io::Result<()>, Elapsed>),
    /// Something is queued to be sent.
    Queued,
    /// The caller has gone, and takes no answers.
    Gone,
    Answer(Gathered),
    Received(Result<io::Result<Came>, Elapsed>),
    /// The server goes down.
    Drain,
}

/// The result of receiving.
enum Came {
    Choice(Choice),
    /// The number of bytes behind those that are there; 0 at the end.
    Bytes(usize),
}

impl<'a> LoopConnection<'a> {
    /// Hands the connection over, with what has been received of it.
    #[cfg(feature = "grpc")]
    async fn serve_http2(mut self) -> io::Result<()> {
        let received = self.session.take_input();
        let loop_context = http2::ConnectionParts {
            shared: self.shared,
            session: &self.session,
            handlers: self.handlers,
            claim: &self.claim,
            entry: self.guard.entry(),
            opaque_authority: std::cell::Cell::default(),
        };
        http2::serve(loop_context, self.stream, received, self.phase).await
    }

    /// Closes the connection, and leaves the calls that run.
    fn into_in_flight(self) -> InFlight<'a> {
        self.in_flight
    }

    async fn run(&mut self) -> io::Result<()> {
        loop {
            let sent = self.start_calls()?;
            #[cfg(feature = "grpc")]
            if self.session.is_http2() {
                match self.stream {
                    // Once more, and it is refused.
                    AsyncSocket::Memory(_) | AsyncSocket::Process(_) => continue,
                    _ => return Ok(()),
                }
            }
            if self.session.is_over() && self.in_flight.is_empty() {
                self.session.refuse_received();
            }
            if self.session.ends() && self.in_flight.is_empty() {
                break;
            }
            if self.guard.entry().is_asked_to_leave() && self.is_idle() {
                self.session.make_room();
                break;
            }
            if !sent {
                self.send_queued()?;
            }
            if self.has_turn() {
                self.wait().await?;
            } else {
                self.turn = 0;
                tokio::task::yield_now().await;
            }
        }
        self.session.transmit_streams(&mut self.out.waiting.bytes);
        let lingers = self.session.farewell(&mut self.out.waiting.bytes);
        self.send_all().await?;
        if lingers {
            self.stream.shutdown_send().await?;
            // However it ends, the connection does.
            let _ = timeout(LINGER, self.stream.discard()).await;
        }
        Ok(())
    }

    /// Returns whether further calls may run before those of other connections of the loop.
    fn has_turn(&self) -> bool {
        self.turn < TURN || self.claim.is_alone()
    }

    /// Returns whether nothing is received, runs or leaves.
    fn is_idle(&self) -> bool {
        self.session.is_idle() && self.in_flight.is_empty() && self.leaving.is_none()
    }

    /// Starts the calls that have arrived, as far as they may run side by side. Returns whether all
    /// that is queued has been sent behind the last one.
    fn start_calls(&mut self) -> io::Result<bool> {
        while self.has_turn()
            && self.has_room()
            && let Some(mut call) = self.in_flight.held.take().or_else(|| self.next_call())
        {
            let alone = runs_alone(&call);
            if self.in_flight.runs() > 0 && (alone || !self.session.affords(&call)) {
                // Its deadline may pass until then.
                call.arrived = None;
                self.in_flight.held = Some(call);
                break;
            }
            self.in_flight.alone = alone;
            self.turn = self.turn.saturating_add(1);
            if call.acknowledge(&mut self.out.waiting.bytes) || self.session.greets() {
                self.send()?;
            }
            self.start(call);
            if self.session.input.is_empty() {
                // The caller need not wait until it is known that nothing follows.
                self.send_queued()?;
                if self.session.has_taken_all() {
                    return Ok(true);
                }
            } else if self.out.is_full() {
                self.send()?;
            }
        }
        Ok(false)
    }

    fn next_call(&mut self) -> Option<Box<Incoming>> {
        loop {
            match self.session.next(&mut self.out.waiting.bytes)? {
                Arrival::Call(call) => return Some(call),
                Arrival::Cancelled(call) => self.in_flight.cancel(call),
            }
        }
    }

    /// Returns whether another call may be taken. A peer that may cancel calls is listened to, and
    /// its calls are refused where there is no room, as long as it takes the answers.
    fn has_room(&self) -> bool {
        let most = self.session.limits().calls_per_connection;
        match self.session.is_multiplexed() {
            true => !self.is_crowded(),
            false => self.leaving.is_none() && self.in_flight.has_room(most),
        }
    }

    /// Returns whether answers pile up behind those that the peer does not take.
    fn is_crowded(&self) -> bool {
        self.leaving.is_some() && self.out.is_full()
    }

    /// Most handlers are ready at once; the others join the flight.
    fn start(&mut self, mut call: Box<Incoming>) {
        let most = self.session.limits().calls_per_connection;
        if self.in_flight.runs() >= most {
            let why = format!("the connection has {most} calls waiting");
            let refused = self
                .shared
                .dispatcher
                .turn_away(&call, &crowded(why), self.out.buffer());
            return self.out.put(crate::block_on::block_on(refused));
        }
        let pooled = self.handlers == Handlers::Pool;
        let leaves = pooled || self.session.is_long(&call);
        // One that is refused is answered at once.
        if leaves && self.session.no_room().is_none() && self.session.charge(&mut call) {
            let waiting = Waits::new(&call);
            let (shared, share) = (self.shared, self.session.share());
            return match pooled {
                true => {
                    let answer = self.session.in_pool(call);
                    self.in_flight.join(shared, answer, waiting, share);
                }
                false => {
                    let answer = self.session.decoded_aside(call, self.handlers);
                    self.in_flight.join(shared, answer, waiting, share);
                }
            };
        }
        if self.out.is_new() {
            self.out = spares::outbox();
        }
        if let Some(large) = spares::large() {
            self.out.lend(large);
        }
        let waiting = Waits::new(&call);
        let buffer = self.out.buffer();
        let mut running = self.session.start_on_loop(call, self.handlers, buffer);
        let mut now = Context::from_waker(Waker::noop());
        match Pin::new(&mut running).poll(&mut now) {
            Poll::Ready(answer) => self.out.put(answer),
            Poll::Pending => {
                self.in_flight
                    .join(self.shared, running, waiting, self.session.share());
            }
        }
    }

    /// Waits until something happens: an answer is ready, something is received, somebody wants to
    /// close.
    async fn wait(&mut self) -> io::Result<()> {
        if let Some(leaving) = &self.leaving {
            let bytes = leaving.message.len() + self.out.waiting.len();
            // No further call is taken while that is too much.
            let _ = self.unsent.follow(bytes);
        } else if !self.unsent.is_empty() {
            let _ = self.unsent.follow(0);
        }
        let idle = self.is_idle();
        let makes_room = idle && self.session.may_make_room();
        if idle {
            // An idle connection keeps nothing.
            buffers::put_spare(std::mem::take(&mut self.session.input));
            spares::put_outbox(std::mem::take(&mut self.out));
            self.in_flight.rest();
        }
        let streams = self
            .session
            .streaming()
            .and_then(|reply| reply.streams().cloned());
        let streams = streams.filter(|_| !self.in_flight.is_empty());
        let full = self.session.full().is_some();
        let items = self.session.expects_items();
        let receives = (!self.session.ends() || self.session.drains())
            && self.has_room()
            && !self.session.is_over()
            && !full;
        if !receives {
            self.session.hold();
        }
        // Before the read timeout, which is short once the server goes down: a drain that begins in
        // between is not missed.
        let drains = !self.session.ends()
            && !self.session.is_leaving()
            && (idle || self.session.is_multiplexed());
        let read_timeout = match (self.session.is_idle() && !idle) || (streams.is_some() && !items)
        {
            // It is this end that makes the peer wait.
            true => Duration::MAX,
            false => self.session.read_timeout(),
        };
        // A caller who only listens is expected to do nothing but go.
        let watches = streams.is_some() && self.session.input.len() < AHEAD;
        let half = self.session.is_gone_with_half();
        let (needs, crowded) = (self.session.needs(), self.is_crowded());
        let (stream, input) = (&self.stream, &mut self.session.input);
        let leaving = self.leaving.as_ref().map(|leaving| leaving.deadline);
        // On the heap: an idle connection waits for neither.
        let room = async {
            let deadline = leaving.unwrap_or_else(Instant::now);
            Box::pin(timeout_at(deadline, stream.writable())).await
        };
        let gone = async { Box::pin(stream.gone(half)).await };
        let (entry, spin_policy) = (self.guard.entry(), &mut self.spin_policy);
        let receive = async {
            let start = match stream.chooses() {
                true => None,
                false => match stream.spin(input, needs, spin_policy).await {
                    Ok(received) => return Ok(received.map(Came::Bytes)),
                    Err(start) => Some(start),
                },
            };
            // Behind the poll: what comes at once needs neither the time nor a timer.
            if makes_room {
                entry.idles(self.shared);
            }
            let Some(start) = start else {
                let choice = timeout(read_timeout, stream.choice()).await;
                return choice.map(|choice| choice.map(Came::Choice));
            };
            let received = stream.receive_later(input, needs, spin_policy, start);
            let received = timeout(read_timeout, received).await;
            received.map(|received| received.map(Came::Bytes))
        };
        let queued = poll_fn(|context| match &streams {
            Some(streams) if leaving.is_none() && streams.has_piece(context) => Poll::Ready(()),
            Some(streams) if full && streams.has_room(context) => Poll::Ready(()),
            _ => Poll::Pending,
        });
        let listens = receives || watches;
        let waits = !self.in_flight.is_empty();
        let event = tokio::select! {
            biased;
            room = room, if leaving.is_some() => LoopEvent::Room(room),
            () = entry.queued.0.notified() => LoopEvent::Queued,
            () = queued => LoopEvent::Queued,
            Some(answer) = self.in_flight.next(), if !crowded => LoopEvent::Answer(answer),
            () = gone, if waits && !listens => LoopEvent::Gone,
            received = receive, if listens => match received {
                Ok(Ok(Came::Bytes(0))) if watches || (waits && half) => LoopEvent::Gone,
                received => LoopEvent::Received(received),
            },
            _ = self.phase.wait_for(|phase| *phase != Phase::Serving), if drains => LoopEvent::Drain,
        };
        if makes_room {
            self.guard.entry().works();
        }
        match event {
            LoopEvent::Room(Ok(room)) => room.and_then(|()| self.go_on_sending())?,
            LoopEvent::Room(Err(_)) => return Err(self.too_slow()),
            LoopEvent::Queued => {}
            LoopEvent::Gone => return Err(io::ErrorKind::ConnectionAborted.into()),
            LoopEvent::Answer(answer) => {
                self.out.put(answer);
                self.take_answers();
            }
            LoopEvent::Received(Ok(Ok(Came::Bytes(0)))) => self.session.closed(),
            LoopEvent::Received(Ok(Ok(Came::Bytes(_)))) => {}
            LoopEvent::Received(Ok(Ok(Came::Choice(choice)))) => self.stream.choose(choice),
            LoopEvent::Received(Ok(Err(error))) => return Err(self.session.broken(error)),
            LoopEvent::Received(Err(_)) => self.session.timed_out(),
            LoopEvent::Drain => self.session.going_down(),
        }
        Ok(())
    }

    /// Takes the answers that are ready, to be sent with the one that was waited for.
    fn take_answers(&mut self) {
        let mut now = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(answer)) = self.in_flight.poll_next(&mut now) {
            self.out.put(answer);
        }
    }

    /// Sends the answers, and behind them what the wire, calls with streams and objects have to
    /// say.
    fn send_queued(&mut self) -> io::Result<()> {
        self.session.transmit(&mut self.out.waiting.bytes);
        if self.leaving.is_none() {
            self.session.transmit_streams(&mut self.out.waiting.bytes);
        }
        self.send()
    }

    /// Sends what waits. What there is no room for leaves while the connection waits.
    fn send(&mut self) -> io::Result<()> {
        if self.out.waiting.is_empty() || self.leaving.is_some() {
            return Ok(());
        }
        let sent = self.stream.try_send_gathered(&self.out.waiting, 0)?;
        let traffic = &self.session.caller().traffic;
        traffic.sent(|| self.out.waiting.pieces(), 0, sent);
        self.claim.answered();
        if self.claim.gives_way(sent) {
            self.stream.give_way(self.claim.is_alone());
        }
        if sent < self.out.waiting.len() {
            self.leaving = Some(Box::new(Leaving {
                message: std::mem::take(&mut self.out.waiting),
                sent,
                deadline: Instant::now() + self.session.limits().transfer,
            }));
        } else if let Some(large) = self.out.sent() {
            spares::put_large(large);
        }
        Ok(())
    }

    /// There is room for more of what is leaving.
    fn go_on_sending(&mut self) -> io::Result<()> {
        let Some(leaving) = &mut self.leaving else {
            return Ok(());
        };
        let before = leaving.sent;
        leaving.sent = self.stream.try_send_gathered(&leaving.message, before)?;
        let traffic = &self.session.caller().traffic;
        traffic.sent(|| leaving.message.pieces(), before, leaving.sent - before);
        if leaving.sent == leaving.message.len() {
            let mut bytes = std::mem::take(&mut leaving.message.bytes);
            self.leaving = None;
            match buffers::sent(&mut bytes) {
                Some(large) => spares::put_large(large),
                None => self.out.lend(bytes),
            }
        }
        Ok(())
    }

    /// Sends all there is.
    async fn send_all(&mut self) -> io::Result<()> {
        self.send()?;
        while let Some(leaving) = &self.leaving {
            match timeout_at(leaving.deadline, self.stream.writable()).await {
                Ok(room) => room.and_then(|()| self.go_on_sending())?,
                Err(_) => return Err(self.too_slow()),
            }
            self.send()?;
        }
        Ok(())
    }

    /// The peer has taken nothing for too long.
    fn too_slow(&self) -> io::Error {
        count(&self.shared.counters.transfer_timeouts);
        io::ErrorKind::TimedOut.into()
    }
}

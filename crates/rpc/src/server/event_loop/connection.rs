//! One connection on a loop: receives, starts calls, and sends their answers, all at the same time.

use super::flight::{Flight, Waits};
#[cfg(feature = "grpc")]
use super::http2;
use super::spares;
use super::spread::Seat;
use super::{Accepted, Phase, Site, entrance};
use crate::buffers::{self, Gathered};
use crate::context::Caller;
use crate::incoming::{Arrival, Incoming};
use crate::server::counters::count;
use crate::server::running::crowded;
use crate::server::session::{Outbox, Session};
use crate::server::{Charge, Entered, Guest, LINGER, Shared};
use crate::transport::{AsyncSocket, Choice, Experience};
use bytes::BytesMut;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, error::Elapsed, timeout, timeout_at};

/// Serves a connection until either end closes it.
///
/// The future of an idle connection is most of its memory, so what is not needed for long is on the
/// heap.
pub(super) async fn serve(site: Site, accepted: Box<Accepted<AsyncSocket>>) -> io::Result<()> {
    let Some(mut connection) = Box::pin(enter(&site, accepted)).await? else {
        return Ok(());
    };
    let served = connection.run().await;
    #[cfg(feature = "grpc")]
    if served.is_ok() && connection.session.is_http2() {
        return Box::pin(connection.serve_http2()).await;
    }
    // Nobody waits for one-way calls, so that it is all the same to them that their caller has
    // gone.
    Box::pin(connection.into_flight().finish_oneway()).await;
    served
}

/// Finds out who calls, and whether over TLS. `None` for a peer that says nothing.
async fn enter(
    site: &Site,
    accepted: Box<Accepted<AsyncSocket>>,
) -> io::Result<Option<Connection<'_>>> {
    let Accepted {
        mut stream,
        mut peer,
        mut guest,
        door,
        seat,
    } = *accepted;
    // The socket goes where shared memory takes its place.
    let process = stream.process();
    let mut received = BytesMut::new();
    if site.shared.is_proxy(&peer)
        && let Some(caller) = entrance::announced(site, &mut stream, &mut received).await?
    {
        guest.announced(caller.ip());
        peer = caller.to_string();
    }
    let entered = match &site.shared.tls {
        None => Entered {
            received,
            ..Entered::plain(stream)
        },
        Some(tls) => match entrance::enter(site, &guest, stream, tls, received).await? {
            Some(entered) => entered,
            None => return Ok(None),
        },
    };
    let standing = guest.standing(door, entered.tls.is_some());
    let checks_hosts = site.shared.checks_hosts(door, entered.tls.is_some());
    let Entered {
        stream,
        received,
        tls,
    } = entered;
    let caller = Caller::new(peer, site.pooled)
        .with_proxies(site.shared.proxies.as_ref())
        .with_ports(stream.ports())
        .with_tls(tls)
        .with_process(process)
        .with_hosts_checked(checks_hosts);
    let mut session = Session::new(&site.shared, caller, standing, guest.entry().clone());
    guest.entry().called_by(session.caller());
    session.input = received;
    let unsent = session.share().cloned();
    Ok(Some(Connection {
        shared: &site.shared,
        pooled: site.pooled,
        told: site.told.clone(),
        seat,
        session,
        guest,
        stream,
        flight: Flight::default(),
        out: Outbox::default(),
        leaving: None,
        unsent: Charge::new(unsent.as_ref()),
        experience: Experience::new(site.shared.polling),
        turns: 0,
    }))
}

/// True for a call that must not run beside others of its connection: the answer has to keep its
/// place, so the caller expects the order of a stock Thrift server, or there is no answer, so the
/// caller cannot tell when the next call may follow.
fn runs_alone(call: &Incoming) -> bool {
    call.reply.ordered() || (call.oneway && call.reply.cancelled_as().is_none())
}

struct Connection<'a> {
    shared: &'a Arc<Shared>,
    pooled: bool,
    told: watch::Receiver<Phase>,
    seat: Seat,
    session: Session<'a>,
    guest: Guest,
    stream: AsyncSocket,
    flight: Flight<'a>,
    out: Outbox,
    leaving: Option<Box<Leaving>>,
    /// Bytes that wait for the peer to make room.
    unsent: Charge,
    experience: Experience,
    /// How often it has waited since the others had their turn.
    turns: u32,
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

/// So often a connection goes on before others have their turn. The cache has then what it needs,
/// but each of the others waits so long.
const TURNS: u32 = 256;

/// The bytes of later calls that are received while the answer to one is being streamed.
const AHEAD: usize = 16 << 10;

/// An event that a connection waits for.
enum Event {
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

impl<'a> Connection<'a> {
    /// Hands the connection over, with what has been received of it.
    #[cfg(feature = "grpc")]
    async fn serve_http2(mut self) -> io::Result<()> {
        let received = self.session.take_input();
        let site = http2::Place {
            shared: self.shared,
            session: &self.session,
            pooled: self.pooled,
            seat: &self.seat,
            entry: self.guest.entry(),
            opaque_authority: std::cell::Cell::default(),
        };
        http2::serve(site, self.stream, received, self.told).await
    }

    /// Closes the connection, and leaves the calls that run.
    fn into_flight(self) -> Flight<'a> {
        self.flight
    }

    async fn run(&mut self) -> io::Result<()> {
        loop {
            self.start_calls()?;
            #[cfg(feature = "grpc")]
            if self.session.is_http2() {
                match self.stream {
                    // Once more, and it is refused.
                    AsyncSocket::Memory(_) | AsyncSocket::Process(_) => continue,
                    _ => return Ok(()),
                }
            }
            if self.session.is_over() && self.flight.is_empty() {
                self.session.refuse_received();
            }
            if self.session.ends() && self.flight.is_empty() {
                break;
            }
            if self.guest.entry().is_asked_to_leave() && self.is_idle() {
                self.session.make_room();
                break;
            }
            self.send_queued()?;
            self.take_turns().await;
            self.wait().await?;
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

    /// Lets the others of the loop have their turn, now and then: a caller that calls again at once
    /// would keep them waiting for seconds.
    async fn take_turns(&mut self) {
        self.turns += 1;
        if self.turns >= TURNS {
            self.turns = 0;
            if !self.seat.is_alone() {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Returns whether nothing is received, runs or leaves.
    fn is_idle(&self) -> bool {
        self.session.is_idle() && self.flight.is_empty() && self.leaving.is_none()
    }

    /// Starts the calls that have arrived, as far as they may run side by side.
    fn start_calls(&mut self) -> io::Result<()> {
        while self.has_room()
            && let Some(mut call) = self.flight.held.take().or_else(|| self.next_call())
        {
            let alone = runs_alone(&call);
            if self.flight.runs() > 0 && (alone || !self.session.affords(&call)) {
                self.flight.held = Some(call);
                break;
            }
            self.flight.alone = alone;
            if call.acknowledge(&mut self.out.waiting.bytes) || self.session.greets() {
                self.send()?;
            }
            self.start(call);
            if self.session.input.is_empty() {
                // The caller need not wait until it is known that nothing follows.
                self.send_queued()?;
            } else if self.out.is_full() {
                self.send()?;
            }
        }
        Ok(())
    }

    fn next_call(&mut self) -> Option<Box<Incoming>> {
        loop {
            match self.session.next(&mut self.out.waiting.bytes)? {
                Arrival::Call(call) => return Some(call),
                Arrival::Cancelled(call) => self.flight.cancel(call),
            }
        }
    }

    /// Returns whether another call may be taken. A peer that may cancel calls is listened to, and
    /// its calls are refused where there is no room, as long as it takes the answers.
    fn has_room(&self) -> bool {
        let most = self.shared.limits.calls_per_connection;
        match self.session.is_multiplexed() {
            true => !self.is_crowded(),
            false => self.leaving.is_none() && self.flight.has_room(most),
        }
    }

    /// Returns whether answers pile up behind those that the peer does not take.
    fn is_crowded(&self) -> bool {
        self.leaving.is_some() && self.out.is_full()
    }

    /// Most handlers are ready at once; the others join the flight.
    fn start(&mut self, mut call: Box<Incoming>) {
        let most = self.shared.limits.calls_per_connection;
        if self.flight.runs() >= most {
            let why = format!("the connection has {most} calls waiting");
            let refused = self
                .shared
                .turn_away(&call, &crowded(why), self.out.buffer());
            return self.out.put(crate::block_on::block_on(refused));
        }
        let leaves = self.pooled || self.session.is_long(&call);
        // One that is refused is answered at once.
        if leaves && self.session.no_room().is_none() && self.session.charge(&mut call) {
            let waiting = Waits::new(&call);
            let (shared, share) = (self.shared, self.session.share());
            return match self.pooled {
                true => {
                    let answer = self.session.in_pool(call);
                    self.flight.join(shared, answer, waiting, share);
                }
                false => {
                    let answer = self.session.decoded_aside(call);
                    self.flight.join(shared, answer, waiting, share);
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
        let mut running = self.session.start(call, self.out.buffer());
        let mut now = Context::from_waker(Waker::noop());
        match Pin::new(&mut running).poll(&mut now) {
            Poll::Ready(answer) => self.out.put(answer),
            Poll::Pending => {
                self.flight
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
        if idle {
            if self.session.may_make_room() {
                self.guest.entry().idles(self.shared);
            }
            // An idle connection keeps nothing.
            buffers::put_spare(std::mem::take(&mut self.session.input));
            spares::put_outbox(std::mem::take(&mut self.out));
            self.flight.rest();
        }
        let streams = self
            .session
            .streaming()
            .and_then(|reply| reply.streams().cloned());
        let streams = streams.filter(|_| !self.flight.is_empty());
        let full = self.session.full().is_some();
        let items = self.session.expects_items();
        let receives = (!self.session.ends() || self.session.drains())
            && self.has_room()
            && !self.session.is_over()
            && !full;
        if !receives {
            self.session.hold();
        }
        // Before the patience, which is short once the server goes down: a drain that begins in
        // between is not missed.
        let drains = !self.session.ends()
            && !self.session.is_leaving()
            && (idle || self.session.is_multiplexed());
        let patience = match (self.session.is_idle() && !idle) || (streams.is_some() && !items) {
            // It is this end that makes the peer wait.
            true => Duration::MAX,
            false => self.session.patience(),
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
        let receive = async {
            Ok(match stream.choice().await? {
                Some(choice) => Came::Choice(choice),
                None => Came::Bytes(stream.receive(input, needs, &mut self.experience).await?),
            })
        };
        let queued = poll_fn(|context| match &streams {
            Some(streams) if leaving.is_none() && streams.has_piece(context) => Poll::Ready(()),
            Some(streams) if full && streams.has_room(context) => Poll::Ready(()),
            _ => Poll::Pending,
        });
        let listens = receives || watches;
        let waits = !self.flight.is_empty();
        let event = tokio::select! {
            biased;
            room = room, if leaving.is_some() => Event::Room(room),
            () = self.guest.entry().queued.0.notified() => Event::Queued,
            () = queued => Event::Queued,
            Some(answer) = self.flight.next(), if !crowded => Event::Answer(answer),
            () = gone, if waits && !listens => Event::Gone,
            received = timeout(patience, receive), if listens => match received {
                Ok(Ok(Came::Bytes(0))) if watches || (waits && half) => Event::Gone,
                received => Event::Received(received),
            },
            _ = self.told.wait_for(|phase| *phase != Phase::Serving), if drains => Event::Drain,
        };
        if idle {
            self.guest.entry().works();
        }
        match event {
            Event::Room(Ok(room)) => room.and_then(|()| self.go_on_sending())?,
            Event::Room(Err(_)) => return Err(self.too_slow()),
            Event::Queued => {}
            Event::Gone => return Err(io::ErrorKind::ConnectionAborted.into()),
            Event::Answer(answer) => {
                self.out.put(answer);
                self.take_answers();
            }
            Event::Received(Ok(Ok(Came::Bytes(0)))) => self.session.closed(),
            Event::Received(Ok(Ok(Came::Bytes(_)))) => {}
            Event::Received(Ok(Ok(Came::Choice(choice)))) => self.stream.choose(choice),
            Event::Received(Ok(Err(error))) => return Err(self.session.broken(error)),
            Event::Received(Err(_)) => self.session.timed_out(),
            Event::Drain => self.session.going_down(),
        }
        Ok(())
    }

    /// Takes the answers that are ready, to be sent with the one that was waited for.
    fn take_answers(&mut self) {
        let mut now = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(answer)) = self.flight.poll_next(&mut now) {
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
        self.seat.answered();
        self.stream.give_way(self.seat.is_alone());
        if sent < self.out.waiting.len() {
            self.leaving = Some(Box::new(Leaving {
                message: std::mem::take(&mut self.out.waiting),
                sent,
                deadline: Instant::now() + self.shared.limits.transfer,
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
        leaving.sent = self
            .stream
            .try_send_gathered(&leaving.message, leaving.sent)?;
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

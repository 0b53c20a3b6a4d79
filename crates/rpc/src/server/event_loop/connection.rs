//! One connection on a loop: receives, starts calls, and sends their answers, all at the same time.

use super::stream::Stream;
use super::{Phase, Site};
use crate::context::Caller;
use crate::server::counters::count;
use crate::server::session::{Outbox, Session};
use crate::server::{Guest, LINGER, Shared};
use crate::transport::Experience;
use bytes::BytesMut;
use dovetail_protocol::thrift::IncomingCall;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{error::Elapsed, timeout};

/// Serves a connection until either end closes it.
pub(super) async fn serve(
    site: Site,
    stream: Stream,
    peer: String,
    guest: Guest,
) -> io::Result<()> {
    let caller = Caller {
        peer,
        may_block: site.pooled,
    };
    let mut connection = Connection {
        shared: &site.shared,
        pooled: site.pooled,
        told: site.told,
        session: Session::new(&site.shared, caller, guest.welcome),
        stream,
        flight: Flight::default(),
        out: Outbox::default(),
        experience: Experience::new(site.shared.polling),
    };
    connection.run().await
}

/// True for a call that must not run beside others of its connection: the answer has to keep its place, so
/// the caller expects the order of a stock Thrift server, or there is no answer, so the caller cannot tell
/// when the next call may follow.
fn runs_alone(call: &IncomingCall) -> bool {
    call.oneway || call.reply.ordered()
}

struct Connection<'a> {
    shared: &'a Arc<Shared>,
    pooled: bool,
    told: watch::Receiver<Phase>,
    session: Session<'a>,
    stream: Stream,
    flight: Flight<'a>,
    out: Outbox,
    experience: Experience,
}

/// What a connection waits for.
enum Event {
    Answer(Vec<u8>),
    Received(Result<io::Result<usize>, Elapsed>),
}

/// An answer that is being made.
type Answer<'a> = Pin<Box<dyn Future<Output = Vec<u8>> + 'a>>;

/// The calls of a connection whose handlers wait.
#[derive(Default)]
struct Flight<'a> {
    running: FuturesUnordered<Answer<'a>>,
    /// No other call may run beside the one that runs.
    alone: bool,
    /// A call that waits until it can run alone; those behind it wait too.
    held: Option<IncomingCall>,
}

impl Flight<'_> {
    fn is_empty(&self) -> bool {
        self.running.is_empty() && self.held.is_none()
    }

    fn has_room(&self, most: usize) -> bool {
        self.running.is_empty() || (!self.alone && self.held.is_none() && self.running.len() < most)
    }
}

impl<'a> Connection<'a> {
    async fn run(&mut self) -> io::Result<()> {
        loop {
            self.start_calls().await?;
            if self.session.ends() && self.flight.is_empty() {
                break;
            }
            self.session.transmit(&mut self.out.bytes);
            self.send().await?;
            self.wait().await?;
        }
        let lingers = self.session.farewell(&mut self.out.bytes);
        self.send().await?;
        if lingers {
            self.stream.shutdown_send().await?;
            // However it ends, the connection does.
            let _ = timeout(LINGER, self.stream.discard()).await;
        }
        Ok(())
    }

    /// Starts the calls that have arrived, as far as they may run side by side.
    async fn start_calls(&mut self) -> io::Result<()> {
        while self
            .flight
            .has_room(self.shared.limits.calls_per_connection)
            && let Some(call) = self.flight.held.take().or_else(|| self.session.next())
        {
            let alone = runs_alone(&call);
            if alone && !self.flight.running.is_empty() {
                self.flight.held = Some(call);
                break;
            }
            self.flight.alone = alone;
            self.start(call);
            if self.out.is_full() {
                self.send().await?;
            }
        }
        Ok(())
    }

    /// Most handlers are ready at once; the others join the flight.
    fn start(&mut self, call: IncomingCall) {
        if self.pooled && self.session.no_room().is_none() {
            let answer = self.session.starter();
            let place = Place::take(&self.shared.waiting);
            self.flight.running.push(Box::pin(async move {
                let answer = tokio::task::spawn_blocking(|| answer(call)).await;
                drop(place);
                // Fails only when the runtime is going down, and nobody is there to be answered.
                answer.unwrap_or_default()
            }));
            return;
        }
        if self.out.is_new() {
            self.out = take_out();
        }
        let mut running = self.session.start(call, self.out.buffer());
        let mut now = Context::from_waker(Waker::noop());
        match Pin::new(&mut running).poll(&mut now) {
            Poll::Ready(answer) => self.out.put(answer),
            Poll::Pending => {
                let place = Place::take(&self.shared.waiting);
                self.flight.running.push(Box::pin(async move {
                    let answer = running.await;
                    drop(place);
                    answer
                }));
            }
        }
    }

    /// Waits until something happens: an answer is ready, something is received, somebody wants to close.
    async fn wait(&mut self) -> io::Result<()> {
        let idle = self.session.is_idle() && self.flight.is_empty();
        if idle {
            // An idle connection keeps nothing.
            self.session.input = BytesMut::new();
            put_back(std::mem::take(&mut self.out));
        }
        let patience = match self.session.is_idle() && !idle {
            // It is this end that makes the peer wait.
            true => Duration::MAX,
            false => self.session.patience(),
        };
        let receives = !self.session.ends()
            && self
                .flight
                .has_room(self.shared.limits.calls_per_connection);
        let needs = self.session.needs();
        let receive = self
            .stream
            .receive(&mut self.session.input, needs, &mut self.experience);
        let event = tokio::select! {
            biased;
            Some(answer) = self.flight.running.next() => Event::Answer(answer),
            received = timeout(patience, receive), if receives => Event::Received(received),
            _ = self.told.wait_for(|phase| *phase != Phase::Serving), if idle => Event::Received(Ok(Ok(0))),
        };
        match event {
            Event::Answer(answer) => {
                self.out.put(answer);
                self.take_answers();
            }
            Event::Received(Ok(Ok(0))) => self.session.closed(),
            Event::Received(Ok(received)) => drop(received?),
            Event::Received(Err(_)) => self.session.timed_out(),
        }
        Ok(())
    }

    /// Takes the answers that are ready, to be sent with the one that was waited for.
    fn take_answers(&mut self) {
        let mut now = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(answer)) = self.flight.running.poll_next_unpin(&mut now) {
            self.out.put(answer);
        }
    }

    async fn send(&mut self) -> io::Result<()> {
        if self.out.bytes.is_empty() {
            return Ok(());
        }
        let sending = self.stream.send(&self.out.bytes);
        let sent = timeout(self.shared.limits.transfer, sending).await;
        self.out.sent();
        sent.unwrap_or_else(|_| {
            count(&self.shared.counters.transfer_timeouts);
            Err(io::ErrorKind::TimedOut.into())
        })
    }
}

thread_local! {
    /// Outboxes for connections of this loop that become busy.
    static OUTBOXES: RefCell<Vec<Outbox>> = const { RefCell::new(Vec::new()) };
}

/// As many outboxes are kept as are likely to be needed at the same moment.
const OUTBOXES_KEPT: usize = 16;

fn take_out() -> Outbox {
    OUTBOXES.with_borrow_mut(|kept| kept.pop().unwrap_or_default())
}

fn put_back(out: Outbox) {
    OUTBOXES.with_borrow_mut(|kept| {
        if kept.len() < OUTBOXES_KEPT && !out.is_new() {
            kept.push(out);
        }
    });
}

/// A waiting call, counted as long as this exists.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Place(waiting)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

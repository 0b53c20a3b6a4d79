//! The handlers of a connection that has a thread which wait, each on a thread of its own.

use super::Shared;
use super::session::Released;
use super::threads::{Sender, stream};
use crate::Status;
use crate::block_on::{Looks, block_on};
use crate::buffers::Gathered;
use crate::counters::count;
use crate::dispatch::running::{RunningCall, refusal};
use crate::peer::cancellation::{Cancellation, unless_cancelled};
use crate::peer::failures::{cancelled, no_thread};
use crate::peer::incoming::{Incoming, ReplyTo};
use crate::peer::share::{Charge, SMALL};
use crate::transport::{Presence, Stream};
use dovetail_protocol::Execution;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, Scope, ScopedJoinHandle, Thread};

/// The connection, for those who look whether the caller is still there.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) stream: Weak<dyn Stream>,
    pub(super) shared: Arc<Shared>,
    /// A caller that has closed its sending side has gone.
    pub(super) half: bool,
}

impl Line {
    pub(super) fn is_gone(&self) -> bool {
        let stream = self.stream.upgrade();
        let presence = stream.map_or(Presence::Gone, |stream| stream.presence());
        // A server that goes down closes this side itself.
        presence.is_gone(self.half && !self.shared.draining.load(Ordering::SeqCst))
    }
}

/// A call on a thread of its own, as those see it that may give it up.
pub(super) struct Waiter {
    /// The number under which its caller may do so.
    call: Option<u32>,
    oneway: bool,
    cancellation: Arc<Cancellation>,
}

impl Waiter {
    /// `cancellation` is the one that the call has.
    pub(super) fn new(call: &Incoming, cancellation: Arc<Cancellation>) -> Self {
        Waiter {
            call: call.reply.cancelled_as(),
            oneway: call.oneway,
            cancellation,
        }
    }
}

/// The calls of a connection on threads of their own.
#[derive(Default)]
pub(super) struct Waiters(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    waiters: Vec<Waiter>,
    /// Whoever comes from now on is given up at once.
    lost: bool,
}

impl Waiters {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, waiter: Waiter) {
        let mut inner = self.lock();
        if inner.lost && !waiter.oneway {
            waiter.cancellation.cancel();
        }
        inner.waiters.push(waiter);
    }

    fn remove(&self, cancellation: &Arc<Cancellation>) {
        let waiters = &mut self.lock().waiters;
        waiters.retain(|waiter| !Arc::ptr_eq(&waiter.cancellation, cancellation));
    }

    fn is_empty(&self) -> bool {
        self.lock().waiters.is_empty()
    }

    /// Gives a call up whose caller has.
    pub(super) fn cancel(&self, call: u32) {
        let inner = self.lock();
        let mut waiters = inner.waiters.iter();
        if let Some(waiter) = waiters.find(|waiter| waiter.call == Some(call)) {
            waiter.cancellation.cancel();
        }
    }

    /// The caller has gone: nobody waits for anything but one-way calls.
    pub(super) fn lost(&self) {
        let mut inner = self.lock();
        inner.lost = true;
        let waiters = inner.waiters.iter();
        for waiter in waiters.filter(|waiter| !waiter.oneway) {
            waiter.cancellation.cancel();
        }
    }
}

/// The threads of the handlers that wait.
pub(super) struct Aside<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    sender: &'scope Sender,
    threads: Vec<ScopedJoinHandle<'scope, ()>>,
    owner: Thread,
}

impl<'scope, 'env> Aside<'scope, 'env> {
    /// Those of a connection whose thread this is.
    pub(super) fn new(scope: &'scope Scope<'scope, 'env>, sender: &'scope Sender) -> Self {
        Aside {
            scope,
            sender,
            threads: Vec::new(),
            owner: thread::current(),
        }
    }

    /// Goes on with a call.
    pub(super) fn run(
        &mut self,
        running: RunningCall<'scope>,
        waiter: Waiter,
        released: Option<Released<'scope>>,
    ) -> io::Result<()> {
        let call = Call {
            running,
            released,
            cancellation: waiter.cancellation.clone(),
            sender: self.sender,
            scope: self.scope,
            owner: self.owner.clone(),
        };
        self.threads.push(call.start(waiter)?);
        Ok(())
    }

    /// How many still wait.
    pub(super) fn len(&mut self) -> usize {
        self.threads.retain(|thread| !thread.is_finished());
        self.threads.len()
    }

    pub(super) fn is_empty(&mut self) -> bool {
        self.len() == 0
    }

    /// Waits for all of them, of which those end early whose caller goes meanwhile.
    pub(super) fn wait(self, line: &Line) {
        let waiters = &self.sender.waiters;
        let mut looks = Looks::default();
        while !waiters.is_empty() {
            if looks.is_due() && line.is_gone() {
                waiters.lost();
            }
            thread::park_timeout(looks.pause());
        }
        for thread in self.threads {
            // It has answered for its panic.
            let _ = thread.join();
        }
    }
}

/// A call on its way to a thread.
struct Call<'scope, 'env> {
    running: RunningCall<'scope>,
    /// The calls that wait for its answer.
    released: Option<Released<'scope>>,
    cancellation: Arc<Cancellation>,
    sender: &'scope Sender,
    scope: &'scope Scope<'scope, 'env>,
    /// The thread of the connection.
    owner: Thread,
}

impl<'scope> Call<'scope, '_> {
    fn start(self, waiter: Waiter) -> io::Result<ScopedJoinHandle<'scope, ()>> {
        let (scope, sender) = (self.scope, self.sender);
        let (cancellation, owner) = (self.cancellation.clone(), self.owner.clone());
        sender.waiters.add(waiter);
        let started = thread::Builder::new()
            .name("dovetail call".to_owned())
            .spawn_scoped(scope, move || {
                let cancellation = self.cancellation.clone();
                let shared = self.sender.shared.clone();
                // The handler may spawn and sleep here as on the connection's own thread.
                shared.in_runtime(|| self.finish());
                sender.waiters.remove(&cancellation);
                owner.unpark();
            });
        if started.is_err() {
            sender.waiters.remove(&cancellation);
        }
        started
    }

    /// Ends a call; those that have waited for its answer get a thread each.
    fn finish(self) {
        let Call {
            running,
            released,
            cancellation,
            sender,
            scope,
            owner,
        } = self;
        let reply = running.reply().clone();
        let answer = answer(running, &cancellation, sender);
        let (answer, _held) = held(&reply, answer, sender);
        sender.send_or_shut_down(&answer);
        let Some(released) = released else {
            return;
        };
        while let Some(call) = released.next() {
            let (running, waiter) = released.start(call);
            let reply = running.reply().clone();
            let call = Call {
                released: reply.promised_to().map(|_| released.clone()),
                running,
                cancellation: waiter.cancellation.clone(),
                sender,
                scope,
                owner: owner.clone(),
            };
            if let Err(error) = call.start(waiter) {
                sender.send_or_shut_down(&refusal(&reply, &no_thread(&error), Vec::new()));
            }
        }
    }
}

/// An answer that may have to wait for the peer, and for others before it; where there is no room
/// for it, that is the answer.
fn held(reply: &ReplyTo, answer: Gathered, sender: &Sender) -> (Gathered, Charge) {
    let mut charge = Charge::new(sender.share());
    if answer.len() < SMALL {
        return (answer, charge);
    }
    match charge.grow(answer.len()) {
        Ok(()) => (answer, charge),
        Err(over) => {
            charge.refused();
            let why = Status::from(over).with_execution(Execution::Finished);
            (refusal(reply, &why, Vec::new()), charge)
        }
    }
}

/// The answer of a handler, unless its caller gives it up.
fn answer(running: RunningCall<'_>, cancellation: &Cancellation, sender: &Sender) -> Gathered {
    let reply = running.reply().clone();
    let answered = match &reply {
        ReplyTo::Web(reply) => block_on(unless_cancelled(
            cancellation,
            stream(running, reply, |items| {
                sender.send_or_shut_down(&items.into());
            }),
        )),
        _ => block_on(unless_cancelled(cancellation, running)),
    };
    answered.unwrap_or_else(|| {
        count(&sender.shared.counters.cancelled_calls);
        refusal(&reply, &cancelled(), Vec::new())
    })
}

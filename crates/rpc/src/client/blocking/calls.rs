//! The server's calls of a blocking client. Callers that wait run the handlers; handlers that wait
//! themselves get a thread each.

use super::connection::{BlockingConnection, Driver};
use crate::block_on::waker;
use crate::buffers::Gathered;
use crate::dispatch::running::refusal;
use crate::peer::failures::{cancelled, no_thread, too_late};
use crate::peer::incoming::{Arrival, Incoming, ReplyTo};
use crate::peer::link::Link;
use crate::peer::machine::Called;
use std::cell::Cell;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::thread::{self, Builder, Thread};
use std::time::{Duration, Instant};

/// The most handlers that run one inside the other on a thread, where each calls the server and
/// waits. Beyond, each has a thread.
const NESTED: usize = 8;

/// How often the thread that waits for what handlers wait for looks whether they still do.
const ASIDE: Duration = Duration::from_millis(200);

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

type Handler = Pin<Box<dyn Future<Output = Gathered> + Send>>;

/// A handler that waits. Taken out of the list, it is stopped.
pub(super) struct Aside {
    thread: Thread,
    /// The number under which the caller may cancel it.
    call: Option<u32>,
}

/// How a call is answered, and until when.
#[derive(Clone)]
struct Answering {
    reply: ReplyTo,
    deadline: Option<Instant>,
}

impl BlockingConnection {
    /// Runs everything that the server has called.
    pub(super) fn serve_all(&self) {
        loop {
            let called = self.driver.roles().called.pop_front();
            match called {
                Some(called) => self.serve(called),
                None => return,
            }
        }
    }

    /// Runs what the server calls. Another thread reads meanwhile, if one waits, or this one where
    /// the handler calls the server.
    pub(super) fn serve(&self, called: Called) {
        let call = match Arrival::over(called, &self.link) {
            Arrival::Call(call) => call,
            // A thread that is in a handler cannot be stopped, but one that waits for it.
            Arrival::Cancelled(call) => return self.driver.stop(|aside| aside.call == Some(call)),
        };
        self.driver.roles().busy += 1;
        DEPTH.set(DEPTH.get() + 1);
        self.run(call);
        DEPTH.set(DEPTH.get() - 1);
        self.driver.roles().busy -= 1;
    }

    fn run(&self, call: Box<Incoming>) {
        let answering = Answering {
            reply: call.reply.clone(),
            deadline: call.deadline,
        };
        let aside = self.driver.roles().aside.len();
        let mut handler: Handler = Box::pin(self.driver.calls.handler(call, &self.link, aside));
        let polled = match DEPTH.get() <= NESTED {
            true => handler
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop())),
            false => Poll::Pending,
        };
        match polled {
            Poll::Ready(answer) => self.driver.answer(&self.link, &answering.reply, answer),
            Poll::Pending => self.put_aside(handler, answering),
        }
    }

    /// Gives a handler that waits a thread, and all of those another one that reads.
    fn put_aside(&self, handler: Handler, answering: Answering) {
        // Not held: the connection may end while they wait.
        let (link, driver) = (Arc::downgrade(&self.link), self.driver.clone());
        let Answering { reply, .. } = answering.clone();
        // Nothing is answered before it is known to wait.
        let mut roles = self.driver.roles();
        let run = move || {
            let answer = driver.finish(handler, &answering);
            if let Some(link) = link.upgrade() {
                driver.answer(&link, &answering.reply, answer);
                // Whoever waits may be receiving.
                BlockingConnection::of_ends(link, driver).serve_all();
            }
        };
        let call = reply.cancelled_as();
        match named().spawn(run) {
            Ok(thread) => {
                let thread = thread.thread().clone();
                roles.aside.push(Aside { thread, call });
            }
            Err(error) => {
                drop(roles);
                let refused = refusal(&reply, &no_thread(&error), Vec::new());
                return self.driver.answer(&self.link, &reply, refused);
            }
        }
        if !std::mem::replace(&mut roles.attended, true) {
            let (link, driver) = (Arc::downgrade(&self.link), self.driver.clone());
            // Without a thread, whoever waits next reads.
            roles.attended = named().spawn(move || attend(&link, &driver)).is_ok();
        }
    }
}

fn named() -> Builder {
    Builder::new().name("dovetail call".to_owned())
}

impl Driver {
    fn answer(&self, link: &Link, reply: &ReplyTo, answer: Gathered) {
        let released = link.answer(reply, answer, self.calls.directory());
        if !released.is_empty() {
            self.roles().called.extend(released);
        }
    }

    /// Waits until a handler is done, has no more time, or is stopped.
    fn finish(&self, mut handler: Handler, answering: &Answering) -> Gathered {
        let me = thread::current().id();
        let waker = waker();
        loop {
            if let Poll::Ready(answer) = handler.as_mut().poll(&mut Context::from_waker(&waker)) {
                self.stop(|aside| aside.thread.id() == me);
                return answer;
            }
            let waits = |aside: &Aside| aside.thread.id() == me;
            let left = answering
                .deadline
                .map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let why = match left {
                _ if !self.roles().aside.iter().any(waits) => cancelled(),
                Some(Duration::ZERO) => too_late(),
                left => {
                    thread::park_timeout(left.unwrap_or(Duration::MAX));
                    continue;
                }
            };
            self.stop(waits);
            return refusal(&answering.reply, &why, Vec::new());
        }
    }

    /// Stops the handlers among those that wait which are meant.
    pub(super) fn stop(&self, meant: impl Fn(&Aside) -> bool) {
        self.roles().aside.retain(|aside| {
            let stops = meant(aside);
            if stops {
                aside.thread.unpark();
            }
            !stops
        });
    }

    /// True as long as handlers wait; else nobody attends to them any longer.
    fn attends(&self) -> bool {
        let mut roles = self.roles();
        roles.attended = !roles.aside.is_empty();
        roles.attended
    }
}

/// Reads as long as handlers wait, where nobody else does.
fn attend(link: &Weak<Link>, driver: &Arc<Driver>) {
    while driver.attends()
        && let Some(link) = link.upgrade()
    {
        let (driver, deadline) = (driver.clone(), Instant::now() + ASIDE);
        let connection = BlockingConnection::of_ends(link, driver);
        let _ = connection.wait(deadline, |_| {
            match connection.driver.roles().aside.is_empty() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        });
    }
}

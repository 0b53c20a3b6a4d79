//! The blocking driver: one thread for each connection, no async runtime. Sockets under
//! [`Model::ThreadPerConnection`](super::Model), and every stream that is not a socket under any model.

use super::counters::count;
use super::link::{Flush, StreamLink};
use super::machine::Arrival;
use super::session::{Outbox, Session};
use super::{LINGER, Shared};
use crate::block_on::block_on;
use crate::context::Caller;
use crate::incoming::Incoming;
use crate::transport::{Listener, Receiver, Stream};
use crate::{Code, Execution, Status};
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Accepts until the listener is closed.
pub(super) fn accept(listener: &dyn Listener, shared: &Arc<Shared>) {
    loop {
        match listener.accept() {
            Ok(None) => return,
            Ok(Some(stream)) => spawn(stream, shared),
            // Out of descriptors, or a peer that is gone already: the next one may be better.
            Err(_) => {
                count(&shared.counters.accept_errors);
                thread::sleep(super::ACCEPT_PAUSE);
            }
        }
    }
}

fn spawn(stream: Arc<dyn Stream>, shared: &Arc<Shared>) {
    let Some(guest) = shared.admit(Some(stream.clone())) else {
        return stream.shutdown();
    };
    let theirs = shared.clone();
    let started = thread::Builder::new()
        .name("dovetail".to_owned())
        .spawn(move || {
            // An error of the transport is the end of the connection, and the peer knows.
            let _ = theirs.in_runtime(|| serve(&stream, &theirs, guest.welcome));
            stream.shutdown();
            drop(guest);
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
    welcome: bool,
) -> io::Result<()> {
    let caller = Caller {
        peer: stream.peer(),
        may_block: true,
    };
    let sender = Arc::new(Sender {
        stream: stream.clone(),
        shared: shared.clone(),
        sending: Mutex::new(()),
    });
    let mut session = Session::new(shared, caller, welcome, sender.clone());
    let mut out = Outbox::default();
    let mut receiver = Receiver::new(shared.polling);
    let mut streaming = Streaming::default();
    if shared.draining.load(Ordering::SeqCst) {
        session.closed();
    }
    loop {
        while let Some(arrival) = session.next(&mut out.bytes) {
            let Arrival::Call(call) = arrival else {
                // Other calls run one after the other here: it has been answered, or is still to be started.
                continue;
            };
            if session.greets() {
                sender.send(&mut out)?;
            }
            let buffer = out.buffer();
            out.put(match call.reply.has_streams() {
                true => streaming.start(&session, call, buffer),
                false => block_on(session.start(call, buffer)),
            });
            if out.is_full() {
                sender.send(&mut out)?;
            }
        }
        if session.ends() && (!session.drains() || streaming.are_done()) {
            break;
        }
        session.transmit(&mut out.bytes);
        sender.send(&mut out)?;
        receiver.relax(&mut session.input);
        // Calls with streams may go on without a word.
        let waits = streaming.are_done() || !session.is_idle();
        let patience = match waits {
            true => session.patience(),
            false => STREAMING,
        };
        let needs = session.needs();
        match receiver.receive(
            &**stream,
            &mut session.input,
            needs,
            Instant::now() + patience,
        ) {
            Ok(0) => session.closed(),
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::TimedOut => {
                if waits {
                    session.timed_out();
                }
            }
            Err(e) => return Err(e),
        }
    }
    streaming.wait();
    let lingers = session.farewell(&mut out.bytes);
    sender.send(&mut out)?;
    if lingers {
        linger(&**stream, &mut receiver);
    }
    Ok(())
}

/// Lets the peer read what it was told last; see [`LINGER`].
fn linger(stream: &dyn Stream, receiver: &mut Receiver) {
    stream.shutdown_send();
    let deadline = Instant::now() + LINGER;
    while Instant::now() < deadline
        && let Ok(1..) = receiver.discard(stream, deadline)
    {}
}

/// How often a connection whose calls with streams go on looks whether they do.
const STREAMING: Duration = Duration::from_secs(1);

/// The calls with streams of a connection: each has a thread, so that this one can receive for it.
#[derive(Default)]
struct Streaming(Vec<JoinHandle<()>>);

impl Streaming {
    /// Starts a call; gives its answer where it is refused.
    fn start(&mut self, session: &Session<'_>, call: Incoming, buffer: Vec<u8>) -> Vec<u8> {
        self.0.retain(|thread| !thread.is_finished());
        if session.no_room().is_some() {
            return block_on(session.start(call, buffer));
        }
        let (start, reply) = (session.starter(), call.reply.clone());
        let run = move || drop(start(call));
        let thread = thread::Builder::new().name("dovetail stream".to_owned());
        match thread.spawn(run) {
            Ok(thread) => self.0.push(thread),
            Err(error) => {
                let what = format!("no thread for a call with streams: {error}");
                let status = Status::new(Code::ResourceExhausted, what);
                reply.fail(
                    &mut Vec::new(),
                    &status.with_execution(Execution::NotStarted),
                );
            }
        }
        buffer
    }

    fn are_done(&self) -> bool {
        self.0.iter().all(JoinHandle::is_finished)
    }

    fn wait(self) {
        for thread in self.0 {
            // It has answered for its panic.
            let _ = thread.join();
        }
    }
}

/// The sending side of a connection, which its calls with streams share.
struct Sender {
    stream: Arc<dyn Stream>,
    shared: Arc<Shared>,
    /// Held by who sends.
    sending: Mutex<()>,
}

impl Sender {
    fn send(&self, out: &mut Outbox) -> io::Result<()> {
        if out.bytes.is_empty() {
            return Ok(());
        }
        let sending = self.lock();
        let sent = self.send_all(&out.bytes);
        drop(sending);
        out.sent();
        sent
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send_all(&self, bytes: &[u8]) -> io::Result<()> {
        let deadline = Instant::now() + self.shared.limits.transfer;
        self.stream
            .send_all(bytes, Some(deadline))
            .inspect_err(|e| {
                if e.kind() == io::ErrorKind::TimedOut {
                    count(&self.shared.counters.transfer_timeouts);
                }
            })
    }
}

impl Flush for Sender {
    fn flush(&self, link: &StreamLink) {
        let _sending = self.lock();
        let mut out = Vec::new();
        link.transmit(&mut out);
        if self.send_all(&out).is_err() {
            // Whoever receives finds out.
            self.stream.shutdown();
        }
    }
}

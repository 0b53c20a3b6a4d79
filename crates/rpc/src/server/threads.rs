//! The blocking driver: one thread for each connection, no async runtime. Sockets under
//! [`Model::ThreadPerConnection`](super::Model), and every stream that is not a socket under any model.

use super::counters::count;
use super::session::{Outbox, Session};
use super::{LINGER, Shared};
use crate::context::Caller;
use crate::transport::{Listener, Poller, Stream, Wait};
use bytes::BytesMut;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

/// Small messages are received here and appended; larger ones go straight to their place.
const SCRATCH: usize = 16 << 10;

/// At most so much is received in one piece: its place is cleared before, and most of it may stay empty.
const PIECE: usize = 256 << 10;

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
            let _ = theirs.in_runtime(|| serve(&*stream, &theirs, guest.welcome));
            stream.shutdown();
            drop(guest);
        });
    if started.is_err() {
        // The stream went with the thread that could not be made, and is closed with it.
        count(&shared.counters.refused_connections);
    }
}

/// Serves one connection until either end closes it.
pub(super) fn serve(stream: &dyn Stream, shared: &Arc<Shared>, welcome: bool) -> io::Result<()> {
    let caller = Caller {
        peer: stream.peer(),
        may_block: true,
    };
    let mut session = Session::new(shared, caller, welcome);
    let (mut out, mut scratch) = (Outbox::default(), vec![0; SCRATCH]);
    let mut poller = Poller::new(shared.polling);
    loop {
        while let Some(call) = session.next() {
            let running = session.start(call, out.buffer());
            out.put(block_on(running));
            if out.is_full() {
                send(stream, &mut out, shared)?;
            }
        }
        if session.ends() {
            break;
        }
        session.transmit(&mut out.bytes);
        send(stream, &mut out, shared)?;
        let deadline = Instant::now() + session.patience();
        let needs = session.needs();
        let input = &mut session.input;
        match receive(stream, &mut poller, input, &mut scratch, needs, deadline) {
            Ok(0) => session.closed(),
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::TimedOut => session.timed_out(),
            Err(e) => return Err(e),
        }
    }
    let lingers = session.farewell(&mut out.bytes);
    send(stream, &mut out, shared)?;
    if lingers {
        linger(stream, &mut scratch);
    }
    Ok(())
}

/// Lets the peer read what it was told last; see [`LINGER`].
fn linger(stream: &dyn Stream, scratch: &mut [u8]) {
    stream.shutdown_send();
    let deadline = Instant::now() + LINGER;
    while Instant::now() < deadline
        && let Ok(1..) = stream.recv(scratch, Wait::Until(Some(deadline)))
    {}
}

/// Receives into `input`: through the scratch buffer where little is expected, in place otherwise.
pub(crate) fn receive(
    stream: &dyn Stream,
    poller: &mut Poller,
    input: &mut BytesMut,
    scratch: &mut [u8],
    needs: usize,
    deadline: Instant,
) -> io::Result<usize> {
    if needs <= scratch.len() {
        let received = poller.recv(stream, scratch, Some(deadline))?;
        input.extend_from_slice(scratch.get(..received).unwrap_or_default());
        return Ok(received);
    }
    let start = input.len();
    input.resize(start + needs.min(PIECE), 0);
    let result = poller.recv(stream, &mut input[start..], Some(deadline));
    input.truncate(start + result.as_ref().copied().unwrap_or(0));
    result
}

fn send(stream: &dyn Stream, out: &mut Outbox, shared: &Shared) -> io::Result<()> {
    if out.bytes.is_empty() {
        return Ok(());
    }
    let deadline = Instant::now() + shared.limits.transfer;
    let sent = stream.send_all(&out.bytes, Some(deadline));
    out.sent();
    sent.inspect_err(|e| {
        if e.kind() == io::ErrorKind::TimedOut {
            count(&shared.counters.transfer_timeouts);
        }
    })
}

/// Runs a future on this thread, sleeping while it waits.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let mut future = pin!(future);
    // Most handlers are ready at once: no waker is made for them.
    if let Poll::Ready(output) = future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        return output;
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}

//! The blocking driver: one thread for each connection, no async runtime. Sockets under
//! [`Model::ThreadPerConnection`](super::Model), and every stream that is not a socket under any model.

use super::counters::count;
use super::machine::Arrival;
use super::session::{Outbox, Session};
use super::{LINGER, Shared};
use crate::block_on::block_on;
use crate::context::Caller;
use crate::transport::{Listener, Receiver, Stream};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

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
    let mut out = Outbox::default();
    let mut receiver = Receiver::new(shared.polling);
    if shared.draining.load(Ordering::SeqCst) {
        session.closed();
    }
    loop {
        while let Some(arrival) = session.next(&mut out.bytes) {
            let Arrival::Call(call) = arrival else {
                // Calls run one after the other here: it has been answered, or is still to be started.
                continue;
            };
            if session.greets() {
                send(stream, &mut out, shared)?;
            }
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
        receiver.relax(&mut session.input);
        let deadline = Instant::now() + session.patience();
        let needs = session.needs();
        match receiver.receive(stream, &mut session.input, needs, deadline) {
            Ok(0) => session.closed(),
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::TimedOut => session.timed_out(),
            Err(e) => return Err(e),
        }
    }
    let lingers = session.farewell(&mut out.bytes);
    send(stream, &mut out, shared)?;
    if lingers {
        linger(stream, &mut receiver);
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

//! The blocking driver: one thread for each connection, no async runtime. Sockets under
//! [`Model::ThreadPerConnection`](super::Model), and every stream that is not a socket under any model.

use super::counters::count;
use super::{Shared, hello};
use crate::transport::{Listener, Poller, Stream};
use bytes::BytesMut;
use dovetail_protocol::thrift::ServerConnection;
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

/// Answers that wait for calls which have arrived with theirs leave at the latest when they are this long.
const FLUSH: usize = 256 << 10;

/// Accepts until the listener is closed.
pub(super) fn accept(listener: &dyn Listener, shared: &Arc<Shared>) {
    loop {
        match listener.accept() {
            Ok(None) => return,
            Ok(Some(stream)) => spawn(stream, shared),
            // Out of descriptors, or a peer that is gone already: the next one may be better.
            Err(_) => thread::sleep(super::ACCEPT_PAUSE),
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
            let _ = theirs.in_runtime(|| serve(&*stream, &theirs));
            stream.shutdown();
            drop(guest);
        });
    if started.is_err() {
        // The stream went with the thread that could not be made, and is closed with it.
        count(&shared.router.counters.refused_connections);
    }
}

/// Serves one connection until either end closes it.
pub(super) fn serve(stream: &dyn Stream, shared: &Shared) -> io::Result<()> {
    let router = &shared.router;
    let limits = router.limits;
    let peer: Arc<str> = stream.peer().into();
    let mut connection = ServerConnection::new(hello(shared));
    let mut poller = Poller::new(shared.polling);
    let (mut input, mut out, mut scratch) = (BytesMut::new(), Vec::new(), vec![0; SCRATCH]);
    let mut message_began = None;
    loop {
        let closes = loop {
            match connection.receive(&mut input) {
                Ok(Some(call)) => {
                    message_began = None;
                    let closes = call.reply.closes();
                    out = block_on(router.answer(call, &peer, out));
                    if closes {
                        break true;
                    }
                    if out.len() > FLUSH {
                        send(stream, &mut out, shared)?;
                    }
                }
                Ok(None) => break false,
                Err(error) => {
                    count(&router.counters.protocol_errors);
                    connection.goodbye(&error, &mut out);
                    break true;
                }
            }
        };
        connection.transmit(&mut out);
        send(stream, &mut out, shared)?;
        if closes {
            return Ok(());
        }
        let deadline = match input.is_empty() {
            true => Instant::now() + limits.idle,
            false => *message_began.get_or_insert_with(Instant::now) + limits.transfer,
        };
        let received = receive(
            stream,
            &mut poller,
            &mut input,
            &mut scratch,
            connection.needs(),
            deadline,
        );
        match received {
            Ok(0) => {
                if connection.end(&mut input).is_err() {
                    count(&router.counters.protocol_errors);
                }
                return Ok(());
            }
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::TimedOut => {
                count(&router.counters.timeouts);
                return Err(e);
            }
            Err(e) => return Err(e),
        }
    }
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

fn send(stream: &dyn Stream, out: &mut Vec<u8>, shared: &Shared) -> io::Result<()> {
    if out.is_empty() {
        return Ok(());
    }
    let sent = stream.send_all(out, Some(Instant::now() + shared.router.limits.transfer));
    out.clear();
    if let Err(e) = &sent
        && e.kind() == io::ErrorKind::TimedOut
    {
        count(&shared.router.counters.timeouts);
    }
    sent
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

//! The streams of blocking calls. Whoever waits on one reads for all, as every caller does.

use super::BlockingConnection;
use crate::client::failures::too_late;
use crate::peer::answer::decode;
use crate::peer::streams::{self, Body, ItemOf, StreamCall};
use crate::{Exceptions, Status};
use dovetail_protocol::Execution;
use dovetail_wire::FieldValue;
use std::fmt;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// The time where none was set.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// A call with streams, and who reads for it.
#[derive(Clone)]
pub(super) struct Call {
    streams: StreamCall,
    connection: BlockingConnection,
    /// How long the server may take to answer.
    timeout: Duration,
    /// The call as a whole has to end before.
    deadline: Option<Instant>,
}

impl Call {
    pub(super) fn new(
        streams: StreamCall,
        connection: BlockingConnection,
        timeout: Duration,
        deadline: Option<Instant>,
    ) -> Self {
        Call {
            streams,
            connection,
            timeout,
            deadline,
        }
    }

    /// Waits for something that happens to this call; where the time is over, the call is given up.
    fn wait<R>(
        &self,
        deadline: Option<Instant>,
        poll: impl FnMut(&Context<'_>) -> Poll<R>,
    ) -> Result<R, Status> {
        let deadline = [deadline, self.deadline].into_iter().flatten().min();
        let deadline = deadline.unwrap_or_else(|| Instant::now() + FAR);
        self.connection.wait(deadline, poll).ok_or_else(|| {
            self.streams.leave();
            too_late(self.streams.method(), self.timeout, Execution::MayHaveRun)
        })
    }

    /// Waits for the answer.
    pub(super) fn answer(&self, deadline: Instant) -> Result<Body, Status> {
        self.wait(Some(deadline), |context| self.streams.poll_answer(context))?
    }
}

/// The items that the server sends, to iterate over. An error is the last item: an exception that
/// the contract declares for the stream, or a [`Status`]. Dropped before its end it cancels the
/// call.
pub struct Receiver<T, E = Status> {
    call: Call,
    items: streams::Receiver<T, E>,
}

impl<T: FieldValue, E: Exceptions> Receiver<T, E> {
    fn new(call: Call) -> Self {
        let items = streams::Receiver::of_callee(call.streams.clone());
        Receiver { call, items }
    }

    /// Whether the item that has come last was compressed.
    pub fn compressed(&self) -> bool {
        self.items.compressed()
    }
}

impl<T: FieldValue, E: Exceptions> Iterator for Receiver<T, E> {
    type Item = Result<T, E>;

    fn next(&mut self) -> Option<Self::Item> {
        let Receiver { call, items } = self;
        match call.wait(None, |context| items.poll(context)) {
            Ok(item) => item,
            Err(late) => {
                items.give_up();
                Some(Err(late.into()))
            }
        }
    }
}

/// The stream that a client sends. Dropped before [`finish`](Self::finish) or [`fail`](Self::fail)
/// it cancels the call.
pub struct Sender<T, E = Status> {
    call: Call,
    items: streams::Sender<T, E>,
}

impl<T: FieldValue, E: Exceptions> Sender<T, E> {
    pub(super) fn new(call: Call) -> Self {
        let items = streams::Sender::new(call.streams.clone());
        Sender { call, items }
    }

    /// Sends an item; waits where the server has not taken earlier ones. An error says that the
    /// call is over, and its answer says why.
    pub fn send(&mut self, item: &T) -> Result<(), Status> {
        let streams = &self.call.streams;
        self.call.wait(None, |context| {
            streams.poll_send(|field| ItemOf(item, field), context)
        })?
    }

    /// From the next item on, compresses items, or does not, where that makes them smaller and the
    /// channel says how.
    pub fn compress(&mut self, compress: bool) {
        self.call.streams.compress(Some(compress));
    }

    /// There are no more items.
    pub fn finish(self) {
        self.items.finish();
    }

    /// The stream ends with an exception that the contract declares for it. A [`Status`] cancels
    /// the call.
    pub fn fail(self, exception: E) -> Result<(), Status> {
        self.items.fail(exception)
    }
}

/// The answer to a call with a stream of the client's. Dropped before [`wait`](Self::wait) it
/// cancels the call.
pub struct Answer<O, E = Status> {
    call: Call,
    done: bool,
    read: fn(&Call, Result<Body, Status>) -> Result<O, E>,
}

impl<T: FieldValue, E: Exceptions> Answer<T, E> {
    /// An answer behind which nothing comes.
    pub(super) fn last(call: Call) -> Self {
        Answer {
            call,
            done: false,
            read: |call, body| decode(call.streams.method(), body, None, call.streams.limits()),
        }
    }
}

impl<O: Streamed, E: Exceptions> Answer<O, E> {
    /// An answer that the server's stream follows.
    pub(super) fn streamed(call: Call) -> Self {
        Answer {
            call,
            done: false,
            read: |call, body| {
                let receiver = Receiver::new(call.clone());
                let result: Result<O::Result, E> =
                    decode(call.streams.method(), body, None, call.streams.limits());
                result.map(|result| O::join(result, receiver))
            },
        }
    }
}

impl<O, E: From<Status>> Answer<O, E> {
    /// Waits for the answer, for as long as the server takes.
    pub fn wait(mut self) -> Result<O, E> {
        let body = self.call.answer(Instant::now() + FAR);
        self.read(body)
    }

    /// Makes of the answer what it stands for.
    pub(super) fn read(&mut self, body: Result<Body, Status>) -> Result<O, E> {
        self.done = true;
        (self.read)(&self.call, body)
    }
}

impl<O, E> Drop for Answer<O, E> {
    fn drop(&mut self) {
        if !self.done {
            self.call.streams.leave();
        }
    }
}

/// The sender of a client's items (`T`, or an exception of `S`), and the answer (`O`, or an
/// exception of `E`).
pub type Upload<T, O, S = Status, E = Status> = (Sender<T, S>, Answer<O, E>);

/// The result of a call with a stream of the server's: the stream, or a result and the stream.
pub trait Streamed {
    /// The result; `()` where there is none.
    type Result: FieldValue;
    /// The items.
    type Item: FieldValue;
    /// How the stream can fail.
    type Error: Exceptions;

    /// The result, then the items.
    fn join(result: Self::Result, items: Receiver<Self::Item, Self::Error>) -> Self;
}

impl<T: FieldValue, E: Exceptions> Streamed for Receiver<T, E> {
    type Result = ();
    type Item = T;
    type Error = E;

    fn join((): (), items: Self) -> Self {
        items
    }
}

impl<R: FieldValue, T: FieldValue, E: Exceptions> Streamed for (R, Receiver<T, E>) {
    type Result = R;
    type Item = T;
    type Error = E;

    fn join(result: R, items: Receiver<T, E>) -> Self {
        (result, items)
    }
}

macro_rules! debug {
    ($($name:ident)*) => {$(
        impl<T, E> fmt::Debug for $name<T, E> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.call.streams.method())
            }
        }
    )*};
}

debug!(Receiver Sender Answer);

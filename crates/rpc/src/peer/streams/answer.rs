use super::inbox::Body;
use super::{Receiver, Sender, StreamCall};
use crate::peer::answer::decode;
use crate::{Exceptions, Status};
use dovetail_wire::FieldValue;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The answer to a call with a stream of the client's, to be awaited. Dropped before, it cancels
/// the call.
pub struct Answer<O, E = Status> {
    call: StreamCall,
    done: bool,
    read: fn(&StreamCall, Result<Body, Status>) -> Result<O, E>,
}

impl<T: FieldValue, E: Exceptions> Answer<T, E> {
    /// An answer behind which nothing comes.
    pub(crate) fn last(call: StreamCall) -> Self {
        Answer {
            call,
            done: false,
            read: |call, body| decode(call.method(), body, None, call.limits()),
        }
    }
}

impl<O: Streamed, E: Exceptions> Answer<O, E> {
    /// An answer that the server's stream follows.
    pub(crate) fn streamed(call: StreamCall) -> Self {
        Answer {
            call,
            done: false,
            read: |call, body| {
                let receiver = Receiver::of_callee(call.clone());
                let result: Result<O::Result, E> = decode(call.method(), body, None, call.limits());
                result.map(|result| O::join(result, receiver))
            },
        }
    }
}

impl<O, E> Answer<O, E> {
    /// Makes of the answer what it stands for.
    pub(crate) fn read(&mut self, body: Result<Body, Status>) -> Result<O, E> {
        self.done = true;
        (self.read)(&self.call, body)
    }
}

impl<O, E: From<Status>> Future for Answer<O, E> {
    type Output = Result<O, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.call.poll_answer(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(body) => Poll::Ready(self.read(body)),
        }
    }
}

impl<O, E> Drop for Answer<O, E> {
    fn drop(&mut self) {
        if !self.done {
            self.call.leave();
        }
    }
}

impl<O, E> fmt::Debug for Answer<O, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer({})", self.call.method())
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

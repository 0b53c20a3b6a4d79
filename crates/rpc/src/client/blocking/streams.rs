//! The streams of blocking calls. Whoever waits on one reads for all, as every caller does.

use super::{Connection, State, lock};
use crate::client::options::Options;
use crate::client::table::{Outgoing, Queued, Table, too_late};
use crate::client::{Body, decode};
use crate::reply::ReplyBody;
use crate::streams::{Next, Source, decode_exception, decode_item, item_of, unencodable};
use crate::{Code, Exceptions, Execution, Method, Status};
use dovetail_protocol::dovetail::Sent;
use dovetail_wire::{Encode, FieldValue, Limits};
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, MutexGuard};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Where no time was set.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// A call with streams. Its handles share it; with the last of them it is closed.
#[derive(Clone)]
pub(super) struct Call(Arc<Inner>);

struct Inner {
    connection: Arc<Connection>,
    call: u32,
    method: &'static str,
    limits: Limits,
    /// How long the server may take to answer.
    timeout: Duration,
    /// The call as a whole has to end before.
    deadline: Option<Instant>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        let mut state = lock(&self.connection.state);
        state.table.close(self.call);
        self.connection.given_up(state);
    }
}

impl Connection {
    /// Begins a call with streams.
    pub(super) fn open(
        self: Arc<Self>,
        call: Outgoing<'_, impl Encode>,
        method: &'static Method,
        options: &Options,
        deadline: Instant,
    ) -> Result<Call, Status> {
        let mut state = lock(&self.state);
        let Some(Queued(Some(number))) = state.table.call(call, thread::current)? else {
            return Err(Status::new(Code::Internal, "a call without an answer"));
        };
        drop(self.send(state, deadline));
        let end = |limit| Instant::now() + limit;
        Ok(Call(Arc::new(Inner {
            connection: self,
            // It was a number of 32 bits when it was given.
            call: number as u32,
            method: method.name,
            limits: options.decoding,
            timeout: options.timeout,
            deadline: options.stream_timeout.map(end),
        })))
    }
}

impl Call {
    fn late(&self) -> Status {
        too_late(self.0.method, self.0.timeout, Execution::MayHaveRun)
    }

    /// Waits for something that happens to this call; where the time is over, the call is given up.
    fn wait<R>(
        &self,
        deadline: Option<Instant>,
        mut look: impl FnMut(&mut Table<Thread>, u32, &Thread) -> Option<R>,
    ) -> Result<R, Status> {
        let Inner {
            connection, call, ..
        } = &*self.0;
        let me = thread::current();
        let deadline = [deadline, self.0.deadline].into_iter().flatten().min();
        let deadline = deadline.unwrap_or_else(|| Instant::now() + FAR);
        let state = lock(&connection.state);
        let (state, found) = connection.wait_for(state, deadline, |table| look(table, *call, &me));
        let state = self.flush(state, deadline);
        match found {
            Some(found) => Ok(found),
            None => {
                drop(state);
                self.leave();
                Err(self.late())
            }
        }
    }

    /// What taking an item has granted, and whatever else is queued, leaves.
    fn flush<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        deadline: Instant,
    ) -> MutexGuard<'a, State> {
        match state.table.out.is_empty() {
            true => state,
            false => self.0.connection.send(state, deadline),
        }
    }

    /// Waits for the answer.
    pub(super) fn answer(&self, deadline: Instant) -> Result<Body, Status> {
        self.wait(Some(deadline), |table, call, me| {
            table.streams.take_answer(call, me)
        })?
    }

    /// The caller has lost interest.
    fn leave(&self) {
        let mut state = lock(&self.0.connection.state);
        state.table.leave(self.0.call);
        self.0.connection.given_up(state);
    }
}

/// The items that the server sends, to iterate over. An error is the last item: an exception that the contract
/// declares for the stream, or a [`Status`]. Dropped before its end it cancels the call.
pub struct Receiver<T, E = Status> {
    call: Call,
    ended: bool,
    types: PhantomData<fn() -> (T, E)>,
}

impl<T: FieldValue, E: Exceptions> Receiver<T, E> {
    fn new(call: Call) -> Self {
        Receiver {
            call,
            ended: false,
            types: PhantomData,
        }
    }
}

impl<T: FieldValue, E: Exceptions> Iterator for Receiver<T, E> {
    type Item = Result<T, E>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let Inner { method, limits, .. } = *self.call.0;
        let source = Source::callee(method);
        let next = self.call.wait(None, |table, call, me| table.next(call, me));
        let item = match next {
            Ok(Next::Item(body)) => Some(decode_item(source, body, limits).map_err(E::from)),
            Ok(Next::End(Ok(None))) => None,
            Ok(Next::End(Ok(Some(body)))) => Some(Err(decode_exception(source, &body, limits))),
            Ok(Next::End(Err(status))) | Err(status) => Some(Err(status.into())),
        };
        self.ended = !matches!(item, Some(Ok(_)));
        if matches!(item, Some(Err(_))) {
            // Nothing of what may still come is wanted.
            self.call.leave();
        }
        item
    }
}

impl<T, E> Drop for Receiver<T, E> {
    fn drop(&mut self) {
        if !self.ended {
            self.call.leave();
        }
    }
}

/// The stream that a client sends. Dropped before [`finish`](Self::finish) or [`fail`](Self::fail) it cancels
/// the call.
pub struct Sender<T, E = Status> {
    call: Call,
    done: bool,
    types: PhantomData<fn(T, E)>,
}

impl<T: FieldValue, E: Exceptions> Sender<T, E> {
    pub(super) fn new(call: Call) -> Self {
        Sender {
            call,
            done: false,
            types: PhantomData,
        }
    }

    /// Sends an item; waits where the server has not taken earlier ones. An error says that the call is over,
    /// and its answer says why.
    pub fn send(&mut self, item: &T) -> Result<(), Status> {
        let method = self.call.0.method;
        self.call.wait(None, |table, call, me| {
            let (machine, inboxes, out) = table.own()?;
            match machine.item(call, &item_of(&(item,)), out) {
                Ok(Sent::Yes) => Some(Ok(())),
                Ok(Sent::NoCredit) if inboxes.wait_to_send(call, me) => None,
                Ok(Sent::NoCredit | Sent::Ended) => Some(Err(inboxes.why_ended(call))),
                Err(error) => Some(Err(unencodable(method, &error))),
            }
        })?
    }

    /// There are no more items.
    pub fn finish(mut self) {
        self.done = true;
        // Where the connection is lost, the answer says so.
        let _ = self.call.wait(None, |table, call, _| {
            let (machine, _, out) = table.own()?;
            machine.end(call, out);
            Some(())
        });
    }

    /// The stream ends with an exception that the contract declares for it. A [`Status`] cancels the call.
    pub fn fail(mut self, exception: E) -> Result<(), Status> {
        if let Some(status) = exception.as_status() {
            return Err(status.clone());
        }
        let (method, answer) = (self.call.0.method, Err(exception));
        let ended = self.call.wait(None, |table, call, _| {
            let (machine, _, out) = table.own()?;
            Some(machine.end_with(call, &ReplyBody::<(), E>(&answer), out))
        })?;
        self.done = ended.is_ok();
        ended.map_err(|error| unencodable(method, &error))
    }
}

impl<T, E> Drop for Sender<T, E> {
    fn drop(&mut self) {
        if !self.done {
            self.call.leave();
        }
    }
}

/// The answer to a call with a stream of the client's. Dropped before [`wait`](Self::wait) it cancels the call.
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
            read: |call, body| decode(call.0.method, body, None, call.0.limits),
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
                let result: Result<O::Result, E> = decode(call.0.method, body, None, call.0.limits);
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
            self.call.leave();
        }
    }
}

/// Where a client sends its items (`T`, or an exception of `S`), and the answer (`O`, or an exception of `E`).
pub type Upload<T, O, S = Status, E = Status> = (Sender<T, S>, Answer<O, E>);

/// What a client gets of a call with a stream of the server's: the stream, or a result and the stream.
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
                write!(f, "{}({})", stringify!($name), self.call.0.method)
            }
        }
    )*};
}

debug!(Receiver Sender Answer);

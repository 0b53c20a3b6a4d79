//! The streams of calls, the same at both ends: what has arrived and waits, and who waits for it.
//!
//! ```text
//!   handler ── Items ──► item ─► credit? ─► frames        frames ─► Inbox ──► Receiver ── client
//!   client ─── Sender ─► item ─► credit? ─► frames        frames ─► Inbox ──► Receiver ── handler
//! ```

mod inbox;
mod items;
mod receiver;

#[cfg(feature = "async")]
mod answer;
#[cfg(feature = "async")]
mod sender;

pub(crate) use inbox::{Inboxes, Next, Wake};
pub use items::{ItemSink, Items, Streaming};
pub use receiver::Receiver;

#[cfg(feature = "async")]
pub use answer::{Answer, Streamed, Upload};
#[cfg(feature = "async")]
pub use sender::Sender;

use crate::client::Table;
use crate::exceptions::Exceptions;
use crate::link::Link;
use crate::reply::{ReplyBody, ReplySlot};
use crate::{Code, Execution, Status};
use dovetail_protocol::dovetail::{Connection, Sent};
use dovetail_wire::{Bytes, EncodeError, Encoding, Field, FieldValue, Limits};
use inbox::Item;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A call with streams, at either end. Its handles share it; with the last of them it is closed.
#[derive(Clone)]
pub(crate) struct StreamCall {
    inner: Arc<Inner>,
    method: &'static str,
}

struct Inner {
    link: Arc<Link>,
    call: u32,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.link.with(|table| table.close(self.call));
    }
}

impl StreamCall {
    /// A call whose inbox is open.
    pub(crate) fn new(link: Arc<Link>, call: u32) -> Self {
        StreamCall {
            inner: Arc::new(Inner { link, call }),
            method: "",
        }
    }

    /// The same call, with the name of its method for errors.
    pub(crate) fn named(&self, method: &'static str) -> Self {
        StreamCall {
            inner: self.inner.clone(),
            method,
        }
    }

    /// The number on the connection.
    pub(crate) fn number(&self) -> u32 {
        self.inner.call
    }

    /// The method, for people.
    pub(crate) fn method(&self) -> &'static str {
        self.method
    }

    pub(crate) fn limits(&self) -> Limits {
        self.inner.link.limits
    }

    /// A client has lost interest in the call, or a handler in its caller's items.
    pub(crate) fn leave(&self) {
        self.with(|table| table.leave(self.inner.call));
    }

    fn with<R>(&self, work: impl FnOnce(&mut Table<Waker>) -> R) -> R {
        self.inner.link.with(work)
    }

    /// Does something to the connection, where its wire has streams.
    fn own<R>(
        &self,
        work: impl FnOnce(&mut Connection, &mut Inboxes<Waker>, &mut Vec<u8>) -> R,
    ) -> Option<R> {
        self.with(|table| {
            let (machine, inboxes, out) = table.own()?;
            Some(work(machine, inboxes, out))
        })
    }

    /// The answer, at the caller's end.
    #[cfg(feature = "async")]
    pub(crate) fn poll_answer(&self, context: &Context<'_>) -> Poll<Result<inbox::Body, Status>> {
        let call = self.number();
        let answer = self.with(|table| table.streams.take_answer(call, context.waker()));
        answer.map_or(Poll::Pending, Poll::Ready)
    }

    /// Appends an item as soon as there is credit for it.
    pub(crate) fn poll_send<T: FieldValue>(
        &self,
        item: &T,
        context: &Context<'_>,
    ) -> Poll<Result<(), Status>> {
        let call = self.number();
        let polled =
            self.own(
                |machine, inboxes, out| match machine.item(call, &item_of(&(item,)), out) {
                    Ok(Sent::Yes) => Poll::Ready(Ok(())),
                    Ok(Sent::NoCredit) if inboxes.wait_to_send(call, context.waker()) => {
                        Poll::Pending
                    }
                    Ok(Sent::NoCredit | Sent::Ended) => Poll::Ready(Err(inboxes.why_ended(call))),
                    Err(error) => Poll::Ready(Err(unencodable(self.method(), &error))),
                },
            );
        polled.unwrap_or_else(|| Poll::Ready(Err(ended())))
    }

    /// True where the other end has gone; else who asks is woken when it goes.
    pub(crate) fn is_over(&self, context: &Context<'_>) -> bool {
        let call = self.number();
        self.with(|table| table.streams.is_over(call, context.waker()))
    }

    /// Answers the call for good, unless that has been done.
    pub(crate) fn answer(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let call = self.number();
        self.own(|machine, inboxes, out| {
            if inboxes.finished(call) {
                machine.transmit(out);
                write(out);
                machine.answered(call);
                inboxes.fail(call, &ended());
            }
        });
    }

    /// Sends an item as soon as there is credit for it.
    pub(crate) fn send<T: FieldValue>(
        &self,
        item: T,
    ) -> impl Future<Output = Result<(), Status>> + use<'_, T> {
        poll_fn(move |context| self.poll_send(&item, context))
    }

    /// What comes next on the other end's stream.
    pub(crate) fn poll_next(&self, context: &Context<'_>) -> Poll<Next> {
        let next = self.with(|table| table.next(self.number(), context.waker()));
        next.map_or(Poll::Pending, Poll::Ready)
    }

    /// Appends something of the call's.
    pub(crate) fn append<R>(&self, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        self.with(|table| {
            table.transmit();
            write(&mut table.out)
        })
    }

    /// Ends this end's stream.
    pub(crate) fn end(&self) {
        let call = self.number();
        self.own(|machine, _, out| machine.end(call, out));
    }

    /// Ends this end's stream with an exception that the contract declares for it; gives the status where it is
    /// none.
    pub(crate) fn end_with<E: Exceptions>(&self, exception: E) -> Result<(), Status> {
        if let Some(status) = exception.as_status() {
            return Err(status.clone());
        }
        let answer: Result<(), E> = Err(exception);
        let (call, body) = (self.number(), ReplyBody(&answer));
        let ended = self.own(|machine, _, out| machine.end_with(call, &body, out));
        let ended = ended.unwrap_or(Ok(()));
        ended.map_err(|error| unencodable(self.method(), &error))
    }
}

#[cold]
pub(crate) fn unencodable(method: &str, error: &EncodeError) -> Status {
    let what = format!("an item of `{method}` cannot be encoded: {error}");
    Status::new(Code::InvalidArgument, what)
}

/// The only field of an item.
const fn item_field<T: FieldValue>() -> Field<'static> {
    Field::new(0, "item", T::KIND)
}

/// An item as it is encoded.
pub(crate) fn item_of<'a, T: FieldValue>(
    item: &'a (&'a T,),
) -> (&'a (&'a T,), &'static [Field<'static>]) {
    (item, const { &[item_field::<T>()] })
}

/// The method whose items are decoded, and what it is called where they cannot be: those of a caller make its
/// call wrong (`docs/spec/wire.md`, "Errors").
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) method: &'a str,
    pub(crate) fault: Code,
}

impl<'a> Source<'a> {
    /// What the server sends.
    pub(crate) fn callee(method: &'a str) -> Self {
        let fault = Code::Internal;
        Source { method, fault }
    }

    #[cold]
    fn undecodable(self, why: &str) -> Status {
        let what = format!("an item of `{}` cannot be decoded: {why}", self.method);
        Status::new(self.fault, what).with_execution(Execution::MayHaveRun)
    }
}

/// Decodes an item.
pub(crate) fn decode_item<T: FieldValue>(
    source: Source<'_>,
    (encoding, body): Item,
    limits: Limits,
) -> Result<T, Status> {
    let body = body.decompress();
    let body = body.map_err(|error| source.undecodable(&error.to_string()))?;
    let mut item = (T::default(),);
    let mut params = (&mut item, const { &[item_field::<T>()] as &[_] });
    match encoding.decode(&mut params, &body, limits) {
        Ok(read) if read == body.len() => Ok(item.0),
        Ok(read) => Err(source.undecodable(&format!("{} bytes are left", body.len() - read))),
        Err(error) => Err(source.undecodable(&error.to_string())),
    }
}

/// Decodes the exception that ends a stream.
pub(crate) fn decode_exception<E: Exceptions>(
    source: Source<'_>,
    (encoding, body): &(Encoding, Bytes),
    limits: Limits,
) -> E {
    let mut slot = ReplySlot::<(), E>::over(None);
    match encoding.decode(&mut slot, body, limits) {
        Ok(_) => match slot.into_result(source.method) {
            Err(exception) => exception,
            Ok(()) => source
                .undecodable("no exception that this end knows")
                .into(),
        },
        Err(error) => source.undecodable(&error.to_string()).into(),
    }
}

/// The other end of a stream is not there any longer, and nothing more is known.
#[cold]
pub(crate) fn ended() -> Status {
    let what = "the call has ended, and its streams with it";
    Status::new(Code::Cancelled, what).with_execution(Execution::MayHaveRun)
}

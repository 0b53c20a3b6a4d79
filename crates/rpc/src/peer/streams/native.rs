//! A call with streams over Dovetail's own wire: the connection's machine counts its credit.

use super::inbox::{Body, Inboxes, Next};
use super::{Unsent, ended};
use crate::Status;
use crate::exceptions::Exceptions;
use crate::peer::link::Link;
use crate::peer::reply::ReplyBody;
use crate::peer::table::Table;
use dovetail_protocol::dovetail::{Connection, Sent};
use dovetail_wire::{Encode, Limits};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

/// A call with streams over Dovetail's own wire. Its handles share it; with the last of them it is
/// closed.
#[derive(Clone)]
pub(crate) struct NativeCall {
    inner: Arc<Inner>,
    /// The call has to end before.
    deadline: Option<Instant>,
}

struct Inner {
    link: Arc<Link>,
    call: u32,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.link.part(|table| table.close(self.call));
    }
}

impl NativeCall {
    /// A call whose inbox is open.
    pub(crate) fn new(link: Arc<Link>, call: u32) -> Self {
        NativeCall {
            inner: Arc::new(Inner { link, call }),
            deadline: None,
        }
    }

    /// Adds a deadline for a driver that sends in place.
    pub(crate) fn until(self, deadline: Option<Instant>) -> Self {
        NativeCall { deadline, ..self }
    }

    /// The number on the connection.
    pub(crate) fn number(&self) -> u32 {
        self.inner.call
    }

    pub(super) fn limits(&self) -> Limits {
        self.inner.link.limits
    }

    pub(super) fn leave(&self) {
        let Inner { link, call } = &*self.inner;
        link.part(|table| table.leave(*call));
    }

    fn with<R>(&self, work: impl FnOnce(&mut Table) -> R) -> R {
        self.inner.link.with_until(self.deadline, work)
    }

    /// Does something to the connection, where its wire has streams.
    fn native<R>(
        &self,
        work: impl FnOnce(&mut Connection, &mut Inboxes, &mut Vec<u8>) -> R,
    ) -> Option<R> {
        self.with(|table| {
            let (machine, inboxes, out) = table.native()?;
            Some(work(machine, inboxes, out))
        })
    }

    pub(super) fn poll_answer(&self, context: &Context<'_>) -> Poll<Result<Body, Status>> {
        let call = self.number();
        let answer = self.with(|table| table.streams.take_answer(call, context.waker()));
        answer.map_or(Poll::Pending, Poll::Ready)
    }

    /// Appends an item as soon as there is credit for it.
    pub(super) fn poll_send<E: Encode>(
        &self,
        item: impl FnOnce(i32) -> E,
        compress: Option<bool>,
        context: &Context<'_>,
    ) -> Poll<Result<(), Unsent>> {
        let call = self.number();
        let polled = self.native(|machine, inboxes, out| {
            let item = item(0);
            let sent = match compress {
                Some(false) => machine.plain_item(call, &item, out),
                Some(true) | None => machine.item(call, &item, out),
            };
            match sent {
                Ok(Sent::Yes) => {
                    inboxes.has_sent(call);
                    Poll::Ready(Ok(()))
                }
                Ok(Sent::NoCredit) if inboxes.wait_to_send(call, context.waker()) => Poll::Pending,
                Ok(Sent::NoCredit | Sent::Ended) => {
                    Poll::Ready(Err(Unsent::Over(inboxes.why_ended(call))))
                }
                Err(error) => Poll::Ready(Err(error.into())),
            }
        });
        polled.unwrap_or_else(|| Poll::Ready(Err(Unsent::Over(ended()))))
    }

    /// Returns whether the other end has gone; else the waker is woken when it goes.
    pub(crate) fn is_over(&self, context: &Context<'_>) -> bool {
        let call = self.number();
        self.with(|table| table.streams.is_over(call, context.waker()))
    }

    /// Answers the call for good, unless that has been done.
    pub(crate) fn answer(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let call = self.number();
        self.native(|machine, inboxes, out| {
            if inboxes.finished(call) {
                machine.transmit(out);
                write(out);
                machine.answered(call);
                inboxes.fail(call, &ended());
            }
        });
    }

    pub(super) fn poll_next(&self, context: &Context<'_>) -> Poll<Next> {
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

    pub(super) fn end(&self) {
        let call = self.number();
        self.native(|machine, _, out| machine.end(call, out));
    }

    pub(super) fn end_with<E: Exceptions>(&self, exception: E) -> Result<(), Unsent> {
        let answer: Result<(), E> = Err(exception);
        let (call, body) = (self.number(), ReplyBody(&answer));
        let ended = self.native(|machine, _, out| machine.end_with(call, &body, out));
        Ok(ended.unwrap_or(Ok(()))?)
    }
}

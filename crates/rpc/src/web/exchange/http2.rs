//! The bytes that a call with streams sends over HTTP/2.

use super::{ENOUGH, Exchange, Outgoing};
use crate::grpc::poll_room;
use bytes::Bytes;
use h2::SendStream;
use std::task::{Context, Poll, ready};

impl Exchange {
    /// How many bytes are to be sent; `None` where not even the end is.
    fn queued(&self) -> Option<usize> {
        let state = self.lock();
        let some = !state.out.is_empty() || state.outgoing == Outgoing::Ending;
        some.then_some(state.out.len())
    }

    /// Takes what is to be sent, up to so many bytes, and whether it is the end.
    fn part(&self, room: usize) -> (Bytes, bool) {
        let mut state = self.lock();
        let full = state.out.len() >= ENOUGH;
        let length = room.min(state.out.len());
        let part = state.out.split_to(length).freeze();
        let last = state.out.is_empty() && state.outgoing == Outgoing::Ending;
        if last {
            state.outgoing = Outgoing::Ended;
        }
        if full && state.out.len() < ENOUGH {
            state.inbox.room();
        }
        (part, last)
    }

    /// Sets the waker for the driver, woken when there is something to do.
    pub(crate) fn drive(&self, context: &Context<'_>) {
        self.lock().driver = Some(context.waker().clone());
    }

    /// Sends what is queued, as the other end takes it. Ready once that is done; an error where no
    /// more is taken.
    pub(crate) fn poll_queue(
        &self,
        stream: &mut SendStream<Bytes>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), ()>> {
        while let Some(queued) = self.queued() {
            let room = match queued {
                0 => 0,
                _ => ready!(poll_room(stream, queued, context))?,
            };
            let (part, last) = self.part(room);
            if stream.send_data(part, last).is_err() {
                return Poll::Ready(Err(()));
            }
        }
        Poll::Ready(Ok(()))
    }
}

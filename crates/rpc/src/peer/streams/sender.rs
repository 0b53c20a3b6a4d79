use super::{ItemOf, StreamCall};
use crate::{Exceptions, Status};
use dovetail_wire::FieldValue;
use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;

/// The stream that a client sends. Dropped before [`finish`](Self::finish) or [`fail`](Self::fail)
/// it cancels the call.
pub struct Sender<T, E = Status> {
    call: StreamCall,
    done: bool,
    types: PhantomData<fn(T, E)>,
}

impl<T: FieldValue, E: Exceptions> Sender<T, E> {
    pub(crate) fn new(call: StreamCall) -> Self {
        Sender {
            call,
            done: false,
            types: PhantomData,
        }
    }

    /// Sends an item; waits where the server has not taken earlier ones. An error says that the
    /// call is over, and its answer says why.
    pub async fn send(&mut self, item: &T) -> Result<(), Status> {
        poll_fn(|context| self.call.poll_send(|field| ItemOf(item, field), context)).await
    }

    /// From the next item on, compresses items, or does not, where that makes them smaller. How is
    /// said by the channel that the call was made on; see
    /// [`with_compression`](crate::Channel::with_compression). Over gRPC a channel that says
    /// nothing of compression cannot begin with it here.
    pub fn compress(&mut self, compress: bool) {
        self.call.compress(Some(compress));
    }

    /// There are no more items.
    pub fn finish(mut self) {
        self.done = true;
        self.call.end();
    }

    /// The stream ends with an exception that the contract declares for it. A [`Status`] cancels
    /// the call.
    pub fn fail(mut self, exception: E) -> Result<(), Status> {
        let ended = self.call.end_with(exception);
        self.done = ended.is_ok();
        ended
    }
}

impl<T, E> Drop for Sender<T, E> {
    fn drop(&mut self) {
        if !self.done {
            self.call.leave();
        }
    }
}

impl<T, E> fmt::Debug for Sender<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sender({})", self.call.method())
    }
}

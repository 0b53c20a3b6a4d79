//! A call with streams whose types are only known at run time.

use super::inbox::Next;
use super::{Source, StreamCall};
use crate::{Code, Status};
use dovetail_wire::{Decode, Encode};
use std::fmt;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};

/// A call with streams of a method that was described at run time; see
/// [`Channel::open_described`](crate::Channel::open_described). Dropped before its end, it cancels
/// the call.
///
/// An item is the only field of a struct. Wire and method decide its number, which is passed to the
/// encoder and the decoder.
pub struct DescribedStreams {
    call: StreamCall,
    /// The server's stream has come to its end.
    ended: AtomicBool,
}

/// The next event on the stream of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DescribedNext<D> {
    /// An item, decoded.
    Item(D),
    /// No further item.
    End,
    /// No further item, and an exception that has been decoded.
    Thrown,
}

impl DescribedStreams {
    pub(crate) fn new(call: StreamCall) -> Self {
        DescribedStreams {
            call,
            ended: AtomicBool::new(false),
        }
    }

    /// Sends an item: a struct with it as the field of this number. Waits where the server has not
    /// taken earlier ones. An error says that the call is over, and its answer says why.
    pub async fn send<E: Encode>(&self, item: impl Fn(i32) -> E) -> Result<(), Status> {
        poll_fn(|context| self.call.poll_send(&item, context)).await
    }

    /// Ends the stream of this end.
    pub fn finish(&self) {
        self.call.end();
    }

    /// Waits for the answer, and decodes it into the struct with the result (field 0) or a declared
    /// exception. Items of the server come after it.
    pub async fn answer(&self, reply: &mut impl Decode) -> Result<(), Status> {
        let (encoding, body) = poll_fn(|context| self.call.poll_answer(context)).await?;
        match encoding.decode(reply, &body, self.call.limits()) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.source().undecodable(&error.to_string())),
        }
    }

    /// Returns the next event from the server: an item is decoded into the struct that has it as
    /// the field of this number, an exception that ends the stream into `thrown`, as in
    /// [`answer`](Self::answer).
    pub async fn next<D: Decode>(
        &self,
        item: impl FnOnce(i32) -> D,
        thrown: &mut impl Decode,
    ) -> Result<DescribedNext<D>, Status> {
        if self.ended.load(Ordering::Relaxed) {
            return Ok(DescribedNext::End);
        }
        let limits = self.call.limits();
        let next = poll_fn(|context| self.call.poll_next(context)).await;
        let ended = !matches!(next, Next::Item(_));
        self.ended.store(ended, Ordering::Relaxed);
        match next {
            Next::Item(body) => {
                let mut slot = item(body.field);
                self.source().decode(body, &mut slot, limits)?;
                Ok(DescribedNext::Item(slot))
            }
            Next::End(Ok(None)) => Ok(DescribedNext::End),
            Next::End(Ok(Some((encoding, body)))) => match encoding.decode(thrown, &body, limits) {
                Ok(_) => Ok(DescribedNext::Thrown),
                Err(error) => Err(self.source().undecodable(&error.to_string())),
            },
            Next::End(Err(status)) => Err(status),
        }
    }

    fn source(&self) -> Source<'_> {
        Source {
            method: self.call.method(),
            fault: Code::Internal,
        }
    }
}

impl Drop for DescribedStreams {
    fn drop(&mut self) {
        self.call.leave();
    }
}

impl fmt::Debug for DescribedStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DescribedStreams({})", self.call.method())
    }
}

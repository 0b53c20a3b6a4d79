use super::inbox::Next;
use super::{ItemOf, Source, StreamCall, decode_exception, decode_item};
use crate::peer::intercept::Direction;
use crate::{Code, Context as CallContext, Exceptions, Status};
use dovetail_wire::FieldValue;
use futures_core::Stream;
use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The items that the other end sends: at a client those of the server, in a handler those of the
/// caller.
///
/// An error is the last item: an exception that the contract declares for the stream, or a
/// [`Status`]. A client that drops a stream before its end cancels the call.
pub struct Receiver<T, E = Status> {
    call: StreamCall,
    /// The code for an item that cannot be decoded.
    fault: Code,
    ended: bool,
    compressed: bool,
    /// The call, where interceptors look at its items.
    observer: Option<CallContext>,
    types: PhantomData<fn() -> (T, E)>,
}

impl<T: FieldValue, E: Exceptions> Receiver<T, E> {
    /// Receives the server's items.
    pub(crate) fn of_callee(call: StreamCall) -> Self {
        Self::new(call, Code::Internal)
    }

    /// Receives the caller's items, at its handler.
    pub(crate) fn of_caller(call: StreamCall, observer: &CallContext) -> Self {
        let mut receiver = Self::new(call, Code::InvalidArgument);
        let observed = observer.call.observed.is_observed();
        receiver.observer = observed.then(|| observer.clone());
        receiver
    }

    fn new(call: StreamCall, fault: Code) -> Self {
        Receiver {
            call,
            fault,
            ended: false,
            compressed: false,
            observer: None,
            types: PhantomData,
        }
    }

    /// Whether the item that has come last was compressed.
    pub fn compressed(&self) -> bool {
        self.compressed
    }

    /// The next item; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<T, E>> {
        poll_fn(|context| self.poll(context)).await
    }

    /// Nothing more is wanted, and the caller has said so.
    pub(crate) fn give_up(&mut self) {
        self.ended = true;
    }

    pub(crate) fn poll(&mut self, context: &Context<'_>) -> Poll<Option<Result<T, E>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let call = &self.call;
        let Poll::Ready(next) = call.poll_next(context) else {
            return Poll::Pending;
        };
        let limits = call.limits();
        let source = Source {
            method: call.method(),
            fault: self.fault,
        };
        let item = match next {
            Next::Item(body) => {
                self.compressed = body.compressed;
                let observed = self.observer.as_ref().map_or(Ok(()), |observer| {
                    observer.observe_item(Direction::Received, Some(body.body.size()))
                });
                let item = observed.and_then(|()| decode_item(source, body, limits));
                if let (Ok(item), Some(observer)) = (&item, &self.observer)
                    && let Some(recording) = &observer.call.recording
                {
                    recording.item(Direction::Received, &ItemOf(item, 0));
                }
                Some(item.map_err(E::from))
            }
            Next::End(Ok(None)) => None,
            Next::End(Ok(Some(body))) => Some(Err(decode_exception(source, &body, limits))),
            Next::End(Err(status)) => Some(Err(status.into())),
        };
        self.ended = !matches!(item, Some(Ok(_)));
        if let (true, Some(Err(_))) = (self.ended, &item) {
            // Nothing of what may still come is wanted.
            call.leave();
        }
        Poll::Ready(item)
    }
}

impl<T: FieldValue, E: Exceptions> Stream for Receiver<T, E> {
    type Item = Result<T, E>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll(context)
    }
}

impl<T, E> Drop for Receiver<T, E> {
    fn drop(&mut self) {
        if !self.ended {
            self.call.leave();
        }
    }
}

impl<T, E> fmt::Debug for Receiver<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receiver({})", self.call.method())
    }
}

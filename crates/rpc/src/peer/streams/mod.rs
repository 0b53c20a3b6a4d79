//! The streams of calls, the same at both ends: items that have arrived, and the tasks that wait
//! for them.
//!
//! ```text
//!   handler ── Items ──► item ─► credit? ─► frames        frames ─► Inbox ──► Receiver ── client
//!   client ─── Sender ─► item ─► credit? ─► frames        frames ─► Inbox ──► Receiver ── handler
//! ```

mod inbox;
mod items;
mod native;
mod receiver;
#[cfg_attr(
    not(feature = "async"),
    expect(
        dead_code,
        unreachable_pub,
        reason = "inside of those of blocking clients"
    )
)]
mod sender;

#[cfg(feature = "async")]
mod answer;
#[cfg(feature = "async")]
mod described;

pub(crate) use inbox::{Body, Inbox, Inboxes, Item, Next};
pub use items::{ItemSink, Items, Streaming};
pub(crate) use native::NativeCall;
pub use receiver::Receiver;

#[cfg(feature = "async")]
pub use answer::{Answer, Streamed, Upload};
#[cfg(feature = "async")]
pub use described::{DescribedNext, DescribedStreams};
#[cfg_attr(
    not(feature = "async"),
    expect(unreachable_pub, reason = "inside the blocking ones")
)]
pub use sender::Sender;

use crate::exceptions::Exceptions;
use crate::peer::reply::ReplySlot;
use crate::{Code, Status, web};
use dovetail_protocol::Execution;
use dovetail_wire::{
    Bytes, Decode, Encode, EncodeError, Encoding, Field, FieldValue, Limits, Writer,
};
use std::any::Any;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A call with streams, at either end, over any wire. Its handles share it; with the last of them
/// it is closed.
#[derive(Clone)]
pub(crate) struct StreamCall {
    wire: OnWire,
    /// The name of the method, for display.
    method: &'static str,
    /// Whether this handle's items are compressed; `None` leaves it to the settings.
    compress: Option<bool>,
    /// Counts the call in flight to one of several servers.
    _held: Option<Arc<dyn Any + Send + Sync>>,
}

#[derive(Clone)]
enum OnWire {
    Own(NativeCall),
    Web(Arc<web::Handle>),
}

impl StreamCall {
    /// A call over Dovetail's own wire.
    pub(crate) fn native(call: NativeCall, method: &'static str) -> Self {
        Self::over(OnWire::Own(call), method)
    }

    /// A call over HTTP.
    pub(crate) fn web(call: web::Handle, method: &'static str) -> Self {
        Self::over(OnWire::Web(Arc::new(call)), method)
    }

    fn over(wire: OnWire, method: &'static str) -> Self {
        StreamCall {
            wire,
            method,
            compress: None,
            _held: None,
        }
    }

    /// Keeps a value as long as the call has handles.
    pub(crate) fn holding(self, held: Option<Arc<dyn Any + Send + Sync>>) -> Self {
        StreamCall {
            _held: held,
            ..self
        }
    }

    /// Compresses the further items of this handle, or does not; `None` leaves it to the settings.
    pub(crate) fn compress(&mut self, compress: Option<bool>) {
        self.compress = compress;
    }

    pub(crate) fn method(&self) -> &'static str {
        self.method
    }

    pub(crate) fn limits(&self) -> Limits {
        match &self.wire {
            OnWire::Own(call) => call.limits(),
            OnWire::Web(call) => call.limits(),
        }
    }

    /// Leaves the stream: a client takes nothing more of the call, or a handler no more items.
    pub(crate) fn leave(&self) {
        match &self.wire {
            OnWire::Own(call) => call.leave(),
            OnWire::Web(call) => call.leave(),
        }
    }

    /// The answer, at the caller's end.
    pub(crate) fn poll_answer(&self, context: &Context<'_>) -> Poll<Result<Body, Status>> {
        match &self.wire {
            OnWire::Own(call) => call.poll_answer(context),
            OnWire::Web(call) => call.poll_answer(context),
        }
    }

    /// Takes an item to send, as soon as there is room for it. `item` makes it the field of a
    /// number.
    pub(crate) fn poll_send<E: Encode>(
        &self,
        item: impl FnOnce(i32) -> E,
        context: &Context<'_>,
    ) -> Poll<Result<(), Status>> {
        let sent = match &self.wire {
            OnWire::Own(call) => call.poll_send(item, self.compress, context),
            OnWire::Web(call) => call.poll_send(item, self.compress, context),
        };
        sent.map_err(|unsent| unsent.into_status(self.method))
    }

    /// Sends an item; to be awaited.
    pub(crate) fn send<T: FieldValue>(
        &self,
        item: T,
    ) -> impl Future<Output = Result<(), Status>> + use<'_, T> {
        poll_fn(move |context| self.poll_send(|field| ItemOf(&item, field), context))
    }

    /// Returns the next event on the other end's stream.
    pub(crate) fn poll_next(&self, context: &Context<'_>) -> Poll<Next> {
        match &self.wire {
            OnWire::Own(call) => call.poll_next(context),
            OnWire::Web(call) => call.poll_next(context),
        }
    }

    /// Ends this end's stream.
    pub(crate) fn end(&self) {
        match &self.wire {
            OnWire::Own(call) => call.end(),
            OnWire::Web(call) => call.end(),
        }
    }

    /// Ends this end's stream with an exception that the contract declares for it. Returns
    /// the error if it is a plain status.
    pub(crate) fn end_with<E: Exceptions>(&self, exception: E) -> Result<(), Status> {
        if let Some(status) = exception.as_status() {
            return Err(status.clone());
        }
        let ended = match &self.wire {
            OnWire::Own(call) => call.end_with(exception),
            OnWire::Web(call) => call.end_with(exception),
        };
        ended.map_err(|unsent| unsent.into_status(self.method))
    }
}

/// The reason for a message that was not sent.
pub(crate) enum Unsent {
    Over(Status),
    Unencodable(EncodeError),
}

impl Unsent {
    fn into_status(self, method: &str) -> Status {
        match self {
            Unsent::Over(why) => why,
            Unsent::Unencodable(error) => unencodable(method, &error),
        }
    }
}

impl From<EncodeError> for Unsent {
    fn from(error: EncodeError) -> Self {
        Unsent::Unencodable(error)
    }
}

#[cold]
pub(crate) fn unencodable(method: &str, error: &EncodeError) -> Status {
    let what = format!("an item of `{method}` cannot be encoded: {error}");
    Status::new(Code::InvalidArgument, what)
}

/// The table of the struct that has an item as its only field. On Dovetail's own wire that has the
/// id 0, which gRPC cannot say.
fn item_table<T: FieldValue>(field: i32) -> &'static [Field<'static>] {
    const fn item<T: FieldValue>(field: i32) -> Field<'static> {
        Field::new(field, "item", T::KIND)
    }
    match field {
        0 => const { &[item::<T>(0)] },
        1 => const { &[item::<T>(1)] },
        _ => const { &[item::<T>(2)] },
    }
}

/// An item as it is encoded, in this field.
pub(crate) struct ItemOf<'a, T>(pub(crate) &'a T, pub(crate) i32);

impl<T: FieldValue> Encode for ItemOf<'_, T> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        (&(self.0,), item_table::<T>(self.1)).encode(writer)
    }
}

/// The method whose items are decoded, and the code of an item that cannot be decoded: a caller's
/// item is an error of the call (`docs/spec/wire.md`, "Errors").
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) method: &'a str,
    pub(crate) fault: Code,
}

impl Source<'_> {
    /// Decodes an item into the struct that has it as its only field.
    fn decode(self, item: Item, slot: &mut impl Decode, limits: Limits) -> Result<(), Status> {
        let body = item.body.decompress();
        let body = body.map_err(|error| self.undecodable(&error.to_string()))?;
        match item.encoding.decode(slot, &body, limits) {
            Ok(read) if read == body.len() => Ok(()),
            Ok(read) => Err(self.undecodable(&format!("{} bytes are left", body.len() - read))),
            Err(error) => Err(self.undecodable(&error.to_string())),
        }
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
    item: Item,
    limits: Limits,
) -> Result<T, Status> {
    let table = item_table::<T>(item.field);
    let mut value = (T::default(),);
    source.decode(item, &mut (&mut value, table), limits)?;
    Ok(value.0)
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

/// Returns the status of a stream whose other end has gone without a reason.
#[cold]
pub(crate) fn ended() -> Status {
    let what = "the call has ended, and its streams with it";
    Status::new(Code::Cancelled, what).with_execution(Execution::MayHaveRun)
}

/// Returns the status of a call with streams that its caller has ended.
#[cold]
pub(crate) fn given_up() -> Status {
    let what = "the caller gave the call up: it dropped one of its streams before the end";
    Status::new(Code::Cancelled, what).with_execution(Execution::MayHaveRun)
}

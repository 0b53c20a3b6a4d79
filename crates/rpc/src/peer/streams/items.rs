use crate::{Exceptions, Status};
use dovetail_wire::FieldValue;
use futures_core::Stream;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

/// The stream that a handler answers with: items, until there are no more, or until it fails.
///
/// Items are made as the caller takes them: when a window's worth is on its way, the next one is
/// asked for only after the caller has taken some.
///
/// ```
/// use dovetail::stream::Items;
///
/// let numbers: Items<'_, i32> = Items::iter(1..=3);
/// let lines: Items<'_, String> = Items::with(|mut out| async move {
///     for number in 0..3 {
///         out.send(format!("line {number}")).await;
///     }
///     Ok(())
/// });
/// # drop((numbers, lines));
/// ```
pub struct Items<'a, T, E = Status>(Pin<Box<dyn Stream<Item = Result<T, E>> + Send + 'a>>);

impl<'a, T, E> Items<'a, T, E> {
    /// The items of any stream. Its first error ends it.
    pub fn new(stream: impl Stream<Item = Result<T, E>> + Send + 'a) -> Self {
        Items(Box::pin(stream))
    }
}

impl<'a, T: Send + 'a, E: Send + 'a> Items<'a, T, E> {
    /// Items that are there already, or cost no time to make.
    pub fn iter(items: impl IntoIterator<Item = T, IntoIter: Send + 'a>) -> Self {
        let mut items = items.into_iter();
        Items::new(Ready(move || items.next().map(Ok)))
    }

    /// The items that an async block sends, one after the other.
    pub fn with<F>(make: impl FnOnce(ItemSink<T>) -> F) -> Self
    where
        F: Future<Output = Result<(), E>> + Send + 'a,
    {
        let slot = Arc::new(Mutex::new(None));
        Items::new(Made {
            maker: Some(Box::pin(make(ItemSink(slot.clone())))),
            slot,
        })
    }
}

impl<T, E> Stream for Items<'_, T, E> {
    type Item = Result<T, E>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(context)
    }
}

impl<T, E> fmt::Debug for Items<'_, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Items")
    }
}

/// A stream that never waits.
struct Ready<F>(F);

// The called function is never pinned.
impl<F> Unpin for Ready<F> {}

impl<T, F: FnMut() -> Option<T>> Stream for Ready<F> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<T>> {
        Poll::Ready((self.0)())
    }
}

/// The sink of an async block for the items of a stream; see [`Items::with`].
#[derive(Debug)]
pub struct ItemSink<T>(Slot<T>);

/// An item between its maker and the stream, which take turns.
type Slot<T> = Arc<Mutex<Option<T>>>;

impl<T> ItemSink<T> {
    /// Sends an item; returns when the next one is asked for.
    pub async fn send(&mut self, item: T) {
        *lock(&self.0) = Some(item);
        std::future::poll_fn(|_| match lock(&self.0).is_some() {
            // The stream takes it, and polls again when it wants more.
            true => Poll::Pending,
            false => Poll::Ready(()),
        })
        .await;
    }
}

/// A stream that an async block makes.
struct Made<'a, T, E> {
    maker: Option<Maker<'a, E>>,
    slot: Slot<T>,
}

type Maker<'a, E> = Pin<Box<dyn Future<Output = Result<(), E>> + Send + 'a>>;

impl<T, E> Stream for Made<'_, T, E> {
    type Item = Result<T, E>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(maker) = &mut self.maker else {
            return Poll::Ready(None);
        };
        let polled = maker.as_mut().poll(context);
        let item = lock(&self.slot).take();
        match (polled, item) {
            (Poll::Pending, None) => Poll::Pending,
            (Poll::Pending, Some(item)) => Poll::Ready(Some(Ok(item))),
            (Poll::Ready(result), _) => {
                self.maker = None;
                Poll::Ready(result.err().map(Err))
            }
        }
    }
}

fn lock<T>(slot: &Slot<T>) -> MutexGuard<'_, Option<T>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The result of a handler with a stream: the stream, or a result and the stream.
pub trait Streaming<'a>: Send {
    /// The result; `()` where there is none.
    type Result: FieldValue + Send;
    /// The items.
    type Item: FieldValue + Send;
    /// How the stream can fail.
    type Error: Exceptions;

    /// The result, then the items.
    fn split(self) -> (Self::Result, Items<'a, Self::Item, Self::Error>);
}

impl<'a, T: FieldValue + Send, E: Exceptions> Streaming<'a> for Items<'a, T, E> {
    type Result = ();
    type Item = T;
    type Error = E;

    fn split(self) -> ((), Self) {
        ((), self)
    }
}

impl<'a, R: FieldValue + Send, T: FieldValue + Send, E: Exceptions> Streaming<'a>
    for (R, Items<'a, T, E>)
{
    type Result = R;
    type Item = T;
    type Error = E;

    fn split(self) -> (R, Items<'a, T, E>) {
        self
    }
}

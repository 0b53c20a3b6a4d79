//! How a handler on a thread of its own finds out that nobody waits for its answer.

use std::fmt;
use std::pin::pin;
#[cfg(feature = "async")]
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Whether a call has been given up by its caller, or with its connection.
#[derive(Default)]
pub(crate) struct Cancellation {
    cancelled: AtomicBool,
    waiting: Mutex<Option<Waker>>,
    /// Looks at the connection while a handler blocks the only thread that could.
    look: Option<Look>,
}

/// Says whether the caller has gone.
type Look = Box<dyn Fn() -> bool + Send + Sync>;

impl Cancellation {
    /// One that also looks for itself.
    pub(crate) fn looking(look: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Cancellation {
            look: Some(Box::new(look)),
            ..Cancellation::default()
        }
    }

    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        let waiting = self.waiting.lock();
        if let Some(waker) = waiting.unwrap_or_else(PoisonError::into_inner).take() {
            waker.wake();
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.was_cancelled() || self.finds_out()
    }

    /// Returns whether it has been cancelled, without looking.
    pub(crate) fn was_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
    }

    fn finds_out(&self) -> bool {
        let gone = self.look.as_ref().is_some_and(|look| look());
        if gone {
            self.cancel();
        }
        gone
    }

    /// Returns whether it has been cancelled; else the waker is woken then.
    fn poll(&self, context: &Context<'_>) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        *waiting = Some(context.waker().clone());
        drop(waiting);
        self.was_cancelled()
    }
}

impl fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancellation")
            .field("cancelled", &self.cancelled)
            .finish_non_exhaustive()
    }
}

/// Runs a future until it is done; `None` where it was cancelled before, and is dropped.
pub(crate) async fn unless_cancelled<F: Future>(
    cancellation: &Cancellation,
    future: F,
) -> Option<F::Output> {
    let mut future = pin!(future);
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if cancellation.poll(context) => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    })
    .await
}

/// Cancels when it is dropped.
#[cfg(feature = "async")]
pub(crate) struct CancelsWhenDropped(pub(crate) Arc<Cancellation>);

#[cfg(feature = "async")]
impl Drop for CancelsWhenDropped {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

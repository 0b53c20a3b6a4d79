//! Handlers that threads of the runtime's pool poll, so that they may block.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

/// Runs a future in the pool. It has a thread while it is polled, and none while it waits.
///
/// `None` where the runtime goes down.
pub(super) async fn run<F>(mut future: Pin<Box<F>>) -> Option<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let waker = Arc::<NotifyWaker>::default();
    loop {
        let (waits, polled) = poll_once(future, waker.clone().into()).await?;
        if let Poll::Ready(output) = polled {
            return Some(output);
        }
        future = waits;
        waker.0.notified().await;
    }
}

/// Polls a future once on a thread of the pool, and gives it back.
///
/// `None` where the runtime goes down.
pub(crate) async fn poll_once<F>(
    mut future: Pin<Box<F>>,
    waker: Waker,
) -> Option<(Pin<Box<F>>, Poll<F::Output>)>
where
    F: Future<Output: Send> + Send + 'static,
{
    let poll = move || {
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        (future, polled)
    };
    spawn_blocking(poll).await.ok()
}

/// Wakes the task that sends a future to the pool. A wake-up while it is polled is kept.
#[derive(Default)]
struct NotifyWaker(Notify);

impl Wake for NotifyWaker {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

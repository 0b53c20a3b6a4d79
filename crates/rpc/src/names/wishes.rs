//! The wishes of an owner to a thread that works for it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The time between two looks at least, however often the owner asks.
const SHORTEST: Duration = Duration::from_secs(1);

/// The thread's end.
pub(super) struct Wishes(Arc<Shared>);

/// The owner's end. Dropped, the thread's work is over.
pub(super) struct Wisher(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<WishState>,
    changed: Condvar,
}

#[derive(Default)]
struct WishState {
    /// The owner is gone.
    over: bool,
    /// The owner wants news now.
    now: bool,
    /// The task that waits for the end.
    #[cfg(any(feature = "etcd", feature = "zookeeper"))]
    waker: Option<Waker>,
}

/// Makes the two ends.
pub(super) fn wishes() -> (Wisher, Wishes) {
    let shared = Arc::<Shared>::default();
    (Wisher(shared.clone()), Wishes(shared))
}

impl Wishes {
    /// Waits; shorter where the owner wants news, but not less than a second. False once the owner
    /// is gone.
    pub(super) fn wait(&self, time: Duration) -> bool {
        let rest = time.saturating_sub(SHORTEST);
        self.0.wait_while(time.min(SHORTEST), |state| !state.over);
        self.0.wait_while(rest, |state| !state.over && !state.now);
        let mut state = self.0.lock();
        state.now = false;
        !state.over
    }

    /// Returns true once the owner is gone.
    pub(super) fn is_over(&self) -> bool {
        self.0.lock().over
    }

    /// Is ready once the owner is gone. One task can wait for that.
    #[cfg(any(feature = "etcd", feature = "zookeeper"))]
    pub(super) fn poll_over(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.0.lock();
        if state.over {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Wisher {
    /// Asks for news.
    pub(super) fn want_news(&self) {
        self.0.lock().now = true;
        self.0.changed.notify_all();
    }
}

impl Drop for Wisher {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.over = true;
        #[cfg(any(feature = "etcd", feature = "zookeeper"))]
        if let Some(waker) = state.waker.take() {
            drop(state);
            waker.wake();
        }
        self.0.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, WishState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, time: Duration, waits: impl Fn(&WishState) -> bool) {
        let state = self.lock();
        let condition = |state: &mut WishState| waits(state);
        // Time that is over is as good as a change.
        let _ = self.changed.wait_timeout_while(state, time, condition);
    }
}

use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// The news for calls that wait for a server.
#[derive(Default)]
pub(super) struct News(Mutex<NewsState>);

#[derive(Default)]
struct NewsState {
    /// Grows with each change.
    version: u64,
    /// A list has come.
    listed: bool,
    /// A server was reached once.
    reached: bool,
    /// Why the resolver fails, if it does.
    failure: Option<String>,
    waiting: Vec<Waker>,
}

impl News {
    /// The version to wait beyond.
    pub(super) fn version(&self) -> u64 {
        self.lock().version
    }

    pub(super) fn is_listed(&self) -> bool {
        self.lock().listed
    }

    pub(super) fn is_reached(&self) -> bool {
        self.lock().reached
    }

    pub(super) fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }

    /// A list was taken over.
    pub(super) fn listed(&self) {
        self.change(|state| {
            state.listed = true;
            state.failure = None;
        });
    }

    /// The resolver fails.
    pub(super) fn failed(&self, why: String) {
        self.change(|state| state.failure = Some(why));
    }

    /// A server was reached, or not.
    pub(super) fn tried(&self, reached: bool) {
        self.change(|state| state.reached |= reached);
    }

    /// Waits for a change since a version.
    pub(super) async fn changed(&self, since: u64) {
        poll_fn(|context| {
            let mut state = self.lock();
            if state.version != since {
                return Poll::Ready(());
            }
            let waits = |waker: &Waker| waker.will_wake(context.waker());
            if !state.waiting.iter().any(waits) {
                state.waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    fn change(&self, change: impl FnOnce(&mut NewsState)) {
        let mut state = self.lock();
        change(&mut state);
        state.version += 1;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for waker in waiting {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, NewsState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

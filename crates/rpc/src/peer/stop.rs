use crate::{Code, Status};
use dovetail_protocol::Execution;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Lets somebody else than its caller cancel a call.
#[derive(Default)]
pub(crate) struct Stop(Mutex<StopState>);

#[derive(Default)]
struct StopState {
    stopped: bool,
    waker: Option<Waker>,
}

impl Stop {
    fn lock(&self) -> MutexGuard<'_, StopState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Returns true if the call is cancelled; otherwise keeps its waker.
    pub(crate) fn is_stopped(&self, waker: &Waker) -> bool {
        let mut state = self.lock();
        let is_known = state
            .waker
            .as_ref()
            .is_some_and(|known| known.will_wake(waker));
        if !state.stopped && !is_known {
            state.waker = Some(waker.clone());
        }
        state.stopped
    }
}

/// The end of a call that an administrator has cancelled.
#[cold]
pub(crate) fn stopped() -> Status {
    let what = "an administrator of the server has cancelled the call";
    Status::new(Code::Cancelled, what).with_execution(Execution::MayHaveRun)
}

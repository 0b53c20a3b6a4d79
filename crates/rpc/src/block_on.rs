use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Runs a future on this thread, sleeping while it waits.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    // Most handlers are ready at once: no waker is made for them.
    let mut now = Context::from_waker(Waker::noop());
    if let Poll::Ready(output) = future.as_mut().poll(&mut now) {
        return output;
    }
    let waker = waker();
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}

/// Unparks this thread.
pub(crate) fn waker() -> Waker {
    thread_local! {
        static WAKER: Waker = unpark();
    }
    // What is dropped at the end of a thread may still have to wait.
    WAKER.try_with(Waker::clone).unwrap_or_else(|_| unpark())
}

fn unpark() -> Waker {
    Waker::from(Arc::new(Unpark(thread::current())))
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

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

/// Waits until an instant; then it returns `None`.
pub(crate) fn block_on_until<F: Future>(future: F, until: Instant) -> Option<F::Output> {
    let mut future = pin!(future);
    let waker = waker();
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(output);
        }
        match until.saturating_duration_since(Instant::now()) {
            Duration::ZERO => return None,
            left => thread::park_timeout(left),
        }
    }
}

/// Runs a future as long as a condition holds, which is checked now and then. Returns `None` if it
/// ceases to hold.
pub(crate) fn block_on_while<F: Future>(
    future: F,
    worth_while: impl Fn() -> bool,
) -> Option<F::Output> {
    let mut future = pin!(future);
    let waker = waker();
    let mut looks = Looks::default();
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(output);
        }
        if looks.is_due() && !worth_while() {
            return None;
        }
        thread::park_timeout(looks.pause());
    }
}

/// Waits for a future until the time has come, if there is one; then returns `None`.
#[cfg(feature = "async")]
pub(crate) async fn wait_until<F: Future>(future: F, until: Option<Instant>) -> Option<F::Output> {
    match until {
        Some(until) => tokio::time::timeout_at(until.into(), future).await.ok(),
        None => Some(future.await),
    }
}

/// Waits for a future where there is no runtime: each handler has a thread of its own, which may
/// block.
#[cfg(not(feature = "async"))]
pub(crate) async fn wait_until<F: Future>(future: F, until: Option<Instant>) -> Option<F::Output> {
    match until {
        Some(until) => block_on_until(future, until),
        None => Some(block_on(future)),
    }
}

/// The times at which a waiting thread checks a condition that does not wake it: soon at first,
/// then less and less often.
pub(crate) struct Looks {
    next: Instant,
    pause: Duration,
}

impl Looks {
    const FIRST: Duration = Duration::from_millis(1);
    const LONGEST: Duration = Duration::from_millis(100);

    /// Returns whether it is time to look again.
    pub(crate) fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let due = now >= self.next;
        if due {
            self.pause = (self.pause * 2).min(Self::LONGEST);
            self.next = now + self.pause;
        }
        due
    }

    /// How long to wait at most.
    pub(crate) fn pause(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }
}

impl Default for Looks {
    fn default() -> Self {
        Looks {
            next: Instant::now() + Self::FIRST,
            pause: Self::FIRST,
        }
    }
}

/// Unparks this thread.
pub(crate) fn waker() -> Waker {
    thread_local! {
        static WAKER: Waker = unpark();
    }
    // A value that is dropped at the end of a thread may still have to wait.
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

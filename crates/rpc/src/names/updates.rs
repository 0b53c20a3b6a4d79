use super::{Resolution, Resolver};
use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Takes the news of a resolver, or the reason why there are none.
type Listener = dyn Fn(Result<Resolution, String>) + Send + Sync;

/// The time between two looks at least, however often the channel asks.
const SHORTEST: Duration = Duration::from_secs(1);

/// A resolver tells its channel here what it finds.
pub struct Updates(Arc<Feed>);

struct Feed {
    listener: Box<Listener>,
    wishes: Mutex<Wishes>,
    changed: Condvar,
}

/// The wishes of a channel.
#[derive(Default)]
struct Wishes {
    /// It is gone.
    over: bool,
    /// It wants to know now: servers cannot be reached.
    now: bool,
}

impl Updates {
    /// Gives the servers to the channel, all of them. An empty list counts as a failure.
    pub fn found(&self, resolution: Resolution) {
        (self.0.listener)(Ok(resolution));
    }

    /// Tells the channel why the servers cannot be found. It keeps those that it knows.
    pub fn failed(&self, why: impl fmt::Display) {
        (self.0.listener)(Err(why.to_string()));
    }

    /// Waits before the resolver looks again; shorter where the channel asks for that because servers cannot be reached, but not
    /// less than a second. False once the channel is gone: the resolver ends then.
    pub fn wait(&self, time: Duration) -> bool {
        let rest = time.saturating_sub(SHORTEST);
        self.wait_while(time.min(SHORTEST), |wishes| !wishes.over);
        self.wait_while(rest, |wishes| !wishes.over && !wishes.now);
        let mut wishes = self.0.lock();
        wishes.now = false;
        !wishes.over
    }

    fn wait_while(&self, time: Duration, waits: impl Fn(&Wishes) -> bool) {
        let wishes = self.0.lock();
        let condition = |wishes: &mut Wishes| waits(wishes);
        // Time that is over is as good as a change.
        let _ = self.0.changed.wait_timeout_while(wishes, time, condition);
    }

    /// True once the channel is gone.
    pub fn is_over(&self) -> bool {
        self.0.lock().over
    }
}

impl fmt::Debug for Updates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Updates").finish_non_exhaustive()
    }
}

impl Feed {
    fn lock(&self) -> MutexGuard<'_, Wishes> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wish(&self, wish: impl FnOnce(&mut Wishes)) {
        wish(&mut self.lock());
        self.changed.notify_all();
    }
}

/// A resolver that runs. Dropped, it ends.
#[must_use = "dropped, the resolver ends"]
pub struct Watch(Arc<Feed>);

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

impl Watch {
    /// Starts a resolver on a thread of its own.
    pub(crate) fn start(
        resolver: Arc<dyn Resolver>,
        listener: impl Fn(Result<Resolution, String>) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let feed = Arc::new(Feed {
            listener: Box::new(listener),
            wishes: Mutex::default(),
            changed: Condvar::new(),
        });
        let updates = Updates(feed.clone());
        let thread = thread::Builder::new().name("dovetail names".to_owned());
        thread.spawn(move || resolver.watch(&updates))?;
        Ok(Watch(feed))
    }

    /// Asks the resolver to look again soon.
    pub(crate) fn look_again(&self) {
        self.0.wish(|wishes| wishes.now = true);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.wish(|wishes| wishes.over = true);
    }
}

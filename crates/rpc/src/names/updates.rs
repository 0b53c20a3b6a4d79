use super::wishes::{Wisher, Wishes, wishes};
use super::{Resolution, Resolver};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Takes the news of a resolver, or the reason why there are none.
type Listener = dyn Fn(Result<Resolution, String>) + Send + Sync;

/// A resolver tells its channel here what it finds.
pub struct Updates {
    listener: Box<Listener>,
    wishes: Wishes,
}

impl Updates {
    /// Gives the servers to the channel, all of them. An empty list counts as a failure.
    pub fn found(&self, resolution: Resolution) {
        (self.listener)(Ok(resolution));
    }

    /// Tells the channel why the servers cannot be found. It keeps those that it knows.
    pub fn failed(&self, why: impl fmt::Display) {
        (self.listener)(Err(why.to_string()));
    }

    /// Waits before the resolver looks again; shorter where the channel asks for that because
    /// servers cannot be reached, but not less than a second. False once the channel is gone: the
    /// resolver ends then.
    pub fn wait(&self, time: Duration) -> bool {
        self.wishes.wait(time)
    }

    /// True once the channel is gone.
    pub fn is_over(&self) -> bool {
        self.wishes.is_over()
    }

    #[cfg(any(feature = "etcd", feature = "zookeeper"))]
    pub(super) fn wishes(&self) -> &Wishes {
        &self.wishes
    }
}

impl fmt::Debug for Updates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Updates").finish_non_exhaustive()
    }
}

/// A resolver that runs. Dropped, it ends.
#[must_use = "dropped, the resolver ends"]
pub struct Watch(Wisher);

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
        let (wisher, wishes) = wishes();
        let updates = Updates {
            listener: Box::new(listener),
            wishes,
        };
        let thread = thread::Builder::new().name("dovetail names".to_owned());
        thread.spawn(move || resolver.watch(&updates))?;
        Ok(Watch(wisher))
    }

    /// Asks the resolver to look again soon.
    pub(crate) fn look_again(&self) {
        self.0.want_news();
    }
}

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Several values of one kind. Threads use different ones as far as there are enough, and so do
/// not contend for a line of the cache.
pub struct Shards<T>(Box<[Shard<T>]>);

/// Two lines of the cache, which processors fetch together.
#[repr(align(128))]
struct Shard<T>(T);

impl<T> Shards<T> {
    /// Makes this number of values, at least one; as many as there are cores are enough.
    pub fn new(count: usize, mut make: impl FnMut() -> T) -> Self {
        Shards((0..count.max(1)).map(|_| Shard(make())).collect())
    }

    /// Returns the value of this thread, which it may share with others.
    pub fn own(&self) -> &T {
        &self.0[number() % self.0.len()].0
    }

    /// Returns all values.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|Shard(value)| value)
    }
}

impl<T> fmt::Debug for Shards<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shards({})", self.0.len())
    }
}

/// Returns the number of this thread.
fn number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = NEXT.fetch_add(1, Relaxed);
    }
    // A call may be dropped at the end of a thread, when its locals are gone.
    NUMBER.try_with(|number| *number).unwrap_or(0)
}

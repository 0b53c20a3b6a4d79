use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

/// Several values of one kind. Threads use different ones as far as there are enough, and so do
/// not contend for a line of the cache.
pub struct Shards<T>(Box<[Shard<T>]>);

/// Two lines of the cache, which processors fetch together.
#[repr(align(128))]
struct Shard<T>(T);

/// The value of a thread.
pub struct Own<'a, T> {
    value: &'a T,
    alone: bool,
}

impl<T> Own<'_, T> {
    /// Returns whether no other thread has this value: it may be changed by a load and a store.
    /// Others may still read it.
    pub fn is_alone(&self) -> bool {
        self.alone
    }
}

impl<'a, T> Own<'a, T> {
    /// Returns the value.
    pub fn value(&self) -> &'a T {
        self.value
    }
}

impl<T> Deref for Own<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> Shards<T> {
    /// Makes this number of values, at least two. The first half are for one thread each, as long
    /// as it runs; further threads share the others.
    pub fn new(count: usize, mut make: impl FnMut() -> T) -> Self {
        Shards((0..count.max(2)).map(|_| Shard(make())).collect())
    }

    /// Returns the value of this thread.
    pub fn own(&self) -> Own<'_, T> {
        let (all, alone) = (self.0.len(), self.0.len() / 2);
        let number = number();
        let is_alone = number < alone;
        let place = match is_alone {
            true => number,
            false => alone + number % (all - alone),
        };
        Own {
            value: &self.0[place].0,
            alone: is_alone,
        }
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

/// The numbers of threads that have ended, and the least one that no thread has had.
static NUMBERS: Mutex<(BinaryHeap<Reverse<usize>>, usize)> = Mutex::new((BinaryHeap::new(), 0));

/// The number of a thread: the least one that no other thread has.
struct Number(usize);

impl Number {
    fn take() -> Self {
        let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
        let (free, next) = &mut *numbers;
        Number(free.pop().map_or_else(
            || {
                *next += 1;
                *next - 1
            },
            |Reverse(number)| number,
        ))
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.0.push(Reverse(self.0));
    }
}

/// Returns the number of this thread.
fn number() -> usize {
    thread_local! {
        static NUMBER: Number = Number::take();
    }
    // A call may be dropped at the end of a thread, when its locals are gone.
    NUMBER.try_with(|number| number.0).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::thread;

    #[test]
    fn no_two_threads_are_alone_with_one_value() {
        let shards = Shards::new(8, || (AtomicU64::new(0), AtomicU64::new(0)));
        let all_run = Barrier::new(12);
        let count = || {
            // Each has its number before the first one ends.
            let _ = shards.own();
            all_run.wait();
            for _ in 0..20_000 {
                let own = shards.own();
                let (alone, shared) = own.value();
                match own.is_alone() {
                    true => alone.store(alone.load(Relaxed) + 1, Relaxed),
                    false => _ = shared.fetch_add(1, Relaxed),
                }
            }
        };
        // Later threads have the numbers of earlier ones.
        for _ in 0..3 {
            thread::scope(|scope| {
                let threads = (0..12).map(|_| scope.spawn(count));
                let threads: Vec<_> = threads.collect();
                threads
                    .into_iter()
                    .for_each(|thread| assert!(thread.join().is_ok()));
            });
        }
        let sum = |of: fn(&(AtomicU64, AtomicU64)) -> u64| shards.iter().map(of).sum::<u64>();
        let (alone, shared) = (sum(|it| it.0.load(Relaxed)), sum(|it| it.1.load(Relaxed)));
        assert_eq!(alone + shared, 3 * 12 * 20_000);
        assert!(alone > 0 && shared > 0, "{alone} {shared}");
    }
}

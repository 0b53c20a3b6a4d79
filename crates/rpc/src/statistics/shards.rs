//! Places in which threads count, so that they do not wait for each other's cache lines.

use super::cell::Cell;
use super::snapshot::MethodStatistics;
use crate::intercept::ByMethod;
use crate::{Context, ServiceDescriptor, Wire};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Wires that are told apart. Those of Thrift are many; a server is called over few.
const WIRES: usize = 16;

pub(super) struct Shards {
    /// The names of methods, by their number.
    methods: Vec<(String, &'static str)>,
    numbers: ByMethod<usize>,
    /// The wires over which the server was called, in the order in which they came.
    wires: [OnceLock<Wire>; WIRES],
    shards: Vec<Shard>,
}

/// A cell for each method and wire, made with the first call.
struct Shard(Vec<OnceLock<Box<Cell>>>);

impl Shards {
    pub(super) fn new(services: &[&'static ServiceDescriptor]) -> Self {
        let mut methods = Vec::new();
        let numbers = ByMethod::of(services, |service, method| {
            methods.push((service.full_name().into_owned(), method.name));
            methods.len() - 1
        });
        let cells = methods.len() * WIRES;
        let shard = |_| Shard((0..cells).map(|_| OnceLock::new()).collect());
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Shards {
            methods,
            numbers,
            wires: [const { OnceLock::new() }; WIRES],
            shards: (0..threads).map(shard).collect(),
        }
    }

    /// Returns the cell of a call, in the shard of this thread.
    pub(super) fn cell(&self, call: &Context) -> Option<&Cell> {
        let (service, method) = call.called()?;
        let number = *self.numbers.get(service, method)?;
        let wire = self.wire(call.wire())?;
        let shard = self.shards.get(shard() % self.shards.len())?;
        let cell = shard.0.get(number * WIRES + wire)?;
        Some(cell.get_or_init(|| Box::new(Cell::new())))
    }

    /// Returns the number of a wire. The last one stands for all that have no place.
    fn wire(&self, wire: Wire) -> Option<usize> {
        let mut places = self.wires.iter();
        let found = places.position(|place| *place.get_or_init(|| wire) == wire);
        Some(found.unwrap_or(WIRES - 1))
    }

    /// Returns the sums of all methods that were called.
    pub(super) fn methods(&self) -> Vec<MethodStatistics> {
        let mut methods = Vec::new();
        for (number, (service, method)) in self.methods.iter().enumerate() {
            for (place, wire) in self.wires.iter().enumerate() {
                let cells = self.shards.iter().filter_map(|shard| {
                    let cell = shard.0.get(number * WIRES + place)?;
                    cell.get()
                });
                let mut sums = MethodStatistics::new(service, method, wire.get().copied());
                cells.for_each(|cell| cell.add_to(&mut sums));
                if sums.began > 0 {
                    methods.push(sums);
                }
            }
        }
        methods
    }
}

/// Returns the number of this thread's shard.
fn shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static SHARD: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    // What is dropped at the end of a thread may still be counted.
    SHARD.try_with(|shard| *shard).unwrap_or(0)
}

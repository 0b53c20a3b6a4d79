//! The counts of all methods, in shards: threads do not contend for cache lines.

use super::cell::Cell;
use super::snapshot::MethodStatistics;
use crate::method::ServiceDescriptor;
use crate::peer::intercept::ByMethod;
use crate::{Context, Wire};
use dovetail_balance::Shards;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::SystemTime;

/// The number of wires with counts of their own. Thrift has many wires; a server is called over
/// few.
const WIRES: usize = 16;

/// Cells of a method: one for each wire, and one for all wires that have no place.
const CELLS: usize = WIRES + 1;

/// The least number of shards. Event loops have one each to themselves, also where other threads
/// count, too.
const SHARDS: usize = 16;

/// The numbers of statistics.
static IDS: AtomicU32 = AtomicU32::new(1);

pub(super) struct MethodCells {
    /// Tells these statistics from others of the process; not 0.
    id: u32,
    since: SystemTime,
    /// The names of methods, by their number.
    methods: Vec<(String, &'static str)>,
    numbers: ByMethod<usize>,
    /// The wires over which the server was called, in the order in which they came.
    wires: [OnceLock<Wire>; WIRES],
    shards: Shards<Shard>,
}

/// A cell for each method and wire, made with the first call.
type Shard = Vec<OnceLock<Box<Cell>>>;

impl MethodCells {
    pub(super) fn new(services: &[&'static ServiceDescriptor]) -> Self {
        let mut methods = Vec::new();
        let numbers = ByMethod::of(services, |service, method| {
            methods.push((service.full_name().into_owned(), method.name));
            methods.len() - 1
        });
        let cells = methods.len() * CELLS;
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let shard = || (0..cells).map(|_| OnceLock::new()).collect();
        MethodCells {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            since: SystemTime::now(),
            methods,
            numbers,
            wires: [const { OnceLock::new() }; WIRES],
            shards: Shards::new(SHARDS.max(4 * threads), shard),
        }
    }

    /// Returns when counting began.
    pub(super) fn since(&self) -> SystemTime {
        self.since
    }

    /// Returns the cell of a call, in the shard of this thread, and whether the thread is alone
    /// with it.
    pub(super) fn cell(&self, call: &Context) -> Option<(&Cell, bool)> {
        let place = match call.counted().place(self.id) {
            Some(place) => place as usize,
            None => self.place(call)?,
        };
        let own = self.shards.own();
        let cell = own.value().get(place)?;
        Some((cell.get_or_init(Box::default), own.is_alone()))
    }

    /// Finds the place of the cell of a call, and notes it in the call.
    fn place(&self, call: &Context) -> Option<usize> {
        let (service, method) = call.called()?;
        let number = *self.numbers.get(service, method)?;
        let place = number * CELLS + self.wire(call.wire());
        if let Ok(place) = u32::try_from(place) {
            call.counted().note(self.id, place);
        }
        Some(place)
    }

    /// Returns the number of a wire; `WIRES` for one that has no place.
    fn wire(&self, wire: Wire) -> usize {
        let mut places = self.wires.iter();
        let found = places.position(|place| *place.get_or_init(|| wire) == wire);
        found.unwrap_or(WIRES)
    }

    /// Returns the sums of all methods that were called.
    pub(super) fn methods(&self) -> Vec<MethodStatistics> {
        let mut methods = Vec::new();
        for (number, (service, method)) in self.methods.iter().enumerate() {
            for place in 0..CELLS {
                let wire = self.wires.get(place).and_then(OnceLock::get).copied();
                let cells = self.shards.iter().filter_map(|shard| {
                    let cell = shard.get(number * CELLS + place)?;
                    cell.get()
                });
                let mut sums = MethodStatistics::new(service, method, wire);
                cells.for_each(|cell| cell.add_to(&mut sums));
                if sums.began > 0 {
                    methods.push(sums);
                }
            }
        }
        methods
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wires_without_a_place_are_counted_together() {
        let thrift = ["binary", "compact"].iter().flat_map(|protocol| {
            ["", "+framed", "+header", "+http"].map(|t| format!("{protocol}{t}"))
        });
        let others = "dovetail msgpack-rpc grpc grpc-web grpc-web+json connect connect+json json json+framed json+http";
        let names = thrift.chain(others.split(' ').map(str::to_owned));
        let wires: Vec<Wire> = names.filter_map(|name| name.parse().ok()).collect();
        assert!(wires.len() > WIRES, "{wires:?}");
        let cells = MethodCells::new(&[]);
        for _ in 0..2 {
            for (number, wire) in wires.iter().enumerate() {
                assert_eq!(cells.wire(*wire), number.min(WIRES), "{wire}");
            }
        }
    }
}

//! Allocations of a call, counted: interceptors that do nothing make none.
#![allow(clippy::unwrap_used)]

use dovetail::blocking::Channel;
use dovetail::intercept::{CallHead, Decision, ServerInterceptor};
use dovetail::server::Model;
use dovetail::{Server, Status, Wire};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts what is allocated, in all threads.
struct Counting;

static COUNT: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is passed on as it is.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Lets all calls pass.
struct Nothing;

impl ServerInterceptor for Nothing {
    fn before(&self, _: &mut CallHead<'_>) -> Result<Decision, Status> {
        Ok(Decision::Proceed)
    }
}

const CALLS: u64 = 2_000;

/// Allocations of one call, of both ends, times 100: a connection's own now and then are below
/// that.
fn of_a_call(server: Server, model: Model, wire: Wire) -> u64 {
    let server = server.bind("double", |number: i64| number * 2).model(model);
    let running = server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap();
    let builder = Channel::builder(&running.addresses()[0].to_string()).unwrap();
    let channel = builder.wire(wire).local_upgrade(false).build();
    let call = |number: u64| {
        let double: i64 = channel.call_by_name("double", (number as i64,)).unwrap();
        assert_eq!(double, number as i64 * 2);
    };
    (0..CALLS).for_each(call);
    let before = COUNT.load(Ordering::Relaxed);
    (0..CALLS).for_each(call);
    let count = COUNT.load(Ordering::Relaxed) - before;
    drop(channel);
    assert!(running.shutdown(std::time::Duration::from_secs(20)));
    count * 100 / CALLS
}

fn intercepted() -> Server {
    Server::new()
        .intercept(Nothing)
        .intercept(Nothing)
        .intercept(Nothing)
}

#[test]
fn interceptors_allocate_nothing() {
    let models = [
        Model::ThreadPerConnection,
        #[cfg(feature = "async")]
        Model::SingleThreaded,
    ];
    for model in models {
        for wire in ["dovetail", "binary+framed"] {
            let wire: Wire = wire.parse().unwrap();
            let without = of_a_call(Server::new(), model, wire);
            let with = of_a_call(intercepted(), model, wire);
            println!(
                "{model:?} {wire}: {without} hundredths of an allocation, {with} with interceptors"
            );
            assert!(
                with <= without + 2,
                "{model:?} {wire}: {without}, then {with}"
            );
        }
    }
}

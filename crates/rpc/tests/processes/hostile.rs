//! A peer that speaks the wire as it should, while it writes whatever it likes over every byte of
//! the memory that it shares. The other end notices, fails what it has to, and goes on with
//! everybody else.

use crate::peer::{
    AT_ONCE, MODELS, Place, Role, next, next_async, ready, resources, serve as serve_well, turn,
    turn_async, until,
};
use dovetail::types::Bytes;
use dovetail::{Channel, Code, Status, blocking};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long each kind goes on.
const LASTS: Duration = Duration::from_millis(400);

/// The time that a caller gives a call.
const TIMEOUT: Duration = Duration::from_millis(100);

/// The size of a call that takes large frames and many records.
const LARGE: usize = 200_000;

/// Panics of this process: nobody else's.
static PANICS: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn test() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        hook(panic);
    }));
    let place = Place::new("hostile");
    for model in 0..MODELS.len() {
        let connections = against_a_server(model, &place);
        let (answered, failed) = against_clients(model, &place);
        println!(
            "hostile: {connections} connections of a client, {answered} answers and {failed} \
             failures of a server"
        );
        assert!(connections > 2 && failed > 0);
    }
    assert_eq!(resources().mappings, 0);
    assert_eq!(PANICS.load(Ordering::SeqCst), 0);
}

/// Gives how many connections the client has spoiled.
fn against_a_server(model: usize, place: &Place) -> u64 {
    let (listens, calls) = place.addresses();
    let running = serve_well(model, &listens);
    let bystander = blocking::Channel::connect(&calls).unwrap();
    assert_eq!(next(&bystander, 1), Ok(2));
    let before = resources();
    let mut client = Role::ScribbleClient.start(model, &calls);
    let start = Instant::now();
    while start.elapsed() < LASTS {
        assert_eq!(next(&bystander, 1), Ok(2));
    }
    stop(&mut client);
    drop(client);
    until("nothing is left of it", || {
        running.connections() == 1 && resources() == before
    });
    assert_eq!(next(&bystander, 1), Ok(2));
    assert_eq!(running.counters().panics, 0);
    drop(bystander);
    let connections = running.counters().connections;
    assert!(running.shutdown(Duration::from_secs(10)));
    connections
}

/// Gives how many calls were answered, and how many failed.
fn against_clients(model: usize, place: &Place) -> (usize, usize) {
    let (listens, calls) = place.addresses();
    let mut server = Role::ScribbleServer.start(model, &listens);
    let bytes = Bytes::from(vec![7; LARGE]);
    let channel = blocking::Channel::builder(&calls).unwrap();
    let channel = channel.backoff(AT_ONCE).timeout(TIMEOUT).build();
    let blocking = endure(|round| match round % 2 {
        0 => next(&channel, 1).map(drop),
        _ => turn(&channel, &bytes).map(drop),
    });
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    let channel = Channel::builder(&calls).unwrap();
    let channel = channel.backoff(AT_ONCE).timeout(TIMEOUT).build();
    let tasks = endure(|round| match round % 2 {
        0 => runtime.block_on(next_async(&channel, 1)).map(drop),
        _ => runtime.block_on(turn_async(&channel, &bytes)).map(drop),
    });
    stop(&mut server);
    (blocking.0 + tasks.0, blocking.1 + tasks.1)
}

/// Calls whose answers may be anything, but which end in time, and say why.
fn endure(call: impl Fn(usize) -> Result<(), Status>) -> (usize, usize) {
    let (start, mut answered, mut failed) = (Instant::now(), 0, 0);
    for round in 0.. {
        let began = Instant::now();
        match call(round) {
            Ok(()) => answered += 1,
            Err(status) => {
                assert_ne!(status.code(), Code::Unknown, "{status}");
                assert!(!status.message().is_empty());
                failed += 1;
            }
        }
        let took = began.elapsed();
        assert!(took < TIMEOUT + Duration::from_secs(5), "{took:?}");
        if start.elapsed() > LASTS {
            break;
        }
    }
    (answered, failed)
}

fn stop(child: &mut Child) {
    // It may have spoiled itself, too.
    let _ = child.kill();
    child.wait().unwrap();
}

/// The hostile server.
pub(crate) fn serve(model: usize, address: &str) {
    let _running = serve_well(model, address);
    ready();
    Scribbler::new().run();
}

/// The hostile client.
pub(crate) fn call(address: &str) {
    let bytes = Bytes::from(vec![7; LARGE]);
    thread::spawn(|| Scribbler::new().run());
    ready();
    loop {
        let channel = blocking::Channel::builder(address).unwrap();
        let channel = channel.timeout(TIMEOUT).build();
        // As long as the server goes along.
        while next(&channel, 1).is_ok() && turn(&channel, &bytes).is_ok() {}
    }
}

/// The numbers that steer a connection: positions, whether they are over, sleeps, bells, returns.
const PLACES: [u64; 11] = [128, 132, 256, 260, 384, 512, 640, 768, 896, 900, 904];

/// The place of the ring.
const RING: u64 = 4096;

/// Writes over what this process shares: each mapping that it may write itself.
struct Scribbler {
    memory: File,
    random: Random,
    /// How far a walk over all bytes has come.
    walked: u64,
}

/// Numbers without rhythm: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % limit
    }
}

impl Scribbler {
    fn new() -> Self {
        let mut memory = OpenOptions::new();
        memory.read(true).write(true);
        Scribbler {
            memory: memory.open("/proc/self/mem").unwrap(),
            random: Random(u64::from(std::process::id()) * 2 + 1),
            walked: 0,
        }
    }

    fn run(mut self) {
        loop {
            for (start, end) in shared() {
                // Some calls get through, or nothing behind the first frame would ever be read.
                thread::sleep(Duration::from_micros(self.random.below(300)));
                for _ in 0..=self.random.below(3) {
                    self.scribble(start, end - start);
                }
            }
        }
    }

    /// One thing that breaks the rules, or nearly does not.
    fn scribble(&mut self, start: u64, length: u64) {
        let place = PLACES[self.random.below(PLACES.len() as u64) as usize];
        let anything = self.random.below(1 << 32) as u32;
        let mut tail = [0; 4];
        // A mapping that is gone meanwhile is as good.
        let _ = self.memory.read_at(&mut tail, start + 128);
        let tail = u32::from_ne_bytes(tail);
        let (at, value) = match self.random.below(8) {
            0 => (place, anything % 9),
            1 => (place, anything),
            2 => (128, tail.wrapping_add(8 * (anything % 6))),
            3 => (256, anything % 600 * 8),
            4 => (self.random.below(length - 4), anything),
            // In what was written last: headers of records, of frames, and what is in them.
            5 | 6 => {
                let back = u64::from(anything % 64);
                let ring = u64::from(tail).wrapping_sub(back) % (256 << 10);
                (RING + ring, anything)
            }
            _ => {
                self.walked = (self.walked + 4093) % (length - 4);
                (self.walked, anything)
            }
        };
        let bytes = value.to_ne_bytes();
        let length = 1 + self.random.below(4) as usize;
        let _ = self.memory.write_at(&bytes[..length], start + at);
    }
}

/// Returns the places of this process's own segments.
fn shared() -> Vec<(u64, u64)> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let own = maps
        .lines()
        .filter(|line| line.contains(" rw-s ") && line.contains("memfd:dovetail"));
    own.filter_map(|line| {
        let (start, end) = line.split_whitespace().next()?.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some((number(start)?, number(end)?))
    })
    .collect()
}

//! Connections through shared memory on which nothing happens take no processor time, at either
//! end.

use crate::peer::{Place, Role, next, next_async};
use dovetail::{Channel, blocking};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Half of them of blocking clients.
const CONNECTIONS: usize = 100;

/// So long nothing may happen, in which a single thread that polled would use 30 ticks of the
/// system.
const WINDOW: Duration = Duration::from_millis(300);

pub(crate) fn test() {
    for model in 0..2 {
        let place = Place::new("idle");
        let (listens, calls) = place.addresses();
        let mut server = Role::Serve.start(model, &listens);
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        let before = memory(server.id());
        let blocking: Vec<_> = (0..CONNECTIONS / 2)
            .map(|_| {
                let channel = blocking::Channel::connect(&calls).unwrap();
                assert_eq!(next(&channel, 1), Ok(2));
                channel
            })
            .collect();
        let tasks: Vec<_> = (0..CONNECTIONS / 2)
            .map(|_| {
                let channel = Channel::builder(&calls).unwrap().build();
                assert_eq!(runtime.block_on(next_async(&channel, 1)), Ok(2));
                channel
            })
            .collect();
        let each = memory(server.id()).saturating_sub(before) / CONNECTIONS as u64;
        let processes = [std::process::id(), server.id()];
        let tasks = runtime.spawn(async move {
            std::future::pending::<()>().await;
            drop(tasks);
        });
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(|| runtime.block_on(stopped));
            become_idle(&processes);
            drop(stop);
        });
        tasks.abort();
        println!("idle: {each} KiB for each connection of model {model}");
        drop((blocking, runtime));
        server.kill().unwrap();
        server.wait().unwrap();
    }
}

/// Waits for a window in which no process uses more than a tick. Threads may settle before, and
/// other processes take what time they like.
fn become_idle(processes: &[u32]) {
    let start = Instant::now();
    loop {
        let before = ticks(processes);
        thread::sleep(WINDOW);
        let after = ticks(processes);
        let used = before
            .iter()
            .zip(&after)
            .map(|(before, after)| after - before);
        if used.clone().all(|used| used <= 1) {
            return;
        }
        let used: Vec<u64> = used.collect();
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "never idle: {used:?}"
        );
    }
}

/// Processor time that each process has used.
fn ticks(processes: &[u32]) -> Vec<u64> {
    let of = |process: &u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        // The name, in parentheses, may hold anything.
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let number = |at: usize| fields[at].parse::<u64>().unwrap();
        number(11) + number(12)
    };
    processes.iter().map(of).collect()
}

/// Resident memory in KiB, what is shared included.
fn memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let field = line.and_then(|line| line.split_whitespace().nth(1));
    field.unwrap().parse().unwrap()
}

//! Clients and servers with a clock of their own. The clients run the balancer that channels run;
//! servers are queues.

use dovetail_balance::{Backend, Balancer, Outcome, Picked, Settings};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

/// The size and the load of a world.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) clients: usize,
    pub(super) servers: usize,
    /// The calls that a server runs at a time; others wait.
    pub(super) workers: usize,
    /// The mean time of a call without waiting. Times are distributed exponentially.
    pub(super) service: Duration,
    /// The offered load, as a part of what the servers can do.
    pub(super) load: f64,
    pub(super) seconds: u64,
    /// A call fails after this time.
    pub(super) timeout: Duration,
    pub(super) settings: Settings,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            clients: 100,
            servers: 100,
            workers: 4,
            service: Duration::from_millis(10),
            load: 0.7,
            seconds: 20,
            timeout: Duration::from_secs(5),
            settings: Settings::default(),
        }
    }
}

/// A change of the servers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// The server takes this many times as long.
    Slow(usize, f64),
    /// The server is not there from one second to another.
    Restart(usize, u64, u64),
}

/// Results of a run.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// The calls that each server got, by second.
    pub(super) calls: Vec<Vec<u64>>,
    /// The times of answered calls, in order of their size.
    pub(super) times: Vec<Duration>,
    pub(super) failed: u64,
}

impl Record {
    pub(super) fn quantile(&self, part: f64) -> Duration {
        let at = (self.times.len() as f64 * part) as usize;
        let time = self.times.get(at).or(self.times.last());
        time.copied().unwrap_or_default()
    }

    /// The calls of a server from one second to another.
    #[cfg(test)]
    pub(super) fn between(&self, server: usize, from: usize, to: usize) -> u64 {
        let seconds = self.calls[server].iter().take(to).skip(from);
        seconds.sum()
    }

    /// The calls of the busiest server, as a multiple of the mean.
    pub(super) fn imbalance(&self) -> f64 {
        let sums: Vec<u64> = self.calls.iter().map(|calls| calls.iter().sum()).collect();
        let mean = sums.iter().sum::<u64>() as f64 / sums.len() as f64;
        sums.iter().max().map_or(0.0, |most| *most as f64 / mean)
    }
}

#[derive(Debug)]
enum Event {
    Call {
        client: usize,
    },
    /// A call is done, or has taken too long.
    Done {
        call: usize,
    },
    Down(usize),
    Up(usize),
}

struct Call {
    picked: Picked<usize>,
    began: u64,
    outcome: Outcome,
}

struct Server {
    slowness: f64,
    up: bool,
    /// When each worker is free.
    free: Vec<u64>,
}

/// A run.
struct World<'a> {
    plan: &'a Plan,
    start: Instant,
    now: u64,
    clients: Vec<Balancer<usize>>,
    servers: Vec<Server>,
    events: BinaryHeap<Reverse<(u64, u64, usize)>>,
    /// The events by the number of their entry.
    pending: Vec<Option<Event>>,
    calls: Vec<Option<Call>>,
    record: Record,
}

/// Runs a plan. The same plan gives the same record.
pub(super) fn run(plan: &Plan, changes: &[Change]) -> Record {
    fastrand::seed(42);
    let start = Instant::now();
    let mut world = World {
        plan,
        start,
        now: 0,
        clients: (0..plan.clients).map(|_| client(plan, start)).collect(),
        servers: (0..plan.servers).map(|_| server(plan)).collect(),
        events: BinaryHeap::new(),
        pending: Vec::new(),
        calls: Vec::new(),
        record: Record {
            calls: vec![vec![0; plan.seconds as usize + 1]; plan.servers],
            ..Record::default()
        },
    };
    for change in changes {
        match *change {
            Change::Slow(server, times) => world.servers[server].slowness = times,
            Change::Restart(server, from, to) => {
                world.at(seconds(from), Event::Down(server));
                world.at(seconds(to), Event::Up(server));
            }
        }
    }
    for client in 0..plan.clients {
        let first = world.gap();
        world.at(first, Event::Call { client });
    }
    world.run();
    world.record.times.sort_unstable();
    world.record
}

fn seconds(seconds: u64) -> u64 {
    seconds * 1_000_000_000
}

fn client(plan: &Plan, start: Instant) -> Balancer<usize> {
    let mut settings = plan.settings.clone();
    if let Some(subset) = &mut settings.subset {
        subset.client = fastrand::u64(..);
    }
    let balancer = Balancer::new(settings, start);
    let list = (0..plan.servers).map(|server| Backend::new(server.to_string()));
    let number = |backend: &Backend| backend.address.parse().ok();
    balancer.update(start, list.collect(), number);
    for endpoint in balancer.to_connect(start) {
        balancer.ready(start, &endpoint);
    }
    balancer
}

fn server(plan: &Plan) -> Server {
    Server {
        slowness: 1.0,
        up: true,
        free: vec![0; plan.workers],
    }
}

/// A number that is distributed exponentially with this mean.
fn exponential(mean: f64) -> f64 {
    -(1.0 - fastrand::f64()).ln() * mean
}

impl World<'_> {
    fn run(&mut self) {
        let end = seconds(self.plan.seconds);
        while let Some(Reverse((at, _, number))) = self.events.pop() {
            if at >= end {
                return;
            }
            self.now = at;
            match self.pending[number].take() {
                Some(Event::Call { client }) => self.call(client),
                Some(Event::Done { call }) => self.done(call),
                Some(Event::Down(server)) => self.down(server),
                Some(Event::Up(server)) => self.up(server),
                None => {}
            }
        }
    }

    fn at(&mut self, time: u64, event: Event) {
        let number = self.pending.len();
        self.pending.push(Some(event));
        // The number keeps events of one time in order.
        self.events.push(Reverse((time, number as u64, number)));
    }

    fn instant(&self) -> Instant {
        self.start + Duration::from_nanos(self.now)
    }

    /// The time between two calls of a client.
    fn gap(&self) -> u64 {
        let plan = self.plan;
        let capacity = (plan.servers * plan.workers) as f64 / plan.service.as_secs_f64();
        let rate = capacity * plan.load / plan.clients as f64;
        (exponential(1.0 / rate) * 1e9) as u64
    }

    fn call(&mut self, client: usize) {
        let next = self.now + self.gap();
        self.at(next, Event::Call { client });
        let key = Some(fastrand::u64(..));
        let Some(picked) = self.clients[client].pick(self.instant(), key, &[]) else {
            self.record.failed += 1;
            return;
        };
        let number = *picked.user();
        let second = (self.now / seconds(1)) as usize;
        self.record.calls[number][second] += 1;
        let (took, outcome) = self.serve(number);
        let call = self.calls.len();
        self.calls.push(Some(Call {
            picked,
            began: self.now,
            outcome,
        }));
        let done = self.now + took;
        self.at(done, Event::Done { call });
    }

    /// The time that a call takes at a server from now on.
    fn serve(&mut self, number: usize) -> (u64, Outcome) {
        let server = &mut self.servers[number];
        let timeout = self.plan.timeout.as_nanos() as u64;
        if !server.up {
            return (0, Outcome::Failed);
        }
        let mean = self.plan.service.as_nanos() as f64 * server.slowness;
        let Some(worker) = server.free.iter_mut().min() else {
            return (timeout, Outcome::Failed);
        };
        let begins = (*worker).max(self.now);
        // A caller that has given up no longer waits for a worker.
        if begins - self.now >= timeout {
            return (timeout, Outcome::Failed);
        }
        *worker = begins + exponential(mean) as u64;
        match *worker - self.now {
            took if took < timeout => (took, Outcome::Succeeded),
            _ => (timeout, Outcome::Failed),
        }
    }

    fn done(&mut self, call: usize) {
        let now = self.instant();
        let Some(Call {
            picked,
            began,
            outcome,
        }) = self.calls[call].take()
        else {
            return;
        };
        match outcome {
            Outcome::Succeeded => {
                let took = Duration::from_nanos(self.now - began);
                self.record.times.push(took);
            }
            _ => self.record.failed += 1,
        }
        picked.done(now, outcome);
    }

    fn down(&mut self, number: usize) {
        self.servers[number].up = false;
        let now = self.instant();
        for client in &self.clients {
            for endpoint in client
                .endpoints()
                .iter()
                .filter(|one| *one.user() == number)
            {
                client.lost(now, endpoint);
            }
        }
    }

    fn up(&mut self, number: usize) {
        let server = &mut self.servers[number];
        server.up = true;
        server.free.fill(self.now);
        let now = self.instant();
        for client in &self.clients {
            for endpoint in client
                .endpoints()
                .iter()
                .filter(|one| *one.user() == number)
            {
                client.ready(now, endpoint);
            }
        }
    }
}

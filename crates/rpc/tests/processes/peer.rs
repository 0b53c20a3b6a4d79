//! The other process: its roles, and the questions of the tests to this one.

use crate::{elsewhere, fleet, hostile, sessions};
use dovetail::client::Backoff;
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture, Model};
use dovetail::types::Bytes;
use dovetail::{Channel, Context, Running, Server, Service, Status, blocking, descriptor};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const MODELS: [Model; 2] = [Model::ThreadPerConnection, Model::EventLoops(Some(2))];

descriptor!(static COUNTER = "Counter" {
    next(1 number: i32) -> i32;
    turn(1 bytes: Bytes) -> Bytes;
});

struct Counter;

impl Service for Counter {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &COUNTER
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            0 => call.unary((0,), |_: Context, (number,): (i32,)| async move {
                Ok::<i32, Status>(number.wrapping_add(1))
            }),
            _ => call.unary((Bytes::new(),), |_: Context, (bytes,)| async move {
                Ok::<Bytes, Status>(bytes)
            }),
        }
    }
}

/// The role of another process of this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Serves.
    Serve,
    /// Calls until that fails.
    Call,
    /// Serves, and writes whatever it likes over the memory that it shares.
    ScribbleServer,
    /// Calls again and again, and does the same.
    ScribbleClient,
    /// Calls some times, and says how that ended.
    CallTimes,
    /// Calls, and leaves the network for one of its own after the first call.
    CallFromElsewhere,
    /// Serves sessions.
    Sessions,
    /// Is one of the servers of a name.
    Fleet,
    /// Is one that takes its time.
    SlowFleet,
}

const ROLES: [(&str, Role); 9] = [
    ("serve", Role::Serve),
    ("call", Role::Call),
    ("scribble-server", Role::ScribbleServer),
    ("scribble-client", Role::ScribbleClient),
    ("call-times", Role::CallTimes),
    ("call-from-elsewhere", Role::CallFromElsewhere),
    ("sessions", Role::Sessions),
    ("fleet", Role::Fleet),
    ("slow-fleet", Role::SlowFleet),
];

impl Role {
    pub(crate) fn named(name: &str) -> Option<Self> {
        let role = ROLES.into_iter().find(|(known, _)| *known == name)?;
        Some(role.1)
    }

    fn name(self) -> &'static str {
        let role = ROLES.into_iter().find(|(_, role)| *role == self);
        role.map_or("", |(name, _)| name)
    }

    pub(crate) fn play(self, model: usize, address: &str) {
        match self {
            Role::Serve => wait_beside(&serve(model, address)),
            Role::Call => call_for_ever(address),
            Role::ScribbleServer => hostile::serve(model, address),
            Role::ScribbleClient => hostile::call(address),
            Role::CallTimes => elsewhere::call(address, false),
            Role::CallFromElsewhere => elsewhere::call(address, true),
            Role::Sessions => wait_beside(&sessions::serve(model, address)),
            Role::Fleet => fleet::serve(address, false),
            Role::SlowFleet => fleet::serve(address, true),
        }
    }

    /// Another process, once it is ready.
    pub(crate) fn start(self, model: usize, address: &str) -> Child {
        self.start_by(&mut Command::new(program()), model, address)
    }

    /// Starts it with a command that has its settings.
    pub(crate) fn start_by(self, command: &mut Command, model: usize, address: &str) -> Child {
        let mut child = command
            .args([self.name(), &model.to_string(), address])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = child.stdout.as_mut().unwrap();
        // The line is all that is there.
        BufReader::with_capacity(1, output)
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "ready\n");
        child
    }
}

pub(crate) fn program() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Tells the test that it may begin.
pub(crate) fn ready() {
    println!("ready");
    std::io::stdout().flush().unwrap();
}

pub(crate) fn serve(model: usize, address: &str) -> Running {
    let server = Server::new().service(Counter).model(MODELS[model]);
    server.listen(address).unwrap().start().unwrap()
}

pub(crate) fn wait_beside(_: &Running) {
    ready();
    thread::sleep(Duration::from_secs(600));
}

fn call_for_ever(address: &str) {
    let channel = blocking::Channel::connect(address).unwrap();
    next(&channel, 0).unwrap();
    ready();
    while next(&channel, 1).is_ok() {}
}

pub(crate) fn next(channel: &blocking::Channel, number: i32) -> Result<i32, Status> {
    channel.call(&COUNTER.methods[0], (&number,))
}

pub(crate) async fn next_async(channel: &Channel, number: i32) -> Result<i32, Status> {
    channel.call(&COUNTER.methods[0], (&number,)).await
}

pub(crate) fn turn(channel: &blocking::Channel, bytes: &Bytes) -> Result<Bytes, Status> {
    channel.call(&COUNTER.methods[1], (bytes,))
}

pub(crate) async fn turn_async(channel: &Channel, bytes: &Bytes) -> Result<Bytes, Status> {
    channel.call(&COUNTER.methods[1], (bytes,)).await
}

pub(crate) const AT_ONCE: Backoff = Backoff {
    first: Duration::from_micros(1),
    most: Duration::from_micros(1),
};

/// A directory for a test's sockets, which is removed after it.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new(test: &str) -> Self {
        let name = format!("dovetail-{test}-{}", std::process::id());
        let place = std::env::temp_dir().join(name);
        fs::create_dir(&place).unwrap();
        Place(place)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the addresses at which a server listens, and at which its clients share memory with
    /// it.
    pub(crate) fn addresses(&self) -> (String, String) {
        let path = self.0.join("socket");
        let path = path.display();
        (format!("unix:{path}"), format!("shm:{path}"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Files that are left of it say that a test has failed.
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "never: {what}");
        thread::sleep(Duration::from_micros(200));
    }
}

/// The resources that this process has open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resources {
    descriptors: usize,
    pub(crate) mappings: usize,
}

pub(crate) fn resources() -> Resources {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    Resources {
        descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
        mappings: maps.matches("memfd:dovetail").count(),
    }
}

//! A service whose handlers wait until a test lets them go on, and a peer that sends what it likes.
#![cfg_attr(
    not(feature = "async"),
    allow(dead_code, reason = "for the models that it adds")
)]

use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture, Model, ServerLimits};
use dovetail::types::Bytes;
use dovetail::{Address, Context, Running, Server, Service, Status, Wire, descriptor};
use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Longer than anything takes that works.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// The wire of most tests: what a stock Thrift client speaks. Those of Dovetail's own are in files
/// of their own.
pub(crate) fn stock() -> Wire {
    "binary+framed".parse().unwrap()
}

/// The wires of clients over HTTP/2.
pub(crate) const HTTP2: &[&str] = match cfg!(feature = "grpc") {
    true => &[
        "grpc",
        "grpc-web",
        "grpc-web+json",
        "connect",
        "connect+json",
    ],
    false => &[],
};

/// The models that there are, with and without the feature `async`.
pub(crate) const MODELS: &[Model] = &[
    Model::ThreadPerConnection,
    #[cfg(feature = "async")]
    Model::EventLoops(Some(2)),
    #[cfg(feature = "async")]
    Model::SingleThreaded,
    #[cfg(feature = "async")]
    Model::ThreadPool(2),
];

/// Those that run calls of one connection side by side.
#[cfg(feature = "async")]
pub(crate) const CONCURRENT: &[Model] = &[
    Model::EventLoops(Some(2)),
    Model::SingleThreaded,
    Model::ThreadPool(2),
];

descriptor!(pub(crate) static PROBE = "Probe" {
    echo(1 text: String) -> String [idempotent];
    wait(1 gate: i32) -> i32;
    note(1 number: i32, 2 gate: i32) [oneway];
    noted() -> Vec<i32>;
    fill(1 bytes: i32) -> Bytes;
    panic();
    panic_later();
    take(1 bytes: Bytes) -> i32;
    work() -> bool;
    runtime() -> bool;
});

pub(crate) const ECHO: usize = 0;
pub(crate) const WAIT: usize = 1;
pub(crate) const NOTE: usize = 2;
pub(crate) const NOTED: usize = 3;
pub(crate) const FILL: usize = 4;
pub(crate) const PANIC: usize = 5;
pub(crate) const PANIC_LATER: usize = 6;
pub(crate) const TAKE: usize = 7;
pub(crate) const WORK: usize = 8;
pub(crate) const RUNTIME: usize = 9;

/// The handlers' side of a test.
#[derive(Clone, Default)]
pub(crate) struct Probe(Arc<Inner>);

struct Inner {
    open: watch::Sender<HashSet<i32>>,
    started: watch::Sender<usize>,
    noted: Mutex<Vec<i32>>,
}

impl Default for Inner {
    fn default() -> Self {
        Inner {
            open: watch::Sender::new(HashSet::new()),
            started: watch::Sender::new(0),
            noted: Mutex::default(),
        }
    }
}

impl Probe {
    /// Lets the handlers go on that wait at this gate, and all that come.
    pub(crate) fn open(&self, gate: i32) {
        self.0.open.send_modify(|open| open.extend([gate]));
    }

    /// How many handlers have come to a gate so far.
    pub(crate) fn started(&self) -> usize {
        *self.0.started.borrow()
    }

    async fn pass(&self, gate: i32) {
        self.0.started.send_modify(|started| *started += 1);
        let mut open = self.0.open.subscribe();
        // The sender is ours: it is still there.
        let _ = open.wait_for(|open| open.contains(&gate)).await;
    }
}

impl Service for Probe {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &PROBE
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            ECHO => call.unary((String::new(),), |_: Context, (text,)| async move {
                Ok::<_, Status>(text)
            }),
            WAIT => call.unary((0,), |_: Context, (gate,)| async move {
                self.pass(gate).await;
                Ok::<_, Status>(gate)
            }),
            NOTE => call.unary((0, 0), |_: Context, (number, gate)| async move {
                self.pass(gate).await;
                self.0.noted.lock().expect("no panic").push(number);
                Ok::<_, Status>(())
            }),
            NOTED => call.unary((), |_: Context, ()| async move {
                Ok::<Vec<i32>, Status>(self.0.noted.lock().expect("no panic").clone())
            }),
            FILL => call.unary((0_i32,), |_: Context, (bytes,)| async move {
                Ok::<_, Status>(Bytes::from(vec![7; bytes as usize]))
            }),
            PANIC => panic!("the handler of `panic`, as it should"),
            PANIC_LATER => call.unary((), |_: Context, ()| async move {
                self.pass(0).await;
                panic!("the handler of `panic_later`, as it should");
                #[expect(unreachable_code, reason = "gives the result its type")]
                Ok::<(), Status>(())
            }),
            TAKE => call.unary((Bytes::new(),), |_: Context, (bytes,)| async move {
                Ok::<_, Status>(bytes.len() as i32)
            }),
            WORK => call.unary((), |context: Context, ()| async move {
                let here = thread::current().id();
                let there = context.blocking(|| thread::current().id()).await;
                Ok::<_, Status>(here == there)
            }),
            RUNTIME => call.unary((), |_: Context, ()| async move {
                if tokio::runtime::Handle::try_current().is_err() {
                    return Ok::<_, Status>(false);
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
                // It may go on in another thread.
                let runtime = tokio::runtime::Handle::try_current();
                let Ok(runtime) = runtime.map_err(drop) else {
                    return Ok(false);
                };
                Ok(runtime.spawn(async { true }).await.unwrap_or(false))
            }),
            _ => call.no_such_method(),
        }
    }
}

/// A server of the probe on a port of its own.
pub(crate) fn start(probe: &Probe, model: Model, limits: ServerLimits) -> Running {
    let server = Server::new().service(probe.clone()).model(model);
    listen(server.limits(limits)).start().expect("a server")
}

/// Whether these are the tests of shared memory, where the same is asked of it.
pub(crate) const SHARED_MEMORY: bool =
    matches!(env!("CARGO_CRATE_NAME").as_bytes(), b"shared_memory");

/// A port of its own for a server, and a Unix socket where its clients share memory with it.
pub(crate) fn listen(server: Server) -> Server {
    let server = server.listen("tcp://127.0.0.1:0").expect("a port");
    if !SHARED_MEMORY {
        return server;
    }
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("dovetail-test-{}-{number}.sock", std::process::id());
    let path = std::env::temp_dir().join(name);
    let place = format!("unix:{}", path.display());
    server.listen(&place).expect("a socket")
}

/// Returns the address for its clients.
pub(crate) fn address(running: &Running) -> String {
    match running.addresses() {
        [_, Address::Unix(path)] => Address::Shm(path.clone()).to_string(),
        [address, ..] => address.to_string(),
        [] => panic!("the fixture listens"),
    }
}

/// Returns the address for a server that takes the place of the one that had this one.
pub(crate) fn place(address: &str) -> String {
    address.replace("shm:", "unix:")
}

/// Returns the address for a test that speaks for itself.
pub(crate) fn tcp_place(running: &Running) -> &str {
    match &running.addresses()[0] {
        Address::Tcp(place) => place,
        other => panic!("the fixture listens on TCP, not on {other}"),
    }
}

/// Waits until something has become true.
#[track_caller]
pub(crate) fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "never: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Gives what must not happen some time to happen.
pub(crate) fn settle() {
    thread::sleep(Duration::from_millis(30));
}

/// A peer without a client library.
pub(crate) struct Raw(pub(crate) TcpStream);

/// A reply: the number of its call, and what follows the head.
#[derive(Debug, PartialEq)]
pub(crate) struct RawReply {
    pub(crate) seqid: i32,
    pub(crate) exception: bool,
    pub(crate) body: Vec<u8>,
}

impl Raw {
    pub(crate) fn connect(running: &Running) -> Raw {
        let stream = TcpStream::connect(tcp_place(running)).expect("a listener");
        stream.set_read_timeout(Some(LONG)).expect("a socket");
        Raw(stream)
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("an open connection");
    }

    /// The next framed reply; an error at the end of the connection.
    pub(crate) fn reply(&mut self) -> io::Result<RawReply> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length)?;
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        self.0.read_exact(&mut frame)?;
        if frame.starts_with(b"\x0f\xff") {
            let words = u16::from_be_bytes(frame[8..10].try_into().expect("two"));
            frame.drain(..10 + 4 * usize::from(words));
        }
        let name = u32::from_be_bytes(frame[4..8].try_into().expect("four")) as usize;
        let (head, body) = frame.split_at(8 + name + 4);
        Ok(RawReply {
            seqid: i32::from_be_bytes(head[8 + name..].try_into().expect("four")),
            exception: head[3] == 3,
            body: body.to_vec(),
        })
    }

    /// The numbers of the next replies, in their order.
    pub(crate) fn seqids(&mut self, count: usize) -> Vec<i32> {
        (0..count)
            .map(|_| self.reply().expect("a reply").seqid)
            .collect()
    }

    /// Returns whether nothing arrives for a moment.
    pub(crate) fn is_silent(&mut self) -> bool {
        settle();
        self.0.set_nonblocking(true).expect("a socket");
        let peeked = self.0.peek(&mut [0]);
        self.0.set_nonblocking(false).expect("a socket");
        peeked.is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock)
    }

    /// Returns the bytes until the server closes.
    pub(crate) fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest)?;
        Ok(rest)
    }
}

/// A framed call in strict binary, its parameters all i32.
pub(crate) fn call(method: &str, seqid: i32, params: &[i32]) -> Vec<u8> {
    framed(&message(1, method, seqid, params))
}

/// A call inside THeader, of a client that tells answers apart by their numbers.
pub(crate) fn numbered(method: &str, seqid: i32, params: &[i32]) -> Vec<u8> {
    in_header(seqid, &message(1, method, seqid, params))
}

/// A one-way call of such a client.
pub(crate) fn numbered_oneway(method: &str, seqid: i32, params: &[i32]) -> Vec<u8> {
    in_header(seqid, &message(4, method, seqid, params))
}

fn in_header(seqid: i32, message: &[u8]) -> Vec<u8> {
    // Magic, the flag, the number; one word of headers: binary, no transforms.
    let head = [
        &b"\x0f\xff\x00\x01"[..],
        &seqid.to_be_bytes(),
        b"\x00\x01\0\0\0\0",
    ];
    framed(&[&head.concat()[..], message].concat())
}

/// A framed one-way call.
pub(crate) fn oneway(method: &str, seqid: i32, params: &[i32]) -> Vec<u8> {
    framed(&message(4, method, seqid, params))
}

pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u32).to_be_bytes(), message].concat()
}

pub(crate) fn message(kind: u8, method: &str, seqid: i32, params: &[i32]) -> Vec<u8> {
    let mut bytes = vec![0x80, 1, 0, kind];
    bytes.extend((method.len() as u32).to_be_bytes());
    bytes.extend(method.as_bytes());
    bytes.extend(seqid.to_be_bytes());
    for (index, param) in params.iter().enumerate() {
        bytes.extend([8, 0, index as u8 + 1]);
        bytes.extend(param.to_be_bytes());
    }
    bytes.push(0);
    bytes
}

//! The memory that a server holds for its peers is counted and limited: per connection, per
//! address, in all.

use crate::fixture::{LONG, MODELS, Raw, address, listen, settle, until};
use crate::grpc::{self, Client, request};
use crate::hostile::frame;
use dovetail::encoding::{Encoding, Limits};
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture, Model, ServerLimits};
use dovetail::types::{Bytes, UnknownFields};
use dovetail::{
    Channel, Code, Context, Running, Server, Service, Status, Wire, blocking, descriptor, message,
};
use dovetail_protocol::grpc::compress_zstd;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

/// Few bytes on the wire, some hundred in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wide {
    numbers: Vec<i64>,
    texts: Vec<String>,
    blob: Bytes,
    unknown_fields: UnknownFields,
}

message!(Wide {
    1 numbers: Vec<i64>,
    2 texts: Vec<String>,
    3 blob: Bytes,
    ..unknown_fields
});

descriptor!(static KEEPER = "Keeper" {
    hold(1 blob: Bytes) -> i32;
    widen(1 list: Vec<Wide>) -> i32;
    fill(1 bytes: i32) -> Bytes;
});

const HOLD: usize = 0;
const WIDEN: usize = 1;
const FILL: usize = 2;

/// Its handlers hold what they were given until the test lets them go on.
#[derive(Clone)]
struct Keeper(Arc<Inner>);

struct Inner {
    open: watch::Sender<bool>,
    held: AtomicUsize,
}

impl Keeper {
    fn new() -> Self {
        Keeper(Arc::new(Inner {
            open: watch::Sender::new(false),
            held: AtomicUsize::new(0),
        }))
    }

    fn open(&self) {
        self.0.open.send_replace(true);
    }

    /// How many handlers hold something.
    fn held(&self) -> usize {
        self.0.held.load(Ordering::SeqCst)
    }

    async fn hold<T>(&self, value: T) -> T {
        self.0.held.fetch_add(1, Ordering::SeqCst);
        let mut open = self.0.open.subscribe();
        // The sender is ours: it is still there.
        let _ = open.wait_for(|open| *open).await;
        self.0.held.fetch_sub(1, Ordering::SeqCst);
        value
    }
}

impl Service for Keeper {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &KEEPER
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            HOLD => call.unary((Bytes::new(),), |_: Context, (blob,)| async move {
                Ok::<_, Status>(self.hold(blob).await.len() as i32)
            }),
            WIDEN => call.unary((Vec::<Wide>::new(),), |_: Context, (list,)| async move {
                Ok::<_, Status>(self.hold(list).await.len() as i32)
            }),
            _ => call.unary((0,), |_: Context, (bytes,): (i32,)| async move {
                Ok::<_, Status>(Bytes::from(vec![7; bytes as usize]))
            }),
        }
    }
}

const MIB: usize = 1 << 20;

/// The share of a connection in these tests.
const SHARE: usize = 4 * MIB;

/// Blocks that are reserved, and what is counted beside bodies.
const BESIDE: usize = 256 << 10;

fn limits() -> ServerLimits {
    ServerLimits {
        memory: Some(64 * MIB),
        memory_per_connection: Some(SHARE),
        ..ServerLimits::default()
    }
}

fn serve(keeper: &Keeper, model: Model, limits: ServerLimits) -> Running {
    let server = Server::new().service(keeper.clone()).model(model);
    listen(server.limits(limits)).start().expect("a server")
}

/// A number of the own wire.
fn varint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A tagged struct whose field 1 is a blob of so many zeros.
fn zeros(length: usize) -> Vec<u8> {
    let mut body = Vec::new();
    let blob = Bytes::from(vec![0; length]);
    let value = (&blob,);
    let params = (&value, KEEPER.methods[HOLD].params);
    let limits = Limits::default();
    Encoding::Tagged.encode(&params, &mut body, limits).unwrap();
    body
}

/// A call on the own wire whose parameters are compressed by zstd.
fn packed_call(id: u32, body: &[u8]) -> Vec<u8> {
    let packed = compress_zstd(body).unwrap();
    // Slot 0; the extras say compression, zstd and the size.
    let payload = [&b"\x00\x02\x01"[..], &varint(body.len()), &packed].concat();
    frame(0xc5, id, &payload)
}

/// The first bytes of a client of the own wire that calls this method.
fn greeting(method: &str) -> Vec<u8> {
    let name = [
        &[6],
        &b"Keeper"[..],
        &[method.len() as u8],
        method.as_bytes(),
    ]
    .concat();
    let bind = [&b"\x00"[..], &name, &[0; 16]].concat();
    [b"\xd7DVT".to_vec(), frame(1, 0, &[1]), frame(2, 0, &bind)].concat()
}

/// Few bytes that stand for many: as many of them wait in handlers as the connection may hold, the
/// others are refused.
#[test]
fn what_is_compressed_is_charged_for_what_it_becomes() {
    const CALLS: u32 = 60;
    let rows = [
        // Too much for so few bytes.
        (64 * MIB - 64, 0, "`decompression_ratio`"),
        (
            MIB - (16 << 10),
            4,
            "the server holds 4194304 bytes for this connection at most",
        ),
    ];
    for model in MODELS {
        for (size, runs, why) in rows {
            let what = format!("{model:?}, {size}");
            let keeper = Keeper::new();
            let running = serve(&keeper, *model, limits());
            let body = zeros(size);
            let calls = (0..CALLS).map(|call| packed_call(2 * call + 1, &body));
            let calls: Vec<u8> = calls.flatten().collect();
            assert!(calls.len() < size / 100, "{what}");
            let mut raw = Raw::connect(&running);
            raw.send(&greeting("hold"));
            raw.send(&calls);
            let refused = if runs > 0 { CALLS as usize - runs } else { 0 };
            until(&what, || {
                keeper.held() == runs && running.counters().refused_memory == refused as u64
            });
            assert!(running.memory() <= SHARE + BESIDE, "{what}");
            keeper.open();
            raw.0.shutdown(Shutdown::Write).unwrap();
            let said = raw.rest().unwrap();
            let said = String::from_utf8_lossy(&said);
            assert!(said.contains(why), "{what}: {said:?}");
            until(&format!("nothing is held: {what}"), || {
                running.memory() == 0
            });
            assert!(running.shutdown(LONG), "{what}");
        }
    }
}

/// Parameters that take far more memory than bytes.
#[test]
fn what_is_decoded_is_charged() {
    for wire in [
        "dovetail",
        "binary+framed",
        "msgpack-rpc",
        "grpc",
        "connect+json",
    ] {
        let wire: Wire = wire.parse().unwrap();
        for model in models_of(wire) {
            let what = format!("{model:?}, {wire}");
            let keeper = Keeper::new();
            let running = serve(&keeper, model, limits());
            let callers = Callers::new();
            let channel = callers.channel(&running, wire);
            let widen = |count| {
                let (channel, list) = (channel.clone(), vec![Wide::default(); count]);
                callers.0.spawn(async move {
                    let widened: Result<i32, Status> =
                        channel.call(&KEEPER.methods[WIDEN], (&list,)).await;
                    widened.map_err(|status| (status.code(), status.message().to_owned()))
                })
            };
            let holds = widen(5_000);
            until(&what, || keeper.held() == 1);
            let holding = running.memory();
            assert!((400_000..SHARE).contains(&holding), "{what}: {holding}");
            keeper.open();
            assert_eq!(callers.0.block_on(holds).unwrap(), Ok(5_000), "{what}");
            let refused = callers.0.block_on(widen(100_000)).unwrap();
            let (code, why) = refused.unwrap_err();
            assert_eq!(code, Code::ResourceExhausted, "{what}: {why}");
            assert!(why.contains("the server holds too much"), "{what}: {why}");
            assert_eq!(running.counters().refused_memory, 1, "{what}");
            until(&format!("nothing is held: {what}"), || {
                running.memory() == 0
            });
            drop((channel, callers));
            assert!(running.shutdown(LONG), "{what}");
        }
    }
}

/// The models that have a wire.
fn models_of(wire: Wire) -> impl Iterator<Item = Model> {
    let has = move |model: &Model| !wire.is_http2() || *model != Model::ThreadPerConnection;
    MODELS.iter().copied().filter(has)
}

/// A runtime that a thread of its own runs, until this is dropped.
struct Callers(
    Handle,
    #[expect(dead_code, reason = "ends it")] oneshot::Sender<()>,
);

impl Callers {
    fn new() -> Self {
        let (ends, ended) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let handle = runtime.handle().clone();
        thread::spawn(move || runtime.block_on(ended));
        Callers(handle, ends)
    }

    fn channel(&self, running: &Running, wire: Wire) -> Channel {
        self.0.block_on(async {
            let builder = Channel::builder(&address(running)).unwrap();
            builder.wire(wire).build()
        })
    }
}

/// Calls of one connection that hold what they were given. Those for which there is no room wait
/// until there is, or are refused where their caller is heard all the time.
#[test]
fn calls_wait_or_are_refused_where_too_much_is_held() {
    const CALLS: usize = 12;
    for (wire, refuses) in [
        ("dovetail", true),
        ("grpc", true),
        ("connect", true),
        ("binary+header", false),
        ("msgpack-rpc", false),
    ] {
        let wire: Wire = wire.parse().unwrap();
        for model in models_of(wire) {
            let what = format!("{model:?}, {wire}");
            let keeper = Keeper::new();
            let running = serve(&keeper, model, limits());
            let callers = Callers::new();
            let channel = callers.channel(&running, wire);
            let calls: Vec<_> = (0..CALLS)
                .map(|_| {
                    let channel = channel.clone();
                    callers.0.spawn(async move {
                        let blob = Bytes::from(vec![7; MIB]);
                        let held: Result<i32, Status> =
                            channel.call(&KEEPER.methods[HOLD], (&blob,)).await;
                        held.map_err(|status| status.code())
                    })
                })
                .collect();
            until(&what, || keeper.held() > 0);
            settle();
            assert!(keeper.held() <= 3, "{what}: {}", keeper.held());
            let holding = running.memory();
            // The first call that waits is here, and part of the second.
            let most = SHARE + MIB + BESIDE;
            assert!(holding <= most, "{what}: {holding}");
            keeper.open();
            let calls = calls
                .into_iter()
                .map(|call| callers.0.block_on(call).unwrap());
            let calls: Vec<_> = calls.collect();
            let well = calls.iter().filter(|call| call.is_ok()).count();
            let refusals = calls
                .iter()
                .filter(|call| **call == Err(Code::ResourceExhausted));
            assert_eq!(well + refusals.count(), CALLS, "{what}: {calls:?}");
            assert!(well == CALLS || refuses, "{what}: {calls:?}");
            let counted = running.counters().refused_memory;
            assert_eq!(counted, (CALLS - well) as u64, "{what}");
            until(&format!("nothing is held: {what}"), || {
                running.memory() == 0
            });
            drop((channel, callers));
            assert!(running.shutdown(LONG), "{what}");
        }
    }
}

/// Parts of messages that never become whole, on every wire of which a thread has the connection.
#[test]
fn what_has_been_received_is_charged() {
    let piece = vec![b' '; 64 << 10];
    let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), &piece, b"\r\n"].concat();
    let fragment = [&b"\x00\xff\0\0\0\0\0\x01\0\0\0\0\0\0"[..], &piece].concat();
    let upgrade = "GET /Keeper/hold HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                   Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let fragments = [upgrade.as_bytes(), b"\x01\x81\0\0\0\0{"].concat();
    let own = [greeting("hold"), frame(0x65, 1, &[0])].concat();
    let thrift = b"\x00\x80\x00\x00\x80\x01\x00\x01\x00\x00\x00\x04hold\0\0\0\x01\x0b\x00\x01\x00\x7f\x00\x00";
    let head =
        "POST /Keeper/hold HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let rows = [
        ("framed", thrift.to_vec(), piece.clone(), "4194304"),
        (
            "msgpack-rpc",
            b"\x94\x00\x2a\xa4hold\x91\xc6\x00\x7f\x00\x00".to_vec(),
            piece.clone(),
            "4194304",
        ),
        (
            "a body",
            format!("{head}Content-Length: 8000000\r\n\r\n").into_bytes(),
            piece.clone(),
            "413",
        ),
        (
            "chunks",
            format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes(),
            chunk,
            "413",
        ),
        ("fragments", fragments, fragment, "4194304"),
        ("frames", own, frame(0x25, 1, &piece), "4194304"),
    ];
    for model in MODELS {
        let running = serve(&Keeper::new(), *model, limits());
        for (index, (name, begins, again, answer_text)) in rows.iter().enumerate() {
            let what = format!("{model:?}, {name}");
            let mut raw = Raw::connect(&running);
            raw.send(begins);
            let mut sent = 0;
            // The server listens for a while when it has said why.
            while running.counters().refused_memory as usize == index && sent < 2 * SHARE {
                raw.send(again);
                sent += again.len();
                // And what one receive brings.
                assert!(running.memory() <= 2 * SHARE, "{what}");
            }
            raw.0.shutdown(Shutdown::Write).unwrap();
            let said = raw.rest().unwrap();
            let said = String::from_utf8_lossy(&said);
            assert!(said.contains(answer_text), "{what}: {said:?}");
            let counters = running.counters();
            let counted = (counters.refused_memory, counters.protocol_errors);
            assert_eq!(counted, (index as u64 + 1, index as u64 + 1), "{what}");
            until(&format!("nothing is held: {what}"), || {
                running.memory() == 0
            });
        }
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// Clients of HTTP/2 that take no answers: those that wait are charged, and others are refused, so
/// that memory stays.
#[test]
fn answers_wait_only_as_far_as_there_is_room() {
    const CALLS: usize = 200;
    for model in grpc::MODELS {
        let running = serve(&Keeper::new(), model, limits());
        let runtime = grpc::runtime();
        runtime.block_on(async {
            let mut client = Client::with_window(&running, 0).await.0;
            let mut answers = Vec::new();
            for _ in 0..CALLS {
                client = client.ready().await.unwrap();
                let head = request("/Keeper/fill").body(()).unwrap();
                let (answer, mut stream) = client.send_request(head, false).unwrap();
                // 1 MiB each.
                let sent = grpc::frame(b"\x08\x80\x80\x40");
                stream.send_data(sent.into(), true).unwrap();
                answers.push(answer);
            }
            let refused = (CALLS - 3) as u64;
            while running.counters().refused_memory < refused {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            assert!(running.memory() <= SHARE + BESIDE);
            let mut well = 0;
            for answer in answers {
                let headers = answer.await.unwrap();
                match headers.headers().get("grpc-status") {
                    Some(status) => assert_eq!(status, "8"),
                    None => well += 1,
                }
            }
            assert_eq!(well, 3, "{model:?}");
        });
        drop(runtime);
        until("nothing is held", || running.memory() == 0);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// Calls whose parameters take long to decompress and decode, of one connection, hold up no other
/// one of the loop.
#[test]
fn long_decoding_holds_up_no_other_connection() {
    const CALLS: u32 = 20;
    let mut body = Vec::new();
    let wide = Wide {
        blob: Bytes::from_static(&[7; 16]),
        ..Wide::default()
    };
    let list = vec![wide; 20_000];
    let params = (&(&list,), KEEPER.methods[WIDEN].params);
    Encoding::Tagged
        .encode(&params, &mut body, Limits::default())
        .unwrap();
    drop(list);
    let calls = (0..CALLS).map(|call| packed_call(2 * call + 1, &body));
    let calls: Vec<u8> = calls.flatten().collect();
    let keeper = Keeper::new();
    keeper.open();
    let running = serve(&keeper, Model::SingleThreaded, ServerLimits::default());
    let other = blocking::Channel::connect(&address(&running)).unwrap();
    let fill = || -> Result<Bytes, Status> { other.call(&KEEPER.methods[FILL], (&1,)) };
    assert_eq!(fill().unwrap().len(), 1);
    let mut raw = Raw::connect(&running);
    raw.send(&greeting("widen"));
    raw.send(&calls);
    let start = Instant::now();
    let (mut slowest, mut answered) = (Duration::ZERO, 0);
    while running.counters().calls < u64::from(CALLS) + answered + 1 {
        let asked = Instant::now();
        assert_eq!(fill().unwrap().len(), 1);
        slowest = slowest.max(asked.elapsed());
        answered += 1;
    }
    let all = start.elapsed();
    // On the loop it would have to wait for all of them.
    assert!(slowest < all / 2, "{slowest:?} of {all:?}");
    raw.0.shutdown(Shutdown::Write).unwrap();
    raw.rest().unwrap();
    until("nothing is held", || running.memory() == 0);
    assert!(running.shutdown(LONG));
}

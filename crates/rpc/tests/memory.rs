//! The cost of hostile peers for a whole server in memory, measured: `--nocapture` prints the
//! table.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use dovetail::admin::Admin;
use dovetail::blocking::Channel;
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture, Model};
use dovetail::sessions::Sessions;
use dovetail::statistics::Statistics;
use dovetail::throttle::{Quota, Throttle};
use dovetail::types::{Bytes, UnknownFields};
use dovetail::{Address, Context, Running, Server, Service, Status, descriptor, message};
use dovetail_protocol::thrift::{ClientConnection, ClientOptions};
use peak_alloc::PeakAlloc;
use socket2::{Domain, Socket, Type};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// One byte on the wire where it is empty, 200 in memory.
#[derive(Clone, Debug, Default, PartialEq)]
struct Wide {
    numbers: Vec<i64>,
    texts: Vec<String>,
    more: Vec<i64>,
    still_more: Vec<String>,
    name: String,
    blob: Bytes,
    unknown_fields: UnknownFields,
}

message!(Wide {
    1 numbers: Vec<i64>,
    2 texts: Vec<String>,
    3 more: Vec<i64>,
    4 still_more: Vec<String>,
    5 name: String,
    6 blob: Bytes,
    ..unknown_fields
});

descriptor!(static TARGET = "Target" {
    wide(1 list: Vec<Wide>) -> i32;
    blob(1 blob: Bytes) -> i32;
});

struct Target;

impl Service for Target {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &TARGET
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            0 => call.unary((Vec::<Wide>::new(),), |_: Context, (list,)| async move {
                Ok::<_, Status>(list.len() as i32)
            }),
            1 => call.unary((Bytes::new(),), |_: Context, (blob,)| async move {
                Ok::<_, Status>(blob.len() as i32)
            }),
            _ => call.no_such_method(),
        }
    }
}

/// The input of a peer, the answer to it, and the most that it may cost in memory, with its own
/// bytes.
struct Row {
    name: &'static str,
    sends: Vec<u8>,
    reported: &'static str,
    most: usize,
}

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// A message inside THeader of the kind that our own ends do not send.
#[cfg(feature = "zstd")]
fn zstd_bomb() -> Vec<u8> {
    let packed = dovetail_protocol::grpc::compress_zstd(&vec![0; 80 * MIB]).unwrap();
    let head = b"\x0f\xff\0\0\0\0\0\x01\0\x01\0\x01\x05\0";
    let length = (head.len() + packed.len()) as u32;
    [&length.to_be_bytes()[..], head, &packed].concat()
}

fn rows() -> Vec<Row> {
    let row = |name, sends: &[u8], reported, most| Row {
        name,
        sends: sends.to_vec(),
        reported,
        most,
    };
    let wide = b"\x80\x01\x00\x01\x00\x00\x00\x04wide\x00\x00\x00\x01\x0f\x00\x01\x0c";
    let compact = b"\x82\x21\x01\x04wide\x19";
    let post = |headers: &str| format!("POST / HTTP/1.1\r\nHost: x\r\n{headers}\r\n").into_bytes();
    // As many empty structs as a message may have bytes would be gigabytes.
    let many = 30 << 20;
    let amplified = [&wide[..], &(many as u32).to_be_bytes(), &vec![0; many + 1]].concat();
    vec![
        row(
            "a frame of 60 MiB, announced",
            b"\x03\xc0\x00\x00\x80\x01\x00\x01",
            "a message ends too early",
            400 * KIB,
        ),
        row(
            "a frame of 1 GiB, announced",
            b"\x3f\xff\xff\xff\x80\x01\x00\x01",
            "the limit is",
            400 * KIB,
        ),
        row(
            "2^31 structs, unframed",
            &[&wide[..], b"\x7f\xff\xff\xff"].concat(),
            "the limit is",
            400 * KIB,
        ),
        row(
            "2^31 structs, framed",
            &framed(&[&wide[..], b"\x7f\xff\xff\xff"].concat()),
            "wide",
            400 * KIB,
        ),
        row(
            "2^31 structs, compact",
            &[&compact[..], b"\xfc\xff\xff\xff\xff\x07"].concat(),
            "the limit is",
            400 * KIB,
        ),
        row(
            "a string of 2 GiB",
            b"\x80\x01\x00\x01\x00\x00\x00\x04blob\x00\x00\x00\x01\x0b\x00\x01\x7f\xff\xff\xff",
            "the limit is",
            400 * KIB,
        ),
        row(
            "a body of 60 MB, announced",
            &post("Content-Length: 60000000\r\n"),
            "an HTTP message ends too early",
            400 * KIB,
        ),
        row(
            "a body of 2^63, announced",
            &post("Content-Length: 9223372036854775808\r\n"),
            "413",
            400 * KIB,
        ),
        row(
            "a chunk of 2^60, announced",
            &[
                &post("Transfer-Encoding: chunked\r\n")[..],
                b"fffffffffffffff\r\n",
            ]
            .concat(),
            "413",
            400 * KIB,
        ),
        row(
            "headers without end",
            &post(&"x: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".repeat(100_000)),
            "431",
            5 * MIB,
        ),
        row(
            "a JSON of depth",
            &[
                &b"[1,\"wide\",1,1,{\"1\":{\"lst\":"[..],
                &b"[\"lst\",1,".repeat(200_000),
            ]
            .concat(),
            "values nested deeper than the limit of 64",
            5 * MIB,
        ),
        row(
            "30 Mi empty structs",
            &amplified,
            "more than the limit of 134217728 bytes of memory",
            2 * amplified.len() + 250 * MIB,
        ),
        row(
            "a bomb of zlib",
            &compressed("binary+header:zlib"),
            "decompresses to more than the limit of 67108864 bytes",
            150 * MIB,
        ),
        #[cfg(feature = "zstd")]
        row(
            "a bomb of zstd",
            &zstd_bomb(),
            "decompresses to more than the limit of",
            150 * MIB,
        ),
        #[cfg(feature = "zstd")]
        row(
            "60 MiB of zstd, announced",
            &packed(1, b"\x28\xb5\x2f\xfd\0\x58\x01\0\0"),
            "`decompression_ratio`",
            400 * KIB,
        ),
        #[cfg(feature = "lz4")]
        row(
            "60 MiB of lz4, announced",
            &packed(2, b"\x10\0"),
            "`decompression_ratio`",
            400 * KIB,
        ),
    ]
}

/// On Dovetail's own wire: a call with a few bytes that are said to have been more.
#[cfg(any(feature = "lz4", feature = "zstd"))]
fn packed(algorithm: u8, body: &[u8]) -> Vec<u8> {
    let frame = |kind: u8, id: u8, payload: &[u8]| {
        let head = [payload.len() as u8, 0, 0, kind, id, 0, 0, 0];
        [&head, payload].concat()
    };
    let bind = [b"\0\0\x04blob".as_slice(), &[0; 16]].concat();
    // Slot 0, the extras, 60 MiB.
    let call = [&[0, 2, algorithm, 0x80, 0x80, 0x80, 0x1e][..], body].concat();
    let frames = [frame(1, 0, &[1]), frame(2, 0, &bind), frame(0xc5, 1, &call)];
    [&b"\xd7DVT"[..], &frames.concat()].concat()
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u32).to_be_bytes(), message].concat()
}

/// A call with a blob of nothing, larger than any message may be once it is decompressed.
fn compressed(wire: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let blob = Bytes::from(vec![0; 80 * MIB]);
    ClientConnection::new(wire.parse().unwrap(), ClientOptions::default())
        .call(
            "blob",
            false,
            &(&(&blob,), TARGET.methods[1].params),
            &mut out,
        )
        .unwrap();
    out
}

/// One test, as all allocations of the process are counted.
#[test]
fn peers_cost_little() {
    hostile_peers_cost_little();
    sessions_cost_little();
    crowds_cost_little();
}

/// As many peers, each with an address of its own, that call a method of its own which is not
/// there.
const CROWD: u32 = 10_000;

/// Most bytes of a peer that has been here, with the quota that it has for a while.
const PER_PEER: usize = 400;

fn crowds_cost_little() {
    let statistics = Statistics::new();
    let admin = Admin::new();
    let quota = Quota::new().rate(100, Duration::from_secs(1));
    let server = Server::new()
        .service(Target)
        .statistics(&statistics)
        .administered(&admin)
        .throttle(Throttle::new().each_caller(quota))
        .model(Model::ThreadPerConnection);
    let running = server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap();
    let known = Channel::connect(&running.addresses()[0].to_string()).unwrap();
    let ask = || -> Result<i32, Status> { known.call(&TARGET.methods[1], (&Bytes::new(),)) };
    ask().unwrap();
    let (mut before, mut series) = (0, 0);
    for peer in 0..CROWD {
        if peer == CROWD / 10 {
            // Tables have room for the first ones.
            before = MEMORY.current_usage();
            series = statistics.prometheus().lines().count();
        }
        call_unknown(&running, peer);
    }
    let each = MEMORY.current_usage().saturating_sub(before) / CROWD as usize;
    println!("\n{CROWD} peers with a method each take {each} bytes each");
    assert!(each < PER_PEER, "{each}");
    assert_eq!(statistics.prometheus().lines().count(), series);
    assert_eq!(running.counters().unknown_methods, u64::from(CROWD));
    ask().unwrap();
    let snapshot = statistics.snapshot();
    let calls: u64 = snapshot.methods.iter().map(|it| it.times.count()).sum();
    assert_eq!(calls, u64::from(CROWD / 2 + 2));
    let rows = peers(&admin);
    assert!(rows.len() <= 1_001, "{}", rows.len());
    let sum = |field: &str| -> u64 { rows.iter().map(|row| number(&row[field])).sum() };
    assert_eq!(sum("connections"), running.counters().connections);
    assert_eq!(sum("calls"), u64::from(CROWD + CROWD / 2 + 2));
    drop(known);
    assert!(running.shutdown(Duration::from_secs(10)));
}

/// Returns the peers that an administration shows.
fn peers(admin: &Admin) -> Vec<serde_json::Value> {
    let console = Server::new().admin(admin).listen("tcp://127.0.0.1:0");
    let console = console.unwrap().start().unwrap();
    let ask =
        b"POST /dovetail.admin.v1.Admin/peers HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
        Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    let said = String::from_utf8(converse(&console, ask)).unwrap();
    let (_, body) = said.split_once("\r\n\r\n").unwrap();
    let answer: serde_json::Value = serde_json::from_str(body).unwrap();
    answer["result"].as_array().unwrap().clone()
}

/// A number of 64 bits, which JSON has as a text.
fn number(value: &serde_json::Value) -> u64 {
    value.as_str().unwrap().parse().unwrap()
}

/// Calls a method that only this peer knows, from an address that only this peer has.
fn call_unknown(running: &Running, peer: u32) {
    let Address::Tcp(place) = &running.addresses()[0] else {
        panic!("the test listens on TCP");
    };
    let place: SocketAddr = place.parse().unwrap();
    let own = Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 1, 0, 1)) + peer);
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((own, 0)).into()).unwrap();
    socket.connect(&place.into()).unwrap();
    let mut stream = TcpStream::from(socket);
    let name = format!("method_{peer:08}");
    let call = match peer % 2 {
        0 => [
            b"\x80\x01\x00\x01\x00\x00\x00\x0f",
            name.as_bytes(),
            &[0, 0, 0, 1, 0],
            // Behind it one that is there.
            b"\x80\x01\x00\x01\x00\x00\x00\x04blob\x00\x00\x00\x02\x00",
        ]
        .concat(),
        _ => {
            let head = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 2";
            format!("POST /Target/{name} HTTP/1.1\r\n{head}\r\n\r\n{{}}").into_bytes()
        }
    };
    stream.write_all(&call).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut reported = Vec::new();
    stream.read_to_end(&mut reported).unwrap();
    let reported = String::from_utf8_lossy(&reported);
    assert!(reported.contains(&name), "{reported}");
}

/// Most bytes of a session with a state of 8.
const SESSION: usize = 350;

fn sessions_cost_little() {
    let count = 20_000;
    let sessions = Sessions::builder(|_| Ok(0_i64)).per_caller(count).build();
    let server = Server::new().service(Target).sessions("Target", &sessions);
    let server = server
        .model(Model::ThreadPerConnection)
        .local_upgrade(false);
    let running = server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap();
    let channel = Channel::connect(&running.addresses()[0].to_string()).unwrap();
    let begin = || -> Result<String, Status> { channel.call_by_name("begin_session", ("Target",)) };
    let end = |session| -> Result<(), Status> { channel.call_by_name("end_session", (session,)) };
    let first = begin().unwrap();
    let before = MEMORY.current_usage();
    let handles: Vec<_> = (1..count).map(|_| begin().unwrap()).collect();
    let own = handles.capacity() * size_of::<String>() + count * first.len();
    let each = (MEMORY.current_usage() - before - own) / count;
    println!("\n{count} sessions take {each} bytes each");
    assert!(each < SESSION, "{each}");
    assert!(begin().unwrap_err().message().contains("end one first"));
    handles
        .into_iter()
        .for_each(|session| end(session).unwrap());
    let left = MEMORY.current_usage().saturating_sub(before);
    assert!(left < count * SESSION / 2, "{left}");
    assert_eq!(sessions.counters().open, 1);
    drop(channel);
    assert!(running.shutdown(Duration::from_secs(10)));
}

fn hostile_peers_cost_little() {
    #[cfg(feature = "async")]
    let models = [Model::ThreadPerConnection, Model::EventLoops(Some(1))];
    #[cfg(not(feature = "async"))]
    let models = [Model::ThreadPerConnection];
    let rows = rows();
    for model in models {
        let server = Server::new().service(Target).model(model);
        let listening = server.listen("tcp://127.0.0.1:0").unwrap();
        let running = listening.start().unwrap();
        let good = Channel::connect(&running.addresses()[0].to_string()).unwrap();
        println!("\n| {model:?} | sent | peak memory |\n|---|---:|---:|");
        for row in &rows {
            let what = format!("{}, {model:?}", row.name);
            let before = MEMORY.current_usage();
            MEMORY.reset_peak_usage();
            let reported = converse(&running, &row.sends);
            let peak = MEMORY.peak_usage().saturating_sub(before);
            println!(
                "| {} | {} | {} KiB |",
                row.name,
                row.sends.len(),
                peak / KIB
            );
            let text = String::from_utf8_lossy(&reported);
            assert!(text.contains(row.reported), "{what}: {text:?}");
            assert!(peak < row.most, "{what}: {peak} bytes");
            let taken: Result<i32, Status> = good.call(&TARGET.methods[1], (&Bytes::new(),));
            assert_eq!(taken, Ok(0), "{what}");
        }
        drop(good);
        assert!(running.shutdown(Duration::from_secs(10)), "{model:?}");
    }
}

/// Sends, closes that side, and reads to the end.
fn converse(running: &Running, bytes: &[u8]) -> Vec<u8> {
    let Address::Tcp(place) = &running.addresses()[0] else {
        panic!("the test listens on TCP");
    };
    let mut stream = TcpStream::connect(place).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    // The server may have closed by then.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut reported = Vec::new();
    let _ = stream.read_to_end(&mut reported);
    reported
}

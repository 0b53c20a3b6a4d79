//! TLS on every wire, model and client: the peers that it refuses, the errors at both ends, and
//! broken and hostile peers.

use crate::certificates::{Authority, Certified, NAMES};
use crate::fixture::*;
use dovetail::blocking::Channel;
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, Counters, HandlerFuture, Model, ServerLimits};
use dovetail::tls::{ClientCertificate, ClientTls, ServerTls};
use dovetail::types::Bytes;
use dovetail::{Code, Context, Running, Server, Service, Status, Wire, descriptor};
use rustls::pki_types::ServerName;
use rustls::pki_types::pem::PemObject;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

descriptor!(static WHO = "Who" {
    names() -> Vec<String>;
});

/// Says who calls: the names of its certificate, and how many it has shown.
struct Who;

impl Service for Who {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &WHO
    }

    fn call<'a>(&'a self, _: usize, call: Call) -> HandlerFuture<'a> {
        call.unary((), |context: Context, ()| async move {
            let Some(peer) = context.tls() else {
                return Ok::<Vec<String>, Status>(vec!["plain".to_owned()]);
            };
            let names = [peer.dns_names(), peer.uris()].concat();
            let names = names.into_iter().map(str::to_owned);
            let shown = format!("{} certificates", peer.certificates().count());
            Ok(names.chain([shown]).collect())
        })
    }
}

fn serve(model: Model, tls: &ServerTls, address: &str, limits: ServerLimits) -> Running {
    let server = Server::new().service(Probe::default()).service(Who);
    let server = server.model(model).limits(limits).tls(tls);
    server
        .allow_plaintext()
        .listen(address)
        .unwrap()
        .start()
        .unwrap()
}

/// Takes TLS beside plain connections.
fn start(model: Model, tls: &ServerTls) -> Running {
    serve(model, tls, "tcp://127.0.0.1:0", ServerLimits::default())
}

fn place(running: &Running) -> String {
    let address = running.addresses()[0].to_string();
    address.split_at("tcp://".len()).1.to_owned()
}

fn secured(running: &Running) -> String {
    format!("tls://{}", place(running))
}

fn channel(running: &Running, tls: &ClientTls, wire: Wire) -> Channel {
    let builder = Channel::builder(&secured(running)).unwrap();
    builder.wire(wire).tls(tls).timeout(LONG).build()
}

fn names(channel: &Channel) -> Result<Vec<String>, Status> {
    channel.call(&WHO.methods[0], ())
}

const WIRES: &[&str] = &[
    "dovetail",
    "msgpack-rpc",
    "binary",
    "compact+framed",
    "binary+header:zlib",
    "json+http",
];

/// Longer than a record, and than what is sealed in one piece.
const LARGE: i32 = 200_000;

#[test]
fn every_wire_on_every_model_and_plain_connections_beside() {
    let authority = Authority::new();
    let (tls, trusted) = (authority.sign(NAMES).server(), authority.trusted());
    for model in MODELS {
        let running = start(*model, &tls);
        for wire in WIRES {
            let what = format!("{wire}, {model:?}");
            let wire: Wire = wire.parse().unwrap();
            let plain = Channel::builder(&running.addresses()[0].to_string()).unwrap();
            let plain = plain.wire(wire).local_upgrade(false).build();
            for (channel, who) in [
                (channel(&running, &trusted, wire), "0 certificates"),
                (plain, "plain"),
            ] {
                let large: Result<Bytes, Status> = channel.call(&PROBE.methods[FILL], (LARGE,));
                let large = large.unwrap_or_else(|status| panic!("{what}: {status}"));
                assert_eq!(large.len(), LARGE as usize, "{what}");
                let taken: Result<i32, Status> = channel.call(&PROBE.methods[TAKE], (&large,));
                assert_eq!(taken, Ok(LARGE), "{what}");
                let echo: Result<String, Status> = channel.call(&PROBE.methods[ECHO], ("on",));
                assert_eq!(echo, Ok("on".to_owned()), "{what}");
                assert_eq!(names(&channel), Ok(vec![who.to_owned()]), "{what}");
            }
        }
        let counters = running.counters();
        assert_eq!(counters.tls_connections, WIRES.len() as u64, "{model:?}");
        let local = counters.local_connections;
        assert_eq!(counters.connections - local, 2 * WIRES.len() as u64);
        assert_eq!(counters.protocol_errors, 0, "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[cfg(feature = "async")]
#[test]
fn async_clients_and_grpc() {
    let authority = Authority::new();
    let (tls, trusted) = (authority.sign(NAMES).server(), authority.trusted());
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    let _entered = runtime.enter();
    for model in CONCURRENT {
        let running = start(*model, &tls);
        let mut wires: Vec<Wire> = WIRES.iter().map(|wire| wire.parse().unwrap()).collect();
        #[cfg(feature = "grpc")]
        wires.extend(["grpc", "connect"].map(|wire| wire.parse::<Wire>().unwrap()));
        for wire in wires {
            let what = format!("{wire}, {model:?}");
            let builder = dovetail::Channel::builder(&secured(&running)).unwrap();
            let channel = builder.wire(wire).tls(&trusted).timeout(LONG).build();
            runtime.block_on(async {
                let large: Result<Bytes, Status> =
                    channel.call(&PROBE.methods[FILL], (LARGE,)).await;
                let large = large.unwrap_or_else(|status| panic!("{what}: {status}"));
                let taken: Result<i32, Status> =
                    channel.call(&PROBE.methods[TAKE], (&large,)).await;
                assert_eq!(taken, Ok(LARGE), "{what}");
                let names: Result<Vec<String>, Status> = channel.call(&WHO.methods[0], ()).await;
                assert_eq!(names, Ok(vec!["0 certificates".to_owned()]), "{what}");
            });
        }
        // Meanwhile the clients' tasks let go.
        let ended = tokio::task::spawn_blocking(|| running.shutdown(LONG));
        assert!(runtime.block_on(ended).unwrap(), "{model:?}");
    }
}

#[test]
fn a_handler_knows_who_calls() {
    let (servers, clients) = (Authority::new(), Authority::new());
    let (tls, trusted) = (servers.sign(NAMES).server(), servers.trusted());
    let client = clients.sign(&["client.example", "spiffe://example/agent"]);
    for (model, wanted) in MODELS.iter().flat_map(|model| {
        [ClientCertificate::Optional, ClientCertificate::Required].map(|wanted| (*model, wanted))
    }) {
        let what = format!("{wanted:?}, {model:?}");
        let tls = tls.clients(&*clients.root, wanted).unwrap();
        let running = start(model, &tls);
        let call = |tls: &ClientTls| names(&channel(&running, tls, Wire::Dovetail));
        let known = call(&client.client(&trusted)).unwrap();
        assert_eq!(
            known,
            ["client.example", "spiffe://example/agent", "1 certificates"],
            "{what}"
        );
        let unknown = call(&trusted);
        match wanted {
            ClientCertificate::Optional => assert_eq!(unknown.unwrap(), ["0 certificates"]),
            ClientCertificate::Required => {
                refused(&unknown, "asks for a certificate of the client", &what);
            }
        }
        let stranger = call(&servers.sign(&["client.example"]).client(&trusted));
        refused(&stranger, "does not trust", &what);
        let late = call(&clients.expired(&["client.example"]).client(&trusted));
        refused(&late, "has to be renewed", &what);
        until("all are counted", || {
            let expected = 2 + u64::from(wanted == ClientCertificate::Required);
            running.counters().refused_handshakes == expected
        });
        assert!(running.shutdown(LONG), "{what}");
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(outcome: &Result<T, Status>, why: &str, what: &str) {
    let status = outcome.as_ref().expect_err(what);
    assert!(status.message().contains(why), "{what}: {status}");
    assert_eq!(status.code(), Code::Unavailable, "{what}: {status}");
}

#[test]
fn unix_sockets_take_tls_beside_the_rest() {
    let authority = Authority::new();
    let tls = authority.sign(NAMES).server();
    let named = authority.trusted().server_name("localhost").unwrap();
    for (number, model) in MODELS.iter().enumerate() {
        let name = format!("dovetail-tls-{}-{number}.sock", std::process::id());
        let address = format!("unix:{}", std::env::temp_dir().join(name).display());
        let running = serve(*model, &tls, &address, ServerLimits::default());
        let builder = || Channel::builder(&address).unwrap();
        let secure = builder().tls(&named).build();
        assert_eq!(names(&secure).unwrap(), ["0 certificates"], "{model:?}");
        assert_eq!(names(&builder().build()).unwrap(), ["plain"], "{model:?}");
        let wrong = names(&builder().tls(&authority.trusted()).build());
        refused(&wrong, "ClientTls::server_name", "a path is no name");
        #[cfg(all(feature = "shm", target_os = "linux"))]
        {
            let shared = Channel::builder(&address.replace("unix:", "shm:")).unwrap();
            assert_eq!(names(&shared.build()).unwrap(), ["plain"], "{model:?}");
        }
        drop(secure);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn what_a_client_is_told() {
    let authority = Authority::new();
    let tls = authority.sign(NAMES).server();
    let trusted = authority.trusted();
    let good = start(Model::ThreadPerConnection, &tls);
    let old = authority.expired(NAMES).server();
    let old = start(Model::ThreadPerConnection, &old);
    let plain = Server::new().service(Probe::default());
    let plain = plain.listen("tcp://127.0.0.1:0").unwrap().start().unwrap();
    let named = |name: &str| trusted.server_name(name).unwrap();
    let stranger = Authority::new().trusted();
    let rows = [
        (&good, stranger, "give the root certificate"),
        (&good, named("other.example"), "connect by a name"),
        (&old, trusted.clone(), "it needs to be renewed"),
        (&plain, trusted.clone(), "speaks no TLS"),
    ];
    for (running, tls, why) in rows {
        let outcome = names(&channel(running, &tls, Wire::Dovetail));
        refused(&outcome, why, why);
    }
    let by_name = names(&channel(&good, &named("localhost"), Wire::Dovetail));
    assert!(by_name.is_ok());
}

#[test]
fn an_address_for_tls_alone_tells_plain_callers_in_their_wire() {
    let authority = Authority::new();
    let (tls, trusted) = (authority.sign(NAMES).server(), authority.trusted());
    for model in MODELS {
        let running = serve(*model, &tls, "tls://127.0.0.1:0", ServerLimits::default());
        assert_eq!(running.addresses()[0].to_string(), secured(&running));
        assert!(names(&channel(&running, &trusted, Wire::Dovetail)).is_ok());
        for wire in WIRES {
            let builder = Channel::builder(&format!("tcp://{}", place(&running))).unwrap();
            let channel = builder.wire(wire.parse().unwrap()).build();
            let reported = names(&channel).unwrap_err();
            assert!(
                reported.message().contains("takes TLS alone"),
                "{wire}: {reported}"
            );
        }
        assert!(running.shutdown(LONG), "{model:?}");
    }
    let without = Server::new().listen("tls://127.0.0.1:0").unwrap().start();
    let why = without.err().unwrap().to_string();
    assert!(why.contains("Server::tls"), "{why}");
}

/// A server that requires certificates does not start on a plain address, unless that is allowed.
#[test]
fn required_certificates_and_plaintext_exclude_each_other() {
    let authority = Authority::new();
    let tls = authority.sign(NAMES).server();
    let asks = |wanted| tls.clients(&*authority.root, wanted).unwrap();
    let (optional, required) = (
        asks(ClientCertificate::Optional),
        asks(ClientCertificate::Required),
    );
    for (tls, address, allowed, starts) in [
        (&required, "tcp://127.0.0.1:0", false, false),
        (&required, "tcp://127.0.0.1:0", true, true),
        (&required, "tls://127.0.0.1:0", false, true),
        (&optional, "tcp://127.0.0.1:0", false, true),
    ] {
        let server = Server::new().tls(tls).listen(address).unwrap();
        let server = if allowed {
            server.allow_plaintext()
        } else {
            server
        };
        match server.start() {
            Ok(running) => {
                assert!(starts, "{address}");
                assert!(running.shutdown(LONG));
            }
            Err(why) => {
                assert!(!starts, "{address}: {why}");
                assert!(why.to_string().contains("allow_plaintext"), "{why}");
            }
        }
    }
}

#[test]
fn new_connections_get_the_new_certificate_and_busy_ones_go_on() {
    const CONNECTIONS: usize = 64;
    let (old, new) = (Authority::new(), Authority::new());
    let folder = std::env::temp_dir().join(format!("dovetail-tls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (chain, key) = (folder.join("chain.pem"), folder.join("key.pem"));
    let write = |certified: &Certified| {
        std::fs::write(&chain, &certified.chain).unwrap();
        std::fs::write(&key, &certified.key).unwrap();
    };
    write(&old.sign(NAMES));
    let tls = ServerTls::new(&*chain, &*key).unwrap();
    for model in MODELS {
        write(&old.sign(NAMES));
        tls.reload().unwrap();
        let running = start(*model, &tls);
        let busy = channel_of(CONNECTIONS, &running, &old.trusted());
        let call = |number: usize| -> Result<String, Status> {
            busy.call(&PROBE.methods[ECHO], (&number.to_string(),))
        };
        let calls = |turns: usize| {
            std::thread::scope(|scope| {
                for thread in 0..4 {
                    scope.spawn(move || {
                        for number in 0..turns * CONNECTIONS / 4 {
                            assert_eq!(call(number), Ok(number.to_string()), "thread {thread}");
                        }
                    });
                }
            });
        };
        calls(1);
        std::thread::scope(|scope| {
            scope.spawn(|| calls(4));
            // A half that does not fit the other changes nothing.
            std::fs::write(&chain, &new.sign(NAMES).chain).unwrap();
            let why = tls.reload().unwrap_err().to_string();
            assert!(why.contains("another certificate"), "{why}");
            assert!(names(&channel(&running, &old.trusted(), Wire::Dovetail)).is_ok());
            write(&new.sign(NAMES));
            tls.reload().unwrap();
            assert!(names(&channel(&running, &new.trusted(), Wire::Dovetail)).is_ok());
            let outdated = names(&channel(&running, &old.trusted(), Wire::Dovetail));
            refused(&outdated, "nobody who is trusted", "an old root");
        });
        calls(1);
        // None of the busy ones was made anew: the old root would not do.
        assert_eq!(running.counters().connections, CONNECTIONS as u64 + 3);
        drop(busy);
        assert!(running.shutdown(LONG), "{model:?}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

fn channel_of(connections: usize, running: &Running, tls: &ClientTls) -> Channel {
    let builder = Channel::builder(&secured(running)).unwrap();
    builder.tls(tls).connections(connections).build()
}

/// A peer that sends bytes of its own.
struct Peer(TcpStream);

impl Peer {
    fn connect(running: &Running) -> Self {
        let stream = TcpStream::connect(place(running)).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        Peer(stream)
    }

    /// Sends these bytes and nothing else. Returns the server's bytes.
    fn say(mut self, bytes: &[u8]) -> Vec<u8> {
        let mut said = Vec::new();
        // The server may have closed it meanwhile.
        let _ = self.0.write_all(bytes);
        let _ = self.0.shutdown(Shutdown::Write);
        let _ = self.0.read_to_end(&mut said);
        said
    }
}

/// A client of TLS by itself, with a call of msgpack-rpc that has been answered.
fn spoken(running: &Running, authority: &Authority) -> (rustls::ClientConnection, TcpStream) {
    let mut client = client_hello(authority);
    let Peer(mut stream) = Peer::connect(running);
    let mut tls = rustls::Stream::new(&mut client, &mut stream);
    tls.write_all(b"\x94\x00\x01\xa4echo\x91\xa2on").unwrap();
    let mut answer = [0; 7];
    tls.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"\x94\x01\x01\xc0\xa2on");
    (client, stream)
}

fn client_hello(authority: &Authority) -> rustls::ClientConnection {
    naming(authority, &[])
}

/// A client that names these protocols (ALPN).
fn naming(authority: &Authority, protocols: &[&[u8]]) -> rustls::ClientConnection {
    let mut roots = rustls::RootCertStore::empty();
    let root = rustls::pki_types::CertificateDer::from_pem_slice(&authority.root);
    roots.add(root.unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let name = ServerName::try_from("localhost").unwrap();
    rustls::ClientConnection::new(Arc::new(config), name).unwrap()
}

fn hello(authority: &Authority) -> Vec<u8> {
    let mut hello = Vec::new();
    client_hello(authority).write_tls(&mut hello).unwrap();
    hello
}

#[test]
fn a_handshake_that_stops_is_given_up() {
    let authority = Authority::new();
    let tls = authority.sign(NAMES).server();
    let hello = hello(&authority);
    let limits = ServerLimits {
        handshake: Duration::from_millis(30),
        ..ServerLimits::default()
    };
    for model in MODELS {
        let running = serve(*model, &tls, "tcp://127.0.0.1:0", limits);
        let pieces = [&hello[..1], &hello[..2], &hello[..100], &hello];
        let mut peers = pieces.map(|piece| {
            let mut peer = Peer::connect(&running);
            peer.0.write_all(piece).unwrap();
            peer
        });
        for peer in &mut peers {
            // The end comes, with or without what the server has said before.
            let _ = peer.0.read_to_end(&mut Vec::new());
        }
        until("all are counted", || {
            running.counters().transfer_timeouts == pieces.len() as u64
        });
        drop(peers);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn garbage_behind_a_handshake_ends_the_connection_and_is_counted() {
    let authority = Authority::new();
    let tls = authority.sign(NAMES).server();
    for model in MODELS {
        let running = start(*model, &tls);
        let rows: [&[u8]; 4] = [
            b"POST / HTTP/1.1\r\n\r\n",
            b"\x17\x03\x03\x00\x20aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            b"\x17\x03\x03\xff\xff",
            b"\x16\x03\x03\x00\x04\x01\x00\x00\x00",
        ];
        for (number, garbage) in (1..).zip(rows) {
            let (mut client, stream) = spoken(&running, &authority);
            let mut alert = &Peer(stream).say(garbage)[..];
            while !alert.is_empty() && client.read_tls(&mut alert).is_ok() {
                let reported = client.process_new_packets();
                assert!(
                    !alert.is_empty() || reported.is_err(),
                    "no alert for {number}"
                );
            }
            until(&format!("garbage {number} is counted, {model:?}"), || {
                running.counters().protocol_errors == number
            });
        }
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// Numbers that look random, the same ones each time (Marsaglia's xorshift64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[test]
fn what_looks_like_tls_and_is_none_is_refused_with_an_alert() {
    const ROWS: u64 = 60;
    let authority = Authority::new();
    let (tls, trusted) = (authority.sign(NAMES).server(), authority.trusted());
    let hello = hello(&authority);
    for model in MODELS {
        let running = start(*model, &tls);
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        for row in 0..ROWS {
            let mut bytes = match row % 2 {
                0 => (0..random.next() % 600)
                    .map(|_| random.next() as u8)
                    .collect(),
                // A handshake with some of it changed.
                _ => hello.clone(),
            };
            for _ in 0..4 * (row % 2) {
                let at = random.next() as usize % bytes.len();
                bytes[at] = random.next() as u8;
            }
            bytes.splice(..bytes.len().min(2), [0x16, 3]);
            let said = Peer::connect(&running).say(&bytes);
            // An alert (RFC 8446, 6), or the answer to what is still a handshake.
            assert!(
                matches!(said.first(), None | Some(0x15 | 0x16)),
                "{row}: {said:?}"
            );
        }
        let good = names(&channel(&running, &trusted, Wire::Dovetail));
        assert_eq!(good.unwrap(), ["0 certificates"], "{model:?}");
        until("all are counted", || {
            let Counters {
                refused_handshakes,
                tls_connections,
                ..
            } = running.counters();
            (refused_handshakes, tls_connections) == (ROWS, 1)
        });
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn both_ends_say_goodbye_and_a_server_takes_an_end_without() {
    let authority = Authority::new();
    let tls = authority.sign(NAMES).server();
    for (model, polite) in MODELS
        .iter()
        .flat_map(|model| [(*model, true), (*model, false)])
    {
        let running = start(model, &tls);
        let (mut client, mut stream) = spoken(&running, &authority);
        if polite {
            client.send_close_notify();
            client.write_tls(&mut stream).unwrap();
        }
        stream.shutdown(Shutdown::Write).unwrap();
        let end = rustls::Stream::new(&mut client, &mut stream).read(&mut [0]);
        // Without the server's goodbye this would be an error.
        assert_eq!(end.unwrap(), 0, "{model:?}");
        assert_eq!(running.counters().protocol_errors, 0, "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// The protocol that a client names, the bytes it sends then, the answer, and whether a refusal is
/// counted.
const AGREED: &[(&[u8], &[u8], &str, bool)] = &[
    (b"http/1.1", BY_HTTP, "HTTP/1.1 405", false),
    (b"h2", THRIFT, "agreed on by ALPN", true),
    (b"http/1.1", THRIFT, "agreed on by ALPN", true),
    (b"dovetail/1", THRIFT, "agreed on by ALPN", true),
    (b"dovetail/1", BY_HTTP, "HTTP/1.1 421", true),
    (b"h2", BY_HTTP, "HTTP/1.1 421", true),
    (
        b"h2",
        b"\xd7DVT\x01\0\0\x01\0\0\0\0\x01",
        "agreed on by ALPN",
        true,
    ),
    (b"h2", b"\x94\x00\x01\xa4echo\x91\xa2on", "", true),
    #[cfg(feature = "grpc")]
    (b"http/1.1", PREFACE, "agreed on by ALPN", true),
    #[cfg(feature = "grpc")]
    (b"dovetail/1", PREFACE, "agreed on by ALPN", true),
];

const THRIFT: &[u8] = b"\x80\x01\x00\x01\0\0\0\x04echo\0\0\0\x01\x0b\0\x01\0\0\0\x02on\0";

#[cfg(feature = "grpc")]
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

const BY_HTTP: &[u8] =
    b"OPTIONS /Probe/echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

#[test]
fn only_what_was_agreed_on_is_spoken() {
    let authority = Authority::new();
    let tls = authority.sign(NAMES).server();
    for model in MODELS {
        let running = start(*model, &tls);
        let mut refused = 0;
        for (agreed, said, reported, refuses) in AGREED {
            let what = format!(
                "{}, {}, {model:?}",
                agreed.escape_ascii(),
                said.escape_ascii()
            );
            let stream = TcpStream::connect(place(&running)).unwrap();
            stream.set_read_timeout(Some(LONG)).unwrap();
            let client = naming(&authority, &[agreed]);
            let mut peer = rustls::StreamOwned::new(client, stream);
            peer.write_all(said).unwrap();
            let mut answer = Vec::new();
            peer.read_to_end(&mut answer).expect(&what);
            let answer = String::from_utf8_lossy(&answer);
            assert!(answer.contains(reported), "{what}: {answer:?}");
            refused += u64::from(*refuses);
            assert_eq!(running.counters().protocol_errors, refused, "{what}");
        }
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// Clients that name both versions of HTTP get the newer one, where the model has it.
#[test]
fn http2_is_preferred() {
    let authority = Authority::new();
    let tls = authority.sign(NAMES).server();
    for model in MODELS {
        let running = start(*model, &tls);
        let has_http2 = cfg!(feature = "grpc") && *model != Model::ThreadPerConnection;
        let wanted: &[u8] = if has_http2 { b"h2" } else { b"http/1.1" };
        let mut stream = TcpStream::connect(place(&running)).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let mut client = naming(&authority, &[b"h2", b"http/1.1"]);
        while client.is_handshaking() {
            client.complete_io(&mut stream).unwrap();
        }
        assert_eq!(client.alpn_protocol(), Some(wanted), "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// Made by `openssl req -x509` of OpenSSL 3.0, with its defaults: the certificate may sign others.
macro_rules! openssl {
    ($name:literal) => {
        (
            &include_bytes!(concat!("openssl/", $name, ".pem"))[..],
            &include_bytes!(concat!("openssl/", $name, ".key"))[..],
        )
    };
}

#[test]
fn a_certificate_of_openssl_that_signed_itself() {
    let ((own, own_key), (another, another_key)) = (openssl!("own"), openssl!("another"));
    let trusts = ClientTls::roots(own).unwrap();
    let elsewhere = trusts.server_name("elsewhere.example").unwrap();
    for (what, chain, key, tls, expected) in [
        ("trusted", own, own_key, &trusts, Ok(())),
        (
            "another",
            another,
            another_key,
            &trusts,
            Err("give the server's own certificate as a root"),
        ),
        (
            "another name",
            own,
            own_key,
            &elsewhere,
            Err("connect by a name that the certificate is for"),
        ),
    ] {
        let server = ServerTls::new(chain, key).unwrap();
        let running = start(Model::ThreadPerConnection, &server);
        let named = names(&channel(&running, tls, Wire::Dovetail));
        match expected {
            Ok(()) => assert!(named.is_ok(), "{what}: {named:?}"),
            Err(why) => {
                let status = named.unwrap_err();
                assert!(status.message().contains(why), "{what}: {status}");
            }
        }
        assert!(running.shutdown(LONG));
    }
}

//! Quotas per address, and callers behind proxies.

use crate::certificates::{Authority, NAMES};
use crate::fixture::*;
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture, Model, ServerLimits};
use dovetail::{Context, Running, Server, Service, Status, descriptor};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

descriptor!(static PEER = "Peer" {
    peer() -> String [idempotent];
});

/// Says who calls.
struct Peer;

impl Service for Peer {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &PEER
    }

    fn call<'a>(&'a self, _: usize, call: Call) -> HandlerFuture<'a> {
        call.unary((), |context: Context, ()| async move {
            Ok::<String, Status>(context.peer().to_owned())
        })
    }
}

fn serve(model: Model, server: Server) -> Running {
    let server = server.service(Peer).model(model);
    server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap()
}

/// A connection from this address.
fn from(running: &Running, ip: &str) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let source: SocketAddr = format!("{ip}:0").parse().unwrap();
    socket.bind(&source.into()).unwrap();
    let server: SocketAddr = tcp_place(running).parse().unwrap();
    socket.connect(&server.into()).unwrap();
    socket.set_read_timeout(Some(LONG)).unwrap();
    socket.into()
}

/// A call of msgpack-rpc.
const CALL: &[u8] = b"\x94\x00\x01\xa4peer\x90";

/// Sends these bytes and a call, and returns the answer.
fn said(mut stream: impl Read + Write, before: &[u8]) -> String {
    stream.write_all(&[before, CALL].concat()).unwrap();
    let mut answer = [0; 256];
    let length = stream.read(&mut answer).unwrap_or_default();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

#[test]
fn an_address_leaves_room_for_others() {
    let limits = ServerLimits {
        connections: 8,
        ..ServerLimits::default()
    };
    for model in MODELS {
        let running = serve(*model, Server::new().limits(limits));
        let open = |ip: &str| {
            let stream = from(&running, ip);
            let answer = said(&stream, b"");
            (stream, answer)
        };
        let greedy: Vec<_> = (0..6).map(|_| open("127.0.0.1")).collect();
        for (_, answer) in &greedy {
            assert!(answer.contains("127.0.0.1"), "{model:?}: {answer:?}");
        }
        let (_refused, reported) = open("127.0.0.1");
        assert!(
            reported.contains("half of the 8 connections"),
            "{model:?}: {reported:?}"
        );
        let (_other, answer) = open("127.0.0.2");
        assert!(answer.contains("127.0.0.2"), "{model:?}: {answer:?}");
        assert_eq!(running.counters().refused_connections, 1, "{model:?}");
        drop(greedy);
        until("the greedy have gone", || running.connections() <= 2);
        let (_again, answer) = open("127.0.0.1");
        assert!(answer.contains("127.0.0.1"), "{model:?}: {answer:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn the_longest_idle_makes_room() {
    let limits = ServerLimits {
        connections: 4,
        ..ServerLimits::default()
    };
    for model in MODELS {
        let running = serve(*model, Server::new().limits(limits));
        let mut idle: Vec<_> = (1..=4)
            .map(|last| from(&running, &format!("127.0.0.{last}")))
            .collect();
        for stream in &idle {
            assert!(said(stream, b"").contains("127.0.0"), "{model:?}");
            // On a busy machine a thread may find out later than the next one that it has nothing
            // to do.
            thread::sleep(Duration::from_millis(50));
        }
        let refused = said(from(&running, "127.0.0.9"), b"");
        assert!(refused.contains("has 4 connections"), "{model:?}");
        until("the first has been idle for long enough", || {
            said(from(&running, "127.0.0.9"), b"").contains("127.0.0.9")
        });
        let first = idle.remove(0);
        assert_eq!((&first).read(&mut [0]).unwrap(), 0, "{model:?}");
        for stream in &idle {
            assert!(said(stream, b"").contains("127.0.0"), "{model:?}");
        }
        assert_eq!(running.counters().closed_for_room, 1, "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// The beginning of a ClientHello.
const HELLO: &[u8] = b"\x16\x03\x01\x02\0\x01\0\x01\xfc";

#[test]
fn an_address_leaves_handshakes_for_others() {
    let limits = ServerLimits {
        handshakes: 4,
        ..ServerLimits::default()
    };
    let tls = Authority::new().sign(NAMES).server();
    for model in MODELS {
        let running = serve(*model, Server::new().limits(limits).tls(&tls));
        let handshake = |ip: &str| {
            let mut stream = from(&running, ip);
            stream.write_all(HELLO).unwrap();
            stream
        };
        let greedy: Vec<_> = (0..4).map(|_| handshake("127.0.0.1")).collect();
        until("the fourth is refused", || {
            running.counters().refused_handshakes == 1
        });
        let mut other = handshake("127.0.0.2");
        let timeout = Some(std::time::Duration::from_millis(50));
        other.set_read_timeout(timeout).unwrap();
        assert!(other.read(&mut [0]).is_err(), "{model:?}: it was closed");
        drop((greedy, other));
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// As HAProxy 2.6 says it, with `send-proxy-v2`.
const ANNOUNCED: &[u8] =
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\x09\x7f\0\0\x01\x9c\x41\xbb\xe5";
const CHECK: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";

#[test]
fn known_proxies_say_who_calls() {
    let authority = Authority::new();
    let secure = authority.sign(NAMES).server();
    for model in MODELS {
        for tls in [false, true] {
            let server = Server::new().proxies(["127.0.0.1", "127.0.0.3"]).unwrap();
            let running = match tls {
                true => serve(*model, server.tls(&secure)),
                false => serve(*model, server),
            };
            for (from_ip, before, caller) in [
                ("127.0.0.1", ANNOUNCED, "127.0.0.9:40001"),
                ("127.0.0.1", CHECK, "127.0.0.1:"),
                ("127.0.0.1", b"", "127.0.0.1:"),
                ("127.0.0.2", b"", "127.0.0.2:"),
            ] {
                let answer = said(from(&running, from_ip), before);
                assert!(answer.contains(caller), "{model:?} {from_ip}: {answer:?}");
            }
            assert_eq!(running.counters().protocol_errors, 0, "{model:?}");
            // Nobody else is believed, and what cannot be read is refused.
            let wrong = [&ANNOUNCED[..12], b"\x31\x11\0\0"].concat();
            for (from_ip, before) in [("127.0.0.2", ANNOUNCED), ("127.0.0.1", &wrong)] {
                let answer = said(from(&running, from_ip), before);
                assert!(
                    !answer.contains("127.0.0"),
                    "{model:?} {from_ip}: {answer:?}"
                );
            }
            until("both are counted", || {
                running.counters().protocol_errors == 2
            });
            assert!(running.shutdown(LONG), "{model:?}");
        }
    }
}

/// The proxy's header precedes the TLS handshake, which is the caller's.
#[test]
fn a_proxy_speaks_before_tls() {
    let authority = Authority::new();
    let tls = authority.sign(NAMES).server();
    for model in MODELS {
        let server = Server::new().proxies(["127.0.0.0/8"]).unwrap().tls(&tls);
        let running = serve(*model, server);
        let mut roots = rustls::RootCertStore::empty();
        let root = CertificateDer::from_pem_slice(&authority.root).unwrap();
        roots.add(root).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(roots).with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
        let mut stream = from(&running, "127.0.0.1");
        for piece in ANNOUNCED.chunks(9) {
            stream.write_all(piece).unwrap();
        }
        let answer = said(rustls::StreamOwned::new(client, stream), b"");
        assert!(answer.contains("127.0.0.9:40001"), "{model:?}: {answer:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// A proxy for HTTP names the caller in headers. Headers of others mean nothing.
#[test]
fn headers_of_known_proxies_say_who_calls() {
    for model in MODELS {
        let server = Server::new().proxies(["127.0.0.1", "10.0.0.0/8"]).unwrap();
        let running = serve(*model, server);
        for (from_ip, header, caller) in [
            (
                "127.0.0.1",
                "X-Forwarded-For: 6.6.6.6, 192.0.2.1, 10.0.0.2",
                "\"192.0.2.1\"",
            ),
            (
                "127.0.0.1",
                "Forwarded: for=\"[2001:db8::1]:80\"",
                "\"[2001:db8::1]:80\"",
            ),
            ("127.0.0.2", "X-Forwarded-For: 192.0.2.1", "\"127.0.0.2:"),
        ] {
            let mut stream = from(&running, from_ip);
            let request = format!(
                "POST /Peer/peer HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}\r\n\
                 Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
            );
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.contains(caller), "{model:?} {header}: {answer}");
        }
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// Callers that a proxy announces count as if they had come by themselves; the proxy does not.
#[test]
fn callers_behind_a_proxy_count_each() {
    let limits = ServerLimits {
        connections: 8,
        ..ServerLimits::default()
    };
    for model in MODELS {
        let server = Server::new().limits(limits).proxies(["127.0.0.1"]).unwrap();
        let running = serve(*model, server);
        let open = |before: &[u8]| {
            let stream = from(&running, "127.0.0.1");
            let answer = said(&stream, before);
            (stream, answer)
        };
        let mut open_ones = Vec::new();
        for _ in 0..4 {
            open_ones.push(open(ANNOUNCED));
        }
        open_ones.extend([open(CHECK), open(CHECK)]);
        for (_, answer) in &open_ones {
            assert!(answer.contains("127.0.0."), "{model:?}: {answer:?}");
        }
        let (_one_more, reported) = open(ANNOUNCED);
        assert!(
            reported.contains("half of the 8"),
            "{model:?}: {reported:?}"
        );
        let (_proxy, answer) = open(CHECK);
        assert!(answer.contains("127.0.0.1"), "{model:?}: {answer:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

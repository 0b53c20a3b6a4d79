//! The addresses of servers: abstract names, and sockets that others have opened.

use crate::fixture::*;
use dovetail::blocking::Channel;
use dovetail::server::Model;
use dovetail::{Address, Running, Server, Status};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

fn server(model: Model) -> Server {
    let probe = Probe::default();
    Server::new().service(probe).model(model)
}

/// Calls over each of these wires.
fn check(address: &str, wires: &[&str]) {
    for wire in wires {
        let builder = Channel::builder(address).unwrap();
        let channel = builder.wire(wire.parse().unwrap()).build();
        let echoed = channel.call(&PROBE.methods[ECHO], ("hi",));
        assert_eq!(
            echoed,
            Ok::<_, Status>("hi".to_owned()),
            "{address}: {wire}"
        );
    }
}

/// The status line of the answer to a request of HTTP.
fn status(mut stream: impl Read + Write) -> String {
    let request = "POST /Probe/echo HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
        content-length: 13\r\nconnection: close\r\n\r\n{\"text\":\"hi\"}";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn abstract_names() {
    for model in MODELS {
        let name = format!("dovetail test {}", std::process::id());
        let address = format!("unix:@{name}");
        let running = server(*model).listen(&address).unwrap().start().unwrap();
        assert_eq!(running.addresses()[0].to_string(), address);
        check(&address, &["dovetail", "binary+framed"]);
        if cfg!(feature = "shm") {
            check(&format!("shm:@{name}"), &["dovetail"]);
        }
        // A peer that knows nothing of our names.
        let place = SocketAddr::from_abstract_name(&name).unwrap();
        let stock = UnixStream::connect_addr(&place).unwrap();
        assert_eq!(status(stock), "HTTP/1.1 200 OK", "{model:?}");
        let taken = server(*model).listen(&address).map(drop).unwrap_err();
        assert!(taken.to_string().contains(&address), "{taken}");
        assert!(running.shutdown(LONG), "{model:?}");
        assert!(UnixStream::connect_addr(&place).is_err(), "{model:?}");
    }
}

fn start(model: Model, socket: impl Into<OwnedFd>) -> Running {
    server(model).listen_on(socket).unwrap().start().unwrap()
}

/// A socket that a supervisor keeps open is served by one process after the other, and no
/// connection is lost between them.
#[test]
fn sockets_of_others() {
    for model in MODELS {
        let supervised = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = supervised.local_addr().unwrap();
        for _ in 0..3 {
            // Nobody serves yet.
            let early = TcpStream::connect(place).unwrap();
            let running = start(*model, supervised.try_clone().unwrap());
            let address = running.addresses()[0].to_string();
            assert_eq!(address, format!("tcp://{place}"));
            assert_eq!(status(early), "HTTP/1.1 200 OK", "{model:?}");
            check(&address, &["dovetail", "compact+framed"]);
            assert!(running.shutdown(LONG), "{model:?}");
        }

        let name = format!("dovetail-adopted-{}.sock", std::process::id());
        let path = std::env::temp_dir().join(name);
        let supervised = UnixListener::bind(&path).unwrap();
        for _ in 0..2 {
            let running = start(*model, supervised.try_clone().unwrap());
            assert_eq!(running.addresses()[0], Address::Unix(path.clone()));
            check(&format!("unix:{}", path.display()), &["dovetail"]);
            assert!(running.shutdown(LONG), "{model:?}");
            assert!(path.exists(), "{model:?}");
        }
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn sockets_that_do_not_listen() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connected = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (pair, _other) = UnixStream::pair().unwrap();
    let file = std::fs::File::open("/dev/null").unwrap();
    let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let rows: [OwnedFd; 4] = [connected.into(), pair.into(), file.into(), datagrams.into()];
    for fd in rows {
        assert!(Server::new().listen_on(fd).is_err());
    }
}

/// A server without callers is gone at once: threads that wait for connections are woken.
#[test]
fn the_end_of_an_adopted_socket() {
    for model in MODELS {
        let supervised = TcpListener::bind("127.0.0.1:0").unwrap();
        let running = start(*model, supervised.try_clone().unwrap());
        let began = Instant::now();
        assert!(running.shutdown(LONG), "{model:?}");
        assert!(began.elapsed() < Duration::from_secs(10), "{model:?}");
    }
}

//! A running server, and everything that a client says in a connection. The seeds are whole
//! conversations of stock clients, `fuzz/conversations`.

use dovetail::server::{Health, Model};
use dovetail::types::Dynamic;
use dovetail::{Address, Running, Server};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Far longer than any answer takes: a connection that is open then hangs.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends the bytes to the server that runs all the while, and takes what it answers. The server
/// ends the connection, closes it on its side as well, and no handler panics.
pub(crate) fn conversation(input: &[u8]) {
    static SERVER: OnceLock<Running> = OnceLock::new();
    let server = SERVER.get_or_init(|| match serve() {
        Ok(running) => running,
        Err(problem) => panic!("the server does not start: {problem}"),
    });
    let Some(Address::Tcp(address)) = server.addresses().first() else {
        panic!("the server has no address");
    };
    let mut stream = match TcpStream::connect(address.to_string()) {
        Ok(stream) => stream,
        Err(problem) => panic!("the server does not listen: {problem}"),
    };
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let _ = stream.set_nodelay(true);
    // A server that has ended the connection already takes no more of it.
    let _ = stream.write_all(input);
    let _ = stream.shutdown(Shutdown::Write);
    drain(&mut stream);
    let start = Instant::now();
    while server.connections() > 0 {
        assert!(start.elapsed() < PATIENCE, "the connection is still there");
        std::thread::yield_now();
    }
    assert_eq!(server.counters().panics, 0);
}

/// Reads to the end.
fn drain(stream: &mut TcpStream) {
    let mut buffer = [0; 16 << 10];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(_) => {}
            Err(problem) if problem.kind() == ErrorKind::WouldBlock => panic!("no end"),
            // A reset is an end as well.
            Err(_) => return,
        }
    }
}

fn serve() -> std::io::Result<Running> {
    Server::new()
        .bind("add", |a: i32, b: i32| a.wrapping_add(b))
        .bind("hello", |name: String| format!("hello, {name}"))
        .bind("count", |lists: Vec<BTreeMap<String, i64>>| {
            lists.len() as u64
        })
        .bind("same", |value: Dynamic| value)
        .health(&Health::default())
        .model(Model::SingleThreaded)
        .listen("tcp://127.0.0.1:0")?
        .start()
}

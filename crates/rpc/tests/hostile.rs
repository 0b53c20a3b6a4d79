//! What breaks the rules ends its own connection, is counted, and harms no other.

use dovetail::blocking::Channel;
use dovetail::{
    Address, Call, Context, Counters, HandlerFuture, Method, Model, Server, Service,
    ServiceDescriptor, Status,
};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

static METHODS: [Method; 1] = [Method::new("seven", &[])];
static DESCRIPTOR: ServiceDescriptor = ServiceDescriptor {
    name: "Numbers",
    base: None,
    methods: &METHODS,
};

struct Numbers;

impl Service for Numbers {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &DESCRIPTOR
    }

    fn call<'a>(&'a self, _: usize, call: Call) -> HandlerFuture<'a> {
        call.unary((), |_: Context, ()| async { Ok::<i32, Status>(7) })
    }
}

/// What a peer sends before it closes its side, and what part of the answer tells it why.
const ROWS: &[(&str, &[u8], &str)] = &[
    ("nothing known", b"\x00\x01\x02\x03\x04\x05\x06\x07", ""),
    (
        "TLS",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "\x15\x03\x01",
    ),
    (
        "half a framed message",
        b"\x00\x00\x00\x40\x80\x01\x00\x01",
        "",
    ),
    (
        "half an unframed message",
        b"\x80\x01\x00\x01\x00\x00\x00\x05sev",
        "",
    ),
    (
        "a name of two gigabytes",
        b"\x80\x01\x00\x01\x7f\xff\xff\xffaaaa",
        "the limit is 1024",
    ),
    (
        "a negative name",
        b"\x80\x01\x00\x01\xff\xff\xff\xffaaaa",
        "a length of -1",
    ),
    (
        "a list of 2^31 structs",
        b"\x80\x01\x00\x01\x00\x00\x00\x05seven\x00\x00\x00\x01\x0f\x00\x01\x0c\x7f\xff\xff\xff",
        "the limit is 67108864",
    ),
    (
        "a reply to a server",
        b"\x80\x01\x00\x02\x00\x00\x00\x05seven\x00\x00\x00\x01\x00",
        "are both ends servers",
    ),
    (
        "a browser",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "HTTP/1.1 405",
    ),
];

#[test]
fn every_model_survives_every_row() {
    #[cfg(feature = "async")]
    let models = [
        Model::ThreadPerConnection,
        Model::EventLoops(Some(2)),
        Model::SingleThreaded,
        Model::ThreadPool(2),
    ];
    #[cfg(not(feature = "async"))]
    let models = [Model::ThreadPerConnection];
    for model in models {
        let server = Server::new().service(Numbers).model(model);
        let listening = server.listen("tcp://127.0.0.1:0").expect("a port");
        let running = listening.start().expect("starts");
        let address = &running.addresses()[0];
        let good = Channel::connect(&address.to_string()).expect("an address");
        for (index, (name, bytes, answer)) in ROWS.iter().enumerate() {
            let what = format!("{name}, {model:?}");
            let said = converse(address, bytes).expect(&what);
            let text = String::from_utf8_lossy(&said).to_lowercase();
            assert!(text.contains(&answer.to_lowercase()), "{what}: {text:?}");
            let seven: Result<i32, Status> = good.call(&METHODS[0], ());
            assert_eq!(seven, Ok(7), "{what}");
            let Counters {
                protocol_errors, ..
            } = running.counters();
            assert_eq!(protocol_errors, index as u64 + 1, "{what}");
        }
        assert!(running.shutdown(Duration::from_secs(5)), "{model:?}");
    }
}

/// Sends, closes that side, and reads to the end, which comes once the server has counted what it saw.
fn converse(address: &Address, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let Address::Tcp(place) = address else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut stream = TcpStream::connect(place)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(bytes)?;
    stream.shutdown(Shutdown::Write)?;
    let mut said = Vec::new();
    stream.read_to_end(&mut said)?;
    Ok(said)
}

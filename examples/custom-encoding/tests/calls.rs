//! Calls over CBOR and over what is built in, on one port.
#![allow(clippy::unwrap_used)]

use dovetail::blocking::Channel;
use dovetail::protocol::{CustomProtocol, MessageKind};
use dovetail::server::Model;
use dovetail::{Code, Running, Server, Status, Wire};
use example_custom_encoding::contract::{
    Book, FindError, LibraryBlockingClient, LibraryServer, NotHere,
};
use example_custom_encoding::protocol::{CborProtocol, WIRE};
use example_custom_encoding::{Librarian, walden};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const MODELS: [Model; 4] = [
    Model::EventLoops(None),
    Model::SingleThreaded,
    Model::ThreadPool(2),
    Model::ThreadPerConnection,
];

fn start(model: Model) -> Running {
    Server::new()
        .service(LibraryServer::new(Librarian::default()))
        .protocol(&CborProtocol)
        .model(model)
        .listen("tcp://127.0.0.1:0")
        .unwrap()
        .start()
        .unwrap()
}

fn channel(running: &Running, wire: Wire) -> Channel {
    let address = running.addresses()[0].to_string();
    let builder = Channel::builder(&address).unwrap();
    builder.wire(wire).timeout(Duration::from_secs(10)).build()
}

fn wires() -> Vec<Wire> {
    let built_in = [
        "binary",
        "binary+framed",
        "binary-old",
        "binary-old+framed",
        "compact",
        "compact+framed",
        "compact+header",
        "json",
        "json+http",
    ];
    let built_in = built_in.iter().map(|name| name.parse().unwrap());
    [WIRE].into_iter().chain(built_in).collect()
}

/// Every kind of answer, over every wire, on one port and in one library.
#[test]
fn every_call_over_every_wire() {
    for model in MODELS {
        let running = start(model);
        for (turn, wire) in wires().into_iter().enumerate() {
            let label = format!("{wire} with {model:?}");
            let library = LibraryBlockingClient::from(channel(&running, wire));
            assert_eq!(library.give(&walden()), Ok(1), "{label}");
            assert_eq!(library.find("Walden"), Ok(walden()), "{label}");
            let missing = NotHere {
                title: "Dune".to_owned(),
                message: "nobody has given us Dune yet".to_owned(),
                ..Default::default()
            };
            let answer = library.find("Dune");
            assert_eq!(answer, Err(FindError::NotHere(missing)), "{label}");
            library.reserve("Walden").unwrap();
            // Calls of one connection are answered in order: the reservation has come.
            assert_eq!(library.waiting("Walden"), Ok(turn as i32 + 1), "{label}");
        }
        assert!(running.shutdown(Duration::from_secs(5)));
    }
}

/// Failures that no contract declares go over the custom wire too.
#[test]
fn a_status_in_cbor() {
    let running = start(Model::EventLoops(None));
    let channel = channel(&running, WIRE);
    let status = channel
        .call_raw("burn", &Book::default(), &mut Book::default())
        .unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented, "{status}");
    let status = channel
        .call_raw("find", &"no struct".to_owned(), &mut Book::default())
        .unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument, "{status}");
}

/// Several calls under way on one connection find their way back to their callers.
#[test]
fn callers_share_a_connection() {
    let running = start(Model::EventLoops(None));
    let library = LibraryBlockingClient::from(channel(&running, WIRE));
    std::thread::scope(|scope| {
        for caller in 0..8 {
            let library = &library;
            scope.spawn(move || {
                for call in 0..50 {
                    let title = format!("{caller}, volume {call}");
                    let Err(FindError::NotHere(answer)) = library.find(&title) else {
                        panic!("{title} is here");
                    };
                    assert_eq!(answer.title, title);
                }
            });
        }
    });
}

/// A server without the protocol says that it does not know it.
#[test]
fn a_server_that_was_not_told() -> Result<(), Status> {
    let server = Server::new().service(LibraryServer::new(Librarian::default()));
    let running = server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap();
    let library = LibraryBlockingClient::from(channel(&running, WIRE));
    library.waiting("Walden").unwrap_err();
    let stock = channel(&running, "binary+framed".parse().unwrap());
    assert_eq!(LibraryBlockingClient::from(stock).waiting("Walden")?, 0);
    Ok(())
}

/// A head that cannot be read ends its connection; a body that cannot be decoded fails its call.
/// Nobody else notices either.
#[test]
fn hostile_messages() {
    let running = start(Model::EventLoops(None));
    let library = LibraryBlockingClient::from(channel(&running, WIRE));
    let mut sound = Vec::new();
    CborProtocol.write_head(MessageKind::Call, "find", 5, &mut sound);
    sound.extend([0xBF, 0x01, 0x64]);
    sound.extend(b"Dune\xFF");
    // With less than the tag, nobody knows in which protocol to complain.
    for length in 3..sound.len() {
        let mut peer = TcpStream::connect(
            running.addresses()[0]
                .to_string()
                .trim_start_matches("tcp://"),
        )
        .unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        peer.write_all(&(length as u32).to_be_bytes()).unwrap();
        peer.write_all(&sound[..length]).unwrap();
        peer.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        peer.read_to_end(&mut answer).unwrap();
        // Kind 3, an exception, in a message with the tag in front.
        assert_eq!(
            answer.get(4..9),
            Some(&[0xD9, 0xD9, 0xF7, 0x84, 0x03][..]),
            "{length}"
        );
        assert_eq!(library.waiting("Dune"), Ok(0));
    }
}

#[test]
fn the_program() {
    let program = env!("CARGO_BIN_EXE_example-custom-encoding");
    let output = std::process::Command::new(program).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    for wire in ["cbor+framed", "binary+framed"] {
        assert!(shown.contains(&format!("{wire}: found Walden")), "{shown}");
        assert!(
            shown.contains(&format!("{wire}: nobody has given us Dune")),
            "{shown}"
        );
    }
}

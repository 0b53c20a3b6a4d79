//! Every wire says whether a call ran: "Whether a call ran" of `docs/server.md`.

use crate::fixture::*;
use dovetail::encoding::{Field, Kind};
use dovetail::method::Method;
use dovetail::server::Mock;
use dovetail::status::Execution;
use dovetail::{Channel, Code, Running, Server, Status};

const WIRES: &[&str] = &[
    "dovetail",
    "msgpack-rpc",
    "binary+framed",
    "compact+header",
    "json",
    "grpc",
    "grpc-web",
    "grpc-web+json",
    "connect",
    "connect+json",
];

/// A method that the server does not have.
static NOPE: Method = Method::new("nope", &[]).of("Probe");

/// A method whose parameter has another type at the server.
static TEXT_FOR_NUMBER: Method =
    Method::new("wait", &[Field::new(1, "gate", Kind::String)]).of("Probe");

fn serve() -> Running {
    let probe = Mock::new(&PROBE)
        .on("echo", |text: String| match Code::from_name(&text) {
            Some(code) => {
                let status = Status::new(code, "said the handler");
                // Handlers pass on what their own calls failed with.
                Err(status.with_execution(Execution::NotStarted))
            }
            None => Ok(text),
        })
        .on("wait", |gate: i32| gate);
    let server = Server::new().service(probe);
    server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap()
}

fn channel(running: &Running, wire: &str) -> Channel {
    let builder = Channel::builder(&address(running)).unwrap();
    builder.wire(wire.parse().unwrap()).timeout(LONG).build()
}

#[tokio::test]
async fn calls_that_did_not_run() {
    let running = serve();
    for wire in WIRES {
        let channel = channel(&running, wire);
        let status = channel.call::<_, (), Status>(&NOPE, ()).await.unwrap_err();
        assert_eq!(status.code(), Code::Unimplemented, "{wire}: {status}");
        assert_eq!(
            status.execution(),
            Execution::NotStarted,
            "{wire}: {status}"
        );
        // Protobuf takes a field of another type for an unknown one.
        if matches!(*wire, "grpc" | "grpc-web" | "connect") {
            continue;
        }
        let status = channel
            .call::<_, i32, Status>(&TEXT_FOR_NUMBER, ("x",))
            .await;
        let status = status.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{wire}: {status}");
        assert_eq!(
            status.execution(),
            Execution::NotStarted,
            "{wire}: {status}"
        );
    }
    assert!(running.shutdown(LONG));
}

/// Whatever the handler says, it ran.
#[tokio::test]
async fn calls_that_ran() {
    let running = serve();
    for wire in WIRES {
        let channel = channel(&running, wire);
        for code in [
            Code::Unavailable,
            Code::Unimplemented,
            Code::InvalidArgument,
        ] {
            let echo = &PROBE.methods[ECHO];
            let status = channel
                .call::<_, String, Status>(echo, (code.name(),))
                .await;
            let status = status.unwrap_err();
            assert_eq!(status.code(), code, "{wire}: {status}");
            assert_eq!(status.message(), "said the handler", "{wire}");
            assert_eq!(status.execution(), Execution::Finished, "{wire}: {status}");
        }
    }
    assert!(running.shutdown(LONG));
}

//! Functions that are bound by name, and called by name.

use crate::fixture::*;
use dovetail::blocking::Channel;
use dovetail::{Code, Mock, Running, Server, Status, message};
use std::sync::atomic::{AtomicI64, Ordering};

#[derive(Clone, Debug, Default, PartialEq)]
struct Point {
    x: i32,
    y: i32,
}

message!(Point {
    1 x: i32,
    2 y: i32,
});

fn shout(text: String) -> String {
    text.to_uppercase()
}

fn serve() -> Running {
    let total = AtomicI64::new(0);
    let server = Server::new()
        .bind("add", |a: i32, b: i32| a + b)
        .bind("add", |_: i32, _: i32| 0)
        .bind("shout", shout)
        .bind("nothing", || ())
        .bind("count", move |by: i64| {
            total.fetch_add(by, Ordering::Relaxed) + by
        })
        .bind("later", |text: String| async move { text + "!" })
        .bind("mirror", |point: Point| Point {
            x: point.y,
            y: point.x,
        })
        .bind("sum", |numbers: Vec<i64>, more: Option<i64>| {
            numbers.iter().sum::<i64>() + more.unwrap_or(100)
        })
        .bind("divide", |a: i32, b: i32| {
            let why = || Status::new(Code::InvalidArgument, "division by zero");
            a.checked_div(b).ok_or_else(why)
        })
        .bind("divide_later", |a: i32, b: i32| async move {
            let why = Status::new(Code::InvalidArgument, "division by zero");
            a.checked_div(b).ok_or(why)
        });
    server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap()
}

const WIRES: &[&str] = &["dovetail", "msgpack-rpc", "binary+framed", "compact+header"];

fn channel(running: &Running, wire: &str) -> Channel {
    let builder = Channel::builder(&address(running)).unwrap();
    builder.wire(wire.parse().unwrap()).timeout(LONG).build()
}

#[test]
fn over_every_wire() {
    let running = serve();
    for wire in WIRES {
        let channel = channel(&running, wire);
        let add: i32 = channel.call_by_name("add", (1, 2)).unwrap();
        assert_eq!(add, 3, "{wire}");
        let shout: String = channel.call_by_name("shout", ("hello",)).unwrap();
        assert_eq!(shout, "HELLO", "{wire}");
        let later: String = channel.call_by_name("later", ("hi".to_owned(),)).unwrap();
        assert_eq!(later, "hi!", "{wire}");
        let point = Point { x: 1, y: 2 };
        let mirror: Point = channel.call_by_name("mirror", (&point,)).unwrap();
        assert_eq!(mirror, Point { x: 2, y: 1 }, "{wire}");
        let sum: i64 = channel
            .call_by_name("sum", (&[1_i64, 2][..], Some(4_i64)))
            .unwrap();
        assert_eq!(sum, 7, "{wire}");
        let sum: i64 = channel.call_by_name("sum", (vec![1_i64],)).unwrap();
        assert_eq!(sum, 101, "{wire}");
        channel.call_by_name::<()>("nothing", ()).unwrap();
        channel.call_by_name::<i64>("count", (1_i64,)).unwrap();
    }
    let channel = channel(&running, "dovetail");
    let count: i64 = channel.call_by_name("count", (0_i64,)).unwrap();
    assert_eq!(count, WIRES.len() as i64);
    assert!(running.shutdown(LONG));
}

#[test]
fn what_goes_wrong() {
    let running = serve();
    for wire in WIRES {
        let channel = channel(&running, wire);
        for name in ["divide", "divide_later"] {
            let status = channel.call_by_name::<i32>(name, (1, 0)).unwrap_err();
            assert!(
                status.message().contains("division by zero"),
                "{wire}: {status}"
            );
            assert_eq!(channel.call_by_name::<i32>(name, (7, 2)), Ok(3), "{wire}");
        }
        let status = channel.call_by_name::<i32>("nope", (1,)).unwrap_err();
        assert!(
            status.message().contains("no method `nope` here"),
            "{wire}: {status}"
        );
        let status = channel.call_by_name::<String>("add", (1, 2)).unwrap_err();
        assert!(
            status.message().contains("the reply to `add`"),
            "{wire}: {status}"
        );
    }
    // Over Thrift a field of another type is none at all.
    for wire in ["dovetail", "msgpack-rpc"] {
        let channel = channel(&running, wire);
        let status = channel.call_by_name::<i32>("add", ("one", 2)).unwrap_err();
        assert!(status.message().contains("param1"), "{wire}: {status}");
    }
    assert!(running.shutdown(LONG));
}

/// Beside services, and by callers that have a contract.
#[test]
fn functions_and_services() {
    let probe = Probe::default();
    let server = Server::new()
        .service(probe)
        .bind("echo", |text: String| text + "?");
    let server = server.bind("twice", |text: String| format!("{text}{text}"));
    let running = server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap();
    let channel = channel(&running, "dovetail");
    assert_eq!(
        channel.call_by_name::<String>("echo", ("hi",)),
        Ok("hi".to_owned())
    );
    assert_eq!(
        channel.call_by_name::<String>("twice", ("hi",)),
        Ok("hihi".to_owned())
    );
    assert_eq!(
        channel.call::<_, String, Status>(&PROBE.methods[ECHO], ("hi",)),
        Ok("hi".to_owned())
    );
    assert!(running.shutdown(LONG));
}

#[cfg(feature = "async")]
#[tokio::test]
async fn async_callers() {
    let running = serve();
    use dovetail::Wire;
    for wire in [Wire::Dovetail, Wire::MsgpackRpc] {
        let builder = dovetail::Channel::builder(&address(&running)).unwrap();
        let channel = builder.wire(wire).build();
        let sum: i32 = channel.call_by_name("add", (1, 2)).await.unwrap();
        assert_eq!(sum, 3);
    }
    assert!(running.shutdown(LONG));
}

#[test]
fn mocks() {
    let mock = || Mock::new(&PROBE).on("echo", |text: String| text + "!");
    let channel = Channel::in_process(mock().on("noted", || vec![1]));
    let echo: Result<String, Status> = channel.call(&PROBE.methods[ECHO], ("hi",));
    assert_eq!(echo, Ok("hi!".to_owned()));
    assert_eq!(channel.call_by_name::<Vec<i32>>("noted", ()), Ok(vec![1]));
    let wait: Result<i32, Status> = channel.call(&PROBE.methods[WAIT], (&1,));
    assert!(
        wait.unwrap_err()
            .message()
            .contains("the mock does not answer")
    );

    // The same behind a port.
    let server = Server::new()
        .service(mock())
        .listen("tcp://127.0.0.1:0")
        .unwrap();
    let running = server.start().unwrap();
    let channel = self::channel(&running, "dovetail");
    let echo: Result<String, Status> = channel.call(&PROBE.methods[ECHO], ("hi",));
    assert_eq!(echo, Ok("hi!".to_owned()));
    assert!(running.shutdown(LONG));
}

#[test]
#[should_panic(expected = "`Probe.echo` has other parameters")]
fn a_mock_of_another_contract() {
    let _ = Mock::new(&PROBE).on("echo", |number: i32| number);
}

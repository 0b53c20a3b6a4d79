//! Functions that are bound by name, and called by name.

use crate::fixture::*;
use crate::http::{post, response};
use dovetail::blocking::Channel;
use dovetail::encoding::FieldValue;
use dovetail::server::Mock;
use dovetail::status::Execution;
use dovetail::{Code, Running, Server, Status, message};
use dovetail_wire::WriteParams;
use std::fmt::Debug;
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
    }
    assert!(running.shutdown(LONG));
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Account {
    balance: i64,
    limit: i64,
}

message!(Account {
    1 balance: i64,
    2 limit: i64,
});

/// The struct `Account` as another team has it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Swapped {
    limit: i64,
    balance: i64,
}

message!(Swapped {
    1 limit: i64,
    2 balance: i64,
});

/// Returns how a call fails whose types are not those of the function.
fn refusal<T: FieldValue + Debug>(
    channel: &Channel,
    name: &str,
    params: impl WriteParams,
) -> Status {
    channel.call_by_name::<T>(name, params).unwrap_err()
}

/// A wire, a call, and two parts of the text of its error.
type Row<'a> = (&'a str, &'a dyn Fn(&Channel) -> Status, &'a str, &'a str);

/// Every wire refuses what it can see; the own wire sees all types, and refuses them before the
/// call.
#[test]
fn other_types() {
    let running = serve();
    let running_accounts = Server::new().bind("limit", |account: Account| account.limit);
    let running_accounts = running_accounts.listen("tcp://127.0.0.1:0").unwrap();
    let accounts = running_accounts.start().unwrap();
    let own = channel(&accounts, "dovetail");
    let (limit, balance) = (1, 2);
    let swapped = refusal::<i64>(&own, "limit", (&Swapped { limit, balance },));
    assert_eq!(swapped.code(), Code::FailedPrecondition);
    let place = "`Account.balance` is number 1 here and number 2 there";
    assert!(swapped.message().contains(place), "{swapped}");
    assert_eq!(swapped.execution(), Execution::NotStarted);
    assert_eq!(
        own.call_by_name("limit", (&Account { balance, limit },)),
        Ok(limit)
    );

    let compared = "the contracts of `add` contradict each other: ";
    let undecodable = "the parameters of `add` cannot be decoded: ";
    let rows: &[Row<'_>] = &[
        (
            "dovetail",
            &|c| refusal::<i32>(c, "add", ("one", 2)),
            compared,
            "`add.param1` is i32 here and string there",
        ),
        (
            "msgpack-rpc",
            &|c| refusal::<i32>(c, "add", ("one", 2)),
            undecodable,
            "param1: ",
        ),
        (
            "binary+framed",
            &|c| refusal::<i32>(c, "add", ("one", 2)),
            undecodable,
            "param1: expected ",
        ),
        (
            "compact+header",
            &|c| refusal::<i32>(c, "add", ("one", 2)),
            compared,
            "`add.param1` is i32 here and string there",
        ),
        (
            "dovetail",
            &|c| refusal::<i32>(c, "add", (1,)),
            compared,
            "`add.param2` is required here and unknown there",
        ),
        (
            "msgpack-rpc",
            &|c| refusal::<i32>(c, "add", (1,)),
            undecodable,
            "param2",
        ),
        (
            "binary+framed",
            &|c| refusal::<i32>(c, "add", (1,)),
            undecodable,
            "param2",
        ),
        (
            "compact+header",
            &|c| refusal::<i32>(c, "add", (1,)),
            compared,
            "`add.param2` is required here and unknown there",
        ),
        (
            "dovetail",
            &|c| refusal::<i32>(c, "add", (1, 2, 3)),
            compared,
            "`add.param3` is unknown here and required there",
        ),
        (
            "msgpack-rpc",
            &|c| refusal::<i32>(c, "add", (1, 2, 3)),
            undecodable,
            "3 parameters for a function with 2",
        ),
        (
            "binary+framed",
            &|c| refusal::<i32>(c, "add", (1, 2, 3)),
            undecodable,
            "parameter 3 of a function with 2",
        ),
        (
            "compact+header",
            &|c| refusal::<i32>(c, "add", (1, 2, 3)),
            compared,
            "`add.param3` is unknown here and required there",
        ),
        (
            "dovetail",
            &|c| refusal::<String>(c, "add", (1, 2)),
            compared,
            "the result of `add` is i32 here and string there",
        ),
        (
            "msgpack-rpc",
            &|c| refusal::<String>(c, "add", (1, 2)),
            "the reply to `add`",
            "",
        ),
        (
            "binary+framed",
            &|c| refusal::<String>(c, "add", (1, 2)),
            "the reply to `add`",
            "",
        ),
        (
            "compact+header",
            &|c| refusal::<String>(c, "add", (1, 2)),
            compared,
            "the result of `add` is i32 here and string there",
        ),
    ];
    for (wire, call, kind, place) in rows {
        let channel = channel(&running, wire);
        let status = call(&channel);
        let message = status.message();
        assert!(
            message.contains(kind) && message.contains(place),
            "{wire}: {status}"
        );
        assert_eq!(channel.call_by_name::<i32>("add", (1, 2)), Ok(3), "{wire}");
    }
    assert_eq!(accounts.counters().contradicting_calls, 1);
    assert_eq!(running.counters().contradicting_calls, 8);
    let unknown = refusal::<()>(&channel(&running, "dovetail"), "nope", ());
    assert_eq!(unknown.code(), Code::Unimplemented);
    assert_eq!(running.counters().unknown_methods, 1);
    assert!(running.shutdown(LONG));
    assert!(accounts.shutdown(LONG));
}

/// Names of parameters are for JSON; other wires number them.
#[test]
fn names_of_parameters() {
    let server = Server::new()
        .bind("divide(a, b)", |a: i32, b: i32| a / b)
        .bind("add", |a: i32, b: i32| a + b)
        .bind("nothing()", || ());
    let running = server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap();
    let undecodable = "the parameters of `divide` cannot be decoded: ";
    for (path, body, answer) in [
        ("/divide", r#"{"b":2,"a":6}"#, r#"{"result":3}"#),
        (
            "/divide",
            r#"{"param1":6,"param2":2}"#,
            "`param1`, where these are expected: a, b",
        ),
        ("/divide", r#"{"a":6}"#, "the required field `b` is absent"),
        (
            "/divide",
            "[6,2]",
            "a list, where an object is expected with a member for each parameter",
        ),
        ("/add", r#"{"param1":6,"param2":2}"#, r#"{"result":8}"#),
        (
            "/add",
            r#"{"a":6,"b":2}"#,
            "`a`, where these are expected: param1, param2",
        ),
        ("/nothing", "{}", "{}"),
        ("/nothing", r#"{"a":1}"#, "`a`, where nothing is expected"),
    ] {
        let mut raw = Raw::connect(&running);
        raw.send(&post(path, "Content-Type: application/json\r\n", body));
        let answered = response(&mut raw);
        let answered = answered.text();
        assert!(answered.contains(answer), "{path} {body}: {answered}");
        let failed = path == "/divide" && !answer.contains("result");
        assert_eq!(answered.contains(undecodable), failed, "{answered}");
    }
    for wire in WIRES {
        let channel = channel(&running, wire);
        assert_eq!(channel.call_by_name("divide", (6, 2)), Ok(3), "{wire}");
        assert_eq!(
            channel.call_by_name("divide(b, a)", (6, 2)),
            Ok(3),
            "{wire}"
        );
    }
    let channel = channel(&running, "dovetail");
    for (name, why) in [
        (
            "divide(a",
            "a name, or one with its parameters, as in `add(a, b)`",
        ),
        ("divide(a, a)", "every parameter has a name of its own"),
        ("divide(a, )", "every parameter has a name of its own"),
        ("divide(a)", "the names are not as many as the parameters"),
    ] {
        let status = refusal::<i32>(&channel, name, (6, 2));
        assert!(status.message().contains(why), "{status}");
        assert_eq!(status.execution(), Execution::NotSent);
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

    // Functions behind a port.
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

//! msgpack-rpc over real sockets: by hand, and between our own ends.

use crate::fixture::*;
use dovetail::blocking::Channel;
use dovetail::server::{MsgpackStructs, ServerLimits};
use dovetail::status::Execution;
use dovetail::{Code, Server, Status, Wire, message};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

fn channel(running: &dovetail::Running) -> Channel {
    let builder = Channel::builder(&address(running)).unwrap();
    builder.wire(Wire::MsgpackRpc).timeout(LONG).build()
}

fn echo(channel: &Channel, text: &str) -> Result<String, Status> {
    channel.call(&PROBE.methods[ECHO], (text,))
}

fn wait(channel: &Channel, gate: i32) -> Result<i32, Status> {
    channel.call(&PROBE.methods[WAIT], (&gate,))
}

/// The bytes of a peer, and the answer to them.
const ROWS: &[(&[u8], &[u8])] = &[
    (b"\x94\0\x01\xa4echo\x91\xa2hi", b"\x94\x01\x01\xc0\xa2hi"),
    // Text as bytes, an id of its own, lengths in a longer form.
    (
        b"\xdc\0\x04\0\xce\xff\xff\xff\xff\xc4\x04echo\xdd\0\0\0\x01\xd9\x02hi",
        b"\x94\x01\xce\xff\xff\xff\xff\xc0\xa2hi",
    ),
    (b"\x94\0\x02\xaaProbe.echo\x91\xa2hi", b"\x94\x01\x02\xc0\xa2hi"),
    // Fewer parameters, and more.
    (b"\x94\0\x03\xa4echo\x90", b"\x94\x01\x03\xc0\xa0"),
    (b"\x94\0\x04\xa4echo\x93\xa2hi\x81\xa1k\x90\xc0", b"\x94\x01\x04\xc0\xa2hi"),
    (
        b"\x94\0\x05\xa4nope\x90",
        b"\x94\x01\x05\xd9\x24UNIMPLEMENTED: no method `nope` here\xabnot-started",
    ),
    (
        b"\x94\0\x06\xa5B.foo\x90",
        b"\x94\x01\x06\xd9\x22UNIMPLEMENTED: no service `B` here\xabnot-started",
    ),
    // A one-way method, called as it should be and as it should not.
    (
        b"\x93\x02\xa4note\x92\x07\x01\x94\0\x08\xa5noted\x90",
        b"\x94\x01\x08\xc0\x91\x07",
    ),
    (b"\x94\0\x07\xa4note\x92\x08\x01", b"\x94\x01\x07\xc0\xc0"),
    // Notifications are not answered, whatever they are.
    (
        b"\x93\x02\xa4nope\x90\x93\x02\xa4echo\x91\xa1x\x93\x02\xa4echo\xc0\x94\0\x09\xa4echo\x91\xa1y",
        b"\x94\x01\x09\xc0\xa1y",
    ),
];

#[test]
fn by_hand() {
    for model in MODELS {
        for (sent, expected) in ROWS {
            let probe = Probe::default();
            probe.open(1);
            let running = start(&probe, *model, ServerLimits::default());
            let mut raw = Raw::connect(&running);
            // The first byte alone says what it is.
            let (first, rest) = match sent[0] {
                0xdc => (&b"\x93\x02\xa4nope\x90"[..], *sent),
                _ => sent.split_at(1),
            };
            raw.send(first);
            raw.send(rest);
            let mut answer = vec![0; expected.len()];
            let read = raw.0.read_exact(&mut answer);
            assert!(read.is_ok(), "{model:?}: {sent:x?}: {read:?} {answer:x?}");
            assert_eq!(answer, *expected, "{model:?}: {sent:x?}");
            raw.0.shutdown(Shutdown::Write).unwrap();
            assert_eq!(raw.rest().unwrap(), b"", "{model:?}: {sent:x?}");
            assert_eq!(running.counters().protocol_errors, 0, "{model:?}");
            assert!(running.shutdown(LONG));
        }
    }
}

#[test]
fn parameters_of_another_type_are_refused() {
    let running = start(&Probe::default(), MODELS[0], ServerLimits::default());
    let mut raw = Raw::connect(&running);
    raw.send(b"\x94\0\x01\xa4echo\x91\x07\x94\0\x02\xa4echo\x07");
    raw.0.shutdown(Shutdown::Write).unwrap();
    let said = String::from_utf8_lossy(&raw.rest().unwrap()).into_owned();
    let what = "INVALID_ARGUMENT: the parameters of `echo` cannot be decoded: ";
    assert!(
        said.contains(&format!("{what}text: expected String")),
        "{said}"
    );
    assert!(said.contains(&format!("{what}expected List")), "{said}");
    assert!(running.shutdown(LONG));
}

/// Answers come as they are ready, but nothing overtakes a notification.
#[test]
fn answers_out_of_order() {
    for model in MODELS {
        let probe = Probe::default();
        let running = start(&probe, *model, ServerLimits::default());
        let mut raw = Raw::connect(&running);
        raw.send(b"\x94\0\x01\xa4wait\x91\x01\x94\0\x02\xa4echo\x91\xa1x");
        let mut answer = [0; 6];
        raw.0.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"\x94\x01\x02\xc0\xa1x", "{model:?}");
        probe.open(1);
        raw.0.read_exact(&mut answer[..5]).unwrap();
        assert_eq!(&answer[..5], b"\x94\x01\x01\xc0\x01", "{model:?}");

        raw.send(b"\x93\x02\xa4note\x92\x07\x02\x94\0\x03\xa5noted\x90");
        until("it waits", || probe.started() == 2);
        assert!(raw.is_silent(), "{model:?}");
        probe.open(2);
        raw.0.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"\x94\x01\x03\xc0\x91\x07", "{model:?}");
        assert!(running.shutdown(LONG));
    }
}

#[test]
fn blocking_clients() {
    for model in MODELS {
        let probe = Probe::default();
        let running = start(&probe, *model, ServerLimits::default());
        let channel = channel(&running);
        let slow = {
            let channel = channel.clone();
            thread::spawn(move || wait(&channel, 1))
        };
        until("it waits", || probe.started() == 1);
        for number in 0..50 {
            assert_eq!(echo(&channel, &number.to_string()), Ok(number.to_string()));
        }
        probe.open(1);
        assert_eq!(slow.join().unwrap(), Ok(1), "{model:?}");
        for number in 0..10 {
            channel.notify(&PROBE.methods[NOTE], (&number, &1)).unwrap();
        }
        let noted: Result<Vec<i32>, Status> = channel.call(&PROBE.methods[NOTED], ());
        assert_eq!(noted, Ok((0..10).collect()), "{model:?}");
        let status = channel
            .call::<_, (), Status>(&PROBE.methods[PANIC], ())
            .unwrap_err();
        assert_eq!(status.code(), Code::Internal, "{model:?}: {status}");
        assert_eq!(status.execution(), Execution::Finished);
        let short = channel.with_timeout(std::time::Duration::from_millis(30));
        assert_eq!(wait(&short, 9).unwrap_err().code(), Code::DeadlineExceeded);
        // Its late answer is nobody's.
        probe.open(9);
        assert_eq!(echo(&channel, "on"), Ok("on".to_owned()), "{model:?}");
        assert_eq!(running.counters().connections, 1, "{model:?}");
        drop((channel, short));
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn by_the_name_of_the_service() {
    let running = start(&Probe::default(), MODELS[0], ServerLimits::default());
    let named = |name: &str| {
        let builder = Channel::builder(&address(&running)).unwrap();
        builder.wire(Wire::MsgpackRpc).service(name).build()
    };
    assert_eq!(echo(&named("Probe"), "x"), Ok("x".to_owned()));
    let status = echo(&named("Other"), "x").unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented, "{status}");
    assert!(running.shutdown(LONG));
}

#[cfg(feature = "async")]
#[tokio::test]
async fn many_tasks_share_a_connection() {
    for model in CONCURRENT {
        let probe = Probe::default();
        let running = start(&probe, *model, ServerLimits::default());
        let builder = dovetail::Channel::builder(&address(&running)).unwrap();
        let channel = builder.wire(Wire::MsgpackRpc).build();
        let waits = (0..100).map(|gate| {
            let channel = channel.clone();
            async move {
                channel
                    .call::<_, i32, Status>(&PROBE.methods[WAIT], (&gate,))
                    .await
            }
        });
        let waits = tokio::spawn(futures_util::future::join_all(waits));
        let open = probe.clone();
        let opened = tokio::task::spawn_blocking(move || {
            until("all wait", || open.started() >= 10);
            (0..100).rev().for_each(|gate| open.open(gate));
        });
        opened.await.unwrap();
        let answers = waits.await.unwrap();
        assert_eq!(answers, (0..100).map(Ok).collect::<Vec<_>>(), "{model:?}");
        assert_eq!(running.counters().connections, 1, "{model:?}");
        drop(channel);
        let ended = tokio::task::spawn_blocking(move || running.shutdown(LONG));
        assert!(ended.await.unwrap(), "{model:?}");
    }
}

/// A peer that declares its structs as maps gets them so, from either end.
#[test]
fn structs_as_maps() {
    #[derive(Clone, Debug, Default, PartialEq)]
    struct Point {
        x: i32,
    }
    message!(Point { 1 x: i32, });

    let server = Server::new().msgpack_structs(MsgpackStructs::Maps);
    let server = server.bind("next", |point: Point| Point { x: point.x + 1 });
    let running = server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap();
    let mut stream = TcpStream::connect(tcp_place(&running)).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    // packb([0, 1, "next", [{"x": 6}]]), and packb([1, 1, None, {"x": 7}]).
    stream
        .write_all(b"\x94\0\x01\xa4next\x91\x81\xa1x\x06")
        .unwrap();
    let mut answer = [0; 8];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"\x94\x01\x01\xc0\x81\xa1x\x07");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let builder = Channel::builder(&listener.local_addr().unwrap().to_string()).unwrap();
    let builder = builder.wire(Wire::MsgpackRpc).timeout(LONG);
    let channel = builder.msgpack_structs(MsgpackStructs::Maps).build();
    let peer = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut call = [0; 13];
        stream.read_exact(&mut call).unwrap();
        stream.write_all(b"\x94\x01\0\xc0\x81\xa1x\x07").unwrap();
        call
    });
    let next = channel.call_by_name("next", (&Point { x: 6 },));
    assert_eq!(next, Ok(Point { x: 7 }));
    assert_eq!(&peer.join().unwrap(), b"\x94\0\0\xa4next\x91\x81\xa1x\x06");
    drop(stream);
    assert!(running.shutdown(LONG));
}

//! Calls to a server that an application of axum has mounted.
#![allow(clippy::expect_used, clippy::unwrap_used)]

use dovetail::protocol::Codec;
use dovetail::types::Bytes;
use dovetail::{Channel, Code, Running, Wire};
use example_axum::{GreeterClient, Hall, application, start};
use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::TcpListener;

/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(20);

const WIRES: [Wire; 5] = [
    Wire::Grpc,
    Wire::GrpcWeb(Codec::Proto),
    Wire::GrpcWeb(Codec::Json),
    Wire::Connect(Codec::Proto),
    Wire::Connect(Codec::Json),
];

/// Serves the application, and runs this with its address.
fn with(run: impl AsyncFnOnce(&str, &Hall, Running)) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let hall = Hall::default();
        let running = start(&hall).unwrap();
        let application = application(&running);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let served = application.into_make_service_with_connect_info::<SocketAddr>();
        let serving = tokio::spawn(async move { axum::serve(listener, served).await });
        run(&address, &hall, running).await;
        serving.abort();
    });
}

fn client(address: &str, wire: Wire) -> GreeterClient {
    let builder = Channel::builder(&format!("tcp://{address}")).unwrap();
    GreeterClient::from(builder.wire(wire).build())
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let waited = tokio::time::timeout(LONG, waiting).await;
    assert!(waited.is_ok(), "never: {what}");
}

#[test]
fn every_wire_of_http_passes() {
    with(async |address, _, running| {
        for wire in WIRES {
            let client = client(address, wire);
            assert_eq!(client.greet("Ada").await.unwrap(), "Hello, Ada!");
            let refused = client.greet("").await.unwrap_err();
            assert_eq!(refused.code(), Code::InvalidArgument, "{wire}");
            let blob = Bytes::from(vec![7; 3 << 20]);
            assert_eq!(client.echo(&blob).await.unwrap(), blob, "{wire}");
            let caller = client.caller().await.unwrap();
            assert!(caller.starts_with("127.0.0.1:"), "{wire}: {caller}");
        }
        drop(running);
    });
}

#[test]
fn items_flow_both_ways_at_the_same_time() {
    with(async |address, _, _| {
        for wire in WIRES {
            let (mut words, answers) = client(address, wire).shout().await.unwrap();
            words.send(&"none".to_owned()).await.unwrap();
            let mut answers = answers.await.unwrap();
            assert_eq!(answers.next().await.unwrap().unwrap(), "NONE", "{wire}");
            for word in ["one", "two"] {
                words.send(&word.to_owned()).await.unwrap();
                let answer = answers.next().await.unwrap().unwrap();
                assert_eq!(answer, word.to_uppercase(), "{wire}");
            }
        }
    });
}

#[test]
fn a_caller_that_goes_cancels_the_handler() {
    with(async |address, hall, _| {
        for wire in WIRES {
            let mut numbers = client(address, wire).count(5).await.unwrap();
            assert_eq!(numbers.next().await.unwrap().unwrap(), 5, "{wire}");
            assert_eq!(hall.counting.load(Ordering::Relaxed), 1, "{wire}");
            drop(numbers);
            let gone = || hall.counting.load(Ordering::Relaxed) == 0;
            until("the handler is cancelled", gone).await;
        }
    });
}

#[test]
fn many_calls_share_a_connection_to_each_loop() {
    with(async |address, _, running| {
        let client = client(address, Wire::Grpc);
        let calls = (0..500).map(|number| {
            let client = client.clone();
            tokio::spawn(async move { client.greet(&format!("{number}")).await })
        });
        for (number, call) in calls.collect::<Vec<_>>().into_iter().enumerate() {
            assert_eq!(call.await.unwrap().unwrap(), format!("Hello, {number}!"));
        }
        let loops = std::thread::available_parallelism().unwrap().get();
        assert!((1..=loops).contains(&running.connections()));
    });
}

#[test]
fn a_server_that_has_ended_is_unavailable() {
    with(async |address, _, running| {
        let client = client(address, Wire::Grpc);
        client.greet("Ada").await.unwrap();
        let ended = tokio::task::spawn_blocking(move || running.shutdown(LONG));
        assert!(ended.await.unwrap());
        let refused = client.greet("Ada").await.unwrap_err();
        assert_eq!(refused.code(), Code::Unavailable, "{refused}");
        let (status, _) = curl(address, &["-d", "{}"], "Greeter/greet").await;
        assert_eq!(status, "503");
        let (status, page) = curl(address, &[], "about").await;
        assert_eq!((&*status, &*page), ("200", "an application of axum\n"));
    });
}

#[test]
fn curl_calls_over_both_versions_of_http() {
    const JSON: [&str; 4] = [
        "-H",
        "Content-Type: application/json",
        "-d",
        "{\"name\":\"Ada\"}",
    ];
    const NOT_PASSED: [&str; 6] = [
        "-H",
        "Forwarded: for=10.1.2.3",
        "-H",
        "X-Forwarded-For: 10.1.2.3",
        "-H",
        "TE: gzip",
    ];
    with(async |address, _, _| {
        for version in ["--http1.1", "--http2-prior-knowledge"] {
            let words = [&[version], &JSON[..]].concat();
            let (status, answer) = curl(address, &words, "Greeter/greet").await;
            assert_eq!(
                (&*status, &*answer),
                ("200", "{\"result\":\"Hello, Ada!\"}"),
                "{version}"
            );
            let unknown = curl(address, &words, "Greeter/nothing").await;
            assert_eq!(unknown.0, "404", "{version}");
            let words = [
                &[version, "-H", "Content-Type: application/json", "-d", "{}"],
                &NOT_PASSED[..],
            ];
            let (status, caller) = curl(address, &words.concat(), "Greeter/caller").await;
            assert_eq!(status, "200", "{version}: {caller}");
            assert!(
                caller.starts_with("{\"result\":\"127.0.0.1:"),
                "{version}: {caller}"
            );
        }
    });
}

/// Returns the status and the body of an answer.
async fn curl(address: &str, words: &[&str], path: &str) -> (String, String) {
    let mut command = Command::new("curl");
    command.args(["-sS", "-w", "\n%{http_code}"]).args(words);
    command.arg(format!("http://{address}/{path}"));
    let run = tokio::task::spawn_blocking(move || command.output());
    let output = run.await.unwrap().expect("curl");
    let text = String::from_utf8(output.stdout).unwrap();
    let (body, status) = text.rsplit_once('\n').expect("a status");
    (status.to_owned(), body.to_owned())
}

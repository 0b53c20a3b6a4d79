//! gRPC as a client with a bare HTTP/2 library has it.

use crate::fixture::{HTTP2, LONG, PROBE, Probe, Raw, WAIT, start, until};
use bytes::{Bytes, BytesMut};
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture, Model, ResponseHeaders, ServerLimits};
use dovetail::stream::{Items, Receiver};
use dovetail::transport::Keepalive;
use dovetail::{
    Address, Channel, ChannelBuilder, Code, Context, Running, Server, Service, Status, Wire,
    descriptor, exceptions, message,
};
use dovetail_protocol::grpc::{Trailers, prefix};
use h2::client::{ResponseFuture, SendRequest};
use http::{HeaderMap, Request};
use std::fmt;
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

pub(crate) const MODELS: [Model; 3] = [
    Model::EventLoops(Some(2)),
    Model::SingleThreaded,
    Model::ThreadPool(2),
];

#[derive(Clone, Debug, Default, PartialEq)]
struct Person {
    name: String,
}

message!(Person { 1 name: String, });

#[derive(Clone, Debug, Default, PartialEq)]
struct Rude {
    word: String,
}

message!(Rude { 1 word: String, });

impl fmt::Display for Rude {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.word)
    }
}

#[derive(Clone, Debug)]
enum GreetError {
    Rude(Rude),
    Status(Status),
}

exceptions!(GreetError { 4 Rude as "rude": Rude, });

descriptor!(static HELLO = "Hello" in "hello.v1" {
    Greet(1 request: Person) -> Person | GreetError [messages];
    Header(1 request: Person) -> Person [messages];
    Left(1 request: Person) -> Person [messages];
    throw(1 word: String) -> String | GreetError;
    Say(1 request: Person) -> Person [messages];
    SayMany(1 request: Person) -> (), stream<Person> [messages];
});

struct Hello;

impl Service for Hello {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &HELLO
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        let nobody = (Person::default(),);
        match method {
            0 => call.unary(nobody, |_: Context, (person,)| async move {
                Ok::<_, GreetError>(Person {
                    name: format!("Hello, {}!", person.name),
                })
            }),
            1 => call.unary(nobody, |cx: Context, (person,)| async move {
                let value = cx.header(&person.name).unwrap_or(b"nothing");
                let name = String::from_utf8_lossy(value).into_owned();
                Ok::<_, Status>(Person { name })
            }),
            2 => call.unary(nobody, |cx: Context, _| async move {
                let left = cx.deadline().map(|at| at - Instant::now());
                let name = left.map_or("for ever".to_owned(), |left| format!("{left:?}"));
                Ok::<_, Status>(Person { name })
            }),
            3 => call.unary((String::new(),), |_: Context, (word,)| async move {
                Err::<String, _>(GreetError::from(Rude { word }))
            }),
            4 => call.unary(nobody, |cx: Context, (person,)| async move {
                say(&cx)?;
                match person.name.as_str() {
                    "nobody" => Err(Status::new(Code::NotFound, "nobody")),
                    _ => Ok(person),
                }
            }),
            5 => call.stream(nobody, |cx: Context, (person,)| async move {
                say(&cx)?;
                Ok::<_, Status>(Items::<Person>::iter([person.clone(), person]))
            }),
            _ => call.no_such_method(),
        }
    }
}

fn say(cx: &Context) -> Result<(), Status> {
    cx.set_header("Colour", "blue")?;
    cx.set_trailer("cost-bin", &b"\0\x01"[..])?;
    let refused = cx.set_header("grpc-status", "0");
    assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
    Ok(())
}

/// A client on one connection.
#[derive(Clone)]
pub(crate) struct Client(pub(crate) SendRequest<Bytes>);

/// The result of a call.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Answer {
    pub(crate) http: u16,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) body: Bytes,
    pub(crate) details: Option<Bytes>,
}

pub(crate) fn frame(message: &[u8]) -> Vec<u8> {
    let mut bytes = prefix(message.len()).unwrap().to_vec();
    bytes.extend_from_slice(message);
    bytes
}

pub(crate) fn request(path: &str) -> http::request::Builder {
    Request::post(format!("http://here.localhost{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
}

impl Client {
    pub(crate) async fn connect(running: &Running) -> Self {
        Self::with_window(running, 65_535).await
    }

    /// One that takes so many bytes of an answer before it says more.
    pub(crate) async fn with_window(running: &Running, window: u32) -> Self {
        let Address::Tcp(place) = &running.addresses()[0] else {
            panic!("the fixture listens on TCP");
        };
        let stream = TcpStream::connect(place).await.unwrap();
        let mut builder = h2::client::Builder::new();
        // For tests that read late: the library would not have many small frames wait.
        builder
            .data_frame_budget(1 << 24)
            .initial_window_size(window);
        let (client, connection) = builder.handshake(stream).await.unwrap();
        tokio::spawn(connection);
        Client(client)
    }

    pub(crate) async fn begin(&self, head: http::request::Builder, body: &[u8]) -> ResponseFuture {
        let mut client = self.0.clone().ready().await.unwrap();
        let (response, mut stream) = client.send_request(head.body(()).unwrap(), false).unwrap();
        // The server may have refused it already.
        let _ = stream.send_data(Bytes::copy_from_slice(body), true);
        response
    }

    pub(crate) async fn send(&self, head: http::request::Builder, body: &[u8]) -> Answer {
        answer(self.begin(head, body).await).await
    }

    async fn call(&self, path: &str, message: &[u8]) -> Answer {
        self.send(request(path), &frame(message)).await
    }

    /// Returns whether the connection is as good as new.
    async fn works(&self) -> bool {
        self.call("/Probe/echo", b"\x0a\x02hi").await == ok(b"\x0a\x02hi")
    }
}

pub(crate) async fn answer(response: ResponseFuture) -> Answer {
    let (head, mut body) = response.await.unwrap().into_parts();
    let mut all = BytesMut::new();
    while let Some(piece) = body.data().await {
        let piece = piece.unwrap();
        assert!(!piece.is_empty(), "an empty frame");
        body.flow_control().release_capacity(piece.len()).unwrap();
        all.extend_from_slice(&piece);
    }
    let trailers = body.trailers().await.unwrap().unwrap_or(head.headers);
    let text = |name| get(&trailers, name).unwrap_or_default();
    Answer {
        http: head.status.as_u16(),
        code: text(Trailers::STATUS),
        message: text(Trailers::MESSAGE),
        body: all.freeze(),
        details: get(&trailers, Trailers::DETAILS).map(Bytes::from),
    }
}

fn get(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?;
    Some(value.to_str().unwrap().to_owned())
}

fn ok(message: &[u8]) -> Answer {
    Answer {
        http: 200,
        code: "0".to_owned(),
        body: frame(message).into(),
        ..Answer::default()
    }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

/// Runs this against a server of each model.
fn with_each<F: Future<Output = ()>>(
    limits: ServerLimits,
    test: impl Fn(Client, Probe, std::sync::Arc<Running>) -> F,
) {
    for model in MODELS {
        let probe = Probe::default();
        let running = Server::new().service(probe.clone()).service(Hello);
        let running = running.model(model).limits(limits);
        let running = running.listen("tcp://127.0.0.1:0").unwrap();
        let running = std::sync::Arc::new(running.start().unwrap());
        runtime().block_on(async {
            let client = Client::connect(&running).await;
            let test = test(client, probe, running.clone());
            tokio::time::timeout(LONG, test).await.unwrap();
        });
        let running = std::sync::Arc::into_inner(running).unwrap();
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn results() {
    with_each(ServerLimits::default(), |client, _, _| async move {
        assert!(client.works().await);
        for (path, message, answer) in [
            // Zero is not written in protobuf; a result is field 1.
            ("/Probe/take", &b""[..], &b"\x08\0"[..]),
            ("/Probe/take", b"\x0a\x03abc", b"\x08\x03"),
            ("/Probe/noted", b"", b""),
            ("/Probe/note", b"\x10\x07", b""),
            (
                "/hello.v1.Hello/Greet",
                b"\x0a\x02Di",
                b"\x0a\x0aHello, Di!",
            ),
            ("/Hello/Greet", b"", b"\x0a\x08Hello, !"),
        ] {
            if path == "/Probe/note" {
                // One-way calls are answered when they are done.
                continue;
            }
            assert_eq!(client.call(path, message).await, ok(answer), "{path}");
        }
        let large = vec![b'x'; 3_000_000];
        let message = [&b"\x0a\xc0\x8d\xb7\x01"[..], &large].concat();
        assert_eq!(client.call("/Probe/echo", &message).await, ok(&message));
        let greeting = client.call("/hello.v1.Hello/Greet", &message).await;
        assert_eq!(greeting.body.len(), 5 + 5 + 3_000_008);
    });
}

#[test]
fn what_is_wrong_is_answered_and_the_connection_goes_on() {
    let mut limits = ServerLimits::default();
    limits.connection.message_bytes = 1000;
    with_each(limits, |client, _, running| async move {
        let hi = frame(b"\x0a\x02hi");
        let echo = || request("/Probe/echo");
        let rows = [
            (200, "12", request("/Probe/nope"), hi.clone()),
            (200, "12", request("/Nope/echo"), hi.clone()),
            (200, "12", request("/echo"), hi.clone()),
            (200, "12", request("/hello.v2.Hello/Greet"), hi.clone()),
            (200, "3", echo().header("grpc-timeout", "soon"), hi.clone()),
            (
                200,
                "3",
                echo().header("grpc-timeout", "123456789n"),
                hi.clone(),
            ),
            (200, "3", echo().header("trace-bin", "!"), hi.clone()),
            (200, "13", echo(), hi[..6].to_vec()),
            (200, "13", echo(), hi[..3].to_vec()),
            (200, "12", echo(), vec![]),
            (200, "12", echo(), [&hi[..], &hi].concat()),
            (200, "13", echo(), [&[9], &hi[1..]].concat()),
            (200, "13", echo(), [&[1], &hi[1..]].concat()),
            (
                200,
                "12",
                echo().header("grpc-encoding", "br"),
                [&[1], &hi[1..]].concat(),
            ),
            (
                200,
                "13",
                echo().header("grpc-encoding", "gzip"),
                [&[1], &hi[1..]].concat(),
            ),
            (200, "8", echo(), frame(&[0; 1001])),
            (200, "8", echo(), vec![0, 255, 255, 255, 255]),
            (200, "3", echo(), frame(b"\x0a\x09hi")),
            (
                200,
                "3",
                request("/hello.v1.Hello/Greet"),
                frame(b"\x0a\x09hi"),
            ),
            (200, "13", request("/Probe/panic"), frame(b"")),
        ];
        for (http, code, head, body) in rows {
            let what = format!("{head:?} {:?}", &body[..body.len().min(20)]);
            let answer = client.send(head, &body).await;
            assert_eq!(
                (answer.http, &answer.code[..]),
                (http, code),
                "{what}: {answer:?}"
            );
            assert!(!answer.message.is_empty(), "{what}");
            assert!(client.works().await, "{what}");
        }
        assert_eq!(running.connections(), 1);
        assert_eq!(running.counters().unknown_methods, 3);
    });
}

#[test]
fn who_speaks_no_grpc_is_answered_in_http() {
    with_each(ServerLimits::default(), |client, _, _| async move {
        let post = || Request::post("http://here.localhost/Probe/echo");
        for (body, head) in [
            ("the request has no content type; ", post()),
            (
                "the content type is `text/html`; ",
                post().header("content-type", "text/html"),
            ),
        ] {
            // More than a window: the server reads all of it.
            let answer = client.send(head, &[7; 300_000]).await;
            assert_eq!((answer.http, &answer.code[..]), (415, ""));
            assert!(answer.body.starts_with(body.as_bytes()), "{answer:?}");
            assert!(client.works().await);
        }
    });
}

#[test]
fn headers_larger_than_allowed_are_refused_by_http() {
    with_each(ServerLimits::default(), |client, _, _| async move {
        let head = request("/Probe/echo").header("much", "x".repeat(20 << 10));
        assert_eq!(client.send(head, &frame(b"")).await.http, 431);
        assert!(client.works().await);
    });
}

#[test]
fn metadata_and_deadlines_reach_the_handler() {
    with_each(ServerLimits::default(), |client, _, _| async move {
        let ask = async |name: &str| {
            let head = request("/hello.v1.Hello/Header");
            let head = head.header("colour", "blue").header("trace-bin", "AGF8");
            let name = [&[10, name.len() as u8], name.as_bytes()].concat();
            let answer = client.send(head, &frame(&name)).await;
            String::from_utf8_lossy(&answer.body[7..]).into_owned()
        };
        assert_eq!(ask("colour").await, "blue");
        assert_eq!(ask("trace-bin").await, "\0a|");
        assert_eq!(ask("content-type").await, "nothing");
        let left = async |timeout: Option<&str>| {
            let mut head = request("/hello.v1.Hello/Left");
            if let Some(timeout) = timeout {
                head = head.header("grpc-timeout", timeout);
            }
            let answer = client.send(head, &frame(b"")).await;
            String::from_utf8_lossy(&answer.body[7..]).into_owned()
        };
        assert_eq!(left(None).await, "for ever");
        assert!(left(Some("10S")).await.starts_with("9.9"));
    });
}

#[test]
fn a_declared_exception_is_a_detail() {
    with_each(ServerLimits::default(), |client, _, _| async move {
        let answer = client.call("/hello.v1.Hello/throw", b"\x0a\x03bah").await;
        assert_eq!((answer.http, &answer.code[..]), (200, "2"));
        assert_eq!(answer.message, "the method has thrown `hello.v1.Rude`");
        let trailers = Trailers {
            status: Some(b"2"),
            message: None,
            details: answer.details.as_deref(),
            execution: None,
            pushback: None,
        };
        let failure = trailers.read().unwrap().unwrap_err();
        let detail = &failure.details[0];
        assert_eq!(detail.type_name, "type.googleapis.com/hello.v1.Rude");
        assert_eq!(&detail.value[..], b"\x0a\x03bah");
    });
}

#[test]
fn a_deadline_ends_the_handler() {
    with_each(
        ServerLimits::default(),
        |client, probe, running| async move {
            let head = request("/Probe/wait").header("grpc-timeout", "20m");
            let answer = client.send(head, &frame(b"\x08\x07")).await;
            assert_eq!(answer.code, Code::DeadlineExceeded.number());
            assert_eq!(running.counters().late_calls, 1);
            // For the pool, whose handlers end by themselves.
            probe.open(7);
            assert!(client.works().await);
        },
    );
}

#[test]
fn a_reset_stream_ends_the_handler() {
    with_each(
        ServerLimits::default(),
        |client, probe, running| async move {
            let call = client
                .begin(request("/Probe/wait"), &frame(b"\x08\x07"))
                .await;
            while probe.started() == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            drop(call);
            while running.counters().cancelled_calls == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            probe.open(7);
            assert!(client.works().await);
        },
    );
}

#[test]
fn calls_of_one_connection_run_side_by_side() {
    with_each(ServerLimits::default(), |client, probe, _| async move {
        let first = client
            .begin(request("/Probe/wait"), &frame(b"\x08\x01"))
            .await;
        let second = client
            .begin(request("/Probe/wait"), &frame(b"\x08\x02"))
            .await;
        while probe.started() < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        probe.open(2);
        assert_eq!(answer(second).await, ok(b"\x08\x02"));
        probe.open(1);
        assert_eq!(answer(first).await, ok(b"\x08\x01"));
    });
}

#[test]
fn a_drain_lets_calls_finish() {
    for model in MODELS {
        let probe = Probe::default();
        let running = start(&probe, model, ServerLimits::default());
        runtime().block_on(async {
            let client = Client::connect(&running).await;
            let call = client
                .begin(request("/Probe/wait"), &frame(b"\x08\x01"))
                .await;
            while probe.started() == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let down = std::thread::spawn(move || running.shutdown(LONG));
            // GOAWAY has come once there is no room for a call.
            while client.0.clone().ready().await.is_ok_and(|mut client| {
                let head = request("/Probe/echo").body(()).unwrap();
                client.send_request(head, true).is_ok()
            }) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            probe.open(1);
            assert_eq!(answer(call).await, ok(b"\x08\x01"));
            assert!(down.join().unwrap(), "{model:?}");
        });
    }
}

#[test]
fn messages_that_never_end_have_limits() {
    let mut limits = ServerLimits {
        transfer: Duration::from_millis(300),
        ..ServerLimits::default()
    };
    limits.connection.message_bytes = 1000;
    with_each(limits, |client, _, running| async move {
        // Five, each a part of a message that is allowed: together too much.
        let mut open = Vec::new();
        for _ in 0..5 {
            let mut ready = client.0.clone().ready().await.unwrap();
            let head = request("/Probe/echo").body(()).unwrap();
            let (response, mut stream) = ready.send_request(head, false).unwrap();
            let part = [&prefix(1000).unwrap()[..], &[0; 900]].concat();
            stream.send_data(part.into(), false).unwrap();
            open.push((answer(response), stream));
        }
        let (fifth, _stream) = open.pop().unwrap();
        assert_eq!(fifth.await.code, Code::ResourceExhausted.number());
        for (one, _stream) in open {
            assert_eq!(one.await.code, Code::DeadlineExceeded.number());
        }
        assert_eq!(running.counters().transfer_timeouts, 4);
        assert!(client.works().await);
    });
}

#[test]
fn an_answer_that_nobody_takes_is_given_up() {
    let limits = ServerLimits {
        transfer: Duration::from_millis(100),
        ..ServerLimits::default()
    };
    with_each(limits, |client, _, running| async move {
        // A megabyte, of which HTTP/2 takes 64 KiB.
        let message = frame(b"\x08\x80\x80\x40");
        let response = client.begin(request("/Probe/fill"), &message).await;
        let (_, mut body) = response.await.unwrap().into_parts();
        while running.counters().transfer_timeouts == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let mut end = Ok(());
        while let (Ok(()), Some(piece)) = (&end, body.data().await) {
            end = piece.map(drop);
        }
        assert_eq!(end.unwrap_err().reason(), Some(h2::Reason::CANCEL));
    });
}

fn channel(running: &Running, wire: &str) -> ChannelBuilder {
    let address = running.addresses()[0].to_string();
    let builder = Channel::builder(&address).unwrap();
    builder.wire(wire.parse().unwrap()).timeout(LONG)
}

/// Runs a test like [`with_each`], for each of our clients.
fn with_clients<F: Future<Output = ()>>(
    test: impl Fn(&'static str, Probe, std::sync::Arc<Running>) -> F,
) {
    for wire in HTTP2 {
        with_each(ServerLimits::default(), |_, probe, running| {
            test(wire, probe, running)
        });
    }
}

#[test]
fn our_own_client() {
    with_clients(|wire, probe, running| async move {
        let hello = channel(&running, wire).build();
        let person = |name: &str| Person {
            name: name.to_owned(),
        };
        let [greet, header, left, throw, ..] = HELLO.methods else {
            panic!("its methods");
        };
        let greeting: Result<Person, GreetError> = hello.call(greet, (&person("Di"),)).await;
        assert_eq!(greeting.unwrap(), person("Hello, Di!"));
        let named = hello.with_header("trace-bin", &b"a"[..]);
        let value: Result<Person, Status> = named.call(header, (&person("trace-bin"),)).await;
        assert_eq!(value.unwrap(), person("a"));
        let time: Result<Person, Status> = hello.call(left, (&person(""),)).await;
        assert!(time.unwrap().name.starts_with("19.9"));
        let thrown: Result<String, GreetError> = hello.call(throw, ("bah",)).await;
        assert!(matches!(thrown, Err(GreetError::Rude(Rude { word })) if word == "bah"));

        let probed = channel(&running, wire).service("Probe").build();
        let [echo, wait, _, noted, fill, panic, _, take, ..] = PROBE.methods else {
            panic!("its methods");
        };
        let text = "x".repeat(3_000_000);
        let echoed: Result<String, Status> = probed.call(echo, (&text[..],)).await;
        assert_eq!(echoed.unwrap(), text);
        // Defaults that a server may leave out, and an empty list.
        let empty: Result<String, Status> = probed.call(echo, ("",)).await;
        assert_eq!(empty.unwrap(), "");
        let none: Result<Vec<i32>, Status> = probed.call(noted, ()).await;
        assert!(none.unwrap().is_empty());
        let filled: Result<Bytes, Status> = probed.call(fill, (&70_000,)).await;
        assert_eq!(filled.unwrap().len(), 70_000);
        let taken: Result<i32, Status> = probed.call(take, (&Bytes::new(),)).await;
        assert_eq!(taken.unwrap(), 0);
        let failed: Result<(), Status> = probed.call(panic, ()).await;
        let failed = failed.unwrap_err();
        assert_eq!(
            (failed.code(), failed.message()),
            (Code::Internal, "the handler panicked")
        );

        let hasty = probed.with_timeout(Duration::from_millis(30));
        let late: Result<i32, Status> = hasty.call(wait, (&7,)).await;
        assert_eq!(late.unwrap_err().code(), Code::DeadlineExceeded);
        // A call that is given up reaches its handler, too.
        let given_up = probed.call::<_, i32, Status>(wait, (&7,));
        let given_up = tokio::time::timeout(Duration::from_millis(30), given_up).await;
        assert!(given_up.is_err());
        let gone = || {
            let counters = running.counters();
            counters.cancelled_calls + counters.late_calls
        };
        while gone() < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        probe.open(7);

        let wrong = channel(&running, wire).service("hello.v2.Hello").build();
        let unknown: Result<Person, GreetError> = wrong.call(greet, (&person(""),)).await;
        assert!(matches!(unknown, Err(GreetError::Status(s)) if s.code() == Code::Unimplemented));
        let bad = hello.with_header("a b", &b"x"[..]);
        let refused: Result<Person, Status> = bad.call(left, (&person(""),)).await;
        assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
    });
}

#[test]
fn what_is_said_beside_an_answer_arrives() {
    with_clients(|wire, _, running| async move {
        let said = ResponseHeaders::default();
        let hello = channel(&running, wire).build().with_response_headers(&said);
        let (say, many) = (&HELLO.methods[4], &HELLO.methods[5]);
        let heard = || {
            let (header, trailer) = (said.header("colour"), said.trailer("Cost-bin"));
            (
                header.as_deref() == Some(b"blue"),
                trailer.as_deref() == Some(b"\0\x01"),
            )
        };
        let person = Person::default();
        let answer: Result<Person, Status> = hello.call(say, (&person,)).await;
        assert_eq!((answer, heard()), (Ok(person.clone()), (true, true)));
        // All that a failure says over gRPC are trailers.
        let nobody = Person {
            name: "nobody".to_owned(),
        };
        let failed: Result<Person, Status> = hello.call(say, (&nobody,)).await;
        assert_eq!(
            (failed.unwrap_err().code(), heard()),
            (Code::NotFound, (wire != "grpc", true))
        );
        let opened: Result<Receiver<Person>, Status> = hello.stream(many, (&person,)).await;
        let mut items = opened.unwrap();
        // The trailers may have come by now, too.
        assert!(heard().0);
        while let Some(item) = items.next().await {
            assert_eq!(item.unwrap(), person);
        }
        assert_eq!(heard(), (true, true));
    });
}

#[test]
fn our_own_client_compresses() {
    with_clients(|wire, _, running| async move {
        let text = "x".repeat(100_000);
        // Servers of ours know it over gRPC alone.
        let zstd = match wire {
            "grpc" => channel(&running, wire).zstd().build(),
            _ => channel(&running, wire).gzip().build(),
        };
        let larger = Person {
            name: "x".repeat(100_000),
        };
        let greeting: Result<Person, Status> = zstd.call(&HELLO.methods[0], (&larger,)).await;
        assert_eq!(greeting.unwrap().name.len(), 100_008);
        let probed = channel(&running, wire).gzip().service("Probe").build();
        let echoed: Result<String, Status> = probed.call(&PROBE.methods[0], (&text[..],)).await;
        assert_eq!(echoed.unwrap(), text);
        let person = Person { name: text };
        let hello = channel(&running, wire).gzip().build();
        let many = &HELLO.methods[5];
        let opened: Result<Receiver<Person>, Status> = hello.stream(many, (&person,)).await;
        let mut items = opened.unwrap();
        while let Some(item) = items.next().await {
            assert_eq!(item.unwrap(), person);
        }
    });
}

#[test]
fn what_is_compressed_is_answered_likewise() {
    with_each(ServerLimits::default(), |client, _, _| async move {
        for (sent, accepted, gzip) in [
            ("gzip", "identity, gzip", true),
            ("zstd", "gzip,zstd", true),
            ("zstd", "gzip", false),
            ("gzip", "identity", false),
            ("identity", "gzip", false),
        ] {
            let head = request("/Probe/fill").header("grpc-encoding", sent);
            let head = head.header("grpc-accept-encoding", accepted);
            let answer = client.send(head, &frame(b"\x08\xa0\x8d\x06")).await;
            assert_eq!(answer.code, "0");
            assert_eq!(
                (answer.body[0], answer.body.len() < 1_000),
                (u8::from(gzip), gzip)
            );
        }
    });
}

/// The first bytes of a peer of HTTP/2, which then says nothing.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

fn often(timeout: Duration) -> Keepalive {
    let mut keepalive = Keepalive::every(Duration::from_millis(1));
    (keepalive.timeout, keepalive.without_calls) = (timeout, true);
    keepalive
}

#[test]
fn a_client_that_answers_no_ping_is_given_up() {
    let server = Server::new().keepalive(often(Duration::from_millis(50)));
    let running = server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap();
    let Address::Tcp(place) = &running.addresses()[0] else {
        panic!("the server listens on TCP");
    };
    let mut stream = std::net::TcpStream::connect(place).unwrap();
    let preface = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &SETTINGS[..]].concat();
    stream.write_all(&preface).unwrap();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).unwrap();
    // A frame of 8 bytes, of type 6.
    let ping = [0, 0, 8, 6, 0];
    assert!(said.windows(5).any(|part| part == ping), "{said:?}");
}

/// Requests of stock clients: grpcio to `unix:/tmp/run/sock`, grpc-go to `etcd:///services/fleet`.
#[test]
fn authorities_that_are_no_hosts_are_taken() {
    let running = Server::new().listen("tcp://127.0.0.1:0").unwrap();
    let running = running.start().unwrap();
    let Address::Tcp(place) = &running.addresses()[0] else {
        panic!("the server listens on TCP");
    };
    for request in [
        &include_bytes!("../../../../interop/golden/http2/grpcio-unix.bin")[..],
        include_bytes!("../../../../interop/golden/http2/grpc-go-etcd.bin"),
    ] {
        let mut stream = std::net::TcpStream::connect(place).unwrap();
        stream.write_all(request).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        // HEADERS with UNIMPLEMENTED, not RST_STREAM.
        let answer = loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).unwrap();
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            stream.read_exact(&mut vec![0; length as usize]).unwrap();
            if matches!(head[3], 1 | 3) {
                break head[3];
            }
        };
        assert_eq!(answer, 1);
    }
}

#[test]
fn a_server_that_answers_no_ping_is_given_up() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.write_all(&SETTINGS).unwrap();
            std::thread::spawn(move || stream.read_to_end(&mut Vec::new()));
        }
    });
    runtime().block_on(async {
        let channel = Channel::builder(&address).unwrap().wire(Wire::Grpc);
        let channel = channel.timeout(Duration::from_secs(600));
        let channel = channel.keepalive(often(Duration::from_millis(50))).build();
        let person = Person::default();
        let greeting: Result<Person, Status> = channel.call(&HELLO.methods[0], (&person,)).await;
        assert_eq!(greeting.unwrap_err().code(), Code::Unavailable);
    });
}

#[test]
fn ends_that_answer_pings_go_on() {
    let server = Server::new().service(Hello).keepalive(often(LONG));
    let running = server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap();
    runtime().block_on(async {
        let channel = channel(&running, "grpc").keepalive(often(LONG)).build();
        for _ in 0..200 {
            let person = Person::default();
            let greeting: Result<Person, Status> =
                channel.call(&HELLO.methods[0], (&person,)).await;
            assert_eq!(greeting.unwrap().name, "Hello, !");
        }
        assert_eq!(running.connections(), 1);
    });
}

#[test]
fn a_connection_of_age_is_replaced_and_no_call_is_lost() {
    let limits = ServerLimits {
        connection_age: Some(Duration::from_millis(20)),
        ..ServerLimits::default()
    };
    let server = Server::new().service(Hello).limits(limits);
    let running = server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap();
    runtime().block_on(async {
        let channel = channel(&running, "grpc").build();
        let accepted = || running.counters().connections;
        while accepted() < 4 {
            let person = Person::default();
            let greeting: Result<Person, Status> =
                channel.call(&HELLO.methods[0], (&person,)).await;
            assert_eq!(greeting.unwrap().name, "Hello, !");
        }
    });
}

#[test]
fn a_call_ends_with_the_grace_of_its_connection() {
    let limits = ServerLimits {
        connection_age: Some(Duration::from_millis(20)),
        connection_grace: Some(Duration::from_millis(20)),
        ..ServerLimits::default()
    };
    let running = start(&Probe::default(), MODELS[0], limits);
    runtime().block_on(async {
        let channel = channel(&running, "grpc").service("Probe").build();
        let waited: Result<i32, Status> = channel.call(&PROBE.methods[WAIT], (60_000,)).await;
        assert_eq!(waited.unwrap_err().code(), Code::Unavailable);
    });
}

#[test]
fn a_blocking_channel_says_that_it_has_no_http2() {
    for wire in ["grpc", "grpc-web", "connect"] {
        let builder = dovetail::blocking::Channel::builder("tcp://127.0.0.1:1").unwrap();
        let channel = builder.wire(wire.parse().unwrap()).build();
        let refused: Result<String, Status> = channel.call(&PROBE.methods[0], ("",));
        assert_eq!(refused.unwrap_err().code(), Code::Unimplemented, "{wire}");
    }
}

#[test]
fn an_idle_connection_is_closed() {
    let limits = ServerLimits {
        idle: Duration::from_millis(50),
        ..ServerLimits::default()
    };
    with_each(limits, |client, _, running| async move {
        assert!(client.works().await);
        while running.connections() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(running.counters().idle_timeouts, 1);
    });
}

#[test]
fn a_connection_too_many_is_told_so() {
    let limits = ServerLimits {
        connections: 1,
        ..ServerLimits::default()
    };
    with_each(limits, |client, _, running| async move {
        assert!(client.works().await);
        let second = Client::connect(&running).await;
        let answer = second.call("/Probe/echo", b"").await;
        assert_eq!(answer.code, Code::ResourceExhausted.number());
        assert!(client.works().await);
    });
}

#[test]
fn noise_behind_the_preface_ends_the_connection() {
    for model in MODELS {
        let running = start(&Probe::default(), model, ServerLimits::default());
        for noise in [
            &b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"[..],
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\x00\x00\x00\x00\x00\x00",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        ] {
            let mut raw = Raw::connect(&running);
            raw.send(noise);
            // The bytes before that are HTTP/2's affair.
            let _ = raw.0.read_to_end(&mut Vec::new());
        }
        until("nobody is left", || running.connections() == 0);
        assert_eq!(running.counters().protocol_errors, 3);
        assert!(running.shutdown(LONG));
    }
}

#[test]
fn threads_say_that_they_have_no_grpc() {
    let running = start(
        &Probe::default(),
        Model::ThreadPerConnection,
        ServerLimits::default(),
    );
    let mut raw = Raw::connect(&running);
    for piece in [
        &b"PRI * HT"[..],
        b"TP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
    ] {
        raw.0.write_all(piece).unwrap();
    }
    raw.0.shutdown(std::net::Shutdown::Write).unwrap();
    let mut said = Vec::new();
    raw.0.read_to_end(&mut said).unwrap();
    let said = String::from_utf8_lossy(&said);
    assert!(
        said.contains("gRPC needs a socket and an event loop"),
        "{said}"
    );
    assert!(running.shutdown(LONG));
    assert_eq!(PROBE.full_name(), "Probe");
}

/// The number of a code, as trailers have it.
pub(crate) trait Number {
    fn number(self) -> String;
}

impl Number for Code {
    fn number(self) -> String {
        (self as u8).to_string()
    }
}

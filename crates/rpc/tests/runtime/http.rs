//! HTTP/1.1: calls in JSON, Connect's protocol, and Thrift beside them on one connection.

use crate::fixture::{LONG, MODELS, Raw, until};
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, Cors, HandlerFuture, Model, ServerLimits};
use dovetail::{Code, Context, Running, Server, Service, Status, descriptor, exceptions, message};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt;
use std::io::{Read, Write};
use std::time::Duration;

#[derive(Clone, Debug, Default, PartialEq)]
struct Person {
    full_name: String,
    age: i64,
}

message!(Person { 1 full_name: String, 2 age: i64, });

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
    Greet(1 request: Person) -> Person | GreetError [messages, idempotent];
    Header(1 request: Person) -> Person [messages];
    add(1 num1: i32, 2 num2: i32) -> i32 [idempotent];
    throw(1 word: String) -> String | GreetError;
    fail(1 code: String) -> ();
    sleep();
    note(1 text: String) [oneway];
    follow() -> (), stream<i32>;
});

struct Hello;

impl Service for Hello {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &HELLO
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        let nobody = (Person::default(),);
        let text = (String::new(),);
        match method {
            0 => call.unary(nobody, |_: Context, (mut person,)| async move {
                match person.full_name.as_str() {
                    "" => Err(GreetError::from(Rude { word: "no".into() })),
                    name => {
                        person.full_name = format!("Hello, {name}!");
                        Ok(person)
                    }
                }
            }),
            1 => call.unary(nobody, |cx: Context, (person,)| async move {
                let value = cx.header(&person.full_name).unwrap_or(b"nothing");
                Ok::<_, Status>(Person {
                    full_name: format!("{}: {}", cx.wire(), String::from_utf8_lossy(value)),
                    age: 0,
                })
            }),
            2 => call.unary((0, 0), |_: Context, (a, b): (i32, i32)| async move {
                Ok::<_, Status>(a.wrapping_add(b))
            }),
            3 => call.unary(text, |_: Context, (word,)| async move {
                Err::<String, _>(GreetError::from(Rude { word }))
            }),
            4 => call.unary(text, |_: Context, (code,): (String,)| async move {
                let code = Code::from_name(&code).unwrap_or(Code::Internal);
                Err::<(), _>(Status::new(code, "as \"asked\""))
            }),
            5 => call.unary((), |_: Context, ()| async move {
                std::future::pending::<()>().await;
                Ok::<_, Status>(())
            }),
            6 => call.unary(text, |_: Context, (_,)| async move { Ok::<_, Status>(()) }),
            _ => call.no_such_method(),
        }
    }
}

fn server() -> Server {
    Server::new()
        .service(Hello)
        .bind("twice", |number: i64| number * 2)
        .openapi("{\"openapi\":\"3.1.0\"}")
}

fn start(model: Model, server: Server) -> Running {
    let server = server.model(model).listen("tcp://127.0.0.1:0").unwrap();
    server.start().unwrap()
}

/// A response: its status, headers, and body.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn has(&self, line: &str) -> bool {
        self.head.lines().any(|known| known == line)
    }
}

/// The next response on the connection.
pub(crate) fn response(raw: &mut Raw) -> Response {
    let head = until_text(raw, b"\r\n\r\n");
    let status = head[9..12].parse().unwrap();
    if head.contains("\r\nTransfer-Encoding: chunked\r\n") {
        let mut body = Vec::new();
        loop {
            match chunk(raw) {
                chunk if chunk.is_empty() => break,
                chunk => body.extend(chunk),
            }
        }
        return Response { status, head, body };
    }
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length:"));
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
    raw.0.read_exact(&mut body).unwrap();
    Response { status, head, body }
}

/// Returns the text up to this end, and the end.
pub(crate) fn until_text(raw: &mut Raw, end: &[u8]) -> String {
    let mut text = Vec::new();
    while !text.ends_with(end) {
        let mut byte = [0];
        raw.0.read_exact(&mut byte).unwrap();
        text.extend(byte);
    }
    String::from_utf8(text).unwrap()
}

/// The next chunk of an answer; the last one is empty.
pub(crate) fn chunk(raw: &mut Raw) -> Vec<u8> {
    let size = until_text(raw, b"\r\n");
    let mut chunk = vec![0; usize::from_str_radix(size.trim(), 16).unwrap()];
    raw.0.read_exact(&mut chunk).unwrap();
    assert_eq!(until_text(raw, b"\r\n"), "\r\n");
    chunk
}

/// A POST request with these headers, as lines.
pub(crate) fn post(path: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: here.localhost\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}

const JSON: &str = "Content-Type: application/json\r\n";
const PROTO: &str = "Content-Type: application/proto\r\n";

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Requests that are answered on one connection, one after the other: the request, the status, the
/// body.
fn rows() -> Vec<(Vec<u8>, u16, &'static str)> {
    let json = |path: &str, body: &str| post(path, JSON, body);
    let get = |target: &str| {
        format!("GET {target} HTTP/1.1\r\nHost: here.localhost\r\n\r\n").into_bytes()
    };
    let greet = "/hello.v1.Hello/Greet";
    let person = r#"{"fullName":"Ada","age":"36"}"#;
    let greeted = r#"{"fullName":"Hello, Ada!","age":"36"}"#;
    vec![
        (json(greet, person), 200, greeted),
        (
            json(greet, "{\"full_name\":\"Ada\",\"age\":36}\r\n"),
            200,
            greeted,
        ),
        (json("/Hello/Greet", person), 200, greeted),
        (
            json("/Hello/add", r#"{"num1":1,"num2":2}"#),
            200,
            r#"{"result":3}"#,
        ),
        (json("/hello.v1.Hello/add", "{}"), 200, r#"{"result":0}"#),
        (json("/twice", r#"{"param1":4}"#), 200, r#"{"result":"8"}"#),
        (json("/Hello/note", r#"{"text":"x"}"#), 200, "{}"),
        (
            post(
                greet,
                &format!("{JSON}Content-Encoding: gzip\r\n"),
                gzip(person.as_bytes()),
            ),
            200,
            greeted,
        ),
        (
            post(
                greet,
                "content-type: Application/JSON; charset=utf-8\r\n",
                person,
            ),
            200,
            greeted,
        ),
        (
            post(greet, PROTO, b"\x0a\x03Ada\x10\x24"),
            200,
            "\n\u{b}Hello, Ada!\u{10}$",
        ),
        (
            post("/Hello/add", PROTO, b"\x08\x01\x10\x02"),
            200,
            "\u{8}\u{3}",
        ),
        (
            get("/Hello/add?connect=v1&encoding=json&message=%7B%22num1%22%3A1%7D"),
            200,
            r#"{"result":1}"#,
        ),
        (
            get("/Hello/add?encoding=json&base64=1&message=eyJudW0xIjoxfQ"),
            200,
            r#"{"result":1}"#,
        ),
        (
            get("/Hello/add?encoding=proto&base64=1&message=CAE"),
            200,
            "\u{8}\u{1}",
        ),
        // Declared exceptions.
        (
            json(greet, "{}"),
            500,
            r#"{"code":"unknown","message":"the method has thrown `hello.v1.Rude`","details":[{"type":"hello.v1.Rude","value":"CgJubw","debug":{"word":"no"}}]}"#,
        ),
        (
            post("/Hello/throw", PROTO, b"\x0a\x01x"),
            500,
            r#"{"code":"unknown","message":"the method has thrown `hello.v1.Rude`","details":[{"type":"hello.v1.Rude","value":"CgF4","debug":{"word":"x"}}]}"#,
        ),
        (
            json("/Hello/fail", r#"{"code":"NOT_FOUND"}"#),
            404,
            r#"{"code":"not_found","message":"as \"asked\""}"#,
        ),
        // Requests that are no call, or none that can be taken.
        (
            json("/Hello/nothing", "{}"),
            404,
            r#"{"code":"unimplemented","message":"no method `nothing` here"}"#,
        ),
        (
            json("/", "{}"),
            404,
            r#"{"code":"unimplemented","message":"no method `` here"}"#,
        ),
        (get("/openapi.json"), 200, "{\"openapi\":\"3.1.0\"}"),
        (
            json("/Hello/follow", "{}"),
            501,
            r#"{"code":"unimplemented","message":"`follow` has streams, which need Dovetail's own wire, gRPC, gRPC-Web, WebSocket, or application/connect+json of Connect"}"#,
        ),
        (
            get("/favicon.ico"),
            404,
            r#"{"code":"unimplemented","message":"no method `favicon.ico` here"}"#,
        ),
        (
            get("/Hello/throw?message=%7B%7D"),
            405,
            "the contract does not say that this method may be called by GET\n",
        ),
        (
            b"GET /Hello/add?message=%7B%7D HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n"
                .to_vec(),
            403,
            r#"{"code":"permission_denied","message":"a page of another site, which the server does not let call"}"#,
        ),
        (
            post(
                "/",
                "Content-Type: text/plain\r\nSec-Fetch-Site: cross-site\r\n",
                r#"[1,"add",1,7,{"1":{"i32":5}}]"#,
            ),
            403,
            r#"{"code":"permission_denied","message":"a page of another site, which the server does not let call"}"#,
        ),
        (
            b"PUT /Hello/add HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}".to_vec(),
            405,
            "calls are POST requests, or GET requests for what changes nothing\n",
        ),
        (
            b"OPTIONS /Hello/add HTTP/1.1\r\nHost: localhost\r\nOrigin: https://x\r\n\r\n".to_vec(),
            405,
            "calls are POST requests, or GET requests for what changes nothing\n",
        ),
        (
            post("/Hello/add", "", "{}"),
            415,
            "the request has no content type; application/json is known\n",
        ),
        (
            post(
                "/Hello/add",
                "Content-Type: application/connect+thrift\r\n",
                "{}",
            ),
            415,
            "the content type is `application/connect+thrift`; application/json, application/proto, those of Connect's streams and of gRPC-Web are known\n",
        ),
        (
            json("/Hello/add", r#"{"num1":"x"}"#),
            400,
            r#"{"code":"invalid_argument","message":"the parameters of `add` cannot be decoded: num1: \"x\" is not a number that fits here"}"#,
        ),
        (
            json("/Hello/add", ""),
            400,
            r#"{"code":"invalid_argument","message":"the parameters of `add` cannot be decoded: the message ends in the middle of a value"}"#,
        ),
        (
            json(greet, r#"{}, "x": 1"#),
            400,
            r#"{"code":"invalid_argument","message":"the parameters of `Greet` cannot be decoded: 8 bytes are left after the value"}"#,
        ),
        (
            post(
                "/Hello/add",
                &format!("{JSON}Content-Encoding: br\r\n"),
                "{}",
            ),
            501,
            r#"{"code":"unimplemented","message":"the message is compressed by `br`; gzip is known"}"#,
        ),
        (
            post(
                "/Hello/add",
                &format!("{JSON}Connect-Protocol-Version: 2\r\n"),
                "{}",
            ),
            400,
            r#"{"code":"invalid_argument","message":"the protocol's version is 1"}"#,
        ),
        (
            post(
                "/Hello/add",
                &format!("{JSON}Connect-Timeout-Ms: soon\r\n"),
                "{}",
            ),
            400,
            r#"{"code":"invalid_argument","message":"`Connect-Timeout-Ms` is a number of one to ten digits"}"#,
        ),
        (
            post(
                "/Hello/sleep",
                &format!("{JSON}Connect-Timeout-Ms: 30\r\n"),
                "{}",
            ),
            504,
            r#"{"code":"deadline_exceeded","message":"the deadline of the call has passed"}"#,
        ),
        (
            post(
                "/Hello/Header",
                &format!("{JSON}X-Token-Bin: YWI\r\n"),
                r#"{"fullName":"x-token-bin"}"#,
            ),
            200,
            r#"{"fullName":"connect+json: ab","age":"0"}"#,
        ),
        (
            post(
                "/Hello/Header",
                &format!("{JSON}Connect-Protocol-Version: 1\r\n"),
                r#"{"fullName":"connect-protocol-version"}"#,
            ),
            200,
            r#"{"fullName":"connect+json: nothing","age":"0"}"#,
        ),
        // Thrift, whatever it is called, beside all that.
        (
            post(
                "/",
                "Content-Type: application/x-thrift\r\n",
                r#"[1,"add",1,7,{"1":{"i32":5}}]"#,
            ),
            200,
            r#"[1,"add",2,7,{"0":{"i32":5}}]"#,
        ),
        (
            post("/", JSON, r#"[1,"add",1,7,{"1":{"i32":5}}]"#),
            200,
            r#"[1,"add",2,7,{"0":{"i32":5}}]"#,
        ),
    ]
}

/// Handlers on a thread of their own are not interrupted: the only row that waits for that is left
/// out there.
fn rows_of(model: Model) -> impl Iterator<Item = (Vec<u8>, u16, &'static str)> {
    let interrupts = model != Model::ThreadPerConnection;
    rows()
        .into_iter()
        .filter(move |(_, status, _)| interrupts || *status != 504)
}

#[test]
fn one_connection_serves_all() {
    for model in MODELS {
        let running = start(*model, server());
        let mut raw = Raw::connect(&running);
        for (request, status, body) in rows_of(*model) {
            raw.send(&request);
            let response = response(&mut raw);
            let shown = String::from_utf8_lossy(&request).into_owned();
            assert_eq!(
                (response.status, response.text()),
                (status, body),
                "{model:?} {shown}"
            );
        }
        assert_eq!(running.connections(), 1);
        drop(raw);
        assert!(running.shutdown(LONG));
    }
}

#[test]
fn answers_keep_the_order_of_requests() {
    for model in MODELS {
        let running = start(*model, server());
        let mut raw = Raw::connect(&running);
        let all: Vec<_> = rows_of(*model).collect();
        raw.send(
            &all.iter()
                .flat_map(|(request, ..)| request.clone())
                .collect::<Vec<_>>(),
        );
        for (_, status, body) in all {
            let response = response(&mut raw);
            assert_eq!(
                (response.status, response.text()),
                (status, body),
                "{model:?}"
            );
        }
        drop(raw);
        assert!(running.shutdown(LONG));
    }
}

#[test]
fn heads_of_answers() {
    let running = start(Model::ThreadPerConnection, server());
    for (request, status, lines) in [
        (
            post("/Hello/add", JSON, "{}"),
            200,
            &["Content-Type: application/json"][..],
        ),
        (
            post("/Hello/add", PROTO, ""),
            200,
            &["Content-Type: application/proto"],
        ),
        (
            post("/Hello/fail", PROTO, ""),
            500,
            &["Content-Type: application/json"],
        ),
        (
            post("/Hello/add", "", "{}"),
            415,
            &["Accept-Post: application/json, application/proto"],
        ),
        (
            b"DELETE /Hello/add HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
            405,
            &["Allow: GET, POST"],
        ),
        (
            b"GET /Hello/throw?message=%7B%7D HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
            405,
            &["Allow: POST"],
        ),
        (
            post("/Hello/add", &format!("{JSON}Connection: close\r\n"), "{}"),
            200,
            &["Connection: close"],
        ),
    ] {
        let mut raw = Raw::connect(&running);
        raw.send(&request);
        let response = response(&mut raw);
        assert_eq!(response.status, status);
        for line in lines {
            assert!(response.has(line), "{line} in {}", response.head);
        }
    }
    assert!(running.shutdown(LONG));
}

/// Whoever asks with HEAD takes whatever follows the head for the next answer.
#[test]
fn a_head_has_no_body() {
    let running = start(Model::ThreadPerConnection, server());
    let mut raw = Raw::connect(&running);
    raw.send(b"HEAD /Hello/add HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let said = String::from_utf8(raw.rest().unwrap()).unwrap();
    assert!(said.starts_with("HTTP/1.1 405 "), "{said}");
    assert!(said.ends_with("\r\n\r\n"), "{said}");
    assert!(running.shutdown(LONG));
}

#[test]
fn browsers_are_told_who_may_call() {
    let ask = |server: Server, request: &[u8]| {
        let running = start(Model::ThreadPerConnection, server);
        let mut raw = Raw::connect(&running);
        raw.send(request);
        let response = response(&mut raw);
        drop(raw);
        assert!(running.shutdown(LONG));
        let access = |line: &&str| line.starts_with("Access-Control") || line.starts_with("Vary");
        let lines: Vec<String> = response
            .head
            .lines()
            .filter(access)
            .map(str::to_owned)
            .collect();
        (response.status, lines.join("; "))
    };
    let preflight = |origin: &str| {
        format!(
            "OPTIONS /Hello/add HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: POST\r\n\
             Access-Control-Request-Headers: content-type\r\n\r\n"
        )
    };
    let call = |origin: &str| post("/Hello/add", &format!("{JSON}Origin: {origin}\r\n"), "{}");
    let shop = || {
        let cors = Cors::new().origin("https://shop.example").header("X-Token");
        server().cors(cors)
    };
    let methods = "Access-Control-Allow-Methods: GET, POST; Access-Control-Allow-Headers: Content-Type, \
        Content-Encoding, Connect-Protocol-Version, Connect-Timeout-Ms, Connect-Content-Encoding, \
        Connect-Accept-Encoding, Grpc-Timeout, Grpc-Encoding, Grpc-Accept-Encoding, X-Grpc-Web, X-User-Agent";
    let exposed = "Access-Control-Expose-Headers: *, Connect-Content-Encoding, Content-Encoding, Grpc-Encoding, \
        Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin";
    let age = "Access-Control-Max-Age: 7200";
    let allowed =
        &format!("Access-Control-Allow-Origin: https://shop.example; Vary: Origin; {exposed}");
    let (good, bad) = ("https://shop.example", "https://shop.example.evil");
    assert_eq!(
        ask(server(), preflight(good).as_bytes()),
        (405, String::new())
    );
    assert_eq!(ask(server(), &call(good)), (403, String::new()));
    assert_eq!(
        ask(shop(), preflight(good).as_bytes()),
        (204, format!("{methods}, X-Token; {age}; {allowed}"))
    );
    assert_eq!(
        ask(shop(), preflight(bad).as_bytes()),
        (204, format!("{methods}, X-Token; {age}; Vary: Origin"))
    );
    assert_eq!(ask(shop(), &call(good)), (200, allowed.to_owned()));
    assert_eq!(ask(shop(), &call(bad)), (403, "Vary: Origin".to_owned()));
    assert_eq!(
        ask(server().cors(Cors::any()), preflight(bad).as_bytes()),
        (
            204,
            format!("{methods}; {age}; Access-Control-Allow-Origin: *; {exposed}")
        )
    );
}

/// Requests that browsers send for a page without asking before, and what the server makes of them.
#[test]
fn pages_of_other_sites_do_not_call() {
    const TEXT: &str = "Content-Type: text/plain\r\n";
    const THRIFT: &str = "Content-Type: application/x-thrift\r\n";
    const OWN: &str = "Origin: http://here.localhost\r\n";
    const FOREIGN: &str = "Origin: http://evil.example\r\n";
    const NO_ORIGIN: &str = "Origin: null\r\n";
    const SITE: &str = "Sec-Fetch-Site: ";
    let json = |headers: &str| post("/Hello/add", &format!("{JSON}{headers}"), "{}");
    let thrift = |headers: &str| post("/", headers, r#"[1,"add",1,7,{}]"#);
    let get = |headers: &str| {
        format!(
            "GET /Hello/add?message=%7B%7D&encoding=json HTTP/1.1\r\nHost: here.localhost\r\n{headers}\r\n"
        )
        .into_bytes()
    };
    let rows = [
        (json(""), 200),
        (json(OWN), 200),
        (json("Origin: https://HERE.LOCALHOST\r\n"), 200),
        (json(FOREIGN), 403),
        (json(NO_ORIGIN), 403),
        (json("Origin: http://here.localhost.evil.example\r\n"), 403),
        (json("Origin: http://here.localhost:81\r\n"), 403),
        (json(&format!("{FOREIGN}{SITE}same-origin\r\n")), 200),
        (json(&format!("{SITE}none\r\n")), 200),
        (json(&format!("{SITE}same-site\r\n")), 403),
        (json(&format!("{SITE}cross-site\r\n")), 403),
        (json(&format!("{OWN}{SITE}cross-site\r\n")), 403),
        (get(""), 200),
        (get(FOREIGN), 403),
        (get(&format!("{SITE}cross-site\r\n")), 403),
        (get(&format!("{SITE}same-site\r\n")), 403),
        (thrift(THRIFT), 200),
        (thrift(""), 200),
        (thrift(&format!("{TEXT}{OWN}")), 200),
        (thrift(TEXT), 415),
        (thrift("Content-Type: Text/Plain; charset=utf-8\r\n"), 415),
        (
            thrift("Content-Type: application/x-www-form-urlencoded\r\n"),
            415,
        ),
        (
            thrift("Content-Type: multipart/form-data; boundary=x\r\n"),
            415,
        ),
        (thrift(&format!("{TEXT}{FOREIGN}")), 403),
        (thrift(&format!("{THRIFT}{FOREIGN}")), 403),
        (thrift(FOREIGN), 403),
        (thrift(&format!("{TEXT}{SITE}same-site\r\n")), 403),
    ];
    for model in MODELS {
        let running = start(*model, server());
        for (request, status) in &rows {
            let before = running.counters().calls;
            let mut raw = Raw::connect(&running);
            raw.send(request);
            let shown = String::from_utf8_lossy(request);
            assert_eq!(response(&mut raw).status, *status, "{model:?} {shown}");
            let ran = running.counters().calls > before;
            assert_eq!(ran, *status == 200, "{model:?} {shown}");
        }
        assert!(running.shutdown(LONG));
    }
}

/// Heads that a server behind another one could read in two ways are refused, and the connection
/// ends.
#[test]
fn heads_with_two_meanings_are_refused() {
    let chunked = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
    let rows = [
        (
            "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}".to_owned(),
            "no `Host`",
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".to_owned(),
            "two `Host`",
        ),
        (
            "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n".to_owned(),
            "two `Host`",
        ),
        (
            "GET / HTTP/1.1\r\nHost: \r\n\r\n".to_owned(),
            "`Host` of the request is empty",
        ),
        (
            "GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: x\r\nOrigin: y\r\n\r\n".to_owned(),
            "two `Origin`",
        ),
        (
            "GET / HTTP/1.1\nHost: a\n\n".to_owned(),
            "without a carriage return",
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n".to_owned(),
            "without a carriage return",
        ),
        (
            format!("POST /Hello/add HTTP/1.0\r\n{chunked}\r\n2\r\n{{}}\r\n0\r\n\r\n"),
            "HTTP/1.0 has no transfer encoding",
        ),
        (
            format!(
                "POST /Hello/add HTTP/1.1\r\nHost: localhost\r\n{chunked}\r\n2\n{{}}\r\n0\r\n\r\n"
            ),
            "chunk ends without a carriage return",
        ),
        (
            format!("POST / HTTP/1.1\r\nHost: localhost\r\n{chunked}Content-Length: 2\r\n\r\n"),
            "a length and chunks",
        ),
        (
            "GET / HTTP/1.1\r\nHost: localhost\r\nX: y\r\n z\r\n\r\n".to_owned(),
            "cannot be read",
        ),
        (
            "GET / HTTP/1.1\r\nHost : a\r\n\r\n".to_owned(),
            "cannot be read",
        ),
    ];
    for model in MODELS {
        let running = start(*model, server());
        for (request, why) in &rows {
            let mut raw = Raw::connect(&running);
            raw.send(request.as_bytes());
            let said = String::from_utf8(raw.rest().unwrap()).unwrap();
            assert!(
                said.starts_with("HTTP/1.1 400 "),
                "{model:?} {request:?}: {said}"
            );
            assert!(said.contains(why), "{model:?} {request:?}: {said}");
        }
        assert_eq!(running.counters().calls, 0);
        assert!(running.shutdown(LONG));
    }
}

/// Requests after which the connection cannot go on: the status, and the code in the body.
#[test]
fn limits_are_said_in_json() {
    let limits = || {
        let mut limits = ServerLimits {
            transfer: Duration::from_millis(50),
            handshake: Duration::from_millis(50),
            ..ServerLimits::default()
        };
        limits.connection.message_bytes = 1000;
        limits.connection.header_bytes = 2000;
        limits
    };
    let too_long = vec![b' '; 1001];
    let half = post("/Hello/add", JSON, "{}");
    let bomb = post(
        "/Hello/add",
        &format!("{JSON}Content-Encoding: gzip\r\n"),
        gzip(&too_long),
    );
    for model in MODELS {
        for (request, status, code) in [
            (
                post("/Hello/add", JSON, &too_long),
                413,
                "resource_exhausted",
            ),
            (bomb.clone(), 429, "resource_exhausted"),
            (half[..half.len() - 1].to_vec(), 408, "deadline_exceeded"),
            (
                format!(
                    "POST / HTTP/1.1\r\nHost: localhost\r\n{JSON}Transfer-Encoding: chunked\r\n\r\nfff\r\n"
                )
                .into_bytes(),
                413,
                "resource_exhausted",
            ),
        ] {
            let running = start(*model, server().limits(limits()));
            let mut raw = Raw::connect(&running);
            raw.send(&request);
            let response = response(&mut raw);
            let begin = format!("{{\"code\":\"{code}\",");
            assert_eq!(response.status, status, "{model:?}");
            assert!(response.text().starts_with(&begin), "{}", response.text());
            drop(raw);
            until("closed", || running.connections() == 0);
            assert!(running.shutdown(LONG));
        }
    }
}

#[test]
fn a_large_request_is_asked_for() {
    for model in MODELS {
        let running = start(*model, server());
        let mut raw = Raw::connect(&running);
        let head = format!(
            "POST /Hello/add HTTP/1.1\r\nHost: localhost\r\n{JSON}Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        raw.send(head.as_bytes());
        assert_eq!(response(&mut raw).status, 100, "{model:?}");
        raw.send(b"7\r\n{\"num1\"\r\n3;x=y\r\n:1}\r\n0\r\nT: u\r\n\r\n");
        assert_eq!(response(&mut raw).text(), r#"{"result":1}"#);
        drop(raw);
        assert!(running.shutdown(LONG));
    }
}

/// Requests of every protocol over HTTP/1.1 that name this host.
fn naming(host: &str) -> Vec<Vec<u8>> {
    let envelope = b"\0\0\0\0\0";
    let socket = format!(
        "GET /Hello/add HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    let get = format!("GET /openapi.json HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let posts = [
        post("/Hello/add", JSON, "{}"),
        post(
            "/Hello/add",
            "Content-Type: application/grpc-web+proto\r\n",
            envelope,
        ),
        post(
            "/Hello/add",
            "Content-Type: application/connect+proto\r\n",
            envelope,
        ),
        post(
            "/",
            "Content-Type: application/x-thrift\r\n",
            r#"[1,"add",1,7,{}]"#,
        ),
    ];
    let posts = posts.map(|bytes| {
        let text = String::from_utf8(bytes).unwrap();
        text.replace("Host: here.localhost", &format!("Host: {host}"))
    });
    [socket, get]
        .into_iter()
        .chain(posts)
        .map(String::into_bytes)
        .collect()
}

/// A page can have a name of its own lead to any address; what its browser sends then names that
/// host.
#[test]
fn requests_name_hosts_of_the_server() {
    let (plain, listed) = (false, true);
    let rows = [
        (plain, "localhost:1", true),
        (plain, "127.0.0.1", true),
        (plain, "[::1]:80", true),
        (plain, "evil.example", false),
        (plain, "localhost.evil.example:80", false),
        (plain, "evil.example.", false),
        (listed, "eu.shop.example", true),
        (listed, "localhost", true),
        (listed, "evil.example", false),
    ];
    for model in MODELS {
        for (lists, host, allowed) in rows {
            let running = start(
                *model,
                match lists {
                    true => server().allowed_hosts([".shop.example"]),
                    false => server(),
                },
            );
            for request in naming(host) {
                let mut raw = Raw::connect(&running);
                raw.send(&request);
                let shown = String::from_utf8_lossy(&request);
                let answer = response(&mut raw);
                assert_eq!(answer.status != 403, allowed, "{model:?} {shown}");
                if !allowed {
                    let is_explained = answer.text().contains("`Server::allowed_hosts` lists");
                    assert!(is_explained, "{model:?} {shown}: {}", answer.text());
                }
            }
            assert_eq!(running.counters().calls == 0, !allowed, "{model:?} {host}");
            assert!(running.shutdown(LONG), "{model:?}");
        }
    }
}

/// On a Unix socket clients name its path, or localhost. Where nothing was said, an address of the
/// network takes any host.
#[test]
fn hosts_on_other_addresses() {
    use std::os::unix::net::UnixStream;
    let name = format!("dovetail-hosts-{}.sock", std::process::id());
    let path = std::env::temp_dir().join(name);
    for model in MODELS {
        let network = server().listen("tcp://0.0.0.0:0").unwrap();
        let running = network.listen(&format!("unix:{}", path.display())).unwrap();
        let running = running.model(*model).start().unwrap();
        let mut raw = Raw::connect(&running);
        raw.send(&naming("other.example").remove(1));
        assert_eq!(response(&mut raw).status, 200, "{model:?}");
        for (host, status) in [
            ("localhost", "200"),
            ("%2Ftmp%2Fa.sock", "200"),
            ("unix:/tmp/a.sock", "200"),
            ("evil.example", "403"),
        ] {
            let mut stream = UnixStream::connect(&path).unwrap();
            let request = naming(host).remove(1);
            std::io::Write::write_all(&mut stream, &request).unwrap();
            let mut begins = [0; 12];
            std::io::Read::read_exact(&mut stream, &mut begins).unwrap();
            let begins = String::from_utf8_lossy(&begins).into_owned();
            assert_eq!(begins, format!("HTTP/1.1 {status}"), "{model:?} {host}");
        }
        drop(raw);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// The body of such a request may never end, so the head is answered.
#[test]
fn grpc_without_http2_is_refused_at_once() {
    let head = "POST /Hello/add HTTP/1.1\r\nHost: here.localhost\r\nTransfer-Encoding: chunked\r\n";
    for model in MODELS {
        let running = start(*model, server());
        for kind in ["application/grpc", "application/grpc+proto"] {
            let mut raw = Raw::connect(&running);
            raw.send(format!("{head}Content-Type: {kind}\r\nTE: trailers\r\n\r\n").as_bytes());
            let answer = response(&mut raw);
            assert_eq!(answer.status, 415, "{model:?} {kind}");
            assert!(
                answer.text().contains("gRPC needs HTTP/2"),
                "{}",
                answer.text()
            );
            assert!(answer.has("Connection: close"), "{}", answer.head);
        }
        assert!(running.shutdown(LONG));
    }
}

//! One handler, one set of values, all wires: random values of every type come back over each of
//! them as they were, or as `docs/encodings.md` says.

use crate::certificates::{Authority, NAMES};
use crate::fixture::{LONG, Raw, tcp_place};
use crate::fixtures::*;
use crate::http::{post, response};
use crate::values;
use crate::web::envelope;
use dovetail::encoding::{Encoding, Field, FieldValue, Limits};
use dovetail::method::{Method, ServiceDescriptor};
use dovetail::server::{Call, HandlerFuture};
use dovetail::tls::ClientTls;
use dovetail::transport::MemoryConnector;
use dovetail::types::Bytes;
use dovetail::{Channel, Context, Running, Server, Service, Status, blocking, descriptor, message};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use tokio::runtime::{self, Runtime};

/// The fields of a struct with one of each type, the values that are sent, and, where an encoding
/// has no word for some of them, what comes back.
macro_rules! one_of_each {
    ($($id:literal $field:ident: $ty:ty = $values:expr $(=> $documented:expr)?;)*) => {
        #[derive(Clone, Debug, Default, PartialEq)]
        struct All {
            $($field: $ty,)*
        }

        message!(All { $($id $field: $ty,)* });

        // Behind boxes: all at once would be too large for the stack.
        fn all() -> impl Strategy<Value = All> {
            let all = Just(Box::<All>::default()).boxed();
            $(
                let all = (all, $values.boxed()).prop_map(|(mut all, value)| {
                    all.$field = value;
                    all
                });
                let all = all.boxed();
            )*
            all.prop_map(|all| *all)
        }

        fn documented(encoding: Encoding, all: All) -> All {
            All {
                $($($field: $documented(encoding, all.$field),)?)*
                ..all
            }
        }
    };
}

one_of_each! {
    1 truth: bool = any::<bool>();
    2 number: i32 = any::<i32>();
    3 large: u64 = any::<u64>();
    4 real: f64 = values::real();
    5 colour: Colour = values::colour();
    6 day: dovetail::types::Date = values::day();
    7 everything: Everything = values::everything();
    8 unsigned: Unsigned = values::unsigned();
    9 formats: Formats = values::formats();
    10 uuids: Uuids = values::uuids();
    11 containers: Containers = values::containers();
    12 nested: Nested = values::nested();
    13 keyed: Keyed = values::keyed();
    14 tree: Tree = values::tree();
    15 chain: Chain = values::chain();
    16 choice: Choice = values::choice();
    17 newer: Newer = values::newer();
    18 optionals: Optionals = values::optionals();
    19 rich: Rich = values::rich() => values::documented;
    20 arrays: Arrays = values::arrays();
    21 moments: Vec<Moment> = values::moments();
    22 cage: Cage = values::cage();
    23 person: Person = values::person();
}

descriptor!(static ECHO = "Echo" in "zoo" {
    all(1 value: All) -> All;
    // With no struct around them.
    text(1 value: String) -> String;
    lists(1 value: Vec<Vec<i64>>) -> Vec<Vec<i64>>;
    choice(1 value: Choice) -> Choice;
});

struct Echo;

impl Service for Echo {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &ECHO
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            0 => call.unary((All::default(),), echo),
            1 => call.unary((String::new(),), echo),
            2 => call.unary((Vec::<Vec<i64>>::new(),), echo),
            3 => call.unary((Choice::default(),), echo),
            _ => call.no_such_method(),
        }
    }
}

/// The result of each method.
async fn echo<T>(_: Context, (value,): (T,)) -> Result<T, Status> {
    Ok(value)
}

/// A way to the server, and the encoding of what goes there.
struct Row {
    name: String,
    encoding: Encoding,
    caller: Caller,
}

enum Caller {
    Blocking(blocking::Channel),
    Async(Arc<Runtime>, Channel),
    Http(Http),
}

/// Calls of the web's over HTTP/1.1, which none of our clients makes.
struct Http {
    connection: Mutex<Raw>,
    content_type: &'static str,
    encoding: Encoding,
}

impl Caller {
    fn call<T: FieldValue + 'static>(
        &self,
        method: &'static Method,
        value: &T,
    ) -> Result<T, String> {
        let answer: Result<T, Status> = match self {
            Caller::Blocking(channel) => channel.call(method, (value,)),
            Caller::Async(runtime, channel) => runtime.block_on(channel.call(method, (value,))),
            Caller::Http(http) => return http.call(method, value),
        };
        answer.map_err(|status| status.to_string())
    }
}

impl Http {
    fn call<T: FieldValue>(&self, method: &Method, value: &T) -> Result<T, String> {
        let web = self.content_type.contains("grpc-web");
        let params = self.encoding.to_bytes(&(&(value,), method.params));
        let params = params.map_err(|error| error.to_string())?;
        let body = if web { envelope(0, params) } else { params };
        let headers = format!("Content-Type: {}\r\n", self.content_type);
        let request = post(&format!("/zoo.Echo/{}", method.name), &headers, body);
        let mut connection = self.connection.lock().expect("no panic");
        connection.send(&request);
        let answer = response(&mut connection);
        let message = if web {
            unframed(&answer.body)
        } else {
            Some(&answer.body[..])
        };
        let failed = || format!("{}: {}", answer.head, answer.body.escape_ascii());
        let message = message.filter(|_| answer.status == 200);
        let message = Bytes::copy_from_slice(message.ok_or_else(failed)?);
        let mut result = (T::default(),);
        let fields = [Field::new(1, "result", T::KIND)];
        let mut slot = (&mut result, &fields[..]);
        let read = self.encoding.decode(&mut slot, &message, Limits::default());
        match read.map_err(|error| format!("{error} in {}", message.escape_ascii()))? {
            read if read == message.len() => Ok(result.0),
            read => Err(format!(
                "{read} bytes are all of {}",
                message.escape_ascii()
            )),
        }
    }
}

/// The message of an answer of gRPC-Web, if the trailers behind it say that it is one.
fn unframed(body: &[u8]) -> Option<&[u8]> {
    let (length, rest) = body.strip_prefix(&[0])?.split_first_chunk()?;
    let length = u32::from_be_bytes(*length);
    let (message, trailers) = rest.split_at_checked(length as usize)?;
    (trailers == envelope(0x80, "grpc-status: 0\r\n")).then_some(message)
}

/// The wires of our clients, and the encoding.
const WIRES: &[(&str, Encoding)] = &[
    ("dovetail", Encoding::Tagless),
    ("msgpack-rpc", Encoding::Msgpack),
    ("binary", Encoding::ThriftBinary),
    ("binary+framed", Encoding::ThriftBinary),
    ("binary+header", Encoding::ThriftBinary),
    ("binary+http", Encoding::ThriftBinary),
    ("binary-old", Encoding::ThriftBinary),
    ("compact", Encoding::ThriftCompact),
    ("compact+framed", Encoding::ThriftCompact),
    ("compact+header", Encoding::ThriftCompact),
    ("compact+http", Encoding::ThriftCompact),
    ("json", Encoding::ThriftJson),
    ("json+framed", Encoding::ThriftJson),
    ("json+header", Encoding::ThriftJson),
    ("json+http", Encoding::ThriftJson),
];

/// The content types over HTTP/1.1.
const CONTENT_TYPES: &[(&str, Encoding)] = &[
    ("application/json", Encoding::Json),
    ("application/proto", Encoding::Protobuf),
    ("application/grpc-web+json", Encoding::Json),
    ("application/grpc-web+proto", Encoding::Protobuf),
];

/// Every wire over TCP, and the own one over every transport, by the blocking client; by the async
/// one the own wire and what goes over HTTP/2.
fn rows(running: &Running, memory: MemoryConnector, trusted: &ClientTls) -> Vec<Row> {
    let tcp = running.addresses()[0].to_string();
    let unix = running.addresses()[1].to_string();
    let tls = format!("tls://{}", tcp_place(running));
    let own = |place: &str, channel| Row {
        name: format!("dovetail, {place}"),
        encoding: Encoding::Tagless,
        caller: Caller::Blocking(channel),
    };
    let builder = |address: &str| blocking::Channel::builder(address).unwrap();
    let mut rows = vec![
        own("no wire", blocking::Channel::in_process(Echo)),
        own(
            "memory",
            blocking::Channel::through(Arc::new(memory)).build(),
        ),
        own("to shared memory from TCP", builder(&tcp).build()),
        own("Unix", builder(&unix).build()),
        own("TLS", builder(&tls).tls(trusted).build()),
    ];
    if cfg!(all(feature = "shm", target_os = "linux")) {
        let shm = unix.replace("unix:", "shm:");
        rows.push(own("shared memory", builder(&shm).build()));
    }
    rows.extend(WIRES.iter().map(|(name, encoding)| Row {
        name: (*name).to_owned(),
        encoding: *encoding,
        caller: Caller::Blocking({
            let builder = builder(&tcp).wire(name.parse().unwrap());
            builder.local_upgrade(false).build()
        }),
    }));
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = Arc::new(runtime.unwrap());
    let wires = [
        ("dovetail", Encoding::Tagless),
        ("grpc", Encoding::Protobuf),
        ("grpc-web", Encoding::Protobuf),
        ("grpc-web+json", Encoding::Json),
        ("connect", Encoding::Protobuf),
        ("connect+json", Encoding::Json),
    ];
    rows.extend(wires.map(|(wire, encoding)| Row {
        name: format!("{wire}, async"),
        encoding,
        caller: Caller::Async(runtime.clone(), {
            let builder = Channel::builder(&tcp).unwrap();
            builder.wire(wire.parse().unwrap()).build()
        }),
    }));
    rows.extend(CONTENT_TYPES.iter().map(|(content_type, encoding)| Row {
        name: (*content_type).to_owned(),
        encoding: *encoding,
        caller: Caller::Http(Http {
            connection: Mutex::new(Raw::connect(running)),
            content_type,
            encoding: *encoding,
        }),
    }));
    rows
}

/// Sends values over every wire. What comes back is what `documented` says of the wire's encoding.
fn check<T: FieldValue + Clone + Debug + PartialEq + 'static>(
    rows: &[Row],
    method: usize,
    values: impl Strategy<Value = T>,
    documented: fn(Encoding, T) -> T,
) {
    let method = &ECHO.methods[method];
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 32,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let sent = runner.run(&values, |value| {
        for row in rows {
            let failed = |error| TestCaseError::fail(format!("{}: {error}", row.name));
            let came = row.caller.call(method, &value).map_err(failed)?;
            let expected = documented(row.encoding, value.clone());
            prop_assert_eq!(came, expected, "{}", row.name);
        }
        Ok(())
    });
    sent.unwrap_or_else(|error| panic!("{}: {error}", method.name));
}

fn same<T>(_: Encoding, value: T) -> T {
    value
}

#[test]
fn every_value_comes_back_over_every_wire() {
    let authority = Authority::new();
    let (tls, trusted) = (authority.sign(NAMES).server(), authority.trusted());
    let socket = format!("dovetail-test-every-wire-{}.sock", std::process::id());
    let socket = std::env::temp_dir().join(socket);
    let server = Server::new().service(Echo).tls(&tls);
    let server = server.listen("tcp://127.0.0.1:0").unwrap();
    let server = server
        .listen(&format!("unix:{}", socket.display()))
        .unwrap();
    let (server, memory) = server.in_process();
    let running = server.start().unwrap();
    let rows = rows(&running, memory, &trusted);
    check(&rows, 0, all(), documented);
    check(&rows, 1, values::text(), same);
    check(&rows, 2, vec(vec(any::<i64>(), 0..3), 0..3), same);
    check(&rows, 3, values::choice(), same);
    drop(rows);
    assert!(running.shutdown(LONG));
}

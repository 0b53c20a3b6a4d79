//! The cases of calls.proto and mapped.thrift, over gRPC, and what answers them.

use crate::calls::v1::{
    Blob, Calls, CallsClient, Colour, Failure as Wanted, Number, Text, Value, ValuePart,
};
use crate::case::{Case, Failure, Outcome, case, check, fail, pass};
use crate::connector::{Connector, Kind};
use crate::google::protobuf::Empty;
use crate::mapped::{FailError, Mapped, MappedClient, Missing, Pair, Refused};
use dovetail::{Channel, Code, Context, Status};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::time::{sleep, timeout};

/// How many callers have gone, by the number that they gave.
type Gone = Arc<Mutex<HashMap<i64, i64>>>;

fn lock(gone: &Gone) -> MutexGuard<'_, HashMap<i64, i64>> {
    gone.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
pub(crate) struct Handler {
    gone: Gone,
}

/// Counts a caller when its handler is dropped.
struct Waiting(Gone, i64);

impl Drop for Waiting {
    fn drop(&mut self) {
        *lock(&self.0).entry(self.1).or_default() += 1;
    }
}

fn known() -> Value {
    let part = |name: &str, count| ValuePart {
        name: name.to_owned(),
        count,
        ..ValuePart::default()
    };
    Value {
        truth: true,
        number: -1,
        large: i64::MIN,
        unsigned: u64::MAX,
        zigzag: -5,
        fixed: 7,
        single: 0.5,
        real: -1234.5,
        text: "Grüße, 世界 🚀".to_owned(),
        blob: vec![0, 255].into(),
        colour: Colour::BLUE,
        may: Some(0),
        numbers: vec![0, 1, -1],
        parts: vec![part("a", 0), part("", 2)],
        counts: [("one".to_owned(), 1), (String::new(), 0)].into(),
        part: Some(part("last", -3)),
        ..Value::default()
    }
}

fn number(number: i64) -> Number {
    Number {
        number,
        ..Number::default()
    }
}

fn text(text: impl Into<String>) -> Text {
    Text {
        text: text.into(),
        ..Text::default()
    }
}

impl Calls for Handler {
    async fn echo(&self, _: Context, request: Value) -> Result<Value, Status> {
        Ok(request)
    }

    async fn known(&self, _: Context, _: Empty) -> Result<Value, Status> {
        Ok(known())
    }

    async fn make(&self, _: Context, request: Number) -> Result<Blob, Status> {
        Ok(Blob {
            blob: pattern(request.number),
            ..Blob::default()
        })
    }

    async fn fail(&self, _: Context, request: Wanted) -> Result<Empty, Status> {
        let code = |code: &Code| *code as i32 == request.code;
        let code = Code::ALL.into_iter().find(code).unwrap_or(Code::Unknown);
        Err(Status::new(code, request.message))
    }

    async fn header(&self, cx: Context, request: Text) -> Result<Text, Status> {
        let value = cx.header(&request.text).unwrap_or_default();
        let hex = value.iter().map(|byte| format!("{byte:02x}"));
        Ok(text(hex.collect::<String>()))
    }

    async fn time_left(&self, cx: Context, _: Empty) -> Result<Number, Status> {
        let left = cx
            .deadline()
            .map(|at| at.saturating_duration_since(Instant::now()));
        Ok(number(left.map_or(-1, |left| left.as_millis() as i64)))
    }

    async fn wait(&self, _: Context, request: Number) -> Result<Empty, Status> {
        let _waiting = Waiting(self.gone.clone(), request.number);
        std::future::pending().await
    }

    async fn given_up(&self, _: Context, request: Number) -> Result<Number, Status> {
        let gone = lock(&self.gone).get(&request.number).copied();
        Ok(number(gone.unwrap_or(0)))
    }
}

/// The bytes that all peers make, as cases.py has them.
fn pattern(count: i64) -> dovetail::Bytes {
    let bytes: Vec<u8> = (0..count).map(|number| (number % 251) as u8).collect();
    bytes.into()
}

impl Mapped for Handler {
    async fn add(&self, _: Context, left: i32, right: i32) -> Result<i32, Status> {
        Ok(left + right)
    }

    async fn pairs(&self, _: Context, count: i32) -> Result<Vec<Pair>, Status> {
        Ok((0..count)
            .map(|number| pair(number, number * number))
            .collect())
    }

    async fn lengths(
        &self,
        _: Context,
        words: Vec<String>,
        doubled: bool,
    ) -> Result<BTreeMap<String, i32>, Status> {
        let length = |word: &String| (word.len() as i32) << i32::from(doubled);
        Ok(words
            .iter()
            .map(|word| (word.clone(), length(word)))
            .collect())
    }

    async fn turn(&self, _: Context, turned: Pair) -> Result<Pair, Status> {
        Ok(pair(turned.right, turned.left))
    }

    async fn nothing(&self, _: Context) -> Result<(), Status> {
        Ok(())
    }

    async fn fail(&self, _: Context, how: String) -> Result<i32, FailError> {
        match how.as_str() {
            "refused" => Err(refused().into()),
            "missing" => Err(missing().into()),
            "internal" => Err(Status::new(Code::Internal, "undeclared failure").into()),
            _ => Ok(42),
        }
    }
}

fn pair(left: i32, right: i32) -> Pair {
    Pair {
        left,
        right,
        ..Pair::default()
    }
}

fn refused() -> Refused {
    Refused {
        why: "no".to_owned(),
        count: 3,
        ..Refused::default()
    }
}

fn missing() -> Missing {
    Missing {
        what: "it".to_owned(),
        ..Missing::default()
    }
}

/// Runs a case with a channel of its own.
fn with<F: Future<Output = Outcome>>(
    connector: &Connector,
    run: impl FnOnce(Channel) -> F,
) -> Outcome {
    let Kind::Async(runtime) = &connector.kind else {
        return Err(Failure::Skip("gRPC needs an async channel"));
    };
    let builder = Channel::builder(&connector.address)?.wire(connector.wire);
    runtime.block_on(run(builder.build()))
}

async fn echo(channel: Channel) -> Outcome {
    let calls = CallsClient::from(channel);
    for value in [Value::default(), known()] {
        check(&calls.echo(&value).await?, &value)?;
    }
    check(&calls.known(&Empty::default()).await?, &known())?;
    pass()
}

async fn large(channel: Channel) -> Outcome {
    let calls = CallsClient::from(channel);
    for size in [0, 1, 127, 16 << 10, 70_000, 5_000_000] {
        let made = calls.make(&number(size)).await?;
        if made.blob != pattern(size) {
            return fail(format!("{size} bytes are {} others", made.blob.len()));
        }
        let value = Value {
            blob: made.blob,
            ..Value::default()
        };
        if calls.echo(&value).await? != value {
            return fail(format!("{size} bytes come back as others"));
        }
    }
    pass()
}

async fn codes(channel: Channel) -> Outcome {
    let calls = CallsClient::from(channel);
    for code in Code::ALL {
        let message = format!("\t100% Grüße, number {}\n", code as i32);
        let wanted = Wanted {
            code: code as i32,
            message: message.clone(),
            ..Wanted::default()
        };
        let Err(status) = calls.fail(&wanted).await else {
            return fail(format!("{code} is no failure"));
        };
        check(&(status.code(), status.message()), &(code, &message[..]))?;
    }
    pass()
}

async fn metadata(channel: Channel) -> Outcome {
    let named = channel
        .with_header("Colour", "dark blue")
        .with_header("trace-bin", &b"\0\xff,"[..]);
    let calls = CallsClient::from(named);
    for (name, hex) in [
        ("colour", "6461726b20626c7565"),
        ("trace-bin", "00ff2c"),
        ("none", ""),
    ] {
        check(&calls.header(&text(name)).await?, &text(hex))?;
    }
    pass()
}

/// A number that no other run has.
fn fresh() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as i64)
}

/// Waits until the server has noticed that one caller has gone.
async fn given_up(calls: &CallsClient, token: i64) -> Outcome {
    for _ in 0..3000 {
        if calls.given_up(&number(token)).await?.number == 1 {
            return pass();
        }
        sleep(Duration::from_millis(10)).await;
    }
    fail("the handler was not told")
}

async fn deadline(channel: Channel) -> Outcome {
    let seconds = Duration::from_secs;
    let calls = CallsClient::from(channel.with_timeout(seconds(20)));
    let left = calls.time_left(&Empty::default()).await?.number;
    if !(19_000..=20_000).contains(&left) {
        return fail(format!("{left} ms are left of 20,000"));
    }
    let token = fresh();
    let hasty = CallsClient::from(channel.with_timeout(Duration::from_millis(100)));
    let Err(late) = hasty.wait(&number(token)).await else {
        return fail("an answer before the caller has gone");
    };
    check(&late.code(), &Code::DeadlineExceeded)?;
    given_up(&calls, token).await
}

async fn cancel(channel: Channel) -> Outcome {
    let calls = CallsClient::from(channel);
    let token = number(fresh());
    let waiting = timeout(Duration::from_millis(200), calls.wait(&token));
    if waiting.await.is_ok() {
        return fail("an answer before the caller has gone");
    }
    given_up(&calls, token.number).await
}

/// A call of a method that no contract describes, to a service that nobody named.
async fn nameless(channel: Channel) -> Outcome {
    let (empty, mut reply) = (Empty::default(), Empty::default());
    let Err(status) = channel.call_raw("Known", &empty, &mut reply).await else {
        return fail("an answer of no service");
    };
    check(&status.code(), &Code::InvalidArgument)?;
    pass()
}

async fn mapped(channel: Channel) -> Outcome {
    let calls = MappedClient::from(channel);
    for (left, right) in [(1, 2), (0, 0), (-5, 3)] {
        check(&calls.add(left, right).await?, &(left + right))?;
    }
    for count in [0, 1, 100] {
        let pairs: Vec<Pair> = (0..count).map(|each| pair(each, each * each)).collect();
        check(&calls.pairs(count).await?, &pairs)?;
    }
    let words = ["", "a", "bcd"].map(str::to_owned);
    let lengths: BTreeMap<String, i32> = words.iter().cloned().zip([0, 2, 6]).collect();
    check(&calls.lengths(&words, true).await?, &lengths)?;
    check(&calls.lengths(&[], false).await?, &BTreeMap::new())?;
    check(&calls.turn(&pair(1, 2)).await?, &pair(2, 1))?;
    calls.nothing().await?;
    pass()
}

async fn mapped_exceptions(channel: Channel) -> Outcome {
    let calls = MappedClient::from(channel);
    let thrown = calls.fail("refused").await;
    check(&thrown, &Err(FailError::Refused(refused())))?;
    let thrown = calls.fail("missing").await;
    check(&thrown, &Err(FailError::Missing(missing())))?;
    let Err(FailError::Status(status)) = calls.fail("internal").await else {
        return fail("no status");
    };
    let said = (status.code(), status.message());
    check(&said, &(Code::Internal, "undeclared failure"))?;
    check(&calls.fail("").await?, &42)?;
    pass()
}

pub(crate) fn all() -> Vec<Case> {
    vec![
        case("echo", |connector| with(connector, echo)),
        case("large", |connector| with(connector, large)),
        case("codes", |connector| with(connector, codes)),
        case("metadata", |connector| with(connector, metadata)),
        case("deadline", |connector| with(connector, deadline)),
        case("cancel", |connector| with(connector, cancel)),
        case("nameless", |connector| with(connector, nameless)),
        case("mapped", |connector| with(connector, mapped)),
        case("mapped_exceptions", |connector| {
            with(connector, mapped_exceptions)
        }),
    ]
}

//! The cases of calls.proto and mapped.thrift, over gRPC, and what answers them.

use crate::calls::v1::{
    Blob, Calls, CallsClient, Colour, Failure as Wanted, Many, Number, Text, Value, ValuePart,
};
use crate::case::{Case, Failure, Outcome, case, check, fail, pass};
use crate::connector::{Connector, Kind};
use crate::google::protobuf::Empty;
use crate::mapped::{
    CountError, CountStreamError, FailError, Mapped, MappedClient, Missing, Pair, Refused,
};
use dovetail::stream::{Items, Receiver};
use dovetail::{Channel, ChannelBuilder, Code, Context, Status};
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

    async fn make_many(&self, _: Context, request: Many) -> Result<Items<'_, Blob>, Status> {
        Ok(Items::with(move |mut out| async move {
            for _ in 0..request.count {
                out.send(blob(request.size)).await;
            }
            let code = |code: &Code| *code as i32 == request.code;
            match Code::ALL.into_iter().find(code) {
                Some(code) => Err(Status::new(code, format!("after {}", request.count))),
                None => Ok(()),
            }
        }))
    }

    async fn sum(&self, _: Context, mut numbers: Receiver<Number>) -> Result<Number, Status> {
        let mut sum = 0;
        while let Some(next) = numbers.next().await {
            match next?.number {
                negative @ ..0 => {
                    let what = format!("{negative} is negative");
                    return Err(Status::new(Code::InvalidArgument, what));
                }
                number => sum += number,
            }
        }
        Ok(number(sum))
    }

    async fn measure(&self, _: Context, mut blobs: Receiver<Blob>) -> Result<Number, Status> {
        let mut size = 0;
        while let Some(blob) = blobs.next().await {
            size += blob?.blob.len() as i64;
        }
        Ok(number(size))
    }

    async fn echo_many(
        &self,
        _: Context,
        values: Receiver<Value>,
    ) -> Result<Items<'_, Value>, Status> {
        Ok(Items::new(values))
    }

    async fn wait_many(
        &self,
        _: Context,
        mut numbers: Receiver<Number>,
    ) -> Result<Items<'_, Number>, Status> {
        let gone = self.gone.clone();
        Ok(Items::with(|mut out| async move {
            let first = numbers.next().await;
            let first = first.ok_or_else(|| Status::new(Code::InvalidArgument, "no number"))??;
            let _waiting = Waiting(gone, first.number);
            out.send(first).await;
            std::future::pending().await
        }))
    }
}

fn blob(size: i64) -> Blob {
    Blob {
        blob: pattern(size),
        ..Blob::default()
    }
}

/// The bytes that all peers make, as cases.py has them.
fn pattern(count: i64) -> dovetail::types::Bytes {
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

    async fn count(
        &self,
        _: Context,
        to: i32,
        missing_at: i32,
    ) -> Result<(String, Items<'_, i32, CountStreamError>), CountError> {
        if to < 0 {
            return Err(below_zero().into());
        }
        let items = Items::with(move |mut out| async move {
            for number in 0..to {
                if number == missing_at {
                    return Err(missing_number(number).into());
                }
                out.send(number).await;
            }
            Ok(())
        });
        Ok((format!("to {to}"), items))
    }

    async fn numbers(&self, _: Context, to: i32) -> Result<Items<'_, i32>, Status> {
        Ok(Items::iter(0..to))
    }

    async fn sum(&self, _: Context, start: i64, mut items: Receiver<i32>) -> Result<i64, Status> {
        let mut sum = start;
        while let Some(item) = items.next().await {
            sum += i64::from(item?);
        }
        Ok(sum)
    }

    async fn turn_all(
        &self,
        _: Context,
        mut pairs: Receiver<Pair>,
    ) -> Result<Items<'_, Pair>, Status> {
        Ok(Items::with(|mut out| async move {
            while let Some(next) = pairs.next().await {
                let next = next?;
                out.send(pair(next.right, next.left)).await;
            }
            Ok(())
        }))
    }
}

fn below_zero() -> Refused {
    Refused {
        why: "below zero".to_owned(),
        ..Refused::default()
    }
}

fn missing_number(number: i32) -> Missing {
    Missing {
        what: format!("number {number}"),
        ..Missing::default()
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
pub(crate) fn with<F: Future<Output = Outcome>>(
    connector: &Connector,
    run: impl FnOnce(Channel) -> F,
) -> Outcome {
    with_built(connector, ChannelBuilder::build, run)
}

/// Runs a case with a channel whose builder is changed first.
pub(crate) fn with_built<F: Future<Output = Outcome>>(
    connector: &Connector,
    build: impl FnOnce(ChannelBuilder) -> Channel,
    run: impl FnOnce(Channel) -> F,
) -> Outcome {
    let Kind::Async(runtime) = &connector.kind else {
        return Err(Failure::Skip("gRPC needs an async channel"));
    };
    let builder = connector.builder()?;
    // A channel may begin to work as soon as it is there.
    let _entered = runtime.enter();
    runtime.block_on(run(build(builder)))
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

/// Reads the items to their end, and returns them with the error, if there is one.
async fn ends<T, E>(mut items: Receiver<T, E>) -> (Vec<T>, Option<E>)
where
    T: dovetail::encoding::FieldValue,
    E: dovetail::Exceptions,
{
    let mut got = Vec::new();
    while let Some(item) = items.next().await {
        match item {
            Ok(item) => got.push(item),
            Err(error) => return (got, Some(error)),
        }
    }
    (got, None)
}

fn many(count: i64, size: i64, code: i32) -> Many {
    Many {
        count,
        size,
        code,
        ..Many::default()
    }
}

async fn server_stream(channel: Channel) -> Outcome {
    let calls = CallsClient::from(channel);
    for (count, size) in [(0, 1), (1, 0), (1000, 10), (20, 100_000), (2, 3_000_000)] {
        let (got, error) = ends(calls.make_many(&many(count, size, 0)).await?).await;
        check(&error, &None)?;
        if got != vec![blob(size); count as usize] {
            return fail(format!("{count} blobs of {size} bytes are others"));
        }
    }
    for count in [0, 1, 1000] {
        // Without items, the failure may be the answer.
        let (got, error) = match calls.make_many(&many(count, 9, 10)).await {
            Ok(items) => ends(items).await,
            Err(error) => (Vec::new(), Some(error)),
        };
        check(&(got.len() as i64), &count)?;
        let said = error.map(|error| (error.code(), error.message().to_owned()));
        check(&said, &Some((Code::Aborted, format!("after {count}"))))?;
    }
    pass()
}

async fn client_stream(channel: Channel) -> Outcome {
    let calls = CallsClient::from(channel);
    for count in [0, 1, 10_000] {
        let (mut numbers, sum) = calls.sum().await?;
        for each in 0..count {
            numbers.send(&number(each)).await?;
        }
        numbers.finish();
        check(&sum.await?.number, &(0..count).sum())?;
    }
    for (count, size) in [(20, 100_000), (2, 3_000_000)] {
        let (mut blobs, measured) = calls.measure().await?;
        for _ in 0..count {
            blobs.send(&blob(size)).await?;
        }
        blobs.finish();
        check(&measured.await?.number, &(count * size))?;
    }
    let (mut numbers, sum) = calls.sum().await?;
    while numbers.send(&number(-1)).await.is_ok() {}
    let Err(refused) = sum.await else {
        return fail("a sum of negative numbers");
    };
    check(&refused.code(), &Code::InvalidArgument)?;
    pass()
}

async fn both_streams(channel: Channel) -> Outcome {
    let calls = CallsClient::from(channel);
    let (mut values, echoes) = calls.echo_many().await?;
    // A server may begin its answer with the first item.
    values.send(&known()).await?;
    let mut echoes = echoes.await?;
    check(&echoes.next().await, &Some(Ok(known())))?;
    for each in 0..200 {
        let value = Value {
            number: each,
            ..Value::default()
        };
        values.send(&value).await?;
        check(&echoes.next().await, &Some(Ok(value)))?;
    }
    values.finish();
    check(&echoes.next().await, &None)?;
    pass()
}

async fn slow_reader(channel: Channel) -> Outcome {
    let calls = CallsClient::from(channel);
    let mut blobs = calls.make_many(&many(100, 100_000, 0)).await?;
    check(&blobs.next().await, &Some(Ok(blob(100_000))))?;
    for _ in 0..100 {
        check(&calls.known(&Empty::default()).await?, &known())?;
    }
    check(&ends(blobs).await.0.len(), &99)?;
    pass()
}

async fn cancel_stream(channel: Channel) -> Outcome {
    let calls = CallsClient::from(channel);
    let token = fresh();
    let (mut numbers, waiting) = calls.wait_many().await?;
    numbers.send(&number(token)).await?;
    numbers.finish();
    let mut waiting = waiting.await?;
    check(&waiting.next().await, &Some(Ok(number(token))))?;
    drop(waiting);
    given_up(&calls, token).await
}

async fn deadline_of_a_stream(channel: Channel) -> Outcome {
    let hasty = CallsClient::from(channel.with_timeout(Duration::from_millis(300)));
    let token = fresh();
    let (mut numbers, waiting) = hasty.wait_many().await?;
    numbers.send(&number(token)).await?;
    let (got, late) = ends(waiting.await?).await;
    check(&got, &vec![number(token)])?;
    let late = late.map(|late| late.code());
    check(&late, &Some(Code::DeadlineExceeded))?;
    given_up(&CallsClient::from(channel), token).await
}

async fn mapped_streams(channel: Channel) -> Outcome {
    let calls = MappedClient::from(channel);
    let (said, items) = calls.count(3, -1).await?;
    check(&said, &"to 3".to_owned())?;
    check(&ends(items).await, &(vec![0, 1, 2], None))?;
    check(&ends(calls.numbers(3).await?).await, &(vec![0, 1, 2], None))?;
    let (mut items, sum) = calls.sum(1 << 40).await?;
    for number in 0..4 {
        items.send(&number).await?;
    }
    items.finish();
    check(&sum.await?, &((1 << 40) + 6))?;
    let (mut pairs, turned) = calls.turn_all().await?;
    for number in 0..3 {
        pairs.send(&pair(number, -1)).await?;
    }
    pairs.finish();
    let wanted: Vec<Pair> = (0..3).map(|number| pair(-1, number)).collect();
    check(&ends(turned.await?).await, &(wanted, None))?;
    pass()
}

async fn mapped_stream_exceptions(channel: Channel) -> Outcome {
    let calls = MappedClient::from(channel);
    for at in [0, 2] {
        let (_, items) = calls.count(3, at).await?;
        let missing = CountStreamError::from(missing_number(at));
        check(&ends(items).await, &((0..at).collect(), Some(missing)))?;
    }
    let refused = calls.count(-1, -1).await.map(drop);
    check(&refused, &Err(below_zero().into()))?;
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
        case("server_stream", |connector| with(connector, server_stream)),
        case("client_stream", |connector| with(connector, client_stream)),
        case("both_streams", |connector| with(connector, both_streams)),
        case("slow_reader", |connector| with(connector, slow_reader)),
        case("cancel_stream", |connector| with(connector, cancel_stream)),
        case("deadline_of_a_stream", |connector| {
            with(connector, deadline_of_a_stream)
        }),
        case("mapped_streams", |connector| {
            with(connector, mapped_streams)
        }),
        case("mapped_stream_exceptions", |connector| {
            with(connector, mapped_stream_exceptions)
        }),
    ]
}

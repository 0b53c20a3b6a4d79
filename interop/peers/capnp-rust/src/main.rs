//! The Cap'n Proto peer in Rust: capnp-rpc, with the code that its compiler generates.

mod places_capnp {
    include!(concat!(env!("OUT_DIR"), "/places_capnp.rs"));
}

use capnp::capability::{FromClientHook, Rc};
use capnp::{Error, ErrorKind};
use capnp_rpc::{rpc_twoparty_capnp::Side, twoparty::VatNetwork, RpcSystem};
use futures::future::try_join_all;
use futures::AsyncReadExt;
use places_capnp::{base, counter, counters, everything, places, FULL};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::task::{spawn_local, LocalSet};
use tokio::time::sleep;
use tokio_util::compat::TokioAsyncReadCompatExt;

type Gone = std::rc::Rc<RefCell<HashSet<String>>>;

thread_local! {
    /// The counters of this process that have not been dropped.
    static ALIVE: Cell<u32> = const { Cell::new(0) };
    static KEPT: RefCell<Option<counter::Client>> = const { RefCell::new(None) };
}

fn alive() -> u32 {
    ALIVE.with(Cell::get)
}

#[derive(Clone, Default)]
struct Counter {
    total: std::rc::Rc<Cell<i64>>,
    /// The amounts that have been added, in order.
    added: std::rc::Rc<RefCell<Vec<i64>>>,
    _here: std::rc::Rc<Here>,
}

struct Here;

impl Default for Here {
    fn default() -> Self {
        ALIVE.with(|alive| alive.set(alive.get() + 1));
        Here
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        ALIVE.with(|alive| alive.set(alive.get() - 1));
    }
}

fn new_counter(total: i64) -> counter::Client {
    let counter = Counter::default();
    counter.total.set(total);
    capnp_rpc::new_client(counter)
}

impl counter::Server for Counter {
    async fn add(
        self: Rc<Self>,
        params: counter::AddParams,
        mut results: counter::AddResults,
    ) -> Result<(), Error> {
        let amount = params.get()?.get_amount();
        self.total.set(self.total.get() + amount);
        self.added.borrow_mut().push(amount);
        results.get().set_total(self.total.get());
        Ok(())
    }

    async fn child(
        self: Rc<Self>,
        params: counter::ChildParams,
        mut results: counter::ChildResults,
    ) -> Result<(), Error> {
        results.get().set_counter(new_counter(params.get()?.get_start()));
        Ok(())
    }
}

impl counters::Server for Server {
    async fn open(
        self: Rc<Self>,
        params: counters::OpenParams,
        mut results: counters::OpenResults,
    ) -> Result<(), Error> {
        results.get().set_counter(new_counter(params.get()?.get_start()));
        Ok(())
    }

    async fn give_back(
        self: Rc<Self>,
        params: counters::GiveBackParams,
        mut results: counters::GiveBackResults,
    ) -> Result<(), Error> {
        results.get().set_counter(params.get()?.get_counter()?);
        Ok(())
    }

    async fn sum(
        self: Rc<Self>,
        params: counters::SumParams,
        mut results: counters::SumResults,
    ) -> Result<(), Error> {
        let params = params.get()?;
        let mut counters = vec![params.get_first()?];
        for other in params.get_others()? {
            counters.push(other.get_counter()?);
        }
        let all = try_join_all(counters.iter().map(|counter| add(counter, 0))).await?;
        results.get().set_total(all.into_iter().sum());
        Ok(())
    }

    async fn add_to(
        self: Rc<Self>,
        params: counters::AddToParams,
        mut results: counters::AddToResults,
    ) -> Result<(), Error> {
        let (counter, amount) = (params.get()?.get_counter()?, params.get()?.get_amount());
        results.get().set_total(add(&counter, amount).await?);
        Ok(())
    }

    async fn keep(
        self: Rc<Self>,
        params: counters::KeepParams,
        _: counters::KeepResults,
    ) -> Result<(), Error> {
        let counter = params.get()?.get_counter()?;
        KEPT.with(|kept| kept.replace(Some(counter)));
        Ok(())
    }

    async fn kept(
        self: Rc<Self>,
        _: counters::KeptParams,
        mut results: counters::KeptResults,
    ) -> Result<(), Error> {
        if let Some(counter) = KEPT.with(|kept| kept.borrow().clone()) {
            results.get().set_counter(counter);
        }
        Ok(())
    }

    async fn forget(
        self: Rc<Self>,
        _: counters::ForgetParams,
        _: counters::ForgetResults,
    ) -> Result<(), Error> {
        KEPT.with(|kept| kept.replace(None));
        Ok(())
    }

    async fn alive(
        self: Rc<Self>,
        _: counters::AliveParams,
        mut results: counters::AliveResults,
    ) -> Result<(), Error> {
        results.get().set_count(alive());
        Ok(())
    }
}

struct Server {
    gone: Gone,
}

/// Notes a caller when the future of its call is dropped.
struct Waiting(Gone, String);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.borrow_mut().insert(std::mem::take(&mut self.1));
    }
}

impl base::Server for Server {
    async fn whoami(
        self: Rc<Self>,
        _: base::WhoamiParams,
        mut results: base::WhoamiResults,
    ) -> Result<(), Error> {
        results.get().set_name("rust");
        Ok(())
    }
}

impl places::Server for Server {
    async fn echo(
        self: Rc<Self>,
        params: places::EchoParams,
        mut results: places::EchoResults,
    ) -> Result<(), Error> {
        results.get().set_value(params.get()?.get_value()?)
    }

    async fn known(
        self: Rc<Self>,
        _: places::KnownParams,
        mut results: places::KnownResults,
    ) -> Result<(), Error> {
        let mut values = results.get().init_values(2);
        values.set_with_caveats(1, FULL.get()?)
    }

    async fn join(
        self: Rc<Self>,
        params: places::JoinParams,
        mut results: places::JoinResults,
    ) -> Result<(), Error> {
        let params = params.get()?;
        let (first, second, third) = (
            params.get_first(),
            params.get_second()?.to_str()?,
            params.get_third(),
        );
        results
            .get()
            .set_text(format!("{first},{second},{third}").as_str());
        Ok(())
    }

    async fn divide(
        self: Rc<Self>,
        params: places::DivideParams,
        mut results: places::DivideResults,
    ) -> Result<(), Error> {
        let (dividend, divisor) = (params.get()?.get_dividend(), params.get()?.get_divisor());
        let quotient = dividend.checked_div(divisor);
        let quotient = quotient.ok_or_else(|| Error::failed("division by zero".to_owned()))?;
        results.get().set_quotient(quotient);
        results.get().set_remainder(dividend % divisor);
        Ok(())
    }

    async fn turn(
        self: Rc<Self>,
        params: places::TurnParams,
        mut results: places::TurnResults,
    ) -> Result<(), Error> {
        let point = params.get()?;
        results.get().set_x(point.get_y());
        results.get().set_y(point.get_x());
        Ok(())
    }

    async fn fail(
        self: Rc<Self>,
        params: places::FailParams,
        mut results: places::FailResults,
    ) -> Result<(), Error> {
        let kind = match params.get()?.get_how()?.to_str()? {
            "none" => {
                results.get().set_answer(42);
                return Ok(());
            }
            "overloaded" => ErrorKind::Overloaded,
            "disconnected" => ErrorKind::Disconnected,
            "unimplemented" => ErrorKind::Unimplemented,
            _ => ErrorKind::Failed,
        };
        Err(Error {
            kind,
            extra: "on purpose".to_owned(),
        })
    }

    async fn slow(
        self: Rc<Self>,
        params: places::SlowParams,
        mut results: places::SlowResults,
    ) -> Result<(), Error> {
        let milliseconds = params.get()?.get_milliseconds();
        sleep(Duration::from_millis(milliseconds.into())).await;
        results.get().set_milliseconds(milliseconds);
        Ok(())
    }

    async fn bytes(
        self: Rc<Self>,
        params: places::BytesParams,
        mut results: places::BytesResults,
    ) -> Result<(), Error> {
        let bytes = results.get().init_bytes(params.get()?.get_count());
        bytes
            .iter_mut()
            .enumerate()
            .for_each(|(place, byte)| *byte = place as u8);
        Ok(())
    }

    async fn wait(self: Rc<Self>, params: places::WaitParams, _: places::WaitResults) -> Result<(), Error> {
        let _waiting = Waiting(self.gone.clone(), params.get()?.get_token()?.to_string()?);
        std::future::pending().await
    }

    async fn was_cancelled(
        self: Rc<Self>,
        params: places::WasCancelledParams,
        mut results: places::WasCancelledResults,
    ) -> Result<(), Error> {
        let token = params.get()?.get_token()?.to_str()?;
        results.get().set_cancelled(self.gone.borrow().contains(token));
        Ok(())
    }
}

macro_rules! check {
    ($got:expr, $want:expr) => {
        match (&$got, &$want) {
            (got, want) if *got != *want => {
                return Err(Error::failed(format!("got {got:?}, want {want:?}")));
            }
            _ => {}
        }
    };
}

/// All fields of a value, as text: a null list is an empty one.
fn fields(value: everything::Reader) -> String {
    format!("{value:?}")
}

async fn whoami(client: places::Client) -> Result<(), Error> {
    let base: base::Client = client.cast_to();
    let answer = base.whoami_request().send().promise.await?;
    check!(answer.get()?.get_name()?.is_empty(), false);
    Ok(())
}

async fn known(client: places::Client) -> Result<(), Error> {
    let answer = client.known_request().send().promise.await?;
    let values = answer.get()?.get_values()?;
    check!(values.len(), 2);
    check!(values.get(0).get_text()?.to_str()?, "by default");
    check!(
        (values.get(0).get_small(), values.get(0).has_point()),
        (-7, false)
    );
    check!(fields(values.get(1)), fields(FULL.get()?));
    Ok(())
}

async fn echo_everything(client: places::Client) -> Result<(), Error> {
    let mut request = client.echo_request();
    request.get().set_value(FULL.get()?)?;
    let answer = request.send().promise.await?;
    check!(fields(answer.get()?.get_value()?), fields(FULL.get()?));
    Ok(())
}

async fn shapes(client: places::Client) -> Result<(), Error> {
    let mut request = client.echo_request();
    let mut value = request.get().init_value();
    value.set_left(-3);
    value.init_shape().set_name("square");
    let answer = request.send().promise.await?;
    let value = answer.get()?.get_value()?;
    match (value.get_shape().which()?, value.which()?) {
        (everything::shape::Name(name), everything::Left(left)) => {
            check!((name?.to_str()?, left), ("square", -3));
            Ok(())
        }
        _ => Err(Error::failed("other members of the unions".to_owned())),
    }
}

async fn parameters(client: places::Client) -> Result<(), Error> {
    let mut join = client.join_request();
    join.get().set_first(1);
    join.get().set_second("two");
    check!(join.send().promise.await?.get()?.get_text()?.to_str()?, "1,two,9");
    let mut divide = client.divide_request();
    divide.get().set_dividend(-17);
    divide.get().set_divisor(5);
    let divided = divide.send().promise.await?;
    check!(
        (divided.get()?.get_quotient(), divided.get()?.get_remainder()),
        (-3, -2)
    );
    let mut turn = client.turn_request();
    turn.get().set_x(3);
    let turned = turn.send().promise.await?;
    check!((turned.get()?.get_x(), turned.get()?.get_y()), (-1, 3));
    Ok(())
}

async fn failures(client: places::Client) -> Result<(), Error> {
    let rows = [
        ("failed", ErrorKind::Failed),
        ("overloaded", ErrorKind::Overloaded),
        ("disconnected", ErrorKind::Disconnected),
        ("unimplemented", ErrorKind::Unimplemented),
    ];
    for (how, kind) in rows {
        let mut request = client.fail_request();
        request.get().set_how(how);
        match request.send().promise.await {
            Err(error) => {
                check!((error.kind, error.extra.contains("on purpose")), (kind, true));
            }
            Ok(_) => return Err(Error::failed(format!("{how}: no failure"))),
        }
    }
    let mut request = client.fail_request();
    request.get().set_how("none");
    check!(request.send().promise.await?.get()?.get_answer(), 42);
    Ok(())
}

async fn bytes_of_all_sizes(client: places::Client) -> Result<(), Error> {
    for count in [0, 1, 70_000, 5_000_000u32] {
        let mut request = client.bytes_request();
        request.get().set_count(count);
        let answer = request.send().promise.await?;
        let wanted: Vec<u8> = (0..count).map(|place| place as u8).collect();
        check!(answer.get()?.get_bytes()? == wanted, true);
    }
    Ok(())
}

async fn slow(client: &places::Client, milliseconds: u32) -> Result<u32, Error> {
    let mut request = client.slow_request();
    request.get().set_milliseconds(milliseconds);
    Ok(request.send().promise.await?.get()?.get_milliseconds())
}

async fn concurrent(client: places::Client) -> Result<(), Error> {
    let quick = try_join_all((0..500).map(|_| slow(&client, 0)));
    let (last, quick) = futures::try_join!(slow(&client, 300), quick)?;
    check!((last, quick.len()), (300, 500));
    Ok(())
}

/// As many calls as a connection of ours may have open.
async fn in_flight(client: places::Client) -> Result<(), Error> {
    let all = try_join_all((0..100_000).map(|_| slow(&client, 1000))).await?;
    check!(all.iter().all(|milliseconds| *milliseconds == 1000), true);
    Ok(())
}

async fn cancelled(client: places::Client) -> Result<(), Error> {
    let token = format!("token of rust {}", std::process::id());
    let mut request = client.wait_request();
    request.get().set_token(token.as_str());
    let waiting = tokio::time::timeout(Duration::from_millis(200), request.send().promise);
    check!(waiting.await.is_err(), true);
    for _ in 0..100 {
        let mut request = client.was_cancelled_request();
        request.get().set_token(token.as_str());
        if request.send().promise.await?.get()?.get_cancelled() {
            return Ok(());
        }
        sleep(Duration::from_millis(20)).await;
    }
    Err(Error::failed("the handler was not told".to_owned()))
}

async fn add(counter: &counter::Client, amount: i64) -> Result<i64, Error> {
    let mut request = counter.add_request();
    request.get().set_amount(amount);
    Ok(request.send().promise.await?.get()?.get_total())
}

/// A counter that is not there yet.
fn open(client: &places::Client, start: i64) -> counter::Client {
    let mut request = client.clone().cast_to::<counters::Client>().open_request();
    request.get().set_start(start);
    request.send().pipeline.get_counter()
}

async fn opened(client: &places::Client, start: i64) -> Result<counter::Client, Error> {
    let mut request = client.clone().cast_to::<counters::Client>().open_request();
    request.get().set_start(start);
    request.send().promise.await?.get()?.get_counter()
}

async fn objects(client: places::Client) -> Result<(), Error> {
    let counter = opened(&client, 5).await?;
    check!(add(&counter, 2).await?, 7);
    let mut request = counter.child_request();
    request.get().set_start(-1);
    let child = request.send().promise.await?.get()?.get_counter()?;
    check!(add(&child, 1).await?, 0);
    check!(add(&counter, 0).await?, 7);
    Ok(())
}

/// Each is called on the answer to the one before it, which is not there yet.
async fn pipelined(client: places::Client) -> Result<(), Error> {
    let mut last = open(&client, 0);
    for start in 1..10 {
        let mut request = last.child_request();
        request.get().set_start(start);
        last = request.send().pipeline.get_counter();
    }
    check!(add(&last, 1).await?, 10);
    Ok(())
}

async fn callbacks(client: places::Client) -> Result<(), Error> {
    let mut request = client.clone().cast_to::<counters::Client>().sum_request();
    request.get().set_first(new_counter(1));
    let opened = opened(&client, 4000).await?;
    let mut others = request.get().init_others(3);
    others.reborrow().get(0).set_counter(new_counter(20));
    others.reborrow().get(1).set_counter(open(&client, 300));
    others.reborrow().get(2).set_counter(opened);
    check!(request.send().promise.await?.get()?.get_total(), 4321);
    Ok(())
}

/// Calls that go by way of the server come before those that go directly.
async fn comes_home(client: places::Client) -> Result<(), Error> {
    let own = Counter::default();
    let mut request = client.cast_to::<counters::Client>().give_back_request();
    request.get().set_counter(capnp_rpc::new_client(own.clone()));
    let answer = request.send();
    let counter = answer.pipeline.get_counter();
    let call = |amount: i64| {
        let mut request = counter.add_request();
        request.get().set_amount(amount);
        request.send().promise
    };
    let mut calls: Vec<_> = (0..100).map(call).collect();
    answer.promise.await?;
    calls.extend((100..200).map(call));
    try_join_all(calls).await?;
    check!(*own.added.borrow(), (0..200).collect::<Vec<i64>>());
    Ok(())
}

async fn count(client: &counters::Client) -> Result<u32, Error> {
    Ok(client.alive_request().send().promise.await?.get()?.get_count())
}

async fn released(client: places::Client) -> Result<(), Error> {
    let counters: counters::Client = client.clone().cast_to();
    let before = count(&counters).await?;
    let all = try_join_all((0..10).map(|start| opened(&client, start))).await?;
    // Those of another connection may go meanwhile.
    check!(count(&counters).await? >= 10, true);
    drop(all);
    let mut rounds = 0;
    while count(&counters).await? > before {
        rounds += 1;
        check!(rounds < 200, true);
        sleep(Duration::from_millis(10)).await;
    }
    let own = alive();
    let mut request = counters.keep_request();
    request.get().set_counter(new_counter(7));
    request.send().promise.await?;
    let kept = counters.kept_request().send().promise.await?.get()?.get_counter()?;
    check!(add(&kept, 1).await?, 8);
    check!(alive(), own + 1);
    drop(kept);
    counters.forget_request().send().promise.await?;
    for _ in 0..200 {
        if alive() == own {
            return Ok(());
        }
        sleep(Duration::from_millis(10)).await;
    }
    Err(Error::failed("the counter is kept".to_owned()))
}

/// Runs this on an object that the server's bootstrap gives.
macro_rules! cases {
    ($($case:ident),*) => {
        const CASES: &[&str] = &[$(stringify!($case)),*];

        async fn run(case: &str, client: places::Client) -> Result<(), Error> {
            match case {
                $(stringify!($case) => $case(client).await,)*
                _ => Err(Error::failed("no such case".to_owned())),
            }
        }
    };
}

cases!(
    whoami,
    known,
    echo_everything,
    shapes,
    parameters,
    failures,
    bytes_of_all_sizes,
    concurrent,
    in_flight,
    cancelled,
    objects,
    pipelined,
    callbacks,
    comes_home,
    released
);

trait Stream: AsyncRead + AsyncWrite + Unpin + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + 'static> Stream for S {}

fn network(stream: impl Stream, side: Side) -> Box<VatNetwork<impl futures::AsyncRead>> {
    let (reader, writer) = stream.compat().split();
    Box::new(VatNetwork::new(reader, writer, side, Default::default()))
}

fn accept(stream: impl Stream, gone: &Gone) {
    let server: places::Client = capnp_rpc::new_client(Server { gone: gone.clone() });
    spawn_local(RpcSystem::new(network(stream, Side::Server), Some(server.client)));
}

fn connected(stream: impl Stream) -> places::Client {
    let mut system = RpcSystem::new(network(stream, Side::Client), None);
    let client = system.bootstrap(Side::Server);
    spawn_local(system);
    client
}

async fn one(case: &str, address: &str) -> Result<(), Error> {
    let client = match address.strip_prefix("unix:") {
        Some(path) => connected(UnixStream::connect(path).await?),
        None => connected(TcpStream::connect(address).await?),
    };
    let limit = Duration::from_secs(120);
    let ran = tokio::time::timeout(limit, run(case, client)).await;
    ran.unwrap_or_else(|_| Err(Error::failed("it takes too long".to_owned())))
}

async fn client(address: &str, only: Option<&str>) -> i32 {
    let mut code = 0;
    for case in CASES.iter().filter(|case| only.is_none_or(|only| only == **case)) {
        let (result, detail) = match one(case, address).await {
            Ok(()) => ("ok", String::new()),
            Err(error) => ("fail", error.to_string()),
        };
        code |= i32::from(result == "fail");
        let detail: String = detail.chars().take(300).collect();
        let detail = detail.replace(['"', '\\', '\n'], " ");
        println!(r#"{{"case": "{case}", "result": "{result}", "detail": "{detail}"}}"#);
    }
    code
}

async fn server(address: &str) -> Result<(), Error> {
    let gone = Gone::default();
    if let Some(path) = address.strip_prefix("unix:") {
        let listener = UnixListener::bind(path)?;
        println!("READY {address}");
        spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                accept(stream, &gone);
            }
        });
    } else {
        let listener = TcpListener::bind(address).await?;
        println!("READY {}", listener.local_addr()?);
        spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                accept(stream, &gone);
            }
        });
    }
    // Ends when the standard input does.
    tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await?;
    Ok(())
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let flags: BTreeMap<&str, &str> = words
        .get(1..)
        .unwrap_or_default()
        .chunks_exact(2)
        .map(|pair| (pair[0].as_str(), pair[1].as_str()))
        .collect();
    let address = flags.get("--address").copied().unwrap_or_default();
    let only = flags.get("--case").copied();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let tasks = LocalSet::new();
    let code = match words.first().map(String::as_str) {
        Some("capabilities") => {
            println!(
                r#"[{{"protocol": "capnp", "transport": "buffered", "multiplexed": false, "roles": ["client", "server"], "unix": true}}]"#
            );
            0
        }
        Some("client") => tasks.block_on(&runtime, client(address, only)),
        Some("server") => match tasks.block_on(&runtime, server(address)) {
            Ok(()) => 0,
            Err(error) => {
                eprintln!("{error}");
                1
            }
        },
        _ => {
            eprintln!(
                "usage: capnp-rust-peer capabilities | server --address A | client --address A [--case NAME]"
            );
            2
        }
    };
    std::process::exit(code);
}

//! Makes calls of one kind, with client and server on one thread, and nothing that depends on time:
//!
//! ```text
//! dovetail-instructions --list
//! dovetail-instructions PATH CALLS
//! ```
//!
//! `cargo xtask instructions` runs it under valgrind with different numbers of calls. The
//! difference is the work of calls alone.

use dovetail::intercept::{CallHead, Decision, ServerInterceptor};
use dovetail::statistics::Statistics;
use dovetail::stream::Items;
use dovetail::trace::{Recent, Tracing};
use dovetail::transport::Polling;
use dovetail::{Channel, Message, Server, Status};
use std::error::Error;
use std::future::pending;
use std::time::Duration;

/// A way of a call.
struct Path {
    name: &'static str,
    /// The wire, as channels name it.
    wire: &'static str,
    work: Work,
    around: Around,
}

/// The interceptors around a call.
#[derive(Clone, Copy)]
enum Around {
    None,
    /// One that does nothing at each level.
    Nothing,
    /// Statistics, and spans that are not recorded.
    Observers,
}

/// The method that is called.
#[derive(Clone, Copy)]
enum Work {
    /// Two numbers there, one back.
    Add,
    /// A hundred structs back.
    People,
    /// A hundred items back.
    Stream,
}

const fn path(name: &'static str, wire: &'static str, work: Work) -> Path {
    Path {
        name,
        wire,
        work,
        around: Around::None,
    }
}

const PATHS: &[Path] = &[
    path("own-wire", "dovetail", Work::Add),
    Path {
        around: Around::Nothing,
        ..path("own-wire-interceptors", "dovetail", Work::Add)
    },
    Path {
        around: Around::Observers,
        ..path("own-wire-observers", "dovetail", Work::Add)
    },
    path("own-wire-structs", "dovetail", Work::People),
    path("own-wire-stream", "dovetail", Work::Stream),
    path("thrift-binary", "binary+framed", Work::Add),
    path("thrift-compact-header", "compact+header", Work::Add),
    path("msgpack-rpc", "msgpack-rpc", Work::Add),
    path("grpc", "grpc", Work::Add),
    path("grpc-structs", "grpc", Work::People),
    path("connect-json", "connect+json", Work::Add),
];

/// The number of structs and of items.
const MANY: i32 = 100;

#[derive(Clone, Debug, Default, PartialEq, Message)]
struct Person {
    name: String,
    age: i32,
    tags: Vec<String>,
}

#[dovetail::service]
trait Probe {
    async fn add(&self, left: i32, right: i32) -> Result<i32, Status>;

    async fn people(&self, count: i32) -> Result<Vec<Person>, Status>;

    async fn numbers(&self, to: i32) -> Result<Items<'_, i32>, Status>;
}

struct Handler;

impl Probe for Handler {
    async fn add(&self, left: i32, right: i32) -> Result<i32, Status> {
        Ok(left.wrapping_add(right))
    }

    async fn people(&self, count: i32) -> Result<Vec<Person>, Status> {
        let person = |number| Person {
            name: format!("person {number}"),
            age: number,
            tags: vec!["one".to_owned(), "two".to_owned()],
        };
        Ok((0..count).map(person).collect())
    }

    async fn numbers(&self, to: i32) -> Result<Items<'_, i32>, Status> {
        Ok(Items::with(move |mut out| async move {
            for number in 0..to {
                out.send(number).await;
            }
            Ok(())
        }))
    }
}

/// Lets all calls pass.
struct Nothing;

impl ServerInterceptor for Nothing {
    fn before(&self, _: &mut CallHead<'_>) -> Result<Decision, Status> {
        Ok(Decision::Proceed)
    }
}

impl Around {
    fn put(self, server: Server) -> Server {
        match self {
            Around::None => server,
            Around::Nothing => server
                .intercept(Nothing)
                .intercept_at("Probe", Nothing)
                .intercept_at("Probe/add", Nothing),
            Around::Observers => server
                .statistics(&Statistics::new())
                .tracing(&Tracing::new(Recent::new(1)).sample(0.0)),
        }
    }
}

impl Work {
    async fn call(self, probe: &ProbeClient, number: i32) -> Result<bool, Status> {
        Ok(match self {
            Work::Add => probe.add(number, 1).await? == number.wrapping_add(1),
            Work::People => probe.people(MANY).await?.len() == MANY as usize,
            Work::Stream => {
                let mut items = probe.numbers(MANY).await?;
                let mut sum = 0;
                while let Some(item) = items.next().await {
                    sum += item?;
                }
                sum == MANY * (MANY - 1) / 2
            }
        })
    }
}

async fn run(path: &Path, calls: i32) -> Result<(), Box<dyn Error>> {
    let socket = format!("unix:@dovetail-instructions-{}", std::process::id());
    let server = path
        .around
        .put(Server::new().service(ProbeServer::new(Handler)));
    let server = server.polling(Polling::Never).listen(&socket)?;
    let builder = Channel::builder(&socket)?.wire(path.wire.parse()?);
    let builder = builder.polling(Polling::Never).local_upgrade(false);
    let calling = async {
        let probe = ProbeClient::from(builder.build());
        for number in 0..calls {
            if !path.work.call(&probe, number).await? {
                return Err(Box::<dyn Error>::from("a wrong answer"));
            }
        }
        Ok(())
    };
    tokio::select! {
        ended = server.serve(pending(), Duration::ZERO) => Err(format!("the server has ended: {ended:?}").into()),
        called = calling => called,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let name = words.next().ok_or("PATH CALLS, or --list")?;
    if name == "--list" {
        PATHS.iter().for_each(|path| println!("{}", path.name));
        return Ok(());
    }
    let path = PATHS.iter().find(|path| path.name == name);
    let path = path.ok_or("no path has this name; --list has them")?;
    let calls = words
        .next()
        .ok_or("the number of calls is missing")?
        .parse()?;
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build()?.block_on(run(path, calls))?;
    // Nothing is taken down: that is no part of a call.
    std::process::exit(0)
}

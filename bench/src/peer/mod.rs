//! A program under the contract of `bench/README.md`: Dovetail, the floors, and the direct call.

mod callers;
mod dovetail_thrift;
mod floor;
mod report;

use crate::workload::{Request, Response};
use callers::{Load, Runner};
use clap::{Args, ValueEnum};
use dovetail_thrift::{Driver, Thrift};
use floor::{Floor, Wait};
use serde_json::{Value, json};
use std::fmt;
use std::io::{BufRead, Write};
use std::process::ExitCode;

#[allow(missing_docs, unreachable_pub)]
pub(crate) mod contract {
    dovetail::include_contract!("bench");
}

#[derive(Args)]
pub(crate) struct Options {
    /// Print the systems of this program as JSON.
    #[arg(long)]
    describe: bool,
    #[arg(long, required_unless_present = "describe")]
    mode: Option<Mode>,
    /// One of those that --describe names.
    #[arg(long, required_unless_present = "describe")]
    system: Option<String>,
    /// HOST:PORT, or unix:/PATH; a server may leave the port to the system.
    #[arg(long)]
    address: Option<String>,
    #[arg(long, default_value = "get_answer")]
    workload: String,
    #[arg(long, default_value = "-")]
    case: String,
    /// Callers at the same time.
    #[arg(long, default_value_t = 1)]
    clients: usize,
    /// Connections that the callers share; by default each has its own.
    #[arg(long)]
    connections: Option<usize>,
    /// Calls of all callers together.
    #[arg(long, default_value_t = 10_000)]
    calls: usize,
    /// Calls of each caller before.
    #[arg(long, default_value_t = 100)]
    warmup: usize,
    /// Calls a second, due at fixed times, whatever earlier ones do.
    #[arg(long)]
    rate: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Mode {
    Server,
    Client,
    /// Client and server in one process.
    Both,
}

/// What ends the program.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It cannot do what is asked: exit code 2.
    Refused(String),
    /// It went wrong: exit code 1.
    Failed(String),
}

impl<E: fmt::Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Failed(error.to_string())
    }
}

/// A connection, or the share of one, that a single caller uses.
trait Client: Send + 'static {
    fn call(&mut self, request: &Request)
    -> impl Future<Output = Result<Response, Failure>> + Send;

    /// Whether the last response was right.
    fn check(&self, response: &Response, expected: &Response) -> bool {
        response == expected
    }
}

/// One of the systems of this program.
#[derive(Clone, Copy)]
enum System {
    /// A function call.
    Direct,
    Floor(Floor),
    Thrift(Thrift),
}

const fn thrift(wire: &'static str, driver: Driver) -> System {
    System::Thrift(Thrift { wire, driver })
}

const fn floor(wait: Wait, unix: bool) -> System {
    System::Floor(Floor { wait, unix })
}

const SYSTEMS: &[(&str, System, &str)] = &[
    (
        "direct",
        System::Direct,
        "a function call that makes the result from what the server keeps",
    ),
    (
        "floor-tcp",
        floor(Wait::Block, false),
        "the bytes of Thrift binary over a raw TCP socket, no decoding",
    ),
    (
        "floor-tcp-poll",
        floor(Wait::Poll, false),
        "the same, both ends receiving without blocking, in a loop",
    ),
    (
        "floor-unix",
        floor(Wait::Block, true),
        "the bytes of Thrift binary over a raw Unix socket, no decoding",
    ),
    (
        "floor-unix-poll",
        floor(Wait::Poll, true),
        "the same, both ends receiving without blocking, in a loop",
    ),
    (
        "dovetail-thrift-binary",
        thrift("binary+framed", Driver::Loops),
        "event loops; blocking client, a thread for each caller",
    ),
    (
        "dovetail-thrift-compact",
        thrift("compact+framed", Driver::Loops),
        "event loops; blocking client, a thread for each caller",
    ),
    (
        "dovetail-thrift-binary-threads",
        thrift("binary+framed", Driver::Threads),
        "a server thread for each connection; blocking client, a thread for each caller",
    ),
    (
        "dovetail-thrift-binary-async",
        thrift("binary+framed", Driver::Tasks),
        "event loops; async client, a task for each caller",
    ),
];

pub(crate) fn run(options: &Options) -> ExitCode {
    match work(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Failed(why)) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
        Err(Failure::Refused(why)) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn work(options: &Options) -> Result<(), Failure> {
    if options.describe {
        println!("{}", describe());
        return Ok(());
    }
    let name = options.system.as_deref().unwrap_or_default();
    let known = SYSTEMS.iter().find(|(known, ..)| *known == name);
    let (_, system, _) = known.ok_or_else(|| refused(format!("no system `{name}` here")))?;
    let address = options.address.clone();
    match options.mode {
        Some(Mode::Server) => {
            let (place, server) = system.start(address.as_deref())?;
            println!("READY {place}");
            // The server goes on until standard input ends.
            std::io::stdin().lock().lines().for_each(drop);
            drop(server);
            Ok(())
        }
        Some(Mode::Both) => {
            let (place, _server) = system.start(address.as_deref())?;
            system.call(&place, &options.load()?)
        }
        _ => {
            let address = address.ok_or_else(|| refused("a client needs --address".to_owned()))?;
            system.call(&address, &options.load()?)
        }
    }
}

fn refused(why: String) -> Failure {
    Failure::Refused(why)
}

fn describe() -> Value {
    let systems = SYSTEMS.iter().map(|(name, _, configuration)| {
        let about = json!({"version": env!("CARGO_PKG_VERSION"), "configuration": configuration});
        ((*name).to_owned(), about)
    });
    json!({"systems": serde_json::Map::from_iter(systems)})
}

impl Options {
    fn load(&self) -> Result<Load, Failure> {
        let (workload, case) = (&self.workload, &self.case);
        let request = Request::new(workload, case)
            .ok_or_else(|| refused(format!("no workload `{workload}` with the case `{case}`")))?;
        let connections = self.connections.unwrap_or(self.clients);
        match self.clients {
            0 => Err(refused("there is no caller".to_owned())),
            clients if connections == 0 || clients % connections != 0 => Err(refused(format!(
                "{clients} callers cannot share {connections} connections evenly"
            ))),
            clients => Ok(Load {
                request,
                label: format!("{workload} {case}"),
                clients,
                connections,
                calls: self.calls,
                warmup: self.warmup.max(1),
                rate: self.rate,
            }),
        }
    }
}

impl System {
    /// Starts a server; it ends with what is returned beside its address.
    fn start(&self, address: Option<&str>) -> Result<(String, Option<dovetail::Running>), Failure> {
        match self {
            System::Direct => Ok((String::new(), None)),
            System::Floor(floor) => Ok((floor.start(address)?, None)),
            System::Thrift(thrift) => thrift
                .start(address)
                .map(|(place, running)| (place, Some(running))),
        }
    }

    fn call(&self, address: &str, load: &Load) -> Result<(), Failure> {
        let result = match self {
            System::Direct => callers::measure(load, Runner::Threads, || Ok(Direct::new(load)))?,
            System::Floor(floor) => {
                if load.connections != load.clients {
                    return Err(refused("a raw socket has one caller".to_owned()));
                }
                callers::measure(load, Runner::Threads, || floor.connect(address, load))?
            }
            System::Thrift(thrift) => thrift.call(address, load)?,
        };
        println!("{result}");
        std::io::stdout().flush()?;
        Ok(())
    }
}

/// The call without any system: the server's data, made into a result of one's own.
struct Direct(Response);

impl Direct {
    fn new(load: &Load) -> Self {
        Direct(load.request.response())
    }
}

impl Client for Direct {
    async fn call(&mut self, request: &Request) -> Result<Response, Failure> {
        Ok(match request {
            // What comes in goes out: two copies, as in a call.
            Request::Samples(samples) => Response::Samples(samples.clone()),
            Request::Blob(_) => match &self.0 {
                Response::Blob(blob) => Response::Blob(blob.to_vec().into()),
                other => other.clone(),
            },
            _ => self.0.clone(),
        })
    }
}

//! The common part of every program in Rust under the contract of `bench/README.md`: its options,
//! the data, the callers and their figures.
//!
//! Programs of other packages include this folder by its path. It finds the plain types of the
//! contract in `crate::records`, since these are not the same for all: those of Dovetail come out
//! of its generator.

pub(crate) mod callers;
pub(crate) mod convert;
mod fan_out;
mod report;
pub(crate) mod workload;

use clap::{Args, Parser, ValueEnum};
use fan_out::FanOut;
pub(crate) use report::Report;
use serde_json::{Value, json};
use std::any::Any;
use std::fmt;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::Duration;
pub(crate) use workload::{Request, Response};

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
    /// HOST:PORT, or unix:/PATH; a server may leave the port to the system. A client takes several,
    /// with commas in between: each call goes to all of them at once.
    #[arg(long, value_delimiter = ',')]
    address: Vec<String>,
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
    /// Milliseconds after which no caller begins another call, also while it warms up.
    #[arg(long, conflicts_with = "rate")]
    limit_ms: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Mode {
    Server,
    Client,
    /// Client and server in one process.
    Both,
}

/// The reason why the program ends.
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

/// A library, configured in one way.
pub(crate) trait System: Sync {
    fn start(&self, address: Option<&str>) -> Result<Server, Failure>;

    fn call(&self, servers: &[String], load: &Load) -> Result<Report, Failure>;
}

/// The server, for clients that wait for one call at a time.
pub(crate) fn only(servers: &[String]) -> Result<&str, Failure> {
    match servers {
        [server] => Ok(server),
        _ => Err(refused("its callers wait for one server at a time")),
    }
}

/// A server, which ends with this.
pub(crate) struct Server {
    /// The address that clients connect to.
    address: String,
    _running: Box<dyn Any>,
}

impl Server {
    pub(crate) fn new(address: impl Into<String>, running: impl Any) -> Self {
        Server {
            address: address.into(),
            _running: Box::new(running),
        }
    }
}

/// A system, and what the report says of it.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) configuration: String,
    pub(crate) system: Box<dyn System>,
}

/// A connection, or the share of one, that a single caller uses.
pub(crate) trait Client: Send + 'static {
    fn call(&mut self, request: &Request)
    -> impl Future<Output = Result<Response, Failure>> + Send;

    /// Takes a response that the caller has done with, where the library can use its memory again.
    fn recycle(&mut self, response: Response) {
        drop(response);
    }

    /// Whether the last response was right.
    fn check(&self, response: &Response, expected: &Response) -> bool {
        response == expected
    }
}

/// The calls to make, how often, and by how many callers.
pub(crate) struct Load {
    pub(crate) request: Request,
    /// Workload and case.
    pub(crate) label: String,
    pub(crate) clients: usize,
    /// A divisor of `clients`.
    pub(crate) connections: usize,
    pub(crate) calls: usize,
    pub(crate) warmup: usize,
    pub(crate) rate: Option<f64>,
    /// After this time no caller begins another call.
    pub(crate) limit: Duration,
}

impl Load {
    /// Makes the connections, and gives each caller its own or its share of one.
    pub(crate) fn connect<C: Clone>(
        &self,
        mut connect: impl FnMut() -> Result<C, Failure>,
    ) -> Result<Vec<C>, Failure> {
        let mut clients = Vec::new();
        for _ in 0..self.connections {
            let share = self.clients / self.connections;
            clients.extend(std::iter::repeat_n(connect()?, share));
        }
        Ok(clients)
    }

    /// Runs callers that call all servers at once: each has a connection to every one of them.
    pub(crate) fn fan_out<C: Clone>(
        &self,
        servers: &[String],
        mut connect: impl FnMut(&str) -> Result<C, Failure>,
    ) -> Result<Vec<FanOut<C>>, Failure> {
        let clients = self.connect(|| servers.iter().map(|server| connect(server)).collect())?;
        Ok(clients.into_iter().map(FanOut::new).collect())
    }

    /// Refuses shared connections, for this reason.
    pub(crate) fn own_connections(&self, why: &str) -> Result<(), Failure> {
        match self.connections == self.clients {
            true => Ok(()),
            false => Err(refused(why)),
        }
    }
}

/// The command line of a program; says what is wrong with it in one line.
pub(crate) fn parse<C: Parser>() -> Result<C, ExitCode> {
    C::try_parse().map_err(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        let message = error.render().to_string();
        let problem = message.split("\n\n").next().unwrap_or_default();
        eprintln!("{}", problem.replace("\n ", ""));
        ExitCode::from(2)
    })
}

pub(crate) fn run(options: &Options, entries: &[Entry]) -> ExitCode {
    match work(options, entries) {
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

fn work(options: &Options, entries: &[Entry]) -> Result<(), Failure> {
    if options.describe {
        println!("{}", describe(entries));
        return Ok(());
    }
    let name = options.system.as_deref().unwrap_or_default();
    let known = entries.iter().find(|entry| entry.name == name);
    let known = known.ok_or_else(|| refused(format!("no system `{name}` here")))?;
    let (system, addresses) = (&known.system, &options.address);
    let start = || system.start(addresses.first().map(String::as_str));
    let report = match options.mode {
        Some(Mode::Server) => {
            let server = start()?;
            println!("READY {}", server.address);
            // The server goes on until standard input ends.
            std::io::stdin().lock().lines().for_each(drop);
            return Ok(());
        }
        Some(Mode::Both) => {
            let server = start()?;
            system.call(std::slice::from_ref(&server.address), &options.load()?)?
        }
        _ if addresses.is_empty() => return Err(refused("a client needs --address")),
        _ => system.call(addresses, &options.load()?)?,
    };
    println!("{report}");
    std::io::stdout().flush()?;
    Ok(())
}

fn refused(why: impl Into<String>) -> Failure {
    Failure::Refused(why.into())
}

fn describe(entries: &[Entry]) -> Value {
    let systems = entries.iter().map(|entry| {
        let about = json!({"version": entry.version, "configuration": entry.configuration});
        (entry.name.to_owned(), about)
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
            0 => Err(refused("there is no caller")),
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
                limit: self.limit_ms.map_or(Duration::MAX, Duration::from_millis),
            }),
        }
    }
}

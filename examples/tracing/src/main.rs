//! A link of a chain: greets, or has the next link do it. Each sends its spans and its metrics to a
//! collector of OpenTelemetry.
//!
//! ```text
//! cargo run -p example-tracing -- --name back --listen tcp://127.0.0.1:9091
//! cargo run -p example-tracing -- --name front --listen tcp://127.0.0.1:9090 --next tcp://127.0.0.1:9091
//! curl http://127.0.0.1:9090/Greeter/greet -H 'Content-Type: application/json' -d '{"name": "Ada"}'
//! ```

use clap::Parser;
use dovetail::config::Config;
use dovetail::statistics::{self, Statistics};
use dovetail::trace::{Otlp, Tracing};
use dovetail::{Channel, Context, Server, Status, service};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The contract.
#[service]
trait Greeter {
    /// Greets somebody.
    async fn greet(&self, context: Context, name: String) -> Result<String, Status>;
}

/// The next link, if there is one.
struct Link(Option<GreeterClient>);

impl Greeter for Link {
    async fn greet(&self, _: Context, name: String) -> Result<String, Status> {
        match &self.0 {
            // The channel knows the call that is being handled: this one is a part of it.
            Some(next) => next.greet(&name).await,
            None => Ok(format!("Hello, {name}!")),
        }
    }
}

/// A link of a chain of servers, whose calls are traced.
#[derive(Parser)]
struct Options {
    /// The name of this link among the spans.
    #[arg(long, default_value = "front")]
    name: String,
    /// The address at which it listens.
    #[arg(long, default_value = "tcp://127.0.0.1:9090")]
    listen: String,
    /// The address of the next link.
    #[arg(long)]
    next: Option<String>,
    /// The wire by which it calls the next link.
    #[arg(long, default_value = "dovetail")]
    wire: String,
    /// The collector, which speaks OTLP over gRPC.
    #[arg(long, default_value = "tcp://127.0.0.1:4317")]
    collector: String,
    /// The seconds between two exports of metrics.
    #[arg(long, default_value_t = 60)]
    every: u64,
    /// A file that has all of this, in place of these options: the next link is `[channels.next]`.
    #[arg(long)]
    config: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let done = match &options.config {
        Some(file) => run_configured(file),
        None => run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let collector = || Channel::builder(&options.collector);
    let tracing = Tracing::new(Otlp::start(collector()?, &options.name, &[])?);
    let statistics = Statistics::new();
    let every = Duration::from_secs(options.every);
    let _export = statistics::Otlp::start(&statistics, collector()?, &options.name, &[], every)?;
    let next = match &options.next {
        Some(address) => {
            let builder = Channel::builder(address)?.wire(options.wire.parse()?);
            let channel = builder.intercept(tracing.clone()).build();
            Some(GreeterClient::from(channel))
        }
        None => None,
    };
    let server = Server::new()
        .service(GreeterServer::new(Link(next)))
        .tracing(&tracing)
        .statistics(&statistics)
        .listen(&options.listen)?;
    serve(server)
}

fn run_configured(file: &Path) -> Result<(), Box<dyn Error>> {
    let config = Config::load(file)?;
    let next = Channel::named(&config, "next")?.build();
    let link = Link(Some(GreeterClient::from(next)));
    serve(Server::from_config(&config)?.service(GreeterServer::new(link)))
}

fn serve(server: Server) -> Result<(), Box<dyn Error>> {
    let running = server.start()?;
    println!("listening on {}", running.addresses()[0]);
    running.wait();
    Ok(())
}

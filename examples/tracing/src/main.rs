//! A link of a chain: greets, or has the next link do it. Each sends its spans to a collector of
//! OpenTelemetry.
//!
//! ```text
//! cargo run -p example-tracing -- --name back --listen tcp://127.0.0.1:9091
//! cargo run -p example-tracing -- --name front --listen tcp://127.0.0.1:9090 --next tcp://127.0.0.1:9091
//! curl http://127.0.0.1:9090/Greeter/greet -H 'Content-Type: application/json' -d '{"name": "Ada"}'
//! ```

use clap::Parser;
use dovetail::trace::{Otlp, Tracing};
use dovetail::{Channel, Context, Server, Status, service};
use std::error::Error;
use std::process::ExitCode;

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
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let collector = Channel::builder(&options.collector)?;
    let tracing = Tracing::new(Otlp::start(collector, &options.name, &[])?);
    let next = match &options.next {
        Some(address) => {
            let builder = Channel::builder(address)?.wire(options.wire.parse()?);
            let channel = builder.intercept(tracing.clone()).build();
            Some(GreeterClient::from(channel))
        }
        None => None,
    };
    let running = Server::new()
        .service(GreeterServer::new(Link(next)))
        .tracing(&tracing)
        .listen(&options.listen)?
        .start()?;
    println!("listening on {}", running.addresses()[0]);
    running.wait();
    Ok(())
}

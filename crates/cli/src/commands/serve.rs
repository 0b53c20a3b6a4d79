use crate::address::Address;
use crate::failure::{Exit, Failure, Result};
use crate::host::Listener;
use crate::idl::{self, Includes};
use crate::output::{self, program};
use crate::paint::{Stream, Style};
use crate::sample::{Behavior, Sample};
use crate::values::duration;
use clap::Args;
use dovetail_dynamic::{Contract, Plausible, arguments_to_json};
use dovetail_protocol::thrift::{ServerOptions, Wire};
use dovetail_schema::{Schema, ServiceId};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Answer a contract with sample data
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail serve api.thrift
  dovetail serve api.thrift --listen tcp://0.0.0.0:9090      not only for this machine
  dovetail serve api.thrift --listen unix:///tmp/api.sock
  dovetail serve api.thrift --latency 20ms --fail 5%         a slow and unreliable server
  dovetail serve api.thrift --wire compact+framed            refuses other wires

The values follow the names of fields: `email` gets an address, `created_at` a time.
Each call is logged in one line. Ctrl-C ends the server.")]
pub(crate) struct Serve {
    /// The contract
    file: PathBuf,
    /// tcp://HOST:PORT or unix:///PATH; port 0 is any that is free
    #[arg(
        short,
        long,
        value_name = "ADDRESS",
        default_value = "tcp://127.0.0.1:9090"
    )]
    listen: String,
    /// What clients speak; `any` finds out from their first bytes
    #[arg(short, long, value_name = "WIRE", default_value = "any", value_parser = wire)]
    wire: AnyOr<Wire>,
    /// Wait before each answer
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = duration)]
    latency: Duration,
    /// Let calls fail, half of them with a declared exception where there is one
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = permille)]
    fail: u32,
    /// The same seed and the same calls give the same answers
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    includes: Includes,
}

#[derive(Clone, Copy, Debug)]
struct AnyOr<T>(Option<T>);

fn wire(text: &str) -> std::result::Result<AnyOr<Wire>, String> {
    match text {
        "any" => Ok(AnyOr(None)),
        _ => text
            .parse()
            .map(|wire| AnyOr(Some(wire)))
            .map_err(|e: dovetail_protocol::thrift::ParseWireError| e.to_string()),
    }
}

/// `5%` or `0.5%`, in thousandths.
fn permille(text: &str) -> std::result::Result<u32, String> {
    let number: f64 = match text.strip_suffix('%').unwrap_or(text).trim().parse() {
        Ok(number) => number,
        Err(_) => return Err("expected a percentage: 5%".to_owned()),
    };
    match (0.0..=100.0).contains(&number) {
        true => Ok((number * 10.0).round() as u32),
        false => Err("expected 0% to 100%".to_owned()),
    }
}

impl Serve {
    pub(crate) fn run(self) -> Result {
        let address: Address = self.listen.parse()?;
        let schema: &'static Schema = Box::leak(Box::new(idl::load(&self.file, &self.includes)?));
        let services = services(schema);
        if services.is_empty() {
            let failure = format!("`{}` defines no service", self.file.display());
            return Err(Failure::new(Exit::Failed, failure).help("name the file that does"));
        }
        // Both live as long as the process.
        let contract: &'static Contract<'static> = Box::leak(Box::new(Contract::new(schema)));
        let listener = Listener::bind(&address)?;
        self.greet(contract, &services, &listener.address(&address))?;
        let behavior = Behavior {
            latency: self.latency,
            fail: self.fail,
            seed: self.seed,
            paint: Stream::Stdout.paint(),
        };
        let options = ServerOptions {
            wire: self.wire.0,
            ..ServerOptions::default()
        };
        let sample = Sample::new(contract, services, behavior);
        listener.serve(&Arc::new(options), &Arc::new(sample));
        Ok(())
    }

    fn greet(&self, contract: &Contract<'_>, services: &[ServiceId], at: &Address) -> Result {
        let paint = Stream::Stdout.paint();
        let names: Vec<_> = services
            .iter()
            .map(|id| contract.schema()[*id].name.as_str())
            .collect();
        let wires = match self.wire.0 {
            Some(wire) => wire.to_string(),
            None => "every Thrift wire".to_owned(),
        };
        let names = paint.text(Style::Strong, &names.join(", "));
        let at_text = paint.text(Style::Strong, &at.to_string());
        let mut text = format!("{names} with sample data on {at_text}, {wires}\n");
        if let Some(example) = self.example(contract, services, at) {
            text += &format!("Try: {example}\n");
        }
        output::write(&text)
    }

    /// A call that works, of the method with the most to show.
    fn example(
        &self,
        contract: &Contract<'_>,
        services: &[ServiceId],
        at: &Address,
    ) -> Option<String> {
        let methods = contract.schema().methods(*services.first()?).into_iter();
        let (_, method) = methods.max_by_key(|(_, method)| {
            // Of equal ones the last is taken: a service's own method instead of an inherited one.
            (
                method.result.is_some(),
                method.params.len() == 1,
                !method.params.is_empty(),
            )
        })?;
        let mut call = format!("{} call {at} {}", program(), method.name);
        if !method.params.is_empty() {
            let arguments = Plausible::new(contract, self.seed).arguments(method);
            let json = arguments_to_json(contract, method, &arguments).to_string();
            call += &format!(" {}", quoted(&json));
        }
        call += &format!(" --idl {}", self.file.display());
        if let Some(wire) = self.wire.0 {
            call += &format!(" --wire {wire}");
        }
        Some(call)
    }
}

/// For a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The services of the file itself; those of included files only where it has none. A service that another
/// one extends is answered through that one too, so derived ones come first.
fn services(schema: &Schema) -> Vec<ServiceId> {
    let all = (0..schema.services.len())
        .rev()
        .map(|at| ServiceId(at as u32));
    let own: Vec<_> = all
        .clone()
        .filter(|id| Some(schema[*id].package) == schema.root())
        .collect();
    match own.is_empty() {
        true => all.collect(),
        false => own,
    }
}

use crate::failure::{Exit, Failure, Result};
use crate::idl::{self, Includes};
use crate::output::{self, program};
use crate::paint::{Stream, Style};
use crate::run::Entrance;
use crate::sample::{Behavior, Sample};
use crate::tables::forever;
use crate::values::{duration, shown};
use clap::Args;
use dovetail::Address;
use dovetail_dynamic::{Contract, Plausible, arguments_to_json};
use dovetail_schema::{Schema, ServiceId};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// Answer a contract with sample data
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail serve api.thrift
  dovetail serve api.thrift --listen tcp://0.0.0.0:9090      not only for this machine
  dovetail serve api.thrift --listen unix:/tmp/api.sock
  dovetail list 127.0.0.1:9090                               it says what it has
  dovetail serve api.thrift --tls-cert server.pem --tls-key server.key
  dovetail serve api.thrift --latency 20ms --fail 5%         a slow and unreliable server

The values follow the names of fields: `email` gets an address, `created_at` a time.
Each call is logged in one line. Ctrl-C ends the server.")]
pub(crate) struct Serve {
    /// The contract
    file: PathBuf,
    #[command(flatten)]
    entrance: Entrance,
    /// Wait before each answer
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = duration)]
    latency: Duration,
    /// Let calls fail, half of them with a declared exception where there is one
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = permille)]
    fail: u32,
    /// Equal seeds give equal answers to equal calls
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    includes: Includes,
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
        let contract = forever(idl::load(&self.file, &self.includes)?, true);
        let schema = contract.schema();
        let services = services(schema);
        if services.is_empty() {
            let failure = format!("`{}` defines no service", self.file.display());
            return Err(Failure::new(Exit::Failed, failure).help("name the file that does"));
        }
        let behavior = Behavior {
            latency: self.latency,
            fail: self.fail,
            seed: self.seed,
        };
        let calls = Arc::<AtomicU64>::default();
        let mut server = self.entrance.server(schema)?;
        for id in &services {
            server = server.service(Sample::new(contract, *id, behavior, calls.clone()));
        }
        let served = self.entrance.start(server)?;
        self.greet(contract, &services, &served.address)?;
        served.until_interrupted()
    }

    fn greet(&self, contract: &Contract<'_>, services: &[ServiceId], at: &Address) -> Result {
        let paint = Stream::Stdout.paint();
        let names: Vec<_> = services
            .iter()
            .map(|id| contract.schema()[*id].name.as_str())
            .collect();
        let names = paint.text(Style::Strong, &names.join(", "));
        let at_text = paint.text(Style::Strong, &at.to_string());
        let mut text = format!("{names} with sample data on {at_text}, over every wire\n");
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
            // The last of equal ones is taken: a service's own method instead of an inherited one.
            (
                method.result.is_some(),
                method.params.len() == 1,
                !method.params.is_empty(),
            )
        })?;
        let service = &contract.schema()[*services.first()?].name;
        let mut call = format!("{} call {at} {service}.{}", program(), method.name);
        if !method.params.is_empty() {
            let arguments = Plausible::new(contract, self.seed).arguments(method);
            let json = arguments_to_json(contract, method, &arguments);
            let json = shown(contract, *services.first()?, method, json);
            call += &format!(" {}", quoted(&json.to_string()));
        }
        Some(call)
    }
}

/// For a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The services of the file itself; those of included files only where it has none. A service that
/// another one extends is answered through that one too, so derived ones come first.
pub(crate) fn services(schema: &Schema) -> Vec<ServiceId> {
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

use crate::address;
use crate::failure::{Exit, Failure, Result};
use crate::idl::{self, Includes};
use crate::output::{self, program};
use crate::paint::{Stream, Style};
use crate::run::{cannot_listen, until_interrupted};
use crate::sample::{Behavior, Sample};
use crate::tables::forever;
use crate::tls::ServerOptions;
use crate::values::{duration, shown_arguments};
use clap::Args;
use dovetail::{Address, Reflection, Server};
use dovetail_codegen::openapi;
use dovetail_dynamic::{Contract, Plausible};
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
    /// tcp://HOST:PORT, tls://HOST:PORT or unix:/PATH; port 0 is any that is free
    #[arg(
        short,
        long,
        value_name = "ADDRESS",
        default_value = "tcp://127.0.0.1:9090"
    )]
    listen: String,
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
    tls: ServerOptions,
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
        let address = address::parse(&self.listen)?;
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
        let mut server = explained(self.tls.apply(Server::new())?, schema);
        for id in &services {
            server = server.service(Sample::new(contract, *id, behavior, calls.clone()));
        }
        let listening = server.listen(&address.to_string());
        let listening = listening.map_err(|problem| cannot_listen(&problem, "--listen"))?;
        let running = listening.start().map_err(|problem| {
            let secure = matches!(address, Address::Tls(_));
            Failure::new(Exit::Failed, format!("cannot start the server: {problem}")).maybe_help(
                secure.then_some("a certificate is given with --tls-cert and --tls-key"),
            )
        })?;
        let at = running.addresses().first().unwrap_or(&address).clone();
        self.greet(contract, &services, &at)?;
        until_interrupted(running)
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
            // Of equal ones the last is taken: a service's own method instead of an inherited one.
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
            let json = shown_arguments(contract, *services.first()?, method, &arguments);
            call += &format!(" {}", quoted(&json.to_string()));
        }
        Some(call)
    }
}

/// The server, which says what its contract is to those who ask by HTTP, gRPC's reflection or Dovetail's. What cannot be
/// said in one of these ways is left out there.
pub(crate) fn explained(server: Server, schema: &Schema) -> Server {
    let server = match openapi::write(schema) {
        Ok(document) => server.openapi(document.text),
        Err(_) => server,
    };
    let descriptors = dovetail_build::descriptors_of(schema).ok();
    let reflection = descriptors.and_then(|descriptors| Reflection::of(descriptors).ok());
    server.reflection(&reflection.unwrap_or_default())
}

/// For a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The services of the file itself; those of included files only where it has none. A service that another
/// one extends is answered through that one too, so derived ones come first.
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

//! A contract compared with the one that a running server has: for wires on which the two ends do
//! not compare it themselves.

use crate::failure::{Exit, Failure, Result};
use crate::headers::Headers;
use crate::output::count;
use crate::remote::{self, full_name};
use crate::tls::ClientOptions;
use crate::values::duration;
use dovetail::Wire;
use dovetail_dynamic::Contract;
use dovetail_schema::{Method, Schema, ServiceId};
use dovetail_wire::description::compare;
use std::collections::HashMap;
use std::time::Duration;

/// The server to compare with.
#[derive(Debug, clap::Args)]
pub(crate) struct Against {
    /// Compare with the contract of this server, as it says itself: methods that it lacks, and
    /// types that differ
    #[arg(long, value_name = "ADDRESS")]
    against: Option<String>,
    #[command(flatten)]
    tls: ClientOptions,
    #[command(flatten)]
    headers: Headers,
    /// How to ask the server: dovetail, grpc, or any other wire of a Dovetail server
    #[arg(short, long, value_name = "WIRE", requires = "against")]
    wire: Option<Wire>,
    /// Give up after this time
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    timeout: Duration,
}

impl Against {
    /// Compares these contracts with the server's, if one is named. Prints a line for each method
    /// that a caller with the contract could not call, and fails where there is one.
    pub(crate) fn run(&self, schemas: &[Schema]) -> Result {
        let Some(address) = &self.against else {
            return Ok(());
        };
        let mut target = self.tls.target(address)?;
        target.headers = self.headers.pairs()?;
        let theirs = remote::ask(&target, self.wire, self.timeout)?.schema;
        let server = Methods::of(&theirs);
        let (mut compared, mut problems) = (0, 0);
        for schema in schemas {
            let ours = Contract::new(schema);
            for (service, method) in methods(schema) {
                compared += 1;
                if let Err(problem) = server.check(&ours, &service, method) {
                    problems += 1;
                    println!("{service}.{}: {problem}", method.name);
                }
            }
        }
        let compared = count(compared, "method");
        match problems {
            0 => {
                eprintln!("{address}: agrees with {compared}");
                Ok(())
            }
            _ => {
                let failure = format!("{address} contradicts {problems} of {compared}");
                let failure = Failure::new(Exit::Failed, failure);
                Err(failure.help("`here` is the file, `there` the server"))
            }
        }
    }
}

/// All methods of a contract, with the full names of their services.
fn methods(schema: &Schema) -> impl Iterator<Item = (String, &Method)> {
    (0..schema.services.len()).flat_map(move |at| {
        let service = &schema.services[at];
        let name = full_name(&schema[service.package].name, &service.name);
        let methods = schema.methods(ServiceId(at as u32)).into_iter();
        methods.map(move |(_, method)| (name.clone(), method))
    })
}

/// The methods that a server answers, by service and name.
struct Methods<'a> {
    contract: Contract<'a>,
    methods: HashMap<String, HashMap<&'a str, &'a Method>>,
}

impl<'a> Methods<'a> {
    fn of(schema: &'a Schema) -> Self {
        let mut all: HashMap<String, HashMap<_, _>> = HashMap::new();
        for (service, method) in methods(schema) {
            // Over Thrift and msgpack-rpc a service has no package.
            let bare = service.rsplit('.').next().unwrap_or_default().to_owned();
            for name in [service, bare] {
                all.entry(name)
                    .or_default()
                    .insert(method.name.as_str(), method);
            }
        }
        Methods {
            contract: Contract::new(schema),
            methods: all,
        }
    }

    /// Compares a method of a service with the server's. The error says why it cannot be called.
    fn check(
        &self,
        ours: &Contract<'_>,
        service: &str,
        method: &Method,
    ) -> std::result::Result<(), String> {
        let bare = || service.rsplit('.').next().unwrap_or_default();
        let methods = self
            .methods
            .get(service)
            .or_else(|| self.methods.get(bare()));
        let methods = methods.ok_or("the server has no such service")?;
        let theirs = methods.get(method.name.as_str());
        let theirs = theirs.ok_or("the server has no such method")?;
        let (Some(ours), Some(theirs)) = (ours.describe(method), self.contract.describe(theirs))
        else {
            return Err("it cannot be compared: a type has no description".to_owned());
        };
        compare(&ours, &theirs).map_err(|difference| difference.to_string())
    }
}

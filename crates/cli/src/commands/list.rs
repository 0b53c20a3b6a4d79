use crate::failure::{Exit, Failure, Result};
use crate::output;
use crate::remote::{full_name, method_name};
use crate::source::Source;
use clap::Args;
use dovetail_schema::ServiceId;

/// List the services of a server or a contract, and functions without a service
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail list 127.0.0.1:9090            the services of a server, as it says itself
  dovetail list 127.0.0.1:9090 Users      the methods of one of them
  dovetail list --idl api.thrift

A server is asked by Dovetail's reflection, then by gRPC's, unless --wire says how.
`dovetail describe` shows parameters, types and documentation.")]
pub(crate) struct List {
    /// The server, unless --idl names a file; then a service, whose methods are listed
    #[arg(value_name = "ADDRESS] [SERVICE", num_args = 0..=2)]
    words: Vec<String>,
    #[command(flatten)]
    source: Source,
}

impl List {
    pub(crate) fn run(self) -> Result {
        let (schema, words) = self.source.schema(&self.words)?;
        let full = |at: usize| {
            let service = &schema.services[at];
            full_name(&schema[service.package].name, &service.name)
        };
        let methods = |id: ServiceId| {
            let service = full(id.0 as usize);
            let methods = schema.methods(id).into_iter();
            methods.map(move |(_, method)| method_name(&service, &method.name))
        };
        let mut names: Vec<String> = match words {
            [] => (0..schema.services.len())
                .flat_map(|at| match schema.services[at].name.is_empty() {
                    true => methods(ServiceId(at as u32)).collect(),
                    false => vec![full(at)],
                })
                .collect(),
            [service] => methods(crate::idl::service(&schema, service)?).collect(),
            _ => {
                let failure = Failure::new(Exit::Usage, "more words than a server and a service");
                return Err(failure.help("`dovetail list --help` shows examples"));
            }
        };
        names.sort();
        output::write(
            &names
                .iter()
                .map(|name| format!("{name}\n"))
                .collect::<String>(),
        )
    }
}

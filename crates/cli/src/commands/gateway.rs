use super::serve::services;
use crate::address::Target;
use crate::caller::{Naming, Way};
use crate::failure::{Exit, Failure, Result};
use crate::forward::Forward;
use crate::idl::Includes;
use crate::paint::{Stream, Style};
use crate::run::Entrance;
use crate::tables::forever;
use crate::tls::ClientOptions;
use crate::values::duration;
use crate::{output, remote};
use clap::Args;
use dovetail::Wire;
use dovetail::server::Health;
use dovetail_schema::{Schema, ServiceId};
use std::path::PathBuf;
use std::time::Duration;

/// Serve an existing server to all other wires
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail gateway api.thrift --to 10.0.0.7:9090                       a Thrift server, unframed binary
  dovetail gateway api.thrift --to 10.0.0.7:9090 --wire compact+framed
  dovetail gateway shop.proto --to 10.0.0.7:50051                      a gRPC server
  dovetail gateway --to 10.0.0.7:50051                                 one that has reflection
  dovetail gateway shop.proto --to tls://shop.example:443 --ca ca.pem
  dovetail gateway api.thrift --to http://10.0.0.7/api --listen tcp://0.0.0.0:9091
  dovetail gateway shop.proto --to 10.0.0.7:50051 --admin tcp://127.0.0.1:9091   with a console

The gateway answers on one port over every wire: Thrift's, gRPC, JSON over HTTP, msgpack-rpc and
Dovetail's own, with health checks and reflection. Headers, deadlines, declared exceptions and errors
are passed on as far as both wires have them; methods with streams are refused.
Each call is logged in one line, unless --quiet. Ctrl-C ends the gateway.")]
pub(crate) struct Gateway {
    /// The contract; without it the server is asked
    file: Option<PathBuf>,
    /// The server: tcp://HOST:PORT, unix:/PATH, or http://HOST:PORT/PATH
    #[arg(long, value_name = "ADDRESS")]
    to: String,
    /// The wire of the server, as in `dovetail call`
    #[arg(short, long, value_name = "WIRE")]
    wire: Option<Wire>,
    /// It has several services on its port: say which one is called. Always so over gRPC
    #[arg(short, long)]
    multiplexed: bool,
    #[command(flatten)]
    entrance: Entrance,
    /// How long a call may take that brings no deadline of its own
    #[arg(short, long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    timeout: Duration,
    /// Log no calls
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    trust: ClientOptions,
    #[command(flatten)]
    includes: Includes,
}

impl Gateway {
    pub(crate) fn run(self) -> Result {
        let target = self.trust.target(&self.to)?;
        let file = self.file.as_deref();
        let known = remote::contract(file, &self.includes, &target, self.wire, self.timeout)?;
        let wire = target.wire(self.wire.unwrap_or(known.wire))?;
        let contract = forever(known.schema, known.defaults);
        let schema = contract.schema();
        let services = match self.file {
            Some(_) => services(schema),
            None => (0..schema.services.len())
                .map(|at| ServiceId(at as u32))
                .collect(),
        };
        if services.is_empty() {
            return Err(
                Failure::new(Exit::Failed, "the contract defines no service")
                    .help("name the file that does"),
            );
        }
        let mut server = self.entrance.server(schema)?.health(&Health::default());
        for id in &services {
            let way = self.way(&target, wire, schema, *id);
            let forward = Forward::new(contract, *id, &way, !self.quiet);
            let forward = forward.map_err(|status| Failure::new(Exit::Failed, status))?;
            server = server.service(forward);
        }
        let served = self.entrance.start(server)?;
        let paint = Stream::Stdout.paint();
        let name = |id: &ServiceId| match schema[*id].name.as_str() {
            "" => "functions",
            name => name,
        };
        let names = services.iter().map(name);
        let names = names.collect::<Vec<_>>().join(", ");
        output::write(&format!(
            "{} of {} over {wire}, on {} over every wire\n",
            paint.text(Style::Strong, &names),
            target.address,
            paint.text(Style::Strong, &served.address.to_string()),
        ))?;
        served.until_interrupted()
    }

    fn way(&self, target: &Target, wire: Wire, schema: &Schema, service: ServiceId) -> Way {
        let service = &schema[service];
        let naming = Naming {
            described: self.file.is_none(),
            multiplexed: self.multiplexed,
        };
        Way::new(
            target.clone(),
            wire,
            naming.of(wire, &schema[service.package].name, &service.name),
            self.timeout,
        )
    }
}

//! Contracts of running servers: from a file, or as a server says itself.

use crate::address::Target;
use crate::failure::{Exit, Failure, Result};
use crate::idl::{self, Includes};
use crate::output::tell;
use crate::stranger;
use crate::values::usual_wire;
use dovetail::reflection::{ServiceDescription, describe_services, descriptors, list_services};
use dovetail::status::Origin;
use dovetail::{Address, Channel, Code, Status, Wire};
use dovetail_dynamic::Described;
use dovetail_schema::Schema;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

/// A contract, from a file or from a server.
pub(crate) struct Known {
    pub(crate) schema: Schema,
    /// The usual wire of the server.
    pub(crate) wire: Wire,
    /// Whether it has all default values: descriptions of methods have none.
    pub(crate) defaults: bool,
    /// Methods that cannot be called by it, and why.
    pub(crate) omitted: Vec<String>,
}

impl Known {
    /// Says which methods cannot be called.
    pub(crate) fn tell_omitted(&self) {
        for what in &self.omitted {
            tell(&format!("left out: {what}"));
        }
    }

    /// The contract of a file.
    fn of_file(file: &Path, includes: &Includes) -> Result<Known> {
        let schema = idl::load(file, includes)?;
        Ok(Known {
            wire: usual_wire(&schema),
            schema,
            defaults: true,
            omitted: Vec::new(),
        })
    }
}

/// The contract of a file, or without one that of the server, which is asked over this wire, or
/// else over Dovetail's own, and then gRPC. Where a server has Dovetail's reflection, the contract
/// is the same over every wire.
pub(crate) fn contract(
    file: Option<&Path>,
    includes: &Includes,
    target: &Target,
    wire: Option<Wire>,
    timeout: Duration,
) -> Result<Known> {
    match file {
        Some(file) => Known::of_file(file, includes),
        None => asked(target, wire, timeout, true),
    }
}

/// How long a server may take to say anything on a wire that it may not speak.
const PROBE: Duration = Duration::from_secs(3);

/// Services of every server that has reflection. Lists of services leave them out.
const QUESTIONS: [&str; 3] = [
    "dovetail.reflection.v1.Reflection",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
];

/// Asks a server for its contracts, as clients over this wire see them, and notes the methods that
/// cannot be called.
pub(crate) fn ask(target: &Target, wire: Option<Wire>, timeout: Duration) -> Result<Known> {
    asked(target, wire, timeout, false)
}

/// Does so; `own_first` asks for Dovetail's reflection over gRPC, too.
fn asked(target: &Target, wire: Option<Wire>, timeout: Duration, own_first: bool) -> Result<Known> {
    let wires = match wire {
        Some(ref wire) => std::slice::from_ref(wire),
        None => &[Wire::Dovetail, Wire::Grpc],
    };
    let reached = target.connector().connect(Instant::now() + timeout);
    if let Err(problem) = reached {
        let failure = format!("cannot connect to {}: {problem}", target.address);
        let failure = Failure::new(Exit::Call, failure);
        return Err(match problem.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::NotFound | ErrorKind::TimedOut => {
                failure.help("is the server running?")
            }
            _ if matches!(target.address, Address::Tls(_)) => {
                failure.help("docs/tls.md has certificates to try with, and --ca trusts them; tcp:// is without TLS")
            }
            _ => failure,
        });
    }
    let (mut failures, mut is_reached) = (Vec::new(), false);
    for tried in wires {
        let limit = match wire {
            Some(_) => timeout,
            None => timeout.min(PROBE),
        };
        match block_on(ask_over(target, *tried, limit, own_first))? {
            Ok(known) => {
                known.tell_omitted();
                return Ok(known);
            }
            Err(why) => {
                is_reached |= why.is_said;
                failures.push(format!("{tried}: {}", why.text));
            }
        }
    }
    let address = &target.address;
    let mut failure = Failure::new(
        Exit::Call,
        format!("{address} does not say what its services are"),
    );
    for why in failures {
        failure = failure.help(why);
    }
    if !is_reached && let Some(advice) = stranger::advice(address) {
        return Err(failure.help(advice));
    }
    Err(failure.help("give its contract, a .thrift or .proto file: --idl FILE"))
}

/// Why a server has not said what it has.
struct Unknown {
    text: String,
    /// The server has said so itself: the wire is spoken there.
    is_said: bool,
}

impl From<Status> for Unknown {
    fn from(status: Status) -> Self {
        let printable = status.to_string().replace(char::is_control, " ");
        Unknown {
            text: match status.code() {
                Code::Unimplemented => format!("it has no reflection ({printable})"),
                _ => printable,
            },
            is_said: status.origin() == Origin::Peer,
        }
    }
}

/// Waits in this thread.
pub(crate) fn block_on<F: Future>(work: F) -> Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|problem| Failure::new(Exit::Failed, problem))?;
    Ok(runtime.block_on(work))
}

async fn ask_over(
    target: &Target,
    wire: Wire,
    limit: Duration,
    own_first: bool,
) -> std::result::Result<Known, Unknown> {
    let builder = target.channel()?;
    let channel = builder
        .wire(wire)
        .connect_timeout(limit)
        .timeout(limit)
        .build()
        .with_timeout(limit);
    if wire == Wire::Grpc && !own_first {
        return by_descriptors(&channel).await;
    }
    match describe_services(&channel).await {
        Ok(services) => Ok(by_descriptions(services, wire)),
        Err(_) if wire == Wire::Grpc => by_descriptors(&channel).await,
        Err(status) => Err(status.into()),
    }
}

async fn by_descriptors(channel: &Channel) -> std::result::Result<Known, Unknown> {
    let mut services = list_services(channel).await?;
    services.retain(|name| !QUESTIONS.contains(&name.as_str()));
    let set = descriptors(channel, &services).await?;
    let schema = dovetail_idl::proto::from_descriptors(&set);
    let mut schema = schema.map_err(|error| Unknown {
        text: error.to_string(),
        is_said: true,
    })?;
    // Files have services that the server does not have.
    let served = |schema: &Schema, at: usize| {
        let service = &schema.services[at];
        let package = &schema[service.package].name;
        services.contains(&full_name(package, &service.name))
    };
    let kept = (0..schema.services.len()).filter(|at| served(&schema, *at));
    let kept: Vec<usize> = kept.collect();
    let mut at = 0..;
    schema
        .services
        .retain(|_| at.next().is_some_and(|at| kept.contains(&at)));
    Ok(Known {
        schema,
        wire: Wire::Grpc,
        defaults: true,
        omitted: Vec::new(),
    })
}

pub(crate) fn by_descriptions(services: Vec<ServiceDescription>, wire: Wire) -> Known {
    let mut contract = Described::new("");
    let mut omitted = Vec::new();
    let mut functions = None;
    for service in services {
        let name = full_name(&service.package, &service.name);
        if QUESTIONS.contains(&name.as_str()) {
            continue;
        }
        if name.contains(char::is_control) {
            continue;
        }
        contract.package(&service.package, service.messages);
        // A server describes each of its functions as a service without a name.
        let id = match service.name.is_empty() {
            true => *functions.get_or_insert_with(|| contract.service("", None)),
            false => contract.service(&service.name, None),
        };
        for method in service.methods {
            let permission = Some(method.permission.as_str());
            let permission = permission.filter(|permission| !permission.is_empty());
            let added = contract.method(id, &method.description, method.idempotent, permission);
            match added {
                Ok(()) => contract.remarks(&method.remarks),
                Err(why) => {
                    let what = format!("{}: {why}", method_name(&name, &method.name));
                    omitted.push(what.replace(char::is_control, " "));
                }
            }
        }
    }
    Known {
        schema: contract.into_schema(),
        wire,
        defaults: false,
        omitted,
    }
}

/// `shop.Orders.place`, or `add` of a function, which has no service.
pub(crate) fn method_name(service: &str, method: &str) -> String {
    match service {
        "" => method.to_owned(),
        service => format!("{service}.{method}"),
    }
}

pub(crate) fn full_name(package: &str, name: &str) -> String {
    match package {
        "" => name.to_owned(),
        package => format!("{package}.{name}"),
    }
}

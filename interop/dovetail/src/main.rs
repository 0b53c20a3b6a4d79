//! The peer that is ours: Dovetail behind the command line that all interop peers have.

mod bare;
mod capture;
mod case;
mod cases;
mod conformance;
mod connector;
mod counted;
mod derived;
#[cfg(test)]
mod descriptions;
mod editor;
mod grpc;
mod handler;
mod hostile;
mod mounted;
mod objects;
mod placed;
mod relay;
mod streams;
mod testing;
mod tls;
mod uuid;
mod values;

dovetail::include_contract!("calls.v1");
dovetail::include_contract!("connectrpc.conformance.v1");
dovetail::include_contract!("hostile");
dovetail::include_contract!("interop");
dovetail::include_contract!("mapped");
dovetail::include_contract!("neovim");
dovetail::include_contract!("objects");
dovetail::include_contract!("places");
dovetail::include_contract!("streams");
dovetail::include_contract!("uuid");

use case::{Case, Failure};
use connector::{Connector, Kind};
use dovetail::method::ServiceDescriptor;
use dovetail::protocol::ConnectionLimits;
use dovetail::reflection::Reflection;
use dovetail::server::{Health, Model, ServerLimits};
use dovetail::{Server, Wire};
use serde_json::{Value, json};
use std::error::Error;
use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;
use tls::TLS;
use tokio::runtime;

const USAGE: &str = "usage: dovetail-peer CONTRACT capabilities
       dovetail-peer CONTRACT server FLAGS [--model loops|threads|pool|single] [--limit NAME=NUMBER]
       dovetail-peer http2 server FLAGS --model bare
       dovetail-peer CONTRACT client FLAGS [--client blocking|async] [--case NAME]
       dovetail-peer CONTRACT capture FOLDER
       dovetail-peer conformance server [--model M] | client, for Connect's conformance suite
CONTRACT: interop | uuid | neovim | grpc | axum | testing | http2 | http | capnp | streams | objects | hostile; streams and objects have cases for capture alone, hostile none
FLAGS: --protocol P --transport T --address A [--multiplexed]; interop/README.md explains them";

const PROTOCOLS: [&str; 4] = ["binary", "binary-nonstrict", "compact", "json"];
const MSGPACK_RPC: &str = "msgpack-rpc";
const GRPC: &str = "grpc";
const CAPNP: &str = "capnp";
/// The contract `grpc`, behind a server of axum's.
const AXUM: &str = "axum";
/// Protocols of HTTP, which our server answers, and why no case of ours calls by them.
const HTTP: [(&str, &str); 3] = [
    (
        "connect-json",
        "Connect's conformance suite tries our client",
    ),
    (
        "connect-proto",
        "Connect's conformance suite tries our client",
    ),
    ("websocket", "no client of ours speaks WebSocket"),
];
const TRANSPORTS: [&str; 6] = ["buffered", "framed", "header", "header-zlib", "http", TLS];

/// How the server can spend its threads; the first is the default.
const MODELS: [(&str, Model); 4] = [
    ("loops", Model::EventLoops(None)),
    ("threads", Model::ThreadPerConnection),
    ("pool", Model::ThreadPool(4)),
    ("single", Model::SingleThreaded),
];

/// Makes what a client needs.
type Make = fn() -> std::io::Result<Kind>;

/// The clients; the first is the default.
const CLIENTS: [(&str, Make); 2] = [
    ("blocking", || Ok(Kind::Blocking)),
    ("async", || {
        let mut builder = runtime::Builder::new_multi_thread();
        builder.worker_threads(2).enable_all();
        Ok(Kind::Async(builder.build()?))
    }),
];

/// A file of interop/contract.
struct Contract {
    name: &'static str,
    services: &'static [&'static ServiceDescriptor],
    cases: fn() -> Vec<Case>,
    /// Adds the services.
    serve: fn(Server) -> Server,
}

const CONTRACTS: [Contract; 12] = [
    Contract {
        name: "interop",
        services: &[&interop::INTEROP, &interop::SECOND],
        cases: cases::all,
        serve: |server| {
            server
                .service(interop::InteropServer::new(handler::Handler::default()))
                .service(derived::SecondServer::new(derived::Handler))
        },
    },
    Contract {
        name: "uuid",
        services: &[&uuids::UUID_SERVICE],
        cases: uuid::all,
        serve: |server| server.service(derived::UuidServiceServer::new(derived::Handler)),
    },
    Contract {
        name: "neovim",
        services: &[&neovim::EDITOR, &neovim::HOST],
        cases: editor::all,
        serve: |server| {
            server
                .service(neovim::EditorServer::new(editor::Handler::default()))
                .service(neovim::HostServer::new(editor::Handler::default()))
        },
    },
    Contract {
        name: "grpc",
        services: &[&calls::v1::CALLS, &mapped::MAPPED],
        cases: grpc::all,
        serve: grpc_services,
    },
    Contract {
        name: AXUM,
        services: &[&calls::v1::CALLS, &mapped::MAPPED],
        // Those of `grpc` are for its peers.
        cases: Vec::new,
        serve: grpc_services,
    },
    Contract {
        name: "testing",
        services: &[&testing::TEST_SERVICE],
        cases: testing::all,
        serve: |server| server.service(testing::TestServiceServer::new(testing::Handler)),
    },
    Contract {
        name: "http2",
        services: &[],
        // Ours are of what is above HTTP/2.
        cases: Vec::new,
        serve: |server| server,
    },
    Contract {
        name: "http",
        services: &[&calls::v1::CALLS, &mapped::MAPPED],
        // Connect's conformance suite has those of clients.
        cases: Vec::new,
        serve: |server| {
            let handler = Arc::new(grpc::Handler::default());
            server
                .service(calls::v1::CallsServer::from(handler.clone()))
                .service(mapped::MappedServer::from(handler))
                .service(derived::SecondServer::new(derived::Handler))
        },
    },
    Contract {
        name: "streams",
        services: &[&flows::STREAMS],
        cases: streams::all,
        serve: |server| server.service(flows::StreamsServer::new(streams::Handler)),
    },
    Contract {
        name: "objects",
        services: &[&things::COUNTERS, &things::COUNTER, &things::LISTENER],
        cases: objects::all,
        serve: |server| server.service(things::CountersServer::new(objects::Handler)),
    },
    Contract {
        name: "capnp",
        services: &[&places::PLACES],
        cases: placed::all,
        serve: |server| server.service(places::PlacesServer::new(placed::Handler::default())),
    },
    Contract {
        name: "hostile",
        services: &[&targets::TARGET],
        // Its peers are attackers: interop/hostile.
        cases: Vec::new,
        serve: |server| {
            server
                .service(targets::TargetServer::new(hostile::Handler))
                .service(things::CountersServer::new(objects::Handler))
        },
    },
];

fn grpc_services(server: Server) -> Server {
    let handler = Arc::new(grpc::Handler::default());
    let descriptors = include_bytes!(concat!(env!("OUT_DIR"), "/calls.descriptors"));
    let server = match Reflection::of(&descriptors[..]) {
        Ok(reflection) => server.reflection(&reflection),
        // Its cases say what is missing.
        Err(_) => server,
    };
    server
        .health(&Health::default())
        .service(calls::v1::CallsServer::from(handler.clone()))
        .service(mapped::MappedServer::from(handler))
        .service(derived::SecondServer::new(derived::Handler))
        .service(derived::UuidServiceServer::new(derived::Handler))
}

#[derive(Default)]
struct Options {
    protocol: String,
    transport: String,
    address: String,
    multiplexed: bool,
    only: Option<String>,
    model: Option<String>,
    client: Option<String>,
    limits: ServerLimits,
}

impl Options {
    fn secured(&self) -> String {
        format!("tls://{}", self.address)
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let contract = arguments.next().ok_or(USAGE)?;
    if contract == "conformance" {
        let run = match arguments.next().as_deref() {
            Some("server") => conformance::serve,
            Some("client") => conformance::call,
            _ => return Err(USAGE.into()),
        };
        let ran = run(&options(arguments)?);
        return ran.map(|()| ExitCode::SUCCESS).map_err(|why| why as _);
    }
    let contract = CONTRACTS.iter().find(|known| known.name == contract);
    let contract = contract.ok_or(USAGE)?;
    match arguments.next().as_deref() {
        Some("capabilities") => println!("{}", Value::from(capabilities(contract))),
        Some("server") => serve(contract, &options(arguments)?)?,
        Some("client") => return call(contract, &options(arguments)?),
        Some("capture") => {
            let folder = arguments.next().ok_or(USAGE)?;
            capture::run(contract, folder.as_ref())?;
        }
        _ => return Err(USAGE.into()),
    }
    Ok(ExitCode::SUCCESS)
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, Box<dyn Error>> {
    let mut options = Options::default();
    while let Some(flag) = arguments.next() {
        if flag == "--multiplexed" {
            options.multiplexed = true;
            continue;
        }
        let value = arguments
            .next()
            .ok_or_else(|| format!("{flag} needs a value\n{USAGE}"))?;
        match flag.as_str() {
            "--protocol" => options.protocol = value,
            "--transport" => options.transport = value,
            "--address" => options.address = value,
            "--case" => options.only = Some(value),
            "--model" => options.model = Some(value),
            "--client" => options.client = Some(value),
            "--limit" => hostile::limit(&mut options.limits, &value)?,
            _ => return Err(format!("no such flag: {flag}\n{USAGE}").into()),
        }
    }
    Ok(options)
}

/// The entry of this name; the first where none is named.
fn pick<T: Copy>(all: &[(&str, T)], name: Option<&str>) -> Result<T, String> {
    let fits = |known: &str| name.is_none_or(|name| name == known);
    let found = all.iter().find(|(known, _)| fits(known));
    found
        .map(|(_, entry)| *entry)
        .ok_or_else(|| format!("no such variant: {}\n{USAGE}", name.unwrap_or_default()))
}

fn wire(options: &Options) -> Result<Wire, Box<dyn Error>> {
    let protocol = match options.protocol.as_str() {
        "binary-nonstrict" => "binary-old",
        other => other,
    };
    match options.protocol.as_str() {
        MSGPACK_RPC => return Ok(Wire::MsgpackRpc),
        GRPC => return Ok(Wire::Grpc),
        CAPNP => return Ok(Wire::Capnp),
        _ => {}
    }
    let transport = match options.transport.as_str() {
        "buffered" | TLS => "",
        "framed" => "+framed",
        "header" => "+header",
        "header-zlib" => "+header:zlib",
        "http" => "+http",
        other => return Err(format!("no such transport: {other}").into()),
    };
    Ok(format!("{protocol}{transport}").parse()?)
}

/// Everything with everything, but that THeader has numbers for binary and compact alone, and that
/// msgpack-rpc is a wire of its own, the only one of Neovim. gRPC has contracts of its own.
fn capabilities(contract: &Contract) -> Vec<Value> {
    match contract.name {
        "neovim" => return vec![alone(MSGPACK_RPC, false)],
        "grpc" | "testing" => return vec![alone(GRPC, false), over_tls(GRPC)],
        "capnp" => return vec![alone(CAPNP, false), over_tls(CAPNP)],
        AXUM => return vec![answered(GRPC, "buffered", "the client is that of `grpc`")],
        "http2" => return vec![answered(GRPC, "buffered", "cases of HTTP/2 are h2spec's")],
        "http" => {
            let ways = HTTP.map(|(protocol, why)| {
                ["http", TLS].map(|transport| answered(protocol, transport, why))
            });
            return ways.concat();
        }
        _ => {}
    }
    let mut found = Vec::new();
    for transport in TRANSPORTS {
        for protocol in PROTOCOLS {
            // TLS is the same for all; these two are enough.
            let some = transport.starts_with("header") || transport == TLS;
            if some && !["binary", "compact"].contains(&protocol) {
                continue;
            }
            if transport == TLS {
                found.push(over_tls(protocol));
                continue;
            }
            for multiplexed in [false, true] {
                found.push(json!({
                    "protocol": protocol, "transport": transport, "multiplexed": multiplexed,
                    "roles": ["client", "server"], "unix": true,
                }));
            }
        }
    }
    found.extend([false, true].map(|multiplexed| alone(MSGPACK_RPC, multiplexed)));
    let reason =
        "a transport of whole connections, which cannot be told from noise on a shared port";
    found.push(json!({
        "protocol": "binary", "transport": "zlib", "multiplexed": false,
        "roles": [], "unix": false, "reason": reason,
    }));
    found
}

/// A protocol that is a wire of its own.
fn alone(protocol: &str, multiplexed: bool) -> Value {
    json!({
        "protocol": protocol, "transport": "buffered", "multiplexed": multiplexed,
        "roles": ["client", "server"], "unix": true,
    })
}

/// A protocol over TLS, where names of services and Unix sockets are the same as elsewhere.
fn over_tls(protocol: &str) -> Value {
    json!({
        "protocol": protocol, "transport": TLS, "multiplexed": false,
        "roles": ["client", "server"], "unix": false,
    })
}

/// A protocol that is answered, and not called.
fn answered(protocol: &str, transport: &str, why: &str) -> Value {
    json!({
        "protocol": protocol, "transport": transport, "multiplexed": false,
        "roles": ["server"], "unix": false, "reason": why,
    })
}

fn serve(contract: &Contract, options: &Options) -> Result<(), Box<dyn Error>> {
    if options.model.as_deref() == Some("bare") {
        return bare::serve(&options.address);
    }
    let mut limits = options.limits;
    if contract.name == CAPNP {
        limits.calls_per_connection = placed::IN_FLIGHT;
    }
    let server = (contract.serve)(Server::new())
        .model(pick(&MODELS, options.model.as_deref())?)
        .limits(limits);
    if contract.name == AXUM {
        return mounted::serve(server, &options.address);
    }
    let server = match options.transport.as_str() {
        TLS => server.tls(&tls::server()?).listen(&options.secured())?,
        _ => server.listen(&options.address)?,
    };
    let running = server.start()?;
    let address = running.addresses()[0].to_string();
    let place = address.strip_prefix("tls://");
    println!(
        "READY {}",
        place.unwrap_or(address.trim_start_matches("tcp://"))
    );
    // Ends when the standard input does.
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn call(contract: &Contract, options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    let (address, tls) = match options.transport.as_str() {
        TLS => (options.secured(), Some(tls::client()?)),
        _ => (options.address.clone(), None),
    };
    let connector = Connector {
        address,
        tls,
        wire: wire(options)?,
        multiplexed: options.multiplexed,
        kind: pick(&CLIENTS, options.client.as_deref())?()?,
        limits: ConnectionLimits::default(),
    };
    let mut code = ExitCode::SUCCESS;
    for (name, run) in (contract.cases)() {
        if options.only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        let (result, detail) = match run(&connector) {
            Ok(detail) => ("ok", detail),
            Err(Failure::Skip(reason)) => ("skip", reason.to_owned()),
            Err(Failure::Fail(detail)) => {
                code = ExitCode::FAILURE;
                ("fail", detail)
            }
        };
        println!(
            "{}",
            json!({ "case": name, "result": result, "detail": detail })
        );
    }
    Ok(code)
}

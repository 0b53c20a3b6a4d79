//! The peer that is ours: Dovetail behind the command line that all interop peers have.

mod cases;
mod connector;
mod handler;
mod values;

dovetail::include_contract!("interop");

use cases::Failure;
use connector::Connector;
use dovetail::protocol::thrift::Wire;
use dovetail::{Model, Server};
use serde_json::{Value, json};
use std::error::Error;
use std::io::Read;
use std::process::ExitCode;

const USAGE: &str = "usage: dovetail-peer capabilities | server FLAGS | client FLAGS [--case NAME]
FLAGS: --protocol P --transport T --address A [--multiplexed]; interop/README.md explains them";

const PROTOCOLS: [&str; 4] = ["binary", "binary-nonstrict", "compact", "json"];
const TRANSPORTS: [&str; 5] = ["buffered", "framed", "header", "header-zlib", "http"];

/// How the models of the server share the matrix: each way of speaking meets one of them.
const MODELS: [Model; 4] = [
    Model::EventLoops(None),
    Model::ThreadPerConnection,
    Model::ThreadPool(4),
    Model::SingleThreaded,
];

#[derive(Default)]
struct Options {
    protocol: String,
    transport: String,
    address: String,
    multiplexed: bool,
    only: Option<String>,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("capabilities") => println!("{}", Value::from(capabilities())),
        Some("server") => serve(&options(arguments)?)?,
        Some("client") => return call(&options(arguments)?),
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
            _ => return Err(format!("no such flag: {flag}\n{USAGE}").into()),
        }
    }
    Ok(options)
}

fn wire(options: &Options) -> Result<Wire, Box<dyn Error>> {
    let protocol = match options.protocol.as_str() {
        "binary-nonstrict" => "binary-old",
        other => other,
    };
    let transport = match options.transport.as_str() {
        "buffered" => "",
        "framed" => "+framed",
        "header" => "+header",
        "header-zlib" => "+header:zlib",
        "http" => "+http",
        other => return Err(format!("no such transport: {other}").into()),
    };
    Ok(format!("{protocol}{transport}").parse()?)
}

/// Everything with everything, but that THeader has numbers for binary and compact alone.
fn capabilities() -> Vec<Value> {
    let mut found = Vec::new();
    for transport in TRANSPORTS {
        for protocol in PROTOCOLS {
            let header = transport.starts_with("header");
            if header && !["binary", "compact"].contains(&protocol) {
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
    let reason =
        "a transport of whole connections, which cannot be told from noise on a shared port";
    found.push(json!({
        "protocol": "binary", "transport": "zlib", "multiplexed": false,
        "roles": [], "unix": false, "reason": reason,
    }));
    found
}

fn serve(options: &Options) -> Result<(), Box<dyn Error>> {
    let place = |name: &str, names: &[&str]| names.iter().position(|known| *known == name);
    let turn = place(&options.protocol, &PROTOCOLS).unwrap_or(0)
        + place(&options.transport, &TRANSPORTS).unwrap_or(0);
    let running = Server::new()
        .service(interop::InteropServer::new(handler::Handler::default()))
        .service(interop::SecondServer::new(handler::SecondHandler))
        .model(MODELS[turn % MODELS.len()])
        .listen(&options.address)?
        .start()?;
    let address = running.addresses()[0].to_string();
    println!("READY {}", address.trim_start_matches("tcp://"));
    // Ends when the standard input does.
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn call(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    let connector = Connector {
        address: options.address.clone(),
        wire: wire(options)?,
        multiplexed: options.multiplexed,
    };
    let mut code = ExitCode::SUCCESS;
    for (name, run) in cases::all() {
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

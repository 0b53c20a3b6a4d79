use crate::address::Target;
use crate::caller::{Caller, Naming, Way};
use crate::failure::{Exit, Failure, Result};
use crate::headers::Headers;
use crate::idl::{self, Includes};
use crate::link::Cost;
use crate::output::{self, tell};
use crate::paint::{Stream, Style};
use crate::remote::{self, method_name};
use crate::streams::{End, Streamed};
use crate::tables::{forever, table};
use crate::tls::ClientOptions;
use crate::values::{arguments, arguments_in_text, duration};
use clap::{Args, ValueEnum};
use dovetail::server::ResponseHeaders;
use dovetail::status::{Execution, Origin};
use dovetail::{Code, Status, Wire};
use dovetail_dynamic::{
    Contract, Reply, Struct, UnknownText, Value, closest, to_json, to_text, type_name_in,
};
use dovetail_protocol::metadata::encode_value;
use dovetail_schema::{Method, Schema, ServiceId, Type};
use serde_json::{Value as Json, json};
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Call a method of a running server
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail call 127.0.0.1:9090 Users.getUser '{\"id\": 7}'             the server says what it has
  dovetail call 127.0.0.1:9090 getUser '{\"id\": 7}' --idl api.thrift    it does not
  dovetail call 127.0.0.1:9090 getUser '[7]' --idl api.thrift           by position
  dovetail call 127.0.0.1:9090 Users.add @user.json --idl api.thrift    from a file
  echo '{\"id\": 7}' | dovetail call unix:/run/api.sock getUser - --idl api.thrift
  dovetail call 127.0.0.1:50051 shop.Shop.Take '{\"count\": 2}' --wire grpc
  dovetail call 127.0.0.1:9090 ping --idl api.thrift --wire compact+header:zlib -v
  dovetail call http://127.0.0.1:9090/api ping --idl api.thrift
  dovetail call tls://api.example:9090 ping --idl api.thrift --ca ca.pem
  dovetail call 127.0.0.1:50051 shop.Shop.Take 'count: 2' --format text

A method with streams reads an item from each line of standard input, and prints each item in
a line, over gRPC and Dovetail's own wire:
  printf '{\"number\": 1}\\n{\"number\": 2}\\n' | dovetail call 127.0.0.1:50051 Calls.Sum

Without --idl the server is asked for its contract: by Dovetail's reflection, then by gRPC's.
Standard output has the result as JSON: null for a void method, and
{\"ExceptionName\": {…}} for a declared exception.
Exit code: 0 for a result, 3 for a declared exception, 4 if the call failed,
2 if the arguments do not fit the contract.")]
pub(crate) struct Call {
    /// tcp://HOST:PORT, tls://HOST:PORT, unix:/PATH, or http(s)://HOST:PORT/PATH
    address: String,
    /// The method, with its service in front where several have it
    #[arg(value_name = "[SERVICE.]METHOD")]
    method: String,
    /// The arguments in JSON, an object by name or an array by position, or what --format says;
    /// @FILE, or - for standard input
    #[arg(value_name = "ARGUMENTS", allow_hyphen_values = true)]
    arguments: Option<String>,
    /// The contract; without it the server is asked
    #[arg(long, value_name = "FILE")]
    idl: Option<PathBuf>,
    /// The wire of the server: dovetail, grpc, grpc-web or connect (both also with `+json`),
    /// msgpack-rpc, capnp, or Thrift's `PROTOCOL[+TRANSPORT[:TRANSFORMS]]`, of binary, binary-old,
    /// compact, json; unframed, framed, header, http; zlib, zstd
    #[arg(short, long, value_name = "WIRE")]
    wire: Option<Wire>,
    /// How arguments and results are written; text is protobuf's text format, for messages of its
    /// contracts
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    format: Format,
    /// Give up after this time
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    headers: Headers,
    /// The server has several services on this port: say which one is called
    #[arg(short, long)]
    multiplexed: bool,
    /// Show bytes, times, and the headers and trailers of the answer
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    tls: ClientOptions,
    #[command(flatten)]
    includes: Includes,
}

/// How messages are written for display.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Format {
    Json,
    // Protobuf's text format.
    Text,
}

impl Call {
    pub(crate) fn run(self) -> Result {
        let mut target = self.tls.target(&self.address)?;
        target.headers = self.headers.pairs()?;
        let file = self.idl.as_deref();
        let known = remote::contract(file, &self.includes, &target, self.wire, self.timeout)?;
        let wire = target.wire(self.wire.unwrap_or(known.wire))?;
        self.headers.check(wire)?;
        let contract = forever(known.schema, known.defaults);
        let schema = contract.schema();
        let (service, method) = find_method(schema, &self.method)?;
        if wire == Wire::Grpc && schema[service].name.is_empty() {
            let failure = format!(
                "`{}` is a function, and gRPC calls methods of services",
                method.name
            );
            return Err(Failure::new(Exit::Usage, failure).help("call it without --wire"));
        }
        let values = self.values(contract, service, method)?;
        let table = table(contract, service);
        let Some(row) = table.row(method) else {
            return Err(Failure::new(Exit::Failed, "a method without a service"));
        };
        let cost = Arc::new(Cost::default());
        let naming = Naming {
            described: self.idl.is_none(),
            multiplexed: self.multiplexed,
        };
        let mut way = Way::new(
            target.clone(),
            wire,
            naming.of(wire, table.descriptor.package, table.descriptor.name),
            self.timeout,
        );
        way.said = self.verbose.then(ResponseHeaders::default);
        if let Some(streamed) = Streamed::new(contract, method, row) {
            return self.streamed(contract, method, &streamed, &way, &values);
        }
        let said = way.said.clone();
        let caller = Caller::new(way, &cost);
        let start = Instant::now();
        let answer = caller.call(contract, method, row, &values)?;
        if self.verbose {
            report(&target, wire, method, &cost, start.elapsed());
        }
        report_headers(said.as_ref());
        match answer {
            Ok(reply) => show(contract, method, reply, self.format),
            Err(status) => Err(self.explain(contract, &status, wire)),
        }
    }

    /// A call whose items are lines of standard input and output.
    fn streamed(
        &self,
        contract: &'static Contract<'static>,
        method: &'static Method,
        streamed: &Streamed,
        way: &Way,
        values: &Struct,
    ) -> Result {
        if self.format == Format::Text {
            let failure = "the items of a stream are in JSON, one in each line";
            return Err(Failure::new(Exit::Usage, failure));
        }
        if streamed.reads() && self.arguments.as_deref() == Some("-") {
            let failure = "standard input has the items of the stream, and not the arguments, too";
            return Err(Failure::new(Exit::Usage, failure).help("put these in a file: @FILE"));
        }
        let channel = way.channel();
        let channel = channel.map_err(|status| self.explain(contract, &status, way.wire))?;
        let end = streamed.call(&channel, values)?;
        report_headers(way.said.as_ref());
        match end {
            // It stands before the items.
            End::Reply(Reply::Result(_)) if method.server_stream.is_some() => Ok(()),
            End::Reply(reply) => show(contract, method, Some(reply), self.format),
            End::Thrown(reply, end) => show(contract, end, Some(reply), self.format),
            End::Failed(status) => Err(self.explain(contract, &status, way.wire)),
        }
    }

    /// The arguments as the contract has them.
    fn values(
        &self,
        contract: &Contract<'_>,
        service: ServiceId,
        method: &Method,
    ) -> Result<Struct> {
        let given = self.given()?;
        if self.format == Format::Text {
            let (text, origin) = given.unwrap_or_default();
            let values = arguments_in_text(contract, service, method, &text);
            return values.map_err(|problem| {
                let failure = format!("the arguments {origin}: {problem}");
                Failure::new(Exit::Usage, failure)
            });
        }
        let json = match given {
            // None at all are an empty object.
            None => json!({}),
            Some((text, origin)) => {
                serde_json::from_str(&text).map_err(|problem| bad_json(&text, &origin, &problem))?
            }
        };
        arguments(contract, service, method, json).map_err(|problem| misfit(&problem, method))
    }

    /// The text of the arguments, and where it is.
    fn given(&self) -> Result<Option<(String, String)>> {
        Ok(Some(match self.arguments.as_deref() {
            None => return Ok(None),
            Some("-") => {
                let mut text = String::new();
                std::io::stdin()
                    .read_to_string(&mut text)
                    .map_err(|problem| {
                        Failure::new(
                            Exit::Usage,
                            format!("cannot read standard input: {problem}"),
                        )
                    })?;
                (text, "on standard input".to_owned())
            }
            Some(argument) => match argument.strip_prefix('@') {
                Some(path) => {
                    let text = std::fs::read_to_string(path).map_err(|problem| {
                        Failure::new(Exit::Usage, format!("cannot read `{path}`: {problem}"))
                    })?;
                    (text, format!("in `{path}`"))
                }
                None => (argument.to_owned(), "on the command line".to_owned()),
            },
        }))
    }

    /// Adds the details of a failed call, and advice.
    fn explain(&self, contract: &Contract<'_>, status: &Status, wire: Wire) -> Failure {
        let failure = self.advise(status, wire);
        status.details().iter().fold(failure, |failure, detail| {
            let detail = Value::Any(Box::new(detail.clone()));
            failure.detail(to_json(contract, &Type::Any, &detail))
        })
    }

    fn advise(&self, status: &Status, wire: Wire) -> Failure {
        let failure = Failure::new(Exit::Call, status);
        let idl = self.idl.as_ref().map(|idl| idl.display());
        let other_wire = format!("does the server speak {wire}? --wire chooses another one");
        match (status.code(), status.origin(), status.execution()) {
            (Code::Unavailable, Origin::Peer, _) => {
                failure.help("the server is reached and cannot answer now: try again later")
            }
            // The message has the advice already.
            (Code::Unavailable, ..) if status.message().contains(" TLS: ") => failure,
            (Code::Unavailable, _, Execution::NotSent) => {
                let address = &self.address;
                failure.maybe_help(idl.map(|idl| {
                    format!(
                        "`dovetail serve {idl} --listen {address}` answers there with sample data"
                    )
                }))
            }
            (Code::Unavailable, ..) => failure.help(other_wire),
            (Code::DeadlineExceeded, _, Execution::MayHaveRun) => {
                failure.help("--timeout 60s waits longer").help(other_wire)
            }
            (Code::DeadlineExceeded, ..) => failure.help("--timeout 60s waits longer"),
            // These say which service is called in any case.
            (Code::Unimplemented, ..) if wire == Wire::Dovetail || wire.is_http2() => failure,
            (Code::Unimplemented, ..) if !self.multiplexed => {
                failure.help("a server with several services on one port may need --multiplexed")
            }
            (Code::Unimplemented, ..) => {
                failure.help("without --multiplexed, the server's only or first service is called")
            }
            (Code::Internal, Origin::Local, _) => failure.maybe_help(
                idl.map(|idl| format!("is {idl} the server's contract, and {wire} its wire?")),
            ),
            (Code::ResourceExhausted, ..) => {
                failure.help("send less, or try later: the message says which limit is reached")
            }
            _ => failure,
        }
    }
}

/// Finds `method` or `Service.method`.
fn find_method<'a>(schema: &'a Schema, name: &str) -> Result<(ServiceId, &'a Method)> {
    let (service, method) = match name.rsplit_once('.') {
        Some((service, method)) => (Some(idl::service(schema, service)?), method),
        None => (None, name),
    };
    let all = (0..schema.services.len()).map(|at| ServiceId(at as u32));
    let services: Vec<ServiceId> = all.filter(|id| service.is_none_or(|s| s == *id)).collect();
    let answering = |id: &ServiceId| {
        let methods = schema.methods(*id);
        let (owner, found) = methods.into_iter().find(|(_, m)| m.name == method)?;
        Some((*id, owner, found))
    };
    let mut found: Vec<_> = services.iter().filter_map(answering).collect();
    // A service that inherits the method is no other answer than the service that defines it.
    if let [(_, owner, _), rest @ ..] = found.as_slice()
        && rest.iter().all(|(_, other, _)| other == owner)
    {
        let most = found
            .iter()
            .rposition(|(id, ..)| Some(schema[*id].package) == schema.root());
        found = vec![found[most.unwrap_or(0)]];
    }
    match found.as_slice() {
        [(id, _, method)] => Ok((*id, method)),
        [] => {
            let methods = services.iter().flat_map(|id| schema.methods(*id));
            let known: Vec<&str> = methods.map(|(_, m)| m.name.as_str()).collect();
            let failure = Failure::new(Exit::Usage, format!("the contract has no method `{name}`"));
            Err(match closest(method, known.iter().copied()) {
                Some(close) => failure.help(format!("did you mean `{close}`?")),
                None if known.is_empty() => failure.help("it defines no service with methods"),
                None => failure.help(format!("it has {}", known.join(", "))),
            })
        }
        several => {
            let names = several
                .iter()
                .map(|(id, _, m)| method_name(&schema[*id].name, &m.name));
            let names: Vec<_> = names.collect();
            Err(Failure::new(
                Exit::Usage,
                format!("several services have a method `{method}`"),
            )
            .help(format!("say which one: {}", names.join(", "))))
        }
    }
}

fn misfit(problem: &dovetail_dynamic::JsonError, method: &Method) -> Failure {
    let path = problem.path();
    let place = match path.is_empty() {
        true => String::new(),
        false => format!("{path}: "),
    };
    let message = format!(
        "the arguments do not fit `{}`: {place}{}",
        method.name,
        problem.problem()
    );
    Failure::new(Exit::Usage, message).maybe_help(problem.suggestion())
}

/// JSON that is none, with the place shown.
fn bad_json(text: &str, origin: &str, problem: &serde_json::Error) -> Failure {
    let line = text
        .lines()
        .nth(problem.line().saturating_sub(1))
        .unwrap_or_default();
    let reason = problem.to_string();
    let reason = reason
        .split(" at line ")
        .next()
        .unwrap_or_default()
        .to_owned();
    let mut message = format!("the arguments {origin} are no JSON: {reason}");
    if line.chars().count() <= 100 {
        let at = problem.column().saturating_sub(1).min(line.len());
        let before = line.get(..at).map_or(at, |before| before.chars().count());
        message += &format!("\n    {line}\n    {}^", " ".repeat(before));
    }
    Failure::new(Exit::Usage, message)
        .help("in a shell, put JSON between single quotes: '{\"id\": 7}'")
}

fn report(target: &Target, wire: Wire, method: &Method, cost: &Cost, took: Duration) {
    let paint = Stream::Stderr.paint();
    let faint = |text: String| tell(&paint.text(Style::Faint, &text));
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let (name, address, sent) = (&method.name, &target.address, cost.sent());
    if wire.is_http2() {
        // The library has the connection, and does not count.
        faint(format!("> {name} to {address} over {wire}"));
        return faint(format!("< after {:.0} µs", us(took)));
    }
    faint(format!("> {name} to {address} over {wire}: {sent} bytes"));
    match cost.connecting() {
        Some(connecting) => faint(format!(
            "< {} bytes after {:.0} µs, {:.0} µs of them to connect",
            cost.received(),
            us(took),
            us(connecting)
        )),
        None => faint(format!("< no connection after {:.0} µs", us(took))),
    }
}

/// Prints the headers and trailers of an answer. Bytes are in base64, as they travel.
fn report_headers(said: Option<&ResponseHeaders>) {
    let Some(said) = said else { return };
    let paint = Stream::Stderr.paint();
    for (kind, headers) in [("header", said.headers()), ("trailer", said.trailers())] {
        for (name, value) in headers.iter() {
            let value = match encode_value(name, value) {
                Ok((_, value)) => value,
                Err(_) => String::from_utf8_lossy(value).into_owned(),
            };
            tell(&paint.text(Style::Faint, &format!("< {kind} {name}: {value}")));
        }
    }
}

fn show(contract: &Contract<'_>, method: &Method, reply: Option<Reply>, format: Format) -> Result {
    match (reply, &method.result) {
        (None, _) => {
            tell(&format!(
                "sent; `{}` is one-way: no answer comes, not even an error",
                method.name
            ));
            Ok(())
        }
        (Some(Reply::Result(Some(value))), Some(ty)) if format == Format::Text => {
            let text = to_text(contract, ty, &value, UnknownText::Shown);
            let text = text.map_err(|problem| Failure::new(Exit::Failed, problem))?;
            output::write(&text)
        }
        (Some(Reply::Result(Some(value))), Some(ty)) => print(&to_json(contract, ty, &value)),
        (Some(Reply::Result(_)), _) => print(&Json::Null),
        (Some(Reply::Exception { index, value }), _) => {
            let ty = &method.throws[index].ty;
            let name = short_name(contract.schema(), ty);
            print(&json!({ &name: to_json(contract, ty, &value) }))?;
            tell(&format!(
                "`{}` answered with the exception {name}, which its contract declares",
                method.name
            ));
            Err(Failure::silent(Exit::Exception))
        }
    }
}

/// Returns the name of an exception, the same for a contract of a file and of a server.
fn short_name(schema: &Schema, ty: &Type) -> String {
    let package = match schema.resolve(ty) {
        Type::Named(id) => Some(schema[*id].package),
        _ => None,
    };
    type_name_in(schema, ty, package)
}

fn print(json: &Json) -> Result {
    output::json(&format!("{json:#}"))
}

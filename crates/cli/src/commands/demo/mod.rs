mod client;
mod json;
mod probe;
mod show;
mod workshop;

use crate::failure::{Exit, Failure, Result};
use crate::output::{self, program};
use crate::paint::{Stream, Style};
use crate::run::{AllowedHosts, cannot_listen, until_interrupted};
use crate::tls::ServerOptions;
use clap::Args;
use client::Client;
use dovetail::blocking::{Channel, ChannelBuilder};
use dovetail::reflection::Reflection;
use dovetail::server::Health;
use dovetail::transport::MemoryConnector;
use dovetail::{Address, Running, Server, Status, Wire};
use dovetail_protocol::connect::Codec;
use json::JsonClient;
use probe::{Outcome, probe};
use show::{Row, Way};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use workshop::{CONTRACT, DESCRIPTORS, Joiner, Notes, StockServer, WorkshopClient, WorkshopServer};

/// Show every wire on one port, with the time of a call
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail demo                              the table; then it waits for your calls
  dovetail demo --port 9191
  dovetail demo --once                       only the table, for scripts
  dovetail demo --contract > demo.thrift     the contract of the demo

One server, in this process, answers on one TCP port, a Unix socket and in memory. For each
wire the table shows whether a typed result, a declared exception and a one-way call
arrive, and the median time of a call with a result by each way. Exit code: 1 if one failed.")]
pub(crate) struct Demo {
    /// The port on 127.0.0.1
    #[arg(short, long, default_value_t = 9090, value_name = "PORT")]
    port: u16,
    /// End after the table
    #[arg(long)]
    once: bool,
    /// Print the contract of the demo, and do nothing else
    #[arg(long, conflicts_with_all = ["once", "port"])]
    contract: bool,
    #[command(flatten)]
    tls: ServerOptions,
    #[command(flatten)]
    hosts: AllowedHosts,
}

/// Dovetail's own wire, what clients speak over HTTP/2, msgpack-rpc, and every one of Thrift; the
/// old binary protocol has no form inside THeader.
const WIRES: &[&str] = &[
    "dovetail",
    "grpc",
    "grpc-web",
    "connect",
    "msgpack-rpc",
    "binary",
    "binary+framed",
    "binary+header",
    "binary+header:zlib",
    "binary+header:zstd",
    "binary+http",
    "binary-old",
    "binary-old+framed",
    "binary-old+http",
    "compact",
    "compact+framed",
    "compact+header",
    "compact+header:zlib",
    "compact+header:zstd",
    "compact+http",
    "json",
    "json+framed",
    "json+header",
    "json+http",
];

/// How long one call of the demo may take.
const TIMEOUT: Duration = Duration::from_secs(5);

impl Demo {
    pub(crate) fn run(self) -> Result {
        if self.contract {
            return output::document(CONTRACT);
        }
        let stand = Stand::start(self.port, &self.tls, &self.hosts)?;
        let paint = Stream::Stdout.paint();
        let heading = format!(
            "One server on tcp://127.0.0.1:{}, two services, {} wires, four ways to it:",
            stand.port,
            wires().count()
        );
        let heading = paint.text(Style::Strong, &heading);
        let mut table = show::table();
        output::write(&format!("{heading}\n\n{}", table.heading(paint)))?;
        let mut rows = Vec::new();
        for row in stand.rows() {
            output::write(&show::line(&mut table, &row, paint))?;
            rows.push(row);
        }
        output::write("\n")?;
        let problems: Vec<String> = rows.iter().flat_map(Row::problems).collect();
        problems.iter().for_each(|problem| output::tell(problem));
        if self.once {
            return stand.verdict(&problems);
        }
        let instructions = show::instructions(&program(), stand.port, &rows);
        output::write(&format!("{instructions}\nCtrl-C ends the server.\n"))?;
        until_interrupted(stand.running)
    }
}

/// The server of the demo, and the ways to it.
struct Stand {
    running: Running,
    port: u16,
    memory: MemoryConnector,
    notes: Arc<Notes>,
    /// A Unix socket in the folder for temporary files; the server removes it at its end.
    socket: PathBuf,
}

impl Stand {
    fn start(port: u16, tls: &ServerOptions, hosts: &AllowedHosts) -> Result<Stand> {
        let joiner = Joiner::default();
        let name = format!("dovetail-demo-{}.sock", std::process::id());
        let socket = std::env::temp_dir().join(name);
        let address = format!("127.0.0.1:{port}");
        let server = hosts.apply(Server::new(), &Address::Tcp(address));
        let server = tls
            .apply(server)?
            .service(WorkshopServer::new(joiner.clone()))
            .service(StockServer::new(joiner.clone()))
            .reflection(&Reflection::of(DESCRIPTORS).unwrap_or_default())
            .health(&Health::default())
            .listen(&format!("tcp://127.0.0.1:{port}"))
            .map_err(|problem| cannot_listen(&problem, "--port"))?
            .listen(&format!("unix:{}", socket.display()))
            .map_err(|problem| cannot_listen(&problem, "TMPDIR"))?;
        let (server, memory) = server.in_process();
        let running = server.start().map_err(|problem| {
            Failure::new(Exit::Failed, format!("cannot start the server: {problem}"))
        })?;
        // Port 0 is any that is free.
        let port = match running.addresses().first() {
            Some(Address::Tcp(place)) => place
                .rsplit(':')
                .next()
                .and_then(|port| port.parse().ok())
                .unwrap_or(port),
            _ => port,
        };
        Ok(Stand {
            running,
            port,
            memory,
            notes: joiner.notes(),
            socket,
        })
    }

    /// Calls the server over every wire, by every way.
    fn rows(&self) -> impl Iterator<Item = Row> {
        let moved = [(Wire::Dovetail, true)].into_iter();
        let moved = moved.filter(|_| cfg!(target_os = "linux"));
        let stay = wires().map(|wire| (wire, false));
        moved.chain(stay).map(|(wire, moves)| self.row(wire, moves))
    }

    fn row(&self, wire: Wire, moves: bool) -> Row {
        let outcome = |way: &Way| match self.client(wire, *way, moves) {
            Ok(client) => client.map(|client| {
                let label = format!("{wire} over {}, moves: {moves}", way.name());
                probe(&client, &self.notes, &label)
            }),
            Err(status) => Some(Outcome::failed(&status.to_string())),
        };
        let ways = Way::ALL.iter().map(|way| match moves && *way != Way::Tcp {
            true => None,
            false => outcome(way),
        });
        Row {
            wire,
            moves,
            outcomes: ways.collect(),
        }
    }

    /// A client of a wire by this way, where there is one: HTTP and gRPC name the service in every
    /// call, and come by a socket.
    fn client(
        &self,
        wire: Wire,
        way: Way,
        moves: bool,
    ) -> std::result::Result<Option<Client>, Status> {
        let address = match way {
            Way::Unix => format!("unix:{}", self.socket.display()),
            _ => format!("tcp://127.0.0.1:{}", self.port),
        };
        match (wire, way) {
            (_, Way::Multiplexed | Way::InProcess) if names_the_service(wire) => Ok(None),
            (Wire::Connect(Codec::Json), _) => {
                let address: Address = address
                    .parse()
                    .map_err(|error| Status::new(dovetail::Code::Internal, format!("{error}")))?;
                let client = JsonClient::connect(&address, TIMEOUT)?;
                Ok(Some(Client::Json(client)))
            }
            (Wire::Grpc | Wire::GrpcWeb(_) | Wire::Connect(_), _) => {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build();
                let runtime = runtime.map_err(|error| {
                    Status::new(dovetail::Code::Internal, format!("no runtime: {error}"))
                })?;
                let builder = dovetail::Channel::builder(&address)?;
                let channel = builder.wire(wire).timeout(TIMEOUT).build();
                Ok(Some(Client::Async(runtime, WorkshopClient::from(channel))))
            }
            _ => {
                let channel = self.connect(&address, way)?.wire(wire).timeout(TIMEOUT);
                Ok(Some(channel.local_upgrade(moves).build().into()))
            }
        }
    }

    fn connect(&self, address: &str, way: Way) -> std::result::Result<ChannelBuilder, Status> {
        Ok(match way {
            Way::Tcp | Way::Unix => Channel::builder(address)?,
            Way::Multiplexed => Channel::builder(address)?.service("Workshop"),
            Way::InProcess => Channel::through(Arc::new(self.memory.clone())),
        })
    }

    /// Ends the server, and says whether all went well.
    fn verdict(self, problems: &[String]) -> Result {
        self.running.shutdown(TIMEOUT);
        match problems {
            [] => Ok(()),
            _ => Err(Failure::new(
                Exit::Failed,
                format!("{} of the calls failed", problems.len()),
            )
            .help("the lines above say which; please report them")),
        }
    }
}

/// The wires of the table.
fn wires() -> impl Iterator<Item = Wire> {
    let named = WIRES.iter().filter_map(|name| name.parse().ok());
    named.chain([Wire::Connect(Codec::Json)])
}

/// True for HTTP/2 and JSON, which need no further way to say which service is called.
fn names_the_service(wire: Wire) -> bool {
    matches!(wire, Wire::Grpc | Wire::GrpcWeb(_) | Wire::Connect(_))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Runs a line of a terminal with curl in it, and gives what it prints.
    fn run(line: &str) -> String {
        let line = line.replacen("curl ", "curl --silent --show-error ", 1);
        let output = Command::new("sh").args(["-c", &line]).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        String::from_utf8(said).unwrap()
    }

    /// The lines with curl that people are told to try do what they are said to do.
    #[test]
    fn curl_calls_the_demo() {
        if Command::new("curl").arg("--version").output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "curl is not installed");
            eprintln!("skipped: curl is not installed");
            return;
        }
        let Ok(stand) = Stand::start(0, &ServerOptions::default(), &AllowedHosts::default()) else {
            panic!("the demo does not start");
        };
        let place = format!("127.0.0.1:{}", stand.port);
        let page = include_str!("../../../../../docs/http.md").replace("127.0.0.1:9090", &place);
        let session = page.split("```console\n").nth(1).unwrap();
        let session = session.split("```").next().unwrap();
        for part in session.split("$ ").skip(1) {
            let (line, printed) = part.split_once('\n').unwrap();
            assert_eq!(run(line), printed.trim_end(), "{line}");
        }
        assert!(stand.running.shutdown(TIMEOUT));
    }
}

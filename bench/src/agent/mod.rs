//! An agent: starts the programs of its host when a coordinator on another one asks for it.

mod handler;
mod token;

use crate::suite::local::{Local, Programs};
use crate::suite::{Result, host};
use clap::Args;
use contract::AgentServer;
use dovetail::server::Model;
use dovetail::transport::Polling;
use dovetail::{Address, Server};
use handler::Handler;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use token::Guarded;

#[allow(missing_docs, unreachable_pub)]
mod generated {
    ::dovetail::include_contract!("agent");
}

pub(crate) use generated::agent as contract;

/// The header of each call that carries the token.
pub(crate) const TOKEN: &str = "token";

/// How often programs are looked for whose time is over.
const SWEEP: Duration = Duration::from_secs(1);

#[derive(Args)]
pub(crate) struct Options {
    /// HOST:PORT, by which coordinators find this agent, and clients on other hosts its servers.
    #[arg(long)]
    listen: SocketAddr,
    /// A file with the secret that coordinators must know, too.
    #[arg(long)]
    token_file: PathBuf,
    #[command(flatten)]
    programs: Programs,
}

pub(crate) fn run(options: &Options) -> ExitCode {
    match work(options) {
        Ok(never) => match never {},
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn work(options: &Options) -> Result<std::convert::Infallible> {
    let ip = options.listen.ip();
    if ip.is_unspecified() {
        return Err(
            format!("clients cannot connect to {ip}: name one address of this host").into(),
        );
    }
    let token = host::token(&options.token_file)?;
    let free_port = SocketAddr::new(ip, 0).to_string();
    let (programs, missing) = Local::describe(&options.programs, Some(free_port))?;
    let handler = Arc::new(Handler::new(programs, missing));
    let service = Guarded::new(token, AgentServer::from(handler.clone()));
    // A call waits for its program, on a thread that nothing else waits for; nor does it burn the
    // processor.
    let server = Server::new()
        .service(service)
        .model(Model::ThreadPerConnection)
        .polling(Polling::Never)
        .listen(&options.listen.to_string())?
        .start()?;
    if let [Address::Tcp(address)] = server.addresses() {
        println!("READY {address}");
    }
    loop {
        thread::sleep(SWEEP);
        handler.sweep();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::{AgentBlockingClient, Load};
    use dovetail::blocking::Channel;

    /// A channel to an agent without programs, whose token is `secret`.
    fn channel(wire: &str) -> Channel {
        let handler = Handler::new(Local::default(), Vec::new());
        let service = Guarded::new("secret".to_owned(), AgentServer::new(handler));
        let (server, connector) = Server::new().service(service).in_process();
        // It goes on until the process ends.
        drop(server.start().unwrap_or_else(|e| panic!("{e}")));
        let wire = wire.parse().unwrap_or_else(|e| panic!("{e}"));
        Channel::through(Arc::new(connector)).wire(wire).build()
    }

    #[test]
    fn calls_need_the_token() {
        let rows = [
            ("dovetail", Some("secret"), true),
            ("dovetail", Some("secre"), false),
            ("dovetail", Some("secrets"), false),
            ("dovetail", Some("Secret"), false),
            ("dovetail", Some(""), false),
            ("dovetail", None, false),
            ("compact+header", Some("secret"), true),
            // Carries no headers.
            ("binary+framed", Some("secret"), false),
        ];
        for (wire, token, expected) in rows {
            let channel = channel(wire);
            let channel = match token {
                Some(token) => channel.with_header(TOKEN, token),
                None => channel,
            };
            let described = AgentBlockingClient::from(channel).describe();
            let code = described.as_ref().err().map(dovetail::Status::code);
            let refused = (!expected).then_some(dovetail::Code::Unauthenticated);
            assert_eq!(code, refused, "{wire} {token:?}: {described:?}");
        }
    }

    #[test]
    fn nothing_but_programs_is_started() {
        let agent = AgentBlockingClient::from(channel("dovetail").with_header(TOKEN, "secret"));
        let load = |workload: &str, server: &str| Load {
            workload: workload.to_owned(),
            variant: "-".to_owned(),
            servers: vec![server.to_owned()],
            ..Load::default()
        };
        let client = |system, load| {
            let started = agent.start_client(system, &load, 1_000);
            started.err().map(|error| error.to_string())
        };
        let found = [
            agent
                .start_server("sh", 1_000)
                .err()
                .map(|error| error.to_string()),
            client("sh", load("get_answer", "127.0.0.1:1")),
            client("sh", load("get_answer; sh", "127.0.0.1:1")),
            client("sh", load("get_answer", "--mode")),
            agent.go(1).err().map(|error| error.to_string()),
        ];
        let expected = [
            "no system `sh` here",
            "no system `sh` here",
            "no workload `get_answer; sh`",
            "`--mode` is no address",
            "no process 1",
        ];
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                found.as_ref().is_some_and(|found| found.contains(expected)),
                "{found:?}: {expected}"
            );
        }
    }
}

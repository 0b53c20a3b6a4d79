//! Servers of this program: from their start to Ctrl-C.

use crate::address;
use crate::failure::{Exit, Failure, Result};
use crate::output::tell;
use crate::tls::ServerOptions;
use clap::Args;
use dovetail::admin::Admin;
use dovetail::reflection::Reflection;
use dovetail::{Address, Running, Server};
use dovetail_codegen::openapi;
use dovetail_schema::Schema;
use std::io;
use std::time::Duration;

/// How long calls may take to finish after Ctrl-C.
const DRAIN: Duration = Duration::from_secs(10);

/// The address at which a server of somebody's contract is reached.
#[derive(Debug, Args)]
pub(crate) struct Entrance {
    /// tcp://HOST:PORT, tls://HOST:PORT or unix:/PATH; port 0 is any that is free
    #[arg(
        short,
        long,
        value_name = "ADDRESS",
        default_value = "tcp://127.0.0.1:9090"
    )]
    listen: String,
    #[command(flatten)]
    tls: ServerOptions,
    #[command(flatten)]
    hosts: AllowedHosts,
    /// Show the administration here, as in tcp://127.0.0.1:9091: a console for browsers, and the
    /// server of `dovetail admin`, `top` and `capture`
    #[arg(long, value_name = "ADDRESS")]
    admin: Option<String>,
}

/// A server that runs, with the one that shows its administration.
pub(crate) struct Served {
    running: Running,
    admin: Option<Running>,
    /// The address that it got, with its port.
    pub(crate) address: Address,
}

/// Host names that requests from browsers may use.
#[derive(Debug, Default, Args)]
pub(crate) struct AllowedHosts {
    /// Requests over HTTP may name this host, too: NAME, .DOMAIN or * for any. IP addresses and
    /// localhost always pass
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
}

impl AllowedHosts {
    /// Applies them to a server with this address, whose own name passes, too.
    pub(crate) fn apply(&self, server: Server, address: &Address) -> Server {
        let plain = match address {
            Address::Tcp(place) => Some(place),
            _ => None,
        };
        if plain.is_some() && self.allow_host.iter().any(|host| host == "*") {
            tell(
                "warning: requests may name any host, so pages of other sites can call by a name of their own (DNS \
                 rebinding)",
            );
        }
        let own = plain.and_then(|place| place.rsplit_once(':'));
        let own = own.map(|(host, _)| host.to_owned());
        server.allowed_hosts(self.allow_host.iter().cloned().chain(own))
    }
}

impl Entrance {
    pub(crate) fn address(&self) -> Result<Address> {
        address::parse(&self.listen)
    }

    /// Starts a server at the address.
    pub(crate) fn start(&self, server: Server) -> Result<Served> {
        let address = self.address()?;
        let admin = self.admin.as_ref().map(|at| (Admin::new(), at));
        let server = match &admin {
            Some((admin, _)) => server.administered(admin),
            None => server,
        };
        let (running, address) = start(server, address, "--listen")?;
        let shown = admin.map(|(admin, at)| {
            let at = address::parse(at)?;
            let (shown, at) = start(Server::new().admin(&admin), at, "--admin")?;
            tell(&format!("administration on {at}"));
            Ok(shown)
        });
        Ok(Served {
            running,
            admin: shown.transpose()?,
            address,
        })
    }

    /// A server that describes the contract by OpenAPI, gRPC's reflection and Dovetail's. Each
    /// description leaves out the parts that it has no form for.
    pub(crate) fn server(&self, schema: &Schema) -> Result<Server> {
        let server = self.hosts.apply(Server::new(), &self.address()?);
        let server = self.tls.apply(server)?;
        let server = match openapi::write(schema) {
            Ok(document) => server.openapi(document.text),
            Err(_) => server,
        };
        let descriptors = dovetail_build::descriptors_of(schema).ok();
        let reflection = descriptors.and_then(|descriptors| Reflection::of(descriptors).ok());
        Ok(server.reflection(&reflection.unwrap_or_default()))
    }
}

impl Served {
    /// Waits for Ctrl-C or SIGTERM, then lets the calls that have arrived finish.
    pub(crate) fn until_interrupted(self) -> Result {
        let ended = until_interrupted(self.running);
        drop(self.admin);
        ended
    }
}

/// Starts a server at an address, which an option has given. Returns the address that it got, with
/// its port.
fn start(server: Server, address: Address, option: &str) -> Result<(Running, Address)> {
    let listening = server.listen(&address.to_string());
    let listening = listening.map_err(|problem| cannot_listen(&problem, option))?;
    let running = listening.start().map_err(|problem| {
        let secure = matches!(address, Address::Tls(_));
        Failure::new(Exit::Failed, format!("cannot start the server: {problem}"))
            .maybe_help(secure.then_some("a certificate is given with --tls-cert and --tls-key"))
    })?;
    let at = running.addresses().first().cloned().unwrap_or(address);
    Ok((running, at))
}

/// Waits for Ctrl-C or SIGTERM, then lets the calls that have arrived finish.
pub(crate) fn until_interrupted(running: Running) -> Result {
    let waited = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(interrupted()));
    eprintln!("\nstopping: calls that have arrived are still answered");
    let drained = running.shutdown(DRAIN);
    match (waited, drained) {
        (Err(problem), _) => Err(Failure::new(
            Exit::Failed,
            format!("cannot wait for Ctrl-C: {problem}"),
        )),
        (Ok(()), false) => Err(Failure::new(
            Exit::Failed,
            format!("some calls did not finish within {DRAIN:?} and were cut off"),
        )),
        (Ok(()), true) => Ok(()),
    }
}

async fn interrupted() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

/// Why a server cannot listen, with the option that chooses another place.
pub(crate) fn cannot_listen(problem: &io::Error, option: &str) -> Failure {
    Failure::new(Exit::Failed, problem).help(match problem.kind() {
        io::ErrorKind::AddrInUse => format!("choose another one with {option}"),
        io::ErrorKind::PermissionDenied => {
            format!("choose a port above 1023, or a path that you may write to, with {option}")
        }
        _ => format!("choose another address with {option}"),
    })
}

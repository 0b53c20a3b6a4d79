//! A server makes itself known.

use super::wishes::{Wisher, Wishes, wishes};
use super::{Backend, unusable};
use crate::{Address, Status};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Keeps servers in a registry.
///
/// [`Etcd`](super::Etcd) is one. Others are made for registries that a team has.
pub trait Registrar: Send + Sync + 'static {
    /// The name, for messages.
    fn name(&self) -> String;

    /// Registers servers, and keeps them registered until [`Term::wait`] is false; then takes the
    /// registration back. It runs on a thread of its own, and may block there.
    fn keep(&self, servers: &[Backend], term: &Term);
}

/// A server registers itself while it runs: [`Server::register`](crate::Server::register).
///
/// ```no_run
/// use dovetail::Server;
/// use dovetail::names::Registration;
///
/// # fn serve(orders: impl dovetail::Service) -> Result<(), Box<dyn std::error::Error>> {
/// let registration = Registration::new("etcd://10.0.0.1:2379/services/orders")?
///     .advertise(["tcp://10.0.0.7:9090"])
///     .weight(3)
///     .zone("eu-1");
/// let server = Server::new().service(orders).register(registration);
/// let running = server.listen("tcp://0.0.0.0:9090")?.start()?;
/// # drop(running);
/// # Ok(())
/// # }
/// ```
#[must_use = "a registration does nothing before `Server::register`"]
pub struct Registration {
    registrar: Arc<dyn Registrar>,
    addresses: Option<Vec<String>>,
    template: Backend,
    ttl: Duration,
    linger: Duration,
}

/// The time after which a registry forgets a server that is gone.
const TTL: Duration = Duration::from_secs(10);

/// The time that clients get to hear that a server goes.
const LINGER: Duration = Duration::from_secs(1);

/// The time that a registry gets to take a registration back.
pub(super) const FAREWELL: Duration = Duration::from_secs(2);

/// The time between two looks whether that is done.
const LOOK: Duration = Duration::from_millis(5);

impl Registration {
    /// Registers at a name: `etcd://10.0.0.1:2379/services/orders` (feature `etcd`),
    /// `zk://10.0.0.1:2181/services/orders` (feature `zookeeper`), `consul://127.0.0.1:8500/orders`
    /// (feature `consul`).
    pub fn new(name: &str) -> Result<Self, Status> {
        match name.split_once(':') {
            #[cfg(feature = "etcd")]
            Some(("etcd", rest)) => {
                let etcd = super::Etcd::new(rest);
                etcd.map(Self::by).map_err(|why| unusable(name, why))
            }
            #[cfg(not(feature = "etcd"))]
            Some(("etcd", _)) => Err(unusable(name, super::NO_ETCD)),
            #[cfg(feature = "zookeeper")]
            Some(("zk", rest)) => {
                let zookeeper = super::ZooKeeper::new(rest);
                zookeeper.map(Self::by).map_err(|why| unusable(name, why))
            }
            #[cfg(not(feature = "zookeeper"))]
            Some(("zk", _)) => Err(unusable(name, super::NO_ZOOKEEPER)),
            #[cfg(feature = "consul")]
            Some(("consul", rest)) => {
                let consul = super::Consul::new(rest);
                consul.map(Self::by).map_err(|why| unusable(name, why))
            }
            #[cfg(not(feature = "consul"))]
            Some(("consul", _)) => Err(unusable(name, super::NO_CONSUL)),
            _ => Err(unusable(
                name,
                "servers register at etcd://host:port/prefix, zk://host:port/path, consul://host:port/service, or by a `Registrar` of one's own",
            )),
        }
    }

    /// Registers by a registrar of one's own.
    pub fn by(registrar: impl Registrar) -> Self {
        Registration {
            registrar: Arc::new(registrar),
            addresses: None,
            template: Backend::new(""),
            ttl: TTL,
            linger: LINGER,
        }
    }

    /// The addresses at which clients reach the server. Default: those at which it listens by TCP.
    pub fn advertise(mut self, addresses: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.addresses = Some(addresses.into_iter().map(Into::into).collect());
        self
    }

    /// Its share of the calls. Default 1.
    pub fn weight(mut self, weight: u32) -> Self {
        self.template.weight = weight;
        self
    }

    /// Its priority. Default 0, the highest.
    pub fn priority(mut self, priority: u32) -> Self {
        self.template.priority = priority;
        self
    }

    /// The zone in which it runs.
    pub fn zone(mut self, zone: impl Into<String>) -> Self {
        self.template.zone = Some(zone.into());
        self
    }

    /// The version of its program.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.template.version = Some(version.into());
        self
    }

    /// The time after which the registry forgets a server that is gone without a word. Default 10
    /// s, at least 1 s.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl.max(Duration::from_secs(1));
        self
    }

    /// The time between the end of the registration and that of the server, in which clients hear
    /// of it. It is a part of the time that [`Running::shutdown`](crate::Running::shutdown) has, at
    /// most half. Default 1 s.
    pub fn linger(mut self, linger: Duration) -> Self {
        self.linger = linger;
        self
    }

    /// Begins to register a server that listens at these addresses.
    pub(crate) fn start(self, listening: &[Address]) -> io::Result<Registered> {
        let invalid = |why: String| {
            let why = format!("{}: {why}", self.registrar.name());
            io::Error::new(io::ErrorKind::InvalidInput, why)
        };
        let addresses = match &self.addresses {
            Some(addresses) => addresses.clone(),
            None => reachable(listening).map_err(invalid)?,
        };
        let mut servers = Vec::new();
        for address in addresses {
            let parsed = super::list::backend(&address).map_err(invalid)?;
            let mut server = self.template.clone();
            server.address = parsed.address;
            servers.push(server);
        }
        let (wisher, wishes) = wishes();
        let term = Arc::new(Term {
            wishes,
            ttl: self.ttl,
            state: Mutex::default(),
        });
        let name = self.registrar.name();
        let (registrar, kept) = (self.registrar, term.clone());
        let thread = thread::Builder::new().name("dovetail registration".to_owned());
        let thread = thread.spawn(move || registrar.keep(&servers, &kept))?;
        Ok(Registered {
            name,
            term,
            wisher,
            thread,
            linger: self.linger,
        })
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registration")
            .field(&self.registrar.name())
            .finish()
    }
}

/// Returns the addresses that clients elsewhere can use.
fn reachable(listening: &[Address]) -> Result<Vec<String>, String> {
    let network = |address: &&Address| matches!(address, Address::Tcp(_) | Address::Tls(_));
    let addresses: Vec<_> = listening.iter().filter(network).collect();
    let text = addresses.iter().map(ToString::to_string);
    let addresses: Vec<String> = text.collect();
    let any = |address: &&String| address.contains("//0.0.0.0:") || address.contains("//[::]:");
    match addresses.iter().find(any) {
        Some(any) => Err(format!(
            "{any} is no address that clients can use: say which with `Registration::advertise`"
        )),
        None if addresses.is_empty() => Err(
            "the server listens at no address of TCP: say how clients reach it with `Registration::advertise`"
                .to_owned(),
        ),
        None => Ok(addresses),
    }
}

/// Whether a server is registered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RegistrationStatus {
    /// The name at which it registers.
    pub name: String,
    /// The registry knows the server.
    pub is_registered: bool,
    /// Why it could not be registered the last time, while that is so.
    pub failure: Option<String>,
}

/// A registrar's time of work.
pub struct Term {
    wishes: Wishes,
    ttl: Duration,
    state: Mutex<RegistrationState>,
}

#[derive(Default)]
struct RegistrationState {
    is_registered: bool,
    failure: Option<String>,
}

impl Term {
    /// The time after which the registry is to forget the servers, where it is not told that they
    /// are still there.
    pub fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Waits before the registrar tells the registry again. False once the server goes: the
    /// registrar takes the registration back then, and ends.
    pub fn wait(&self, time: Duration) -> bool {
        self.wishes.wait(time)
    }

    /// The servers are registered.
    pub fn registered(&self) {
        let mut state = self.lock();
        if !state.is_registered {
            tracing::info!("the server is registered");
        }
        state.is_registered = true;
        state.failure = None;
    }

    /// The servers are not registered, or not for long any more. The registrar tries again.
    pub fn failed(&self, why: impl fmt::Display) {
        let why = why.to_string();
        let mut state = self.lock();
        if state.failure.as_ref() != Some(&why) {
            tracing::warn!(why, "the server is not registered");
        }
        state.is_registered = false;
        state.failure = Some(why);
    }

    #[cfg(any(feature = "etcd", feature = "zookeeper"))]
    pub(super) fn wishes(&self) -> &Wishes {
        &self.wishes
    }

    fn lock(&self) -> MutexGuard<'_, RegistrationState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Term")
            .field("ttl", &self.ttl)
            .finish_non_exhaustive()
    }
}

/// A server that is registered.
pub(crate) struct Registered {
    name: String,
    term: Arc<Term>,
    wisher: Wisher,
    thread: JoinHandle<()>,
    linger: Duration,
}

impl Registered {
    pub(crate) fn status(&self) -> RegistrationStatus {
        let state = self.term.lock();
        RegistrationStatus {
            name: self.name.clone(),
            is_registered: state.is_registered,
            failure: state.failure.clone(),
        }
    }

    /// Takes registrations back, and waits until clients know. `drain` is the time that the server
    /// has for its end.
    pub(crate) fn take_back(all: Vec<Registered>, drain: Duration) {
        let linger = all.iter().map(|one| one.linger).max();
        let Some(linger) = linger else { return };
        let until = Instant::now() + FAREWELL.min(drain / 2);
        let threads: Vec<_> = all
            .into_iter()
            .map(|one| {
                drop(one.wisher);
                one.thread
            })
            .collect();
        // A registry that does not answer forgets the server by itself. Threads cannot be joined
        // for a time.
        while Instant::now() < until && threads.iter().any(|thread| !thread.is_finished()) {
            thread::sleep(LOOK);
        }
        thread::sleep(linger.min(drain / 2));
    }
}

//! Names of services, and the servers behind them.
//!
//! A channel is made for an address, or for a name that stands for several servers:
//!
//! | name | servers |
//! |---|---|
//! | `tcp://10.0.0.1:9090,tcp://10.0.0.2:9090` | these |
//! | `file:///etc/orders.servers` | those of a file, which is read again when it changes: one address on a line, with `weight=2`, `priority=1`, `zone=eu` and `version=1.4` behind it |
//! | `dns:///orders.example.com:9090` | all addresses of the host, as long as their records say (A and AAAA; feature `dns`), called as the TXT record of `_grpc_config.orders.example.com` says, if there is one (gRFC A2) |
//! | `dns:///_orders._tcp.example.com` | those of the service's records, with their priorities and weights (SRV) |
//! | `dns://10.0.0.53:53/orders:9090` | the same, by asking this server |
//! | `etcd://10.0.0.1:2379/services/orders` | those that are registered below a prefix of [`Etcd`] (feature `etcd`) |
//! | `zk://10.0.0.1:2181/services/orders` | those that are registered below a node of [`ZooKeeper`] (feature `zookeeper`) |
//! | `consul://127.0.0.1:8500/orders` | the instances of a service of [`Consul`] whose checks pass (feature `consul`) |
//! | `k8s://namespace/orders:9090` | the endpoints of a service of [`Kubernetes`] that are ready (feature `kubernetes`) |
//!
//! Other registries take a [`Resolver`] of one's own, and
//! [`Channel::resolved_by`](crate::blocking::Channel::resolved_by). An answer without servers, and
//! a resolver that fails, change nothing: the channel keeps the last good list.

#[cfg(feature = "consul")]
mod consul;
#[cfg(feature = "dns")]
mod dns;
#[cfg(all(feature = "dns", feature = "service-config"))]
mod dns_config;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
mod entry;
#[cfg(feature = "etcd")]
mod etcd;
mod file;
#[cfg(any(feature = "consul", feature = "kubernetes"))]
mod http;
#[cfg(feature = "kubernetes")]
mod kubernetes;
mod list;
mod registration;
mod registry;
mod status;
mod updates;
mod wishes;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
mod worker;
#[cfg(feature = "zookeeper")]
mod zookeeper;

pub use crate::client::HealthCheck;
#[cfg(feature = "consul")]
pub use consul::Consul;
pub use dovetail_balance::{
    Backend, BudgetSettings, FailurePercentage, HashRing, Health, LeastRequest, Outliers, Policy,
    ReportedWeights, State, Subset, SuccessRate,
};
#[cfg(feature = "etcd")]
pub use etcd::Etcd;
#[cfg(feature = "kubernetes")]
pub use kubernetes::Kubernetes;
pub use registration::{Registrar, Registration, RegistrationStatus, Term};
pub use registry::{ChannelStatus, channels};
pub use status::BackendStatus;
pub use updates::{Updates, Watch};
#[cfg(feature = "zookeeper")]
pub use zookeeper::ZooKeeper;

pub(crate) use registration::Registered;
pub(crate) use registry::{Named, list};

use crate::{Code, Status};
use file::File;
use list::List;
use std::sync::Arc;

/// Finds the servers behind a name.
///
/// ```
/// use dovetail::names::{Backend, Resolution, Resolver, Updates};
/// use std::time::Duration;
///
/// /// Asks an inventory every ten seconds.
/// struct Inventory;
///
/// impl Resolver for Inventory {
///     fn name(&self) -> String {
///         "inventory of orders".to_owned()
///     }
///
///     fn watch(&self, updates: &Updates) {
///         loop {
///             let servers = vec![Backend::new("tcp://10.0.0.1:9090").weight(3)];
///             updates.found(Resolution::of(servers));
///             if !updates.wait(Duration::from_secs(10)) {
///                 return;
///             }
///         }
///     }
/// }
/// ```
pub trait Resolver: Send + Sync + 'static {
    /// The name, for messages.
    fn name(&self) -> String;

    /// `host:port` as servers are to be told it, where that does not follow from their addresses:
    /// in the header `Host`, and where TLS checks the name of a certificate.
    fn authority(&self) -> Option<String> {
        None
    }

    /// Finds the servers, and again when they may have changed, until [`Updates::wait`] is false.
    /// It runs on a thread of its own, and may block there.
    fn watch(&self, updates: &Updates);
}

/// The servers behind a name.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Resolution {
    /// The servers.
    pub backends: Vec<Backend>,
    /// How to call them, as gRPC's service config says in JSON (feature `service-config`). It
    /// counts before the settings of the channel's builder, which count where it says nothing, and
    /// when a later resolution has none. One that cannot be used changes nothing.
    pub service_config: Option<String>,
}

impl Resolution {
    /// These servers.
    #[must_use]
    pub fn of(backends: Vec<Backend>) -> Self {
        Resolution {
            backends,
            service_config: None,
        }
    }

    /// With a service config.
    #[must_use]
    pub fn service_config(mut self, json: impl Into<String>) -> Self {
        self.service_config = Some(json.into());
        self
    }
}

/// Finds the servers of a name without a channel, and tells the listener, until the watch is
/// dropped. The listener gets the servers, or the reason why they cannot be found. An error where
/// the name is none.
///
/// ```
/// use dovetail::names;
/// use std::sync::mpsc;
///
/// let (tell, told) = mpsc::channel();
/// let name = "tcp://10.0.0.1:9090,tcp://10.0.0.2:9090";
/// let watch = names::watch(name, move |news| drop(tell.send(news)))?;
/// let servers = told.recv().expect("a list").expect("servers");
/// assert_eq!(servers.backends.len(), 2);
/// # Ok::<(), dovetail::Status>(())
/// ```
pub fn watch(
    name: &str,
    listener: impl Fn(Result<Resolution, String>) + Send + Sync + 'static,
) -> Result<Watch, Status> {
    let resolver = match resolver(name)? {
        Some(resolver) => resolver,
        None => {
            let list = List::new(name);
            Arc::new(list.map_err(|why| Status::new(Code::InvalidArgument, why))?)
        }
    };
    let started = Watch::start(resolver, listener);
    started.map_err(|error| Status::new(Code::Unavailable, format!("no thread: {error}")))
}

/// Returns an error for a target that no channel can be made for.
#[cfg(feature = "config")]
pub(crate) fn check(target: &str) -> Result<(), String> {
    match resolver(target) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => {
            let parsed: Result<crate::Address, _> = target.parse();
            parsed.map(drop).map_err(|error| error.to_string())
        }
        Err(status) => Err(status.message().to_owned()),
    }
}

/// Returns the resolver for the target of a channel; `None` where that is one address.
pub(crate) fn resolver(target: &str) -> Result<Option<Arc<dyn Resolver>>, Status> {
    let made: Result<Arc<dyn Resolver>, String> = match target.split_once(':') {
        Some(("file", path)) => File::new(path).map(|file| Arc::new(file) as _),
        #[cfg(feature = "dns")]
        Some(("dns", name)) => dns::Dns::new(name).map(|dns| Arc::new(dns) as _),
        #[cfg(not(feature = "dns"))]
        Some(("dns", _)) => {
            Err("names of DNS need the feature `dns` of the crate `dovetail-rpc`".to_owned())
        }
        #[cfg(feature = "etcd")]
        Some(("etcd", name)) => Etcd::new(name).map(|etcd| Arc::new(etcd) as _),
        #[cfg(not(feature = "etcd"))]
        Some(("etcd", _)) => Err(NO_ETCD.to_owned()),
        #[cfg(feature = "zookeeper")]
        Some(("zk", name)) => ZooKeeper::new(name).map(|zookeeper| Arc::new(zookeeper) as _),
        #[cfg(not(feature = "zookeeper"))]
        Some(("zk", _)) => Err(NO_ZOOKEEPER.to_owned()),
        #[cfg(feature = "consul")]
        Some(("consul", name)) => consul::Consul::new(name).map(|consul| Arc::new(consul) as _),
        #[cfg(not(feature = "consul"))]
        Some(("consul", _)) => Err(NO_CONSUL.to_owned()),
        #[cfg(feature = "kubernetes")]
        Some(("k8s", name)) => Kubernetes::new(name).map(|service| Arc::new(service) as _),
        #[cfg(not(feature = "kubernetes"))]
        Some(("k8s", _)) => Err(
            "names of Kubernetes need the feature `kubernetes` of the crate `dovetail-rpc`"
                .to_owned(),
        ),
        _ if target.contains(',') => List::new(target).map(|list| Arc::new(list) as _),
        _ => return Ok(None),
    };
    made.map(Some).map_err(|why| unusable(target, why))
}

#[cfg(not(feature = "etcd"))]
const NO_ETCD: &str = "names of etcd need the feature `etcd` of the crate `dovetail-rpc`";

#[cfg(not(feature = "zookeeper"))]
const NO_ZOOKEEPER: &str =
    "names of ZooKeeper need the feature `zookeeper` of the crate `dovetail-rpc`";

#[cfg(not(feature = "consul"))]
const NO_CONSUL: &str = "names of Consul need the feature `consul` of the crate `dovetail-rpc`";

/// Returns host and port of a server, by which registries know it.
#[cfg(any(feature = "consul", feature = "etcd", feature = "zookeeper"))]
fn place(server: &Backend) -> &str {
    let address = &server.address;
    address.split_once("://").map_or(address, |(_, rest)| rest)
}

/// A host, which may be an address of IPv6, with a port.
#[cfg(any(
    feature = "consul",
    feature = "etcd",
    feature = "kubernetes",
    feature = "zookeeper"
))]
fn joined(host: &str, port: u16) -> String {
    match host.contains(':') && !host.starts_with('[') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

#[cold]
fn unusable(name: &str, why: impl std::fmt::Display) -> Status {
    Status::new(Code::InvalidArgument, format!("`{name}`: {why}"))
}

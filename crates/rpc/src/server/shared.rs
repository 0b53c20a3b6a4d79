//! The part of a server that all its drivers share.

use super::account::Account;
use super::hosts::Hosts;
use super::live::{Live, LiveOptions};
use super::observer::ServerObserver;
use super::peers::Peers;
use super::room::Entry;
use super::sources::Sources;
use super::{HalfClosed, Server, ServerLimits};
use crate::clock;
use crate::counters::SharedCounters;
use crate::dispatch::Dispatcher;
use crate::health::Health;
use crate::names::Registered;
use crate::observer::Observer;
use crate::peer::proxies::Proxies;
use crate::peer::traffic::Tap;
use crate::tls::ServerTls;
use crate::web::Page;
use dovetail_protocol::ConnectionLimits;
use dovetail_protocol::dovetail::Compression;
use dovetail_protocol::http::Cors;
use dovetail_protocol::thrift::ServerOptions;
use dovetail_wire::msgpack::Structs;
use std::any::Any;
#[cfg(feature = "async")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Its settings, its services, and what is going on.
pub(super) struct Shared {
    pub(super) options: Arc<ServerOptions>,
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) health: Option<Health>,
    pub(super) tls: Option<ServerTls>,
    #[cfg(feature = "grpc")]
    pub(super) keepalive: Option<crate::grpc::Keepalive>,
    pub(super) sizes: Sizes,
    pub(super) live: Live,
    /// Those of the threads beside the loops that decode at a time.
    #[cfg(feature = "async")]
    pub(super) decoders: tokio::sync::Semaphore,
    /// The bytes that are held for peers.
    pub(super) account: Account,
    pub(super) compression: Option<Compression>,
    pub(super) cors: Option<Cors>,
    /// Those that requests may name; see `hosts.rs` for where there are none.
    pub(super) hosts: Option<Hosts>,
    /// Answers to requests by GET that are no calls, by path.
    pub(super) pages: Vec<(&'static str, Page)>,
    /// Parts of the program that end with the server.
    _kept: Vec<Box<dyn Any + Send + Sync>>,
    pub(super) counters: Arc<SharedCounters>,
    /// Calls whose handlers wait.
    pub(super) waiting: AtomicUsize,
    /// The place where clients on the same machine find it by shared memory.
    pub(super) upgrade: Option<u128>,
    pub(super) half_closed: HalfClosed,
    pub(super) msgpack_structs: Structs,
    pub(super) draining: AtomicBool,
    /// Those who accept connections.
    pub(super) accepting: AtomicUsize,
    pub(super) next_connection: AtomicU64,
    /// By their numbers.
    pub(super) entries: Mutex<Vec<Arc<Entry>>>,
    pub(super) made: Instant,
    /// When a connection was last asked to make room, in milliseconds since the server was made,
    /// plus 1.
    pub(super) made_room: AtomicU64,
    /// The addresses that have called, for administrators; `None` without any.
    pub(super) peers: Option<Peers>,
    /// Takes the bytes of connections, while an administrator looks at them.
    tap: Mutex<Option<Arc<dyn Tap>>>,
    pub(super) sources: Sources,
    /// TLS handshakes under way.
    pub(super) handshakes: AtomicUsize,
    pub(super) handshake_sources: Sources,
    pub(super) proxies: Option<Arc<Proxies>>,
    /// Registrations, by which clients find the server.
    pub(super) registered: Mutex<Vec<Registered>>,
    /// Notified when a connection has ended.
    pub(super) left: Condvar,
    /// The async runtime for handlers on threads of their own: the first event loop's.
    #[cfg(feature = "async")]
    pub(super) runtime: OnceLock<tokio::runtime::Handle>,
}

/// The limits of sizes, as long as the server runs.
pub(super) struct Sizes {
    pub(super) connection: ConnectionLimits,
    pub(super) message: dovetail_wire::Limits,
}

impl Server {
    /// Makes the part that its drivers share.
    pub(super) fn into_shared(self, upgrade: Option<u128>) -> Arc<Shared> {
        self.live.set(LiveOptions {
            limits: self.limits,
            polling: self.polling,
        });
        let services = self.router.descriptors();
        let names = services.map(|service| service.full_name().into_owned());
        let names: Vec<_> = names.collect();
        let health = self.router.health.clone();
        let counters = Arc::<SharedCounters>::default();
        let shared = Arc::new(Shared {
            options: Arc::new(ServerOptions {
                limits: self.limits.connection,
                custom: self.protocols,
                ..ServerOptions::default()
            }),
            dispatcher: self.router.into_dispatcher(counters.clone()),
            health,
            tls: self.tls,
            #[cfg(feature = "grpc")]
            keepalive: self.keepalive,
            #[cfg(feature = "async")]
            decoders: tokio::sync::Semaphore::new(decoders()),
            account: Account::new(&self.limits, &counters),
            sizes: Sizes {
                connection: self.limits.connection,
                message: self.limits.message,
            },
            live: self.live,
            compression: self.compression,
            cors: self.cors,
            hosts: self.hosts,
            pages: self.pages,
            _kept: self.kept,
            counters,
            waiting: AtomicUsize::new(0),
            upgrade,
            half_closed: self.half_closed,
            msgpack_structs: self.msgpack_structs,
            draining: AtomicBool::new(false),
            accepting: AtomicUsize::new(0),
            next_connection: AtomicU64::new(0),
            entries: Mutex::default(),
            made: clock::now(),
            made_room: AtomicU64::new(0),
            peers: self.admin.is_some().then(Peers::default),
            tap: Mutex::default(),
            sources: Sources::default(),
            handshakes: AtomicUsize::new(0),
            handshake_sources: Sources::default(),
            proxies: self.proxies.map(Arc::new),
            registered: Mutex::default(),
            left: Condvar::new(),
            #[cfg(feature = "async")]
            runtime: OnceLock::new(),
        });
        let observer: Arc<dyn Observer> = Arc::new(ServerObserver::new(&shared, names));
        for statistics in self.statistics {
            statistics.watch(observer.clone());
        }
        if let Some(admin) = self.admin {
            admin.statistics().watch(observer.clone());
            admin.watch(observer);
        }
        shared
    }
}

/// One fewer than cores, so that long decoding leaves a core to the loops.
#[cfg(feature = "async")]
fn decoders() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores.saturating_sub(1).max(1)
}

impl Shared {
    pub(super) fn registered(&self) -> MutexGuard<'_, Vec<Registered>> {
        let registered = self.registered.lock();
        registered.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tap(&self) -> MutexGuard<'_, Option<Arc<dyn Tap>>> {
        self.tap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the limits of connections that begin now.
    pub(super) fn limits(&self) -> ServerLimits {
        self.live.get().limits
    }

    /// Runs a connection's thread such that its handlers find the runtime of the event loops, where
    /// the server has any.
    pub(super) fn in_runtime<R>(&self, serve: impl FnOnce() -> R) -> R {
        #[cfg(feature = "async")]
        let _entered = self.runtime.get().map(tokio::runtime::Handle::enter);
        serve()
    }
}

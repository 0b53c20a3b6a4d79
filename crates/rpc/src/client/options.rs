use super::contracts::Contracts;
use super::policies::{KeyOf, Policies};
use super::recycled::Recycled;
use super::security::Security;
use crate::Wire;
use crate::peer::intercept::{Around, Callee, ClientInterceptors};
use crate::peer::link::Link;
use crate::peer::options::{MAX_CALLS, PeerOptions};
use crate::transport::Polling;
use dovetail_protocol::Headers;
use dovetail_protocol::dovetail::Compression;
use dovetail_protocol::thrift::ClientOptions;
use dovetail_wire::msgpack::Structs;
use std::sync::Arc;
use std::time::Duration;

/// How a channel behaves. Builders fill it; handles derived from a channel change parts of it.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) wire: Wire,
    pub(crate) client: ClientOptions,
    pub(crate) decoding: dovetail_wire::Limits,
    pub(crate) compression: Option<Compression>,
    /// Whether messages are compressed; `None`: where it is said how.
    pub(crate) compress: Option<bool>,
    /// How messages are compressed over HTTP/2.
    #[cfg(feature = "grpc")]
    pub(crate) coding: Option<dovetail_protocol::grpc::Coding>,
    #[cfg(feature = "grpc")]
    pub(crate) keepalive: Option<crate::grpc::Keepalive>,
    /// The place for the headers and trailers of answers.
    #[cfg(feature = "grpc")]
    pub(crate) said: Option<crate::peer::response_headers::ResponseHeaders>,
    pub(crate) timeout: Duration,
    /// The time of calls with streams, as a whole.
    pub(crate) stream_timeout: Option<Duration>,
    pub(crate) connect_timeout: Duration,
    pub(crate) connect_wait: Duration,
    pub(crate) connections: usize,
    pub(crate) calls: usize,
    pub(crate) polling: Polling,
    pub(crate) local_upgrade: bool,
    pub(crate) security: Security,
    /// Nobody on the way can read what is sent, also without TLS.
    pub(crate) private: bool,
    pub(crate) backoff: Backoff,
    /// How often a call is tried again when its server says so.
    pub(crate) pushbacks: u32,
    /// How one of several servers is chosen.
    pub(crate) balance: dovetail_balance::Settings,
    /// The key that decides to which of several servers a call goes, for policies that hash.
    pub(crate) key: Option<KeyOf>,
    /// The most calls that wait for a server, where there are several.
    pub(crate) waiting_calls: Option<usize>,
    /// How servers are checked, where there are several.
    pub(crate) health_check: Option<super::servers::HealthCheck>,
    /// Calls wait for a server as long as they have time.
    pub(crate) wait_for_ready: bool,
    pub(crate) policies: Policies,
    pub(crate) headers: Headers,
    pub(crate) interceptors: ClientInterceptors,
    /// The form of structs over msgpack-rpc.
    pub(crate) msgpack_structs: Structs,
    /// Whether calls that handlers make take over deadline and trace.
    pub(crate) inherits: bool,
    /// Shared by all handles of a channel.
    pub(crate) recycled: Arc<Recycled>,
    /// Shared by all handles of a channel.
    pub(crate) contracts: Arc<Contracts>,
    /// The services of this end for the other one.
    pub(crate) local: Option<crate::dispatch::Local>,
    /// The server is in this process.
    #[cfg(feature = "async")]
    pub(crate) process: Option<crate::transport::MemoryConnector>,
}

/// How long to leave a server alone that could not be reached: `first`, then twice as long each
/// time up to `most`, each time between half and all of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// After the first failure. Default 50 ms.
    pub first: Duration,
    /// At most. Default 5 s.
    pub most: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff {
            first: Duration::from_millis(50),
            most: Duration::from_secs(5),
        }
    }
}

impl Backoff {
    /// How long to wait after this many failures in a row; `chance` is any number.
    pub(crate) fn delay(&self, failures: u32, chance: u64) -> Duration {
        let doubled = self
            .first
            .saturating_mul(1 << failures.saturating_sub(1).min(20));
        let full = doubled.min(self.most);
        let part = 0.5 + 0.5 * (chance % 1024) as f64 / 1024.0;
        full.mul_f64(part)
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            wire: Wire::Dovetail,
            client: ClientOptions::default(),
            decoding: dovetail_wire::Limits::default(),
            compression: None,
            compress: None,
            #[cfg(feature = "grpc")]
            coding: None,
            #[cfg(feature = "grpc")]
            keepalive: None,
            #[cfg(feature = "grpc")]
            said: None,
            timeout: Duration::from_secs(30),
            stream_timeout: None,
            inherits: true,
            msgpack_structs: Structs::default(),
            connect_timeout: Duration::from_secs(5),
            connect_wait: Duration::from_secs(2),
            connections: 1,
            calls: MAX_CALLS,
            polling: Polling::default(),
            local_upgrade: true,
            security: Security::Plain,
            private: false,
            backoff: Backoff::default(),
            pushbacks: 4,
            balance: dovetail_balance::Settings::default(),
            key: None,
            waiting_calls: None,
            health_check: None,
            wait_for_ready: false,
            policies: Policies::default(),
            headers: Headers::new(),
            interceptors: ClientInterceptors::default(),
            recycled: Arc::default(),
            contracts: Arc::default(),
            local: None,
            #[cfg(feature = "async")]
            process: None,
        }
    }
}

impl Options {
    /// Makes the options of a channel to a name.
    pub(super) fn of_name() -> Self {
        Options {
            policies: Policies::of_name(),
            ..Options::default()
        }
    }

    /// The identity of a call by this name.
    pub(super) fn callee<'a>(
        &'a self,
        name: &'a str,
        method: Option<&'static crate::method::Method>,
    ) -> Callee<'a> {
        Callee {
            name,
            service: self.client.service.as_deref(),
            method,
            wire: self.wire,
            private: self.is_private(),
        }
    }

    fn is_private(&self) -> bool {
        self.private || !matches!(self.security, Security::Plain)
    }

    /// Returns what channels to objects take over.
    pub(crate) fn around(&self) -> Around {
        Around {
            interceptors: self.interceptors.clone(),
            private: self.is_private(),
        }
    }

    /// The options of a channel over a connection that is there.
    pub(super) fn over(link: &Link) -> Self {
        let Around {
            interceptors,
            private,
        } = link.around.clone();
        Options {
            decoding: link.limits,
            interceptors,
            private,
            ..Options::default()
        }
    }

    /// Returns the options of each of its connections.
    pub(crate) fn peer(&self) -> PeerOptions {
        PeerOptions {
            wire: self.wire,
            client: self.client.clone(),
            decoding: self.decoding,
            compression: self.compression,
            timeout: self.timeout,
            calls: self.calls,
            msgpack_structs: self.msgpack_structs,
            serves: self.serves(),
            // A server that may call back keeps the connection for that.
            may_move: self.local_upgrade && self.wire == Wire::Dovetail && !self.serves(),
        }
    }

    /// Returns whether the server may call back.
    pub(crate) fn serves(&self) -> bool {
        self.local.is_some()
    }

    /// How messages may be compressed over HTTP/2.
    #[cfg(feature = "grpc")]
    pub(crate) fn coding(&self) -> Option<dovetail_protocol::grpc::Coding> {
        let asked = self.compress == Some(true);
        let known = asked.then_some(dovetail_protocol::grpc::Coding::Gzip);
        self.coding.or(known)
    }

    /// How they are.
    #[cfg(feature = "grpc")]
    pub(crate) fn packing(&self) -> Option<dovetail_protocol::grpc::Coding> {
        self.coding().filter(|_| self.compress != Some(false))
    }
}

/// Methods that handles of both kinds of channel have beside calls.
macro_rules! handle {
    () => {
        /// A channel with default settings. Connects with the first call.
        pub fn connect(address: &str) -> Result<Self, Status> {
            Ok(Self::builder(address)?.build())
        }

        /// Returns a channel whose calls are limited to this time; those with streams, too, which
        /// otherwise may go on for ever.
        #[must_use]
        pub fn with_timeout(&self, timeout: std::time::Duration) -> Self {
            self.with(|options| {
                options.timeout = timeout;
                options.stream_timeout = Some(timeout);
            })
        }

        /// Returns a channel whose calls have this header where the wire can carry it: Dovetail's
        /// own, THeader, HTTP, gRPC, gRPC-Web and Connect.
        #[must_use]
        pub fn with_header(&self, name: &str, value: impl Into<dovetail_wire::Bytes>) -> Self {
            let value = value.into();
            self.with(|options| options.headers.push(name, value))
        }

        /// Returns a channel whose calls have the headers of this struct, as
        /// [`with_header`](Self::with_header) sends one.
        #[must_use]
        pub fn with_headers(&self, headers: &impl crate::Headers) -> Self {
            self.with(|options| headers.write(&mut |name, value| options.headers.push(name, value)))
        }

        /// Returns a channel whose calls and items are compressed, or not, where that makes them
        /// smaller. How is said by the builder: `compression`, and over gRPC `gzip` or `zstd`,
        /// where gzip is the default. Where the builder has said nothing for Dovetail's own wire,
        /// all go as they are; so they do over THeader as the wire says.
        #[must_use]
        pub fn with_compression(&self, compress: bool) -> Self {
            self.with(|options| options.compress = Some(compress))
        }

        /// Returns a channel that calls this service on the same connections, for a server that has
        /// several on one port ("multiplexed"; `service.method` over msgpack-rpc). Over gRPC,
        /// gRPC-Web and Connect with its package: `hello.v1.Hello`.
        #[must_use]
        pub fn with_service(&self, name: &str) -> Self {
            self.with(|options| options.client.service = Some(name.to_owned()))
        }

        /// Gives back a result that the caller has done with: the next answer of its type is
        /// decoded over it and uses its memory again, that of its strings and lists included. This
        /// works where both ends have the same contract on Dovetail's own wire; elsewhere such a
        /// value is dropped. 64 values are kept, until the last handle of the channel goes.
        ///
        /// ```
        /// use dovetail::{Status, blocking::Channel, descriptor};
        ///
        /// descriptor!(static LIBRARY = "Library" { titles() -> Vec<String>; });
        ///
        /// fn watch(channel: &Channel) -> Result<(), Status> {
        ///     loop {
        ///         let titles: Result<Vec<String>, Status> = channel.call(&LIBRARY.methods[0], ());
        ///         let titles = titles?;
        ///         println!("{} titles", titles.len());
        ///         channel.recycle(titles);
        ///     }
        /// }
        /// ```
        pub fn recycle<T: Send + 'static>(&self, result: T) {
            self.options.recycled.put(result);
        }

        /// Returns a channel whose calls are hashed by this key where the policy hashes: calls with
        /// the same key go to the same server. It takes the place of the builder's `hash_by_…`.
        #[must_use]
        pub fn with_key(&self, key: impl AsRef<[u8]>) -> Self {
            let key = dovetail_balance::hash(key.as_ref());
            self.with(|options| options.key = Some(super::policies::KeyOf::Value(key)))
        }

        fn with(&self, change: impl FnOnce(&mut Options)) -> Self {
            let mut options = (*self.options).clone();
            change(&mut options);
            Channel {
                shared: self.shared.clone(),
                options: Arc::new(options),
            }
        }

        fn outgoing<'a, P>(&'a self, method: &'static Method, params: &'a P) -> Outgoing<'a, P> {
            let mut call = Outgoing {
                method: Some(method),
                oneway: method.kind.is_oneway(),
                timeout: match method.kind.streams() {
                    true => self.options.stream_timeout,
                    false => Some(self.options.timeout),
                },
                ..self.outgoing_by_name(method.name, params)
            };
            self.options.policies.current().limit(&mut call);
            call
        }

        fn outgoing_by_name<'a, P>(&'a self, name: &'a str, params: &'a P) -> Outgoing<'a, P> {
            Outgoing {
                name,
                service: self.options.client.service.as_deref(),
                method: None,
                types: None,
                oneway: false,
                timeout: Some(self.options.timeout),
                headers: &self.options.headers,
                compress: self.options.compress,
                params,
                object: self.shared.object(),
                read: None,
                promise: None,
            }
        }
    };
}

pub(crate) use handle;

/// The settings that builders of both kinds of channel have.
macro_rules! settings {
    () => {
        /// Chooses what is spoken: `"dovetail"`, which is the default, between two ends of
        /// Dovetail; for other servers `"grpc"`, `"connect"`, `"grpc-web"` (async channels alone;
        /// see [`Wire`](crate::Wire)), `"msgpack-rpc"`, or Thrift's protocol and transport, as in
        /// `"binary+framed"`.
        pub fn wire(mut self, wire: crate::Wire) -> Self {
            self.options.wire = wire;
            self
        }

        /// Names the service that is called, for a server that has several on one port
        /// ("multiplexed"; `service.method` over msgpack-rpc). Over gRPC, gRPC-Web and Connect it
        /// is the contract's, unless this says otherwise, with its package: `hello.v1.Hello`.
        pub fn service(mut self, name: &str) -> Self {
            self.options.client.service = Some(name.to_owned());
            self
        }

        /// Sets the form of structs over msgpack-rpc: arrays, or maps from the fields' names, for
        /// servers that declare them so. Default: arrays. Both are read.
        pub fn msgpack_structs(mut self, structs: dovetail_wire::msgpack::Structs) -> Self {
            self.options.msgpack_structs = structs;
            self
        }

        /// How long a call without streams may take, connecting included. Default 30 s.
        pub fn timeout(mut self, timeout: std::time::Duration) -> Self {
            self.options.timeout = timeout;
            self
        }

        /// How long connecting may take. Default 5 s.
        pub fn connect_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.options.connect_timeout = timeout;
            self
        }

        /// How long a call that was not sent waits for a server that cannot be reached and was
        /// reached before, as while it restarts: the channel connects again meanwhile. Then the
        /// call fails with `UNAVAILABLE`, not sent. A channel that has never reached its server
        /// does not wait. Default 2 s, and no longer than the call may take; 0 fails at once.
        pub fn connect_wait(mut self, wait: std::time::Duration) -> Self {
            self.options.connect_wait = wait;
            self
        }

        /// How often a call is sent again that a server has refused with the time after which to
        /// try again, as [`Status::retry_after`](crate::Status::retry_after) has it, and that has
        /// not run. It waits so long before. 0 gives the refusal to the caller. Default 4, as long
        /// as the call has time.
        pub fn pushbacks(mut self, attempts: u32) -> Self {
            self.options.pushbacks = attempts;
            self
        }

        /// Chooses whether a call that a handler makes takes over what belongs to the call that it
        /// answers: its deadline, where that is earlier, and the headers of its trace
        /// (`traceparent`, `tracestate`, `baggage`, B3's), where the channel does not set them.
        /// Tasks that a handler spawns are not part of it; see
        /// [`Context::scope`](crate::Context::scope). Default: yes.
        pub fn inherits(mut self, inherits: bool) -> Self {
            self.options.inherits = inherits;
            self
        }

        /// Puts an interceptor around all calls of the channel, and of the channels that are made
        /// from it.
        pub fn intercept(
            mut self,
            interceptor: impl crate::peer::intercept::ClientInterceptor,
        ) -> Self {
            let interceptor = std::sync::Arc::new(interceptor);
            self.options.interceptors.add(interceptor);
            self
        }

        /// Puts an interceptor around the calls of a service, `"shop.v1.Orders"`, or of one of its
        /// methods, `"shop.v1.Orders/place"`, with or without the package.
        pub fn intercept_at(
            mut self,
            place: &str,
            interceptor: impl crate::peer::intercept::ClientInterceptor,
        ) -> Self {
            let interceptor = std::sync::Arc::new(interceptor);
            self.options.interceptors.add_at(place, interceptor);
            self
        }

        /// Chooses how the channel finds one of several servers for a call. Default: least request.
        pub fn policy(mut self, policy: crate::names::Policy) -> Self {
            self.options.balance.policy = policy;
            self
        }

        /// Chooses when a server gets no calls for a while because it fails. Default: after five
        /// failures in a row; `None` for never.
        pub fn outliers(mut self, outliers: impl Into<Option<crate::names::Outliers>>) -> Self {
            self.options.balance.outliers = outliers.into();
            self
        }

        /// Ejections do not count while fewer servers than this part of those with connections are
        /// left. Default 0.5.
        pub fn panic_threshold(mut self, part: f64) -> Self {
            self.options.balance.panic_threshold = part;
            self
        }

        /// Checks that servers are ready: one gets calls after a good answer to a check, and none
        /// after a bad one. For channels to several servers. Default: no checks; a server counts as
        /// ready once it is connected.
        pub fn health_check(mut self, check: crate::names::HealthCheck) -> Self {
            self.options.health_check = Some(check);
            self
        }

        /// Gives a server that has come, or come back, its calls little by little over this time.
        /// Default: all at once.
        pub fn slow_start(mut self, time: std::time::Duration) -> Self {
            self.options.balance.slow_start = time;
            self
        }

        /// Limits the calls of the channel that wait for the answers of one of several servers.
        /// Further calls go to other servers. Where all have so many, a call fails at once with
        /// `RESOURCE_EXHAUSTED`, not sent. Default: no limit.
        pub fn calls_per_server(mut self, calls: u32) -> Self {
            self.options.balance.max_in_flight = Some(calls);
            self
        }

        /// Limits the calls that wait until one of several servers can be reached. Further ones
        /// fail at once with `UNAVAILABLE`, not sent. Default: no limit.
        pub fn waiting_calls(mut self, calls: usize) -> Self {
            self.options.waiting_calls = Some(calls);
            self
        }

        /// Prefers the servers of this zone, as long as seven in ten of them can be used. Default:
        /// none.
        pub fn zone(mut self, zone: &str) -> Self {
            self.options.balance.zone = Some(zone.to_owned());
            self
        }

        /// Uses a part of the servers of a long list. Default: all.
        pub fn subset(mut self, subset: crate::names::Subset) -> Self {
            self.options.balance.subset = Some(subset);
            self
        }

        /// Sends calls with the same value of this header to the same server, with
        /// `Policy::RingHash` or `Policy::Maglev`.
        pub fn hash_by_header(mut self, name: &str) -> Self {
            self.options.key = Some(super::policies::KeyOf::Header(name.to_owned()));
            self
        }

        /// Sends calls that handlers make for the same caller to the same server, with those
        /// policies.
        pub fn hash_by_caller(mut self) -> Self {
            self.options.key = Some(super::policies::KeyOf::Caller);
            self
        }

        /// Chooses whether a call waits for a server as long as it has time, instead of failing
        /// when none can be reached. Default: no.
        pub fn wait_for_ready(mut self, waits: bool) -> Self {
            self.options.wait_for_ready = waits;
            self
        }

        /// Has calls of idempotent methods tried again as a policy says. Default: once, after
        /// `UNAVAILABLE`.
        pub fn retry(mut self, policy: crate::client::RetryPolicy) -> Self {
            self.options.policies.idempotent = Some(std::sync::Arc::new(policy));
            self
        }

        /// Has all calls of a service, `"shop.v1.Orders"`, or of a method,
        /// `"shop.v1.Orders/place"`, tried again as a policy says.
        pub fn retry_at(mut self, place: &str, policy: crate::client::RetryPolicy) -> Self {
            let retry = Some(policy);
            self.options.policies.change(place, |at| at.retry = retry);
            self
        }

        /// Has calls of a service or a method sent to several servers at a time, as a policy says.
        pub fn hedge_at(mut self, place: &str, policy: crate::client::HedgingPolicy) -> Self {
            let hedging = Some(policy);
            self.options
                .policies
                .change(place, |at| at.hedging = hedging);
            self
        }

        /// Limits the retries of all calls together.
        pub fn retry_budget(mut self, budget: crate::names::BudgetSettings) -> Self {
            let budget = dovetail_balance::Budget::new(budget);
            self.options.policies.budget = std::sync::Arc::new(budget);
            self
        }

        /// Takes over what gRPC's service config says, in JSON: policies, outlier detection,
        /// retries, hedging, times, throttling. An error names the place in it.
        #[cfg(feature = "service-config")]
        pub fn service_config(mut self, json: &str) -> Result<Self, crate::Status> {
            crate::client::service_config::apply(json, &mut self.options)?;
            Ok(self)
        }

        /// How many connections share the calls. Default 1: calls are pipelined.
        pub fn connections(mut self, connections: usize) -> Self {
            self.options.connections = connections.max(1);
            self
        }

        /// How many calls may wait for their answers on one connection; further ones are refused
        /// with `RESOURCE_EXHAUSTED`. Default 100,000.
        pub fn calls_in_flight(mut self, calls: usize) -> Self {
            self.options.calls = calls;
            self
        }

        /// How long to leave a server alone that could not be reached.
        pub fn backoff(mut self, backoff: crate::client::Backoff) -> Self {
            self.options.backoff = backoff;
            self
        }

        /// Limits of messages: bytes of the server's, memory for decoding them, and how deep values
        /// inside one another may be, the client's own as well.
        pub fn limits(
            mut self,
            connection: dovetail_protocol::ConnectionLimits,
            decoding: dovetail_wire::Limits,
        ) -> Self {
            self.options.client.limits = connection;
            self.options.decoding = decoding;
            self.options.client.encoding = decoding;
            self
        }

        /// Compresses the calls and items that are sent, on Dovetail's own wire, once the server
        /// has said that it can decompress them. Over THeader the wire says it:
        /// `"binary+header:zstd"`. Default: not at all.
        pub fn compression(
            mut self,
            compression: dovetail_protocol::dovetail::Compression,
        ) -> Self {
            self.options.compression = Some(compression);
            self
        }

        /// Chooses when whoever waits for an answer polls before it sleeps.
        pub fn polling(mut self, polling: crate::transport::Polling) -> Self {
            self.options.polling = polling;
            self
        }

        /// Moves from TCP to shared memory where the server turns out to be on the same machine,
        /// once its first answer has come. Default: yes, on Dovetail's own wire, unless the channel
        /// serves its server.
        pub fn local_upgrade(mut self, local_upgrade: bool) -> Self {
            self.options.local_upgrade = local_upgrade;
            self
        }

        /// Connects over TLS, with these settings. Default: not at all, and to `tls://…` with
        /// [`ClientTls::system`](crate::tls::ClientTls::system). A channel over TLS does not move
        /// to shared memory.
        #[cfg(feature = "tls")]
        pub fn tls(mut self, tls: &crate::tls::ClientTls) -> Self {
            self.options.security = crate::client::Security::Tls(tls.clone());
            self
        }

        /// All calls have this header, where the wire can carry it.
        pub fn header(mut self, name: &str, value: impl Into<dovetail_wire::Bytes>) -> Self {
            self.options.headers.push(name, value);
            self
        }

        /// The path that is posted to, over HTTP. Default `/`.
        pub fn http_path(mut self, path: &str) -> Self {
            self.options.client.http.path = path.to_owned();
            self
        }
    };
}

pub(crate) use settings;

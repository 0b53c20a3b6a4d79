//! Health checks of the servers of a name.

use super::named::Named;
use super::{Member, Server, ServerEndpoint, unavailable};
use crate::client::dial::Failed;
use crate::client::options::Options;
use crate::client::policies::Policies;
use crate::health::{self, HealthCheckRequest, HealthCheckResponse};
use crate::method::Method;
use crate::{Code, Status, clock};
use dovetail_balance::{Health, State};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The longest pause between two checks of a server that gets no calls.
const SOON: Duration = Duration::from_secs(1);

/// The way a channel to several servers finds out whether each of them is ready.
///
/// A server gets calls once it has answered a check, and none after a check has failed, until one
/// goes well. Checks go over a connection of their own, with the wire, TLS, headers and
/// interceptors of the channel. A blocking channel has a thread for each server that it checks.
///
/// ```
/// use dovetail::blocking::Channel;
/// use dovetail::names::HealthCheck;
/// use std::time::Duration;
///
/// # fn connect() -> Result<(), dovetail::Status> {
/// let check = HealthCheck::health("shop.v1.Orders").every(Duration::from_secs(5));
/// let orders = Channel::builder("dns:///orders:9090")?.health_check(check).build();
/// # drop(orders);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// `None`: a connection that can be made is enough.
    pub(in crate::client) question: Option<Question>,
    interval: Duration,
    timeout: Duration,
    failures: u32,
}

/// The call that checks a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::client) enum Question {
    /// gRPC's health check of a service.
    Health(HealthCheckRequest),
    /// A method without parameters.
    Method(String),
}

/// The method of gRPC's health check.
pub(in crate::client) const CHECK: &Method = &health::HEALTH.methods[0];

impl HealthCheck {
    /// Calls `Check` of `grpc.health.v1.Health`, which servers of gRPC and
    /// [`Server::health`](crate::Server::health) have, on every wire. `service` is the full name of
    /// a service; the empty name asks for the server as a whole. A server that does not have the
    /// method counts as ready, as in gRPC.
    pub fn health(service: &str) -> Self {
        let service = service.to_owned();
        Self::of(Some(Question::Health(HealthCheckRequest { service })))
    }

    /// Calls a method without parameters and without a result, such as `ping`: for stock servers
    /// of Thrift and msgpack-rpc. Any answer but a failure is a good one.
    pub fn method(name: &str) -> Self {
        Self::of(Some(Question::Method(name.to_owned())))
    }

    /// Makes another connection and closes it: for servers without a method to ask. It tells that
    /// the server accepts connections, and no more.
    pub fn connection() -> Self {
        Self::of(None)
    }

    fn of(question: Option<Question>) -> Self {
        HealthCheck {
            question,
            interval: Duration::from_secs(10),
            timeout: Duration::from_secs(1),
            failures: 2,
        }
    }

    /// The time between two checks. Default 10 s. A server that gets no calls is checked each
    /// second at least.
    #[must_use]
    pub fn every(mut self, interval: Duration) -> Self {
        self.interval = interval.max(Duration::from_millis(1));
        self
    }

    /// The time of a check; one without an answer has failed. Default 1 s.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How many checks in a row have to fail until a server gets no calls. Default 2. A server that
    /// says that it is not ready gets none at once.
    #[must_use]
    pub fn failures(mut self, failures: u32) -> Self {
        self.failures = failures.max(1);
        self
    }

    /// Returns the options of the channel that checks, from those of the channel that calls.
    fn options(&self, options: &Options) -> Options {
        let mut options = Options {
            timeout: self.timeout,
            connect_timeout: self.timeout.min(options.connect_timeout),
            connect_wait: Duration::ZERO,
            connections: 1,
            pushbacks: 0,
            local_upgrade: false,
            local: None,
            wait_for_ready: false,
            policies: Policies::default(),
            ..options.clone()
        };
        if let Some(Question::Health(_)) = self.question {
            options.client.service = Some(health::HEALTH.full_name().into_owned());
        }
        options
    }
}

/// The outcome of a check.
pub(in crate::client) enum Finding {
    Ready,
    /// The server says so itself.
    NotReady(Status),
    /// The server has not answered as it should.
    Failed(Status),
}

impl Finding {
    /// Judges the answer to gRPC's health check.
    pub(in crate::client) fn of_health(answer: Result<HealthCheckResponse, Status>) -> Self {
        match answer {
            Ok(response) if response.is_serving() => Finding::Ready,
            Ok(_) => Finding::NotReady(unavailable("it is not ready".to_owned())),
            Err(status) if status.code() == Code::Unimplemented => Finding::Ready,
            Err(status) if status.code() == Code::NotFound => Finding::NotReady(status),
            Err(status) => Finding::Failed(status),
        }
    }

    /// Judges an attempt to connect.
    pub(in crate::client) fn of_connection(reached: Result<(), Failed>) -> Self {
        match reached {
            Ok(()) => Finding::Ready,
            Err(failed) => Finding::Failed(failed.why),
        }
    }

    /// Judges the answer of a method.
    pub(in crate::client) fn of_method(answer: Result<(), Status>) -> Self {
        match answer {
            Ok(()) => Finding::Ready,
            Err(status) => Finding::Failed(status),
        }
    }
}

/// The checks of a server, as long as its name has it.
pub(in crate::client) struct Checks<S: Server> {
    named: Weak<Named<S>>,
    endpoint: ServerEndpoint<S>,
    check: HealthCheck,
    /// Failures in a row.
    failures: u32,
}

impl<S: Server> Checks<S> {
    /// Has a server checked that was just reached, where the channel wants it. It may have been
    /// started anew: what it said before does not count.
    pub(super) fn begin(named: &Arc<Named<S>>, endpoint: &ServerEndpoint<S>) {
        let Some(check) = named.health_check() else {
            return;
        };
        let balancer = named.balancer();
        balancer.checked(clock::now(), endpoint, Health::Unknown);
        if !endpoint.user().begin_checks() {
            return endpoint.user().connected.tried(true);
        }
        S::check(Checks {
            named: Arc::downgrade(named),
            endpoint: endpoint.clone(),
            check: HealthCheck::clone(&check),
            failures: 0,
        });
    }

    pub(in crate::client) fn member(&self) -> &Member<S> {
        self.endpoint.user()
    }

    /// Returns the call that checks the server; `None` if a connection is enough.
    pub(in crate::client) fn question(&self) -> Option<&Question> {
        self.check.question.as_ref()
    }

    /// Returns the options of the channel that checks.
    pub(in crate::client) fn options(&self) -> Options {
        self.check.options(&self.member().options)
    }

    /// Returns whether the server has a connection: only then it is checked.
    pub(in crate::client) fn is_due(&self) -> bool {
        self.endpoint.state() == State::Ready
    }

    /// The version of the news to wait beyond.
    pub(in crate::client) fn version(&self) -> u64 {
        self.member().connected.version()
    }

    /// Waits until the server is reached again, since a version of the news.
    pub(in crate::client) async fn connected(&self, since: u64) {
        self.member().connected.changed(since).await;
    }

    /// Notes the outcome of a check.
    pub(in crate::client) fn note(&mut self, finding: Finding) {
        let (health, why) = match finding {
            Finding::Ready => {
                self.failures = 0;
                (Health::Healthy, None)
            }
            Finding::NotReady(why) => (Health::Unhealthy, Some(why)),
            Finding::Failed(why) => {
                self.failures = self.failures.saturating_add(1);
                if self.failures < self.check.failures {
                    return;
                }
                (Health::Unhealthy, Some(why))
            }
        };
        let Some(named) = self.named.upgrade() else {
            return;
        };
        let what = why.map(|why| {
            let target = &self.member().options.client.http.host;
            unavailable(format!("the health check of {target}: {}", why.message()))
        });
        self.member().fail(what);
        named
            .balancer()
            .checked(clock::now(), &self.endpoint, health);
        named.tried(health == Health::Healthy);
    }

    /// Returns the pause until the next check; `None` where nobody needs one.
    pub(in crate::client) fn pause(&self) -> Option<Duration> {
        let named = self.named.upgrade()?;
        let all = named.balancer().endpoints();
        let is_listed = all.iter().any(|other| other.id() == self.endpoint.id());
        let interval = match self.endpoint.health() {
            Health::Healthy if self.failures == 0 => self.check.interval,
            _ => self.check.interval.min(SOON),
        };
        is_listed.then_some(interval)
    }
}

use super::configured::Configured;
use super::news::News;
use super::visit::{Choice, Visit};
use super::{Attempt, HealthCheck, Member, Server, unavailable};
use crate::client::options::Options;
use crate::client::security::{Security, place};
use crate::names::{self, BackendStatus, Named as _, Resolution, Resolver, Watch};
use crate::{Address, Code, Status, clock};
use arc_swap::ArcSwapOption;
use dovetail_balance::{Backend, Balancer, Health, Picked, State};
use dovetail_protocol::Execution;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// A connection that ends before this time counts as one that could not be made.
const FLAPS: Duration = Duration::from_secs(1);

/// The reasons that an error lists.
const REASONS: usize = 5;

/// The servers that a name stands for.
pub(in crate::client) struct Named<S: Server> {
    balancer: Balancer<Member<S>>,
    resolver: Arc<dyn Resolver>,
    options: Options,
    /// The resolver, which runs from the first call on; or why it cannot.
    watch: OnceLock<Result<Watch, Status>>,
    news: News,
    /// TLS for servers whose addresses ask for it.
    system: OnceLock<Result<Security, String>>,
    /// Calls that wait for a server.
    waiting: AtomicUsize,
    pub(super) configured: Mutex<Configured>,
    health_check: ArcSwapOption<HealthCheck>,
}

/// A call that waits for a server, counted as long as this exists.
pub(in crate::client) struct Queue<'a>(&'a AtomicUsize);

impl Drop for Queue<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// A look for a server.
pub(in crate::client) enum Look<S: Server> {
    Found(Visit<S>),
    /// Servers may be reached soon.
    Wait,
    /// All servers are known to be unreachable, or none is known.
    Nothing(Status),
    /// All servers have as many calls as they may.
    Crowded(Status),
}

impl<S: Server> Named<S> {
    pub(in crate::client) fn new(resolver: Arc<dyn Resolver>, options: &Options) -> Arc<Self> {
        let mut options = options.clone();
        // Connections are made for all calls, not for one that has little time.
        options.timeout = options.connect_timeout;
        let named = Arc::new(Named {
            balancer: Balancer::new(options.balance.clone(), clock::now()),
            resolver,
            options,
            watch: OnceLock::new(),
            news: News::default(),
            system: OnceLock::new(),
            waiting: AtomicUsize::new(0),
            configured: Mutex::default(),
            health_check: ArcSwapOption::default(),
        });
        named.set_health_check(named.options.health_check.clone());
        names::list(&named);
        named
    }

    pub(super) fn balancer(&self) -> &Balancer<Member<S>> {
        &self.balancer
    }

    /// Returns the options of the channel's builder.
    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    pub(super) fn health_check(&self) -> Option<Arc<HealthCheck>> {
        self.health_check.load_full()
    }

    pub(super) fn set_health_check(&self, check: Option<HealthCheck>) {
        self.health_check.store(check.map(Arc::new));
    }

    /// Notes that a server was reached, or not. A resolver may know of others.
    pub(super) fn tried(&self, reached: bool) {
        if let (false, Some(Ok(watch))) = (reached, self.watch.get()) {
            watch.look_again();
        }
        self.news.tried(reached);
    }

    /// Looks for a server that a call can go to, and connects where that is due.
    pub(in crate::client) fn look(self: &Arc<Self>, now: Instant, choice: &Choice<'_>) -> Look<S> {
        if let Err(why) = self.start() {
            return Look::Nothing(why.clone());
        }
        loop {
            for endpoint in self.balancer.to_connect(now) {
                S::reach(Attempt::new(self.clone(), endpoint));
            }
            let Some(picked) = self.balancer.pick(now, choice.key, choice.avoid) else {
                break;
            };
            let Member {
                server, options, ..
            } = picked.user();
            match server.ready(options) {
                Some(connection) => {
                    let until = choice.limit.and_then(|limit| now.checked_add(limit));
                    return Look::Found(Visit::at(connection, picked, until));
                }
                None => self.lost(now, &picked),
            }
        }
        match self.hopeless() {
            Some(why) => Look::Nothing(why),
            None if self.balancer.is_crowded() => Look::Crowded(self.crowded()),
            None => Look::Wait,
        }
    }

    #[cold]
    fn crowded(&self) -> Status {
        let most = self.balancer.settings().max_in_flight.unwrap_or_default();
        let what = format!(
            "each server of {} has {most} calls of this channel, and gets no more",
            self.name()
        );
        Status::new(Code::ResourceExhausted, what).with_execution(Execution::NotSent)
    }

    /// Counts a call that waits for a server. An error where too many wait.
    pub(in crate::client) fn queue(&self) -> Result<Queue<'_>, Status> {
        let queue = Queue(&self.waiting);
        let before = self.waiting.fetch_add(1, Relaxed);
        match self.options.waiting_calls {
            Some(most) if before >= most => Err(unavailable(format!(
                "{most} calls wait for a server of {} already",
                self.name()
            ))),
            _ => Ok(queue),
        }
    }

    /// Notes that a connection has ended. One that ends as soon as it is made is as good as none.
    fn lost(&self, now: Instant, picked: &Picked<Member<S>>) {
        let (endpoint, member) = (picked.endpoint(), picked.user());
        match endpoint.time_in_state(now) < FLAPS {
            true => {
                let failed = member.flapped(now);
                self.balancer.failed(now, endpoint, failed);
            }
            false => {
                member.settled();
                self.balancer.lost(now, endpoint);
            }
        }
    }

    /// Waits for a change since a version of the news.
    pub(in crate::client) async fn changed(&self, since: u64) {
        self.news.changed(since).await;
    }

    pub(in crate::client) fn version(&self) -> u64 {
        self.news.version()
    }

    /// Begins to wait for a server.
    pub(in crate::client) fn wait_limits(
        &self,
        options: &Options,
        choice: &Choice<'_>,
    ) -> WaitLimits {
        let now = clock::now();
        let wait = match self.news.is_reached() {
            _ if choice.waits => options.timeout,
            true => options.connect_wait.min(options.timeout),
            // The name or its servers are wrong, more likely than not.
            false => Duration::ZERO,
        };
        let connecting = match choice.waits {
            true => options.timeout,
            false => options.connect_timeout.min(options.timeout),
        };
        let after = |time| now.checked_add(time).unwrap_or(now);
        WaitLimits {
            hopeless: after(wait),
            connecting: after(connecting.max(wait)),
        }
    }

    /// When a call that has found no server looks again, at the latest; an error where it is not
    /// worth while.
    pub(in crate::client) fn next_look(
        &self,
        limits: &WaitLimits,
        why: Option<Status>,
        now: Instant,
    ) -> Result<Instant, Status> {
        let next = self.balancer.next_connect();
        match why {
            Some(why) if next.unwrap_or(now) >= limits.hopeless => Err(why),
            Some(_) => Ok(next.unwrap_or(limits.hopeless).min(limits.hopeless)),
            None if now >= limits.connecting => Err(self.slow()),
            None => Ok(next.unwrap_or(limits.connecting).min(limits.connecting)),
        }
    }

    fn start(self: &Arc<Self>) -> Result<(), &Status> {
        let watch = self.watch.get_or_init(|| {
            let named = Arc::downgrade(self);
            let listener = move |news| {
                if let Some(named) = named.upgrade() {
                    named.take_over(news);
                }
            };
            let started = Watch::start(self.resolver.clone(), listener);
            started.map_err(|error| unavailable(format!("a resolver needs a thread: {error}")))
        });
        watch.as_ref().map(drop)
    }

    fn take_over(self: &Arc<Self>, news: Result<Resolution, String>) {
        let (mut members, mut unusable) = (HashMap::new(), None);
        let Resolution {
            mut backends,
            service_config,
        } = match news {
            Ok(resolution) => resolution,
            Err(why) => return self.news.failed(why),
        };
        let configured = self.configure(service_config);
        backends.retain(|backend| match self.member(backend) {
            Ok(member) => {
                members.insert(backend.address.clone(), member);
                true
            }
            Err(why) => {
                unusable = Some(why);
                false
            }
        });
        if backends.is_empty() {
            let why = unusable.unwrap_or_else(|| "there are no servers".to_owned());
            return self.news.failed(why);
        }
        self.balancer.update(clock::now(), backends, |backend| {
            members.remove(&backend.address)
        });
        self.news.listed();
        if let Some(why) = unusable.or(configured.err()) {
            self.news.failed(why);
        }
    }

    /// The server of a backend, which goes over TLS where its address or the channel says so.
    fn member(&self, backend: &Backend) -> Result<Member<S>, String> {
        let parsed: Result<Address, _> = backend.address.parse();
        let address = parsed.map_err(|error| error.to_string())?;
        let mut options = self.options.clone();
        let authority = self.resolver.authority();
        options.client.http.host = authority.unwrap_or_else(|| place(&backend.address).to_owned());
        if let (Security::Plain, Address::Tls(_)) = (&options.security, &address) {
            options.security = self.system_security()?;
        }
        Ok(Member::new(S::new(address, &options), options))
    }

    /// TLS with the certificates that the system trusts, which are read once.
    fn system_security(&self) -> Result<Security, String> {
        let settled = self.system.get_or_init(|| {
            let mut security = Security::System;
            let settled = security.settle().map(|()| security);
            settled.map_err(|status| status.message().to_owned())
        });
        settled.clone()
    }

    /// Why no call can be made before something changes; `None` while there is hope.
    fn hopeless(&self) -> Option<Status> {
        let name = self.name();
        if !self.news.is_listed() {
            let why = self.news.failure()?;
            return Some(unavailable(format!(
                "cannot find the servers of {name}: {why}"
            )));
        }
        let all = self.balancer.endpoints();
        let mut weighing = all.iter().filter(|endpoint| endpoint.backend().weight > 0);
        if weighing.clone().next().is_none() {
            return Some(unavailable(format!("no server of {name} has a weight")));
        }
        let is_down = |state, health| state == State::Failed || health == Health::Unhealthy;
        if !weighing.all(|endpoint| is_down(endpoint.state(), endpoint.health())) {
            return None;
        }
        let reasons: Vec<_> = all
            .iter()
            .filter_map(|endpoint| endpoint.user().failure())
            .map(|failure| failure.message().to_owned())
            .collect();
        let more = match reasons.len().saturating_sub(REASONS) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let first = reasons[..reasons.len().min(REASONS)].join("; ");
        let what = match all.len() {
            1 => format!("the one server of {name} cannot be used"),
            all => format!("none of the {all} servers of {name} can be used"),
        };
        Some(unavailable(format!("{what}: {first}{more}")))
    }

    #[cold]
    fn slow(&self) -> Status {
        let (name, limit) = (self.name(), self.options.connect_timeout);
        unavailable(match self.news.is_listed() {
            true => format!("no server of {name} has taken a connection within {limit:?}"),
            false => format!("the servers of {name} were not found within {limit:?}"),
        })
    }
}

impl<S: Server> names::Named for Named<S> {
    fn name(&self) -> String {
        self.resolver.name()
    }

    fn backends(&self) -> Vec<BackendStatus> {
        let all = self.balancer.endpoints();
        let backends = all.iter().map(|endpoint| {
            let failure = endpoint.user().failure();
            BackendStatus::of(endpoint, failure)
        });
        backends.collect()
    }

    fn failure(&self) -> Option<String> {
        self.news.failure()
    }

    fn retry_tokens(&self) -> f32 {
        self.options.policies.current().budget.tokens()
    }
}

/// How long a call waits for a server.
pub(in crate::client) struct WaitLimits {
    /// While all are known to be unreachable.
    hopeless: Instant,
    /// While some are being connected to.
    connecting: Instant,
}

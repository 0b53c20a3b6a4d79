//! Throttling: limits for calls, at places and of callers, and queues in front of them.
//! `docs/throttling.md` has the rules.
//!
//! ```text
//!            ┌ for each quota of its method, outermost first: server, service, method ┐
//!   call ──► │ size ─► rate ─► bytes ─► place among those that run, or in the queue   │ ──► handler
//!            └────────────────┬───────────────────────────────────────────────────────┘
//!                             └─► RESOURCE_EXHAUSTED, not started, with the time after which to try again
//! ```

mod adaptive;
mod bucket;
mod callers;
mod criticality;
mod gate;
mod line;
mod passage;
mod quota;
mod refusals;
mod refused_callers;
mod rule;

pub use criticality::Criticality;
pub use quota::Quota;
pub use refusals::{Reason, Refusal, Refusals};
pub use refused_callers::RefusedCaller;

use crate::method::{Method, ServiceDescriptor};
use crate::peer::intercept::{
    ByMethod, ByScope, CallEnd, CallHead, Decision, DecisionFuture, ServerInterceptor,
};
use crate::{Code, Context, Status};
use passage::{Held, Passage};
use rule::Rule;
use std::fmt;
use std::sync::Arc;

/// Callers whose quotas are remembered, at a place.
const CALLERS: usize = 100_000;

/// Refuses calls beyond quotas: an [interceptor](crate::Server::intercept), behind
/// [`Authentication`](crate::identity::Authentication), for which callers with an identity are told
/// apart by it.
///
/// Quotas are for all calls, for those of a service, or for those of a method; each for all callers
/// together, or for each caller. A call takes all that are for it, outermost first; of those at one
/// place, in the order in which they were added. Callers are principals; those without an identity
/// are addresses (by IPv6, networks of 64 bits), or users of this machine. A call that is refused
/// has not been decoded; it is answered with `RESOURCE_EXHAUSTED`, and with the time after which to
/// try again, which Dovetail's clients keep to by themselves.
///
/// ```
/// use dovetail::Server;
/// use dovetail::throttle::{Quota, Throttle};
/// use std::time::Duration;
///
/// # fn serve(orders: impl dovetail::Service) {
/// let second = Duration::from_secs(1);
/// let throttle = Throttle::new()
///     .all(Quota::new().adaptive(2, 200).queue(100, second / 10))
///     .each_caller(Quota::new().rate(100, second))
///     .at("shop.v1.Orders/place", Quota::new().in_flight(20))
///     .each_caller_at("shop.v1.Orders/place", Quota::new().rate(5, second));
/// let refusals = throttle.refusals();
/// let server = Server::new().service(orders).throttle(throttle);
/// println!("{} calls refused", refusals.total());
/// # }
/// ```
#[derive(Default)]
pub struct Throttle {
    rules: ByScope<Arc<Rule>>,
    of: ByMethod<Arc<[Arc<Rule>]>>,
    refusals: Refusals,
    criticality: Option<Criticalities>,
}

type Criticalities = Box<dyn Fn(&CallHead<'_>) -> Criticality + Send + Sync>;

impl Throttle {
    /// Lets all calls pass.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a quota for all calls together. Health checks are not among them.
    #[must_use]
    pub fn all(self, quota: Quota) -> Self {
        self.rule(None, Rule::new("this server", quota))
    }

    /// Adds a quota for each caller. Health checks are not counted.
    #[must_use]
    pub fn each_caller(self, quota: Quota) -> Self {
        self.rule(
            None,
            Rule::new("this server", quota).of_each_caller(CALLERS),
        )
    }

    /// Adds a quota for the calls of a service or a method together. ByScope are those of
    /// [`Server::intercept_at`](crate::Server::intercept_at).
    #[must_use]
    pub fn at(self, place: &str, quota: Quota) -> Self {
        self.rule(Some(place), Rule::new(place, quota))
    }

    /// Adds a quota for each caller of a service or a method.
    #[must_use]
    pub fn each_caller_at(self, place: &str, quota: Quota) -> Self {
        self.rule(Some(place), Rule::new(place, quota).of_each_caller(CALLERS))
    }

    fn rule(mut self, place: Option<&str>, rule: Rule) -> Self {
        let rule = Arc::new(rule);
        self.refusals.add(&rule);
        match place {
            Some(place) => self.rules.add(place, rule),
            None => self.rules.add_everywhere(rule),
        }
        self
    }

    /// Decides how critical calls are. Default: the header [`Criticality::HEADER`] says it, whoever
    /// calls.
    #[must_use]
    pub fn criticality(
        mut self,
        of: impl Fn(&CallHead<'_>) -> Criticality + Send + Sync + 'static,
    ) -> Self {
        self.criticality = Some(Box::new(of));
        self
    }

    /// Returns the refusals, for as long as the throttle works and longer.
    pub fn refusals(&self) -> Refusals {
        self.refusals.clone()
    }

    /// Returns the rules for a method, outermost first.
    fn rules(&self, service: &ServiceDescriptor, method: &Method) -> Arc<[Arc<Rule>]> {
        let around = self.rules.around(service, method);
        let counted = around.filter(|(level, _)| rule::counts(*level, service));
        counted.map(|(_, rule)| rule.clone()).collect()
    }

    fn passage(&self, call: &CallHead<'_>) -> Passage {
        let (service, method) = (call.service(), call.method());
        let known = self.of.get(service, method).cloned();
        Passage::new(known.unwrap_or_else(|| self.rules(service, method)))
    }

    fn how_critical(&self, call: &CallHead<'_>) -> Criticality {
        match &self.criticality {
            Some(of) => of(call),
            None => Criticality::of(call),
        }
    }
}

impl fmt::Debug for Throttle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Throttle").finish_non_exhaustive()
    }
}

impl ServerInterceptor for Throttle {
    fn start(&mut self, services: &[&'static ServiceDescriptor]) -> Result<(), Status> {
        self.of = ByMethod::of(services, |service, method| self.rules(service, method));
        self.rules.check("a quota is for", services)
    }

    fn before_body(&self, _: &mut CallHead<'_>) -> Result<Decision, Status> {
        Ok(Decision::Proceed)
    }

    fn before(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        let mut passage = self.passage(call);
        let through = passage.proceed(call, self.how_critical(call))?;
        passage.keep(call);
        Ok(match through {
            true => Decision::Proceed,
            false => Decision::Wait,
        })
    }

    fn before_async<'a>(&'a self, call: &'a mut CallHead<'_>) -> DecisionFuture<'a> {
        Box::pin(async move {
            let Some(mut passage) = Held::take_last(call.get()) else {
                return Ok(Decision::Proceed);
            };
            let criticality = self.how_critical(call);
            passage.wait(call, criticality).await?;
            passage.keep(call);
            Ok(Decision::Proceed)
        })
    }

    fn after(&self, call: &Context, end: &CallEnd<'_>) {
        // Calls that fail early say nothing of the time that calls take, and those that are late
        // do.
        let code = end.outcome().code();
        let is_typical = matches!(code, None | Some(Code::Cancelled | Code::DeadlineExceeded));
        // The places of the call are free, even if its context is kept.
        Held::release(call.get(), is_typical);
    }
}

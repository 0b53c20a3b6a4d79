//! The attempts of a call: on which connection, and how many.

use super::{Channel, Shared, in_time, rest};
use crate::Status;
use crate::client::failures::attempt_too_late;
#[cfg(feature = "grpc")]
use crate::client::http2;
use crate::client::options::Options;
use crate::client::policies::{HedgingPolicy, Policies};
use crate::client::pool::TaskPool;
use crate::client::retries::Retries;
use crate::client::servers::{Choice, Visit};
use crate::peer::answer::Answered;
use crate::peer::link::Link;
use crate::peer::objects::local;
use crate::peer::outgoing::Outgoing;
use dovetail_wire::Encode;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

impl Channel {
    /// Tries a call, and again on a fresh connection where that cannot do harm.
    pub(super) async fn attempt(
        &self,
        call: Outgoing<'_, impl Encode>,
        idempotent: bool,
    ) -> Result<Option<Answered>, Status> {
        if let Shared::Local(service) = &*self.shared {
            return local::call(service, call, self.options.decoding).await;
        }
        let policies = self.options.policies.current();
        let policy = policies.of(&call).map(|policy| &**policy);
        let hedging = policy.and_then(|policy| policy.hedging.as_ref());
        if let Some(hedging) = hedging.filter(|hedging| hedging.attempts > 1) {
            // On the heap: most calls are not hedged, and all have room for it.
            return Box::pin(self.hedged(call, &policies, hedging)).await;
        }
        let mut retries = Retries::new(&self.options, &policies, policy, idempotent);
        loop {
            let headers = retries.headers(&call);
            let call = Outgoing {
                headers: &headers,
                ..call
            };
            let visit = self.visit(&retries.choice(&call)).await?;
            retries.avoid(visit.server());
            let answer = visit
                .call(call, &self.options, retries.attempt_timeout())
                .await;
            if !self.tries_again(&mut retries, &answer).await {
                return answer;
            }
        }
    }

    /// Sends a call to one server after the other, until one has answered.
    async fn hedged(
        &self,
        call: Outgoing<'_, impl Encode>,
        policies: &Policies,
        policy: &HedgingPolicy,
    ) -> Result<Option<Answered>, Status> {
        let servers = Mutex::new(Vec::new());
        let attempt = || async {
            let lock = || servers.lock().unwrap_or_else(PoisonError::into_inner);
            let mut retries = Retries::new(&self.options, policies, None, false);
            retries.avoid(lock().iter().copied());
            let headers = retries.headers(&call);
            let call = Outgoing {
                headers: &headers,
                ..call
            };
            let visit = self.visit(&retries.choice(&call)).await?;
            lock().extend(visit.server());
            visit.call(call, &self.options, None).await
        };
        let budget = &policies.budget;
        let mut running = FuturesUnordered::from_iter([attempt()]);
        let mut left = policy.attempts - 1;
        loop {
            tokio::select! {
                biased;
                Some(answer) = running.next() => match answer {
                    Err(status) if policy.non_fatal.contains(&status.code()) => {
                        let affordable = budget.failed();
                        if left > 0 && affordable {
                            left -= 1;
                            running.push(attempt());
                        } else if running.is_empty() {
                            return Err(status);
                        }
                    }
                    answer => {
                        if answer.is_ok() {
                            budget.succeeded();
                        }
                        return answer;
                    }
                },
                () = rest(policy.delay), if left > 0 => {
                    left -= 1;
                    if budget.allows() {
                        running.push(attempt());
                    }
                }
            }
        }
    }

    /// Waits until a call that failed is tried again. False where it is not.
    pub(super) async fn tries_again<T>(
        &self,
        retries: &mut Retries<'_>,
        answer: &Result<T, Status>,
    ) -> bool {
        let Some(pause) = retries.after(answer, self.redials()) else {
            return false;
        };
        if !pause.is_zero() {
            rest(pause).await;
        }
        true
    }

    /// Returns whether a lost connection is replaced by another one.
    fn redials(&self) -> bool {
        match &*self.shared {
            Shared::Server(_) => true,
            #[cfg(feature = "grpc")]
            Shared::Http2(_) => true,
            _ => false,
        }
    }

    /// A connection for a call.
    async fn visit(&self, choice: &Choice<'_>) -> Result<AnyVisit, Status> {
        match &*self.shared {
            #[cfg(feature = "grpc")]
            Shared::Http2(servers) => {
                let visit = servers.visit(&self.options, choice).await;
                visit.map(AnyVisit::Http2)
            }
            _ => self.link(choice).await.map(AnyVisit::Link),
        }
    }

    /// A connection for a call, not over HTTP/2.
    pub(super) async fn link(
        &self,
        choice: &Choice<'_>,
    ) -> Result<Visit<TaskPool<Arc<Link>>>, Status> {
        match &*self.shared {
            Shared::Server(servers) => servers.visit(&self.options, choice).await,
            #[cfg(feature = "grpc")]
            Shared::Http2(_) => Err(http2::no_objects(self.options.wire)),
            Shared::Caller(link) | Shared::Object(link, ..) => Ok(Visit::only(link.clone())),
            Shared::Local(_) => Err(local::no_streams()),
            Shared::Nothing(why) => Err(why.clone()),
        }
    }
}

/// A connection that was chosen for a call, on any wire.
enum AnyVisit {
    Link(Visit<TaskPool<Arc<Link>>>),
    #[cfg(feature = "grpc")]
    Http2(Visit<TaskPool<http2::Http2Connection>>),
}

impl AnyVisit {
    fn server(&self) -> Option<u64> {
        match self {
            AnyVisit::Link(visit) => visit.server(),
            #[cfg(feature = "grpc")]
            AnyVisit::Http2(visit) => visit.server(),
        }
    }

    /// Makes the call, within this time where there is one.
    async fn call(
        self,
        call: Outgoing<'_, impl Encode>,
        options: &Options,
        limit: Option<Duration>,
    ) -> Result<Option<Answered>, Status> {
        let Some(limit) = limit else {
            return self.call_once(&call, options).await;
        };
        let answer = in_time(limit, self.call_once(&call, options)).await;
        answer.unwrap_or_else(|_| Err(attempt_too_late(call.name, limit)))
    }

    #[cfg_attr(not(feature = "grpc"), expect(unused_variables, reason = "HTTP asks"))]
    async fn call_once(
        self,
        call: &Outgoing<'_, impl Encode>,
        options: &Options,
    ) -> Result<Option<Answered>, Status> {
        match self {
            AnyVisit::Link(visit) => {
                let answer = visit.connection.call(call).await;
                visit.ended(&answer);
                answer
            }
            #[cfg(feature = "grpc")]
            AnyVisit::Http2(visit) => {
                let said = visit.response_headers(options);
                // On the heap: calls on all other wires would have room for it, and move it.
                let calling = Box::pin(visit.connection.call(*call, options, said.clone()));
                let answer = calling.await;
                visit.take_report(said.as_ref());
                visit.ended(&answer);
                answer
            }
        }
    }
}

use super::{Member, Server};
#[cfg(feature = "grpc")]
use crate::client::options::Options;
#[cfg(feature = "grpc")]
use crate::load_reports;
#[cfg(feature = "grpc")]
use crate::peer::response_headers::ResponseHeaders;
use crate::{Code, Status, clock};
use dovetail_balance::{Outcome, Picked};
use dovetail_protocol::Execution;
use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The facts that decide where a call goes.
pub(in crate::client) struct Choice<'a> {
    /// The hash of its key, for policies that hash.
    pub(in crate::client) key: Option<u64>,
    /// The servers that have failed it.
    pub(in crate::client) avoid: &'a [u64],
    /// Its time: a server that has not answered then has failed.
    pub(in crate::client) limit: Option<Duration>,
    /// It waits for a server as long as it has time.
    pub(in crate::client) waits: bool,
}

/// A connection that was chosen for a call.
pub(in crate::client) struct Visit<S: Server> {
    pub(in crate::client) connection: S::Connection,
    at: Option<At<S>>,
}

/// The server of a call, which counts it as long as this exists.
struct At<S> {
    picked: Option<Picked<Member<S>>>,
    until: Option<Instant>,
}

impl<S: Server> Visit<S> {
    /// A connection of a channel's only server.
    pub(in crate::client) fn only(connection: S::Connection) -> Self {
        Visit {
            connection,
            at: None,
        }
    }

    pub(super) fn at(
        connection: S::Connection,
        picked: Picked<Member<S>>,
        until: Option<Instant>,
    ) -> Self {
        let at = At {
            picked: Some(picked),
            until,
        };
        Visit {
            connection,
            at: Some(at),
        }
    }

    /// The number of the server, where there are several.
    pub(in crate::client) fn server(&self) -> Option<u64> {
        let at = self.at.as_ref()?;
        Some(at.picked.as_ref()?.id())
    }

    /// Returns the place for the headers and trailers of the answer, if the caller or the policy
    /// asks for them.
    #[cfg(feature = "grpc")]
    pub(in crate::client) fn response_headers(&self, options: &Options) -> Option<ResponseHeaders> {
        let picked = self.at.as_ref().and_then(|at| at.picked.as_ref());
        let is_wanted = picked.is_some_and(|picked| picked.wants_report());
        let own = || is_wanted.then(ResponseHeaders::default);
        options.said.clone().or_else(own)
    }

    /// Takes the report of the server's load out of the trailers of its answer.
    #[cfg(feature = "grpc")]
    pub(in crate::client) fn take_report(&self, said: Option<&ResponseHeaders>) {
        let picked = self.at.as_ref().and_then(|at| at.picked.as_ref());
        if let Some(picked) = picked.filter(|picked| picked.wants_report())
            && let Some(report) = said.and_then(load_reports::read)
        {
            picked.report(clock::now(), &report);
        }
    }

    /// Notes how the call has ended.
    pub(in crate::client) fn ended<T>(self, answer: &Result<T, Status>) {
        if let Some(mut at) = self.at {
            at.end(match answer {
                Ok(_) => Outcome::Succeeded,
                Err(status) => outcome(status),
            });
        }
    }

    /// Counts the call as long as the value exists: for one with streams.
    pub(in crate::client) fn held(self) -> (S::Connection, Option<Arc<dyn Any + Send + Sync>>) {
        let at = self.at.map(|at| Arc::new(at) as _);
        (self.connection, at)
    }
}

/// Returns the outcome that a failure is for the server. Refusals before a call has run say
/// nothing: they follow from load, quotas and restarts.
fn outcome(status: &Status) -> Outcome {
    let has_run = matches!(
        status.execution(),
        Execution::MayHaveRun | Execution::Finished
    );
    match status.code() {
        Code::Unavailable | Code::DeadlineExceeded if has_run => Outcome::Failed,
        _ if has_run => Outcome::Succeeded,
        _ => Outcome::Abandoned,
    }
}

impl<S> At<S> {
    fn end(&mut self, outcome: Outcome) {
        if let Some(picked) = self.picked.take() {
            picked.done(clock::now(), outcome);
        }
    }
}

impl<S> Drop for At<S> {
    fn drop(&mut self) {
        let is_late = self.until.is_some_and(|until| clock::now() >= until);
        self.end(match is_late {
            true => Outcome::Failed,
            false => Outcome::Abandoned,
        });
    }
}

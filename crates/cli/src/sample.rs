//! A service that has a contract and no handler: it answers every method with sample data.

use crate::journal::Journal;
use crate::tables::{Table, table};
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture};
use dovetail::{Code, Context, Service, Status};
use dovetail_dynamic::{Contract, ParamsSlot, Plausible, Reply, ReplyBody, ReplyFields, Struct};
use dovetail_schema::{Method, ServiceId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How the answers are to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behavior {
    /// How long each call takes.
    pub(crate) latency: Duration,
    /// How many of 1000 calls fail.
    pub(crate) fail: u32,
    /// Equal seeds give equal answers to equal calls.
    pub(crate) seed: u64,
}

/// Answers one service. It lives as long as the process, like the contract and the table of
/// methods.
pub(crate) struct Sample {
    contract: &'static Contract<'static>,
    table: Table,
    behavior: Behavior,
    journal: Journal,
    /// Shared by all services of a server, so that no two calls get the same answer.
    calls: Arc<AtomicU64>,
}

impl Sample {
    pub(crate) fn new(
        contract: &'static Contract<'static>,
        service: ServiceId,
        behavior: Behavior,
        calls: Arc<AtomicU64>,
    ) -> Self {
        Sample {
            contract,
            table: table(contract, service),
            behavior,
            journal: Journal::new(contract, service),
            calls,
        }
    }

    /// One call, from its parameters to its answer.
    async fn answer(
        &self,
        context: Context,
        method: &'static Method,
        params: Struct,
    ) -> Result<ReplyFields, Status> {
        let start = Instant::now();
        if !self.behavior.latency.is_zero() {
            tokio::time::sleep(self.behavior.latency).await;
        }
        let reply = self.make_up(method, &params);
        self.journal
            .line(&context, method, &params, &reply, start.elapsed());
        reply.map(|reply| ReplyBody::new(self.contract, method, reply).into())
    }

    fn make_up(&self, method: &'static Method, params: &Struct) -> Result<Reply, Status> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let mut plausible = Plausible::new(self.contract, self.behavior.seed.wrapping_add(number));
        if plausible.chance(self.behavior.fail) {
            // Every second failure is an exception, if the contract has any.
            let exception = plausible
                .chance(500)
                .then(|| plausible.exception(method))
                .flatten();
            let status = || Status::new(Code::Unavailable, "this call fails on purpose (--fail)");
            return exception.ok_or_else(status);
        }
        plausible.reply(method, params).ok_or_else(|| {
            let message = format!("the result of `{}` has no finite value", method.name);
            Status::new(Code::Unimplemented, message)
        })
    }
}

impl Service for Sample {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        self.table.descriptor
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        let Some(method) = self.table.methods.get(method).copied() else {
            return call.no_such_method();
        };
        if method.client_stream.is_some() || method.server_stream.is_some() {
            let what = format!(
                "`{}` has streams, for which there is no sample data",
                method.name
            );
            return call.refuse(&Status::new(Code::Unimplemented, what));
        }
        let slot = ParamsSlot::new(self.contract, method);
        call.unary(slot, move |context, params| {
            self.answer(context, method, params.values)
        })
    }
}

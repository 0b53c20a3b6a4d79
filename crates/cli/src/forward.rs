//! A service that has a contract and a server behind it: it passes every call on.

use crate::caller::{Way, reply};
use crate::journal::Journal;
use crate::tables::{Table, table};
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture};
use dovetail::{Channel, Code, Context, Service, Status};
use dovetail_dynamic::{
    Contract, Params, ParamsSlot, Reply, ReplyBody, ReplyFields, ReplySlot, Struct,
};
use dovetail_protocol::metadata::is_passed_on;
use dovetail_schema::{Method, ServiceId};
use std::time::Instant;

/// Passes the calls of one service on. It lives as long as the process, like the contract.
pub(crate) struct Forward {
    contract: &'static Contract<'static>,
    table: Table,
    channel: Channel,
    /// `None` where nobody wants to see calls.
    journal: Option<Journal>,
}

impl Forward {
    /// The service, which is reached this way.
    pub(crate) fn new(
        contract: &'static Contract<'static>,
        service: ServiceId,
        way: &Way,
        logs: bool,
    ) -> Result<Self, Status> {
        Ok(Forward {
            contract,
            table: table(contract, service),
            channel: way.channel()?,
            journal: logs.then(|| Journal::new(contract, service)),
        })
    }

    async fn answer(
        &self,
        context: Context,
        row: &'static dovetail::method::Method,
        method: &'static Method,
        params: Struct,
    ) -> Result<ReplyFields, Status> {
        let start = Instant::now();
        let reply = self.pass_on(&context, row, method, &params).await;
        if let Some(journal) = &self.journal {
            journal.line(&context, method, &params, &reply, start.elapsed());
        }
        reply.map(|reply| ReplyBody::new(self.contract, method, reply).into())
    }

    async fn pass_on(
        &self,
        context: &Context,
        row: &'static dovetail::method::Method,
        method: &'static Method,
        params: &Struct,
    ) -> Result<Reply, Status> {
        let channel = self.channel(context);
        let params = Params::new(self.contract, method, params);
        if method.oneway {
            channel.notify_described(row, &params).await?;
            return Ok(Reply::Result(None));
        }
        let mut slot = ReplySlot::new(self.contract, method);
        channel.call_described(row, &params, &mut slot).await?;
        reply(slot)
    }

    /// The channel for a call, with the caller's headers and what is left of its time.
    fn channel(&self, context: &Context) -> Channel {
        let channel = match context.deadline() {
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                self.channel.with_timeout(left)
            }
            None => self.channel.clone(),
        };
        let passed = context.headers().filter(|(name, _)| is_passed_on(name));
        passed.fold(channel, |channel, (name, value)| {
            channel.with_header(name, value.to_vec())
        })
    }
}

impl Service for Forward {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        self.table.descriptor
    }

    fn call<'a>(&'a self, number: usize, call: Call) -> HandlerFuture<'a> {
        let rows = self.table.descriptor.methods.get(number);
        let (Some(method), Some(row)) = (self.table.methods.get(number).copied(), rows) else {
            return call.no_such_method();
        };
        if method.client_stream.is_some() || method.server_stream.is_some() {
            let what = format!(
                "`{}` has streams, which the gateway does not carry",
                method.name
            );
            return call.refuse(&Status::new(Code::Unimplemented, what));
        }
        let slot = ParamsSlot::new(self.contract, method);
        call.unary(slot, move |context, params| {
            self.answer(context, row, method, params.values)
        })
    }
}

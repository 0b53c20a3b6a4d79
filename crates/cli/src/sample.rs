//! A service that has a contract and no handler: it answers every method with sample data.

use crate::output;
use crate::paint::{Paint, Style};
use dovetail::{
    Call, Code, Context, HandlerFuture, MethodKind, Service, ServiceDescriptor, Status,
};
use dovetail_dynamic::{
    Contract, ParamsSlot, Plausible, Reply, ReplyBody, ReplyFields, Struct, arguments_to_json,
    to_json, type_name,
};
use dovetail_schema::{Idempotency, Method, ServiceId};
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
    /// The same seed and the same calls: the same answers.
    pub(crate) seed: u64,
    /// Colours of the log.
    pub(crate) paint: Paint,
}

/// Answers one service. It lives as long as the process, like the contract and the table of methods.
pub(crate) struct Sample {
    contract: &'static Contract<'static>,
    descriptor: &'static ServiceDescriptor,
    methods: Vec<&'static Method>,
    behavior: Behavior,
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
        let schema = contract.schema();
        let methods: Vec<&'static Method> = schema
            .methods(service)
            .into_iter()
            .map(|(_, method)| method)
            .collect();
        let package = &schema[schema[service].package];
        let mut rows: Vec<_> = methods.iter().map(|method| row(contract, method)).collect();
        rows.iter_mut()
            .for_each(|row| row.messages = package.messages);
        let descriptor = ServiceDescriptor {
            name: &schema[service].name,
            package: &package.name,
            base: None,
            methods: rows.leak(),
            objects: &[],
        };
        Sample {
            contract,
            descriptor: Box::leak(Box::new(descriptor)),
            methods,
            behavior,
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
        self.log(&context, method, &params, &reply, start.elapsed());
        reply.map(|reply| ReplyBody::new(self.contract, method, reply).into())
    }

    fn make_up(&self, method: &'static Method, params: &Struct) -> Result<Reply, Status> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let mut plausible = Plausible::new(self.contract, self.behavior.seed.wrapping_add(number));
        if plausible.chance(self.behavior.fail) {
            // Where the contract has exceptions, every second failure is one.
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

    /// One line for each call: what was asked, what was answered, how long it took.
    fn log(
        &self,
        context: &Context,
        method: &Method,
        params: &Struct,
        reply: &Result<Reply, Status>,
        time: Duration,
    ) {
        let paint = self.behavior.paint;
        let arguments = arguments_to_json(self.contract, method, params).to_string();
        let outcome = match reply {
            Err(status) => paint.text(Style::Error, &status.code().to_string()),
            Ok(_) if method.oneway => paint.text(Style::Faint, "one-way"),
            Ok(Reply::Result(value)) => match method.result.as_ref().zip(value.as_ref()) {
                Some((ty, value)) => shorten(&to_json(self.contract, ty, value).to_string()),
                None => paint.text(Style::Faint, "void"),
            },
            Ok(Reply::Exception { index, .. }) => {
                let name = type_name(self.contract.schema(), &method.throws[*index].ty);
                paint.text(Style::Warning, &format!("exception {name}"))
            }
        };
        let name = paint.text(Style::Strong, &method.name);
        let details = format!("({}, {} µs)", context.wire(), time.as_micros());
        let (arguments, details) = (shorten(&arguments), paint.text(Style::Faint, &details));
        // A log that nobody reads any more must not end the server.
        let _ = output::write(&format!("{name} {arguments} → {outcome} {details}\n"));
    }
}

impl Service for Sample {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        self.descriptor
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        let Some(method) = self.methods.get(method).copied() else {
            return call.no_such_method();
        };
        let slot = ParamsSlot::new(self.contract, method);
        call.unary(slot, move |context, params| {
            self.answer(context, method, params.values)
        })
    }
}

/// What the runtime needs to know of a method.
fn row(contract: &'static Contract<'static>, method: &'static Method) -> dovetail::Method {
    let fields = contract.params(method).wire().to_vec();
    let mut row = dovetail::Method::new(&method.name, fields.leak());
    row.kind = MethodKind::new(method.oneway, false, false);
    row.idempotent = method.idempotency != Idempotency::Unknown;
    row
}

/// Short enough for a line of a log.
fn shorten(text: &str) -> String {
    const MOST: usize = 72;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

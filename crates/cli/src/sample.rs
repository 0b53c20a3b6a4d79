//! Services that have a contract and no handler: every method is answered with sample data.

use crate::host::Answer;
use crate::output;
use crate::paint::{Paint, Style};
use dovetail::{Code, Status};
use dovetail_dynamic::{
    Contract, ParamsSlot, Plausible, Reply, ReplyBody, Struct, arguments_to_json, to_json,
    type_name,
};
use dovetail_protocol::thrift::IncomingCall;
use dovetail_schema::{Method, ServiceId};
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

/// Answers the services of a contract.
pub(crate) struct Sample {
    contract: &'static Contract<'static>,
    services: Vec<ServiceId>,
    behavior: Behavior,
    calls: AtomicU64,
}

impl Sample {
    /// A call that names no service is answered by the first of `services` that has its method.
    pub(crate) fn new(
        contract: &'static Contract<'static>,
        services: Vec<ServiceId>,
        behavior: Behavior,
    ) -> Self {
        Sample {
            contract,
            services,
            behavior,
            calls: AtomicU64::new(0),
        }
    }

    fn find(&self, service: Option<&str>, method: &str) -> Result<&'static Method, Status> {
        let schema = self.contract.schema();
        let named = |id: &&ServiceId| service.is_none_or(|name| schema[**id].name == name);
        let mut services = self.services.iter().filter(named).peekable();
        if services.peek().is_none() {
            let message = format!("no service `{}`", service.unwrap_or_default());
            return Err(Status::new(Code::Unimplemented, message));
        }
        let mut methods = services.flat_map(|id| schema.methods(*id));
        let found = methods.find(|(_, candidate)| candidate.name == method);
        found
            .map(|(_, method)| method)
            .ok_or_else(|| Status::new(Code::Unimplemented, format!("no method `{method}`")))
    }

    /// What to answer, and the line for the log: what was asked and what is answered.
    fn reply(&self, call: &IncomingCall) -> (Result<(&'static Method, Reply), Status>, String) {
        let method = match self.find(call.service.as_deref(), &call.method) {
            Ok(method) => method,
            Err(status) => return (Err(status), String::new()),
        };
        let mut slot = ParamsSlot::new(self.contract, method);
        if let Err(problem) = call
            .encoding
            .decode(&mut slot, &call.body, Default::default())
        {
            let message = format!(
                "the parameters of `{}` cannot be read: {problem}",
                method.name
            );
            return (
                Err(Status::new(Code::InvalidArgument, message)),
                String::new(),
            );
        }
        let arguments = arguments_to_json(self.contract, method, &slot.values).to_string();
        let reply = self.make_up(method, &slot.values);
        (
            reply.map(|reply| (method, reply)),
            format!(" {}", shorten(&arguments)),
        )
    }

    fn make_up(&self, method: &'static Method, params: &Struct) -> Result<Reply, Status> {
        std::thread::sleep(self.behavior.latency);
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
        call: &IncomingCall,
        arguments: &str,
        reply: &Result<(&'static Method, Reply), Status>,
        time: Duration,
    ) {
        let paint = self.behavior.paint;
        let outcome = match reply {
            Ok((method, _)) if method.oneway => paint.text(Style::Faint, "one-way"),
            Ok((method, Reply::Result(Some(value)))) => match &method.result {
                Some(ty) => shorten(&to_json(self.contract, ty, value).to_string()),
                None => String::new(),
            },
            Ok((_, Reply::Result(None))) => paint.text(Style::Faint, "void"),
            Ok((method, Reply::Exception { index, .. })) => {
                let name = type_name(self.contract.schema(), &method.throws[*index].ty);
                paint.text(Style::Warning, &format!("exception {name}"))
            }
            Err(status) => paint.text(
                Style::Error,
                &format!("{}: {}", status.code(), status.message()),
            ),
        };
        let name = paint.text(Style::Strong, &call.method);
        let details = format!("({}, {} µs)", call.reply.wire(), time.as_micros());
        let details = paint.text(Style::Faint, &details);
        // A log that nobody reads any more must not end the server.
        let _ = output::write(&format!("{name}{arguments} → {outcome} {details}\n"));
    }
}

impl Answer for Sample {
    fn answer(&self, call: &IncomingCall, out: &mut Vec<u8>) {
        let start = Instant::now();
        let (reply, arguments) = self.reply(call);
        self.log(call, &arguments, &reply, start.elapsed());
        match reply {
            Ok((method, reply)) => {
                let body = ReplyBody::new(self.contract, method, reply);
                if let Err(problem) = call.reply.reply(out, &body, Default::default()) {
                    let status = Status::new(
                        Code::Internal,
                        format!("the reply cannot be written: {problem}"),
                    );
                    call.reply.exception(out, &status);
                }
            }
            Err(status) => call.reply.exception(out, &status),
        }
    }
}

/// Short enough for a line of a log.
fn shorten(text: &str) -> String {
    const MOST: usize = 72;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

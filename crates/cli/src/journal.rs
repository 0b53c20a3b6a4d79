//! The log of a server: one line for each call.

use crate::output;
use crate::paint::{Paint, Stream, Style};
use crate::values::shown;
use dovetail::{Context, Status};
use dovetail_dynamic::{Contract, Reply, Struct, arguments_to_log, to_log, type_name};
use dovetail_schema::{Method, ServiceId};
use dovetail_wire::visible_json;
use serde_json::Value as Json;
use std::time::Duration;

/// Writes down the calls of a service.
pub(crate) struct Journal {
    contract: &'static Contract<'static>,
    service: ServiceId,
    paint: Paint,
}

impl Journal {
    pub(crate) fn new(contract: &'static Contract<'static>, service: ServiceId) -> Self {
        Journal {
            contract,
            service,
            paint: Stream::Stdout.paint(),
        }
    }

    /// Returns the question, the answer, and the time.
    pub(crate) fn line(
        &self,
        context: &Context,
        method: &Method,
        params: &Struct,
        reply: &Result<Reply, Status>,
        time: Duration,
    ) {
        let paint = self.paint;
        let arguments = arguments_to_log(self.contract, method, params);
        let arguments = shown(self.contract, self.service, method, arguments);
        let outcome = match reply {
            Err(status) => paint.text(Style::Error, &status.code().to_string()),
            Ok(_) if method.oneway => paint.text(Style::Faint, "one-way"),
            Ok(Reply::Result(value)) => match method.result.as_ref().zip(value.as_ref()) {
                Some((ty, value)) => shorten(&to_log(self.contract, ty, value)),
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

/// Shortens a text to a line of a log.
fn shorten(json: &Json) -> String {
    const MAX: usize = 72;
    let text = visible_json(&json.to_string()).to_string();
    match text.char_indices().nth(MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

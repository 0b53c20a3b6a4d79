//! Captures: their calls, read by the contracts inside.

use crate::failure::{Exit, Failure, Result};
use crate::remote::{by_descriptions, full_name};
use crate::streams::Streamed;
use crate::tables::{Table, forever, table};
use crate::values::shown;
use dovetail::Wire;
use dovetail::capture::{CapturedCall, Reader};
use dovetail::encoding::{Decode, Encoding, Limits};
use dovetail::types::Bytes;
use dovetail_dynamic::{
    Contract, ParamsSlot, Reply, ReplySlot, Struct, arguments_to_json, to_json, type_name,
};
use dovetail_schema::{Method, ServiceId};
use serde_json::{Map, Value as Json, json};
use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file of a capture.
pub(crate) struct Captured {
    pub(crate) contract: &'static Contract<'static>,
    path: PathBuf,
    reader: Reader<BufReader<File>>,
    services: HashMap<String, Service>,
}

/// A service of the captured server.
struct Service {
    id: ServiceId,
    table: Table,
    /// In the order of the methods.
    streamed: Vec<Option<&'static Streamed>>,
}

impl Service {
    fn new(contract: &'static Contract<'static>, id: ServiceId) -> Self {
        let table = table(contract, id);
        let methods = table.methods.iter().zip(table.descriptor.methods);
        let streamed = methods.map(|(method, row)| Streamed::new(contract, method, row));
        // It lives as long as the contract.
        let streamed = streamed.map(|streamed| streamed.map(|known| &*Box::leak(Box::new(known))));
        Service {
            id,
            streamed: streamed.collect(),
            table,
        }
    }
}

/// A method that was called.
#[derive(Clone, Copy)]
pub(crate) struct Called {
    pub(crate) service: ServiceId,
    pub(crate) method: &'static Method,
    pub(crate) row: &'static dovetail::method::Method,
    /// `None` for a method without streams.
    pub(crate) streamed: Option<&'static Streamed>,
}

/// A call with its messages as JSON.
pub(crate) struct ReadCall {
    pub(crate) call: CapturedCall,
    /// `None` where the capture does not describe it.
    pub(crate) called: Option<Called>,
    pub(crate) arguments: Json,
    /// The items; those that the server has sent are marked.
    pub(crate) items: Vec<(bool, Json)>,
    pub(crate) outcome: Json,
}

impl Captured {
    /// Opens a file, and tells which methods cannot be read.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|problem| cannot_read(path, problem))?;
        let reader = Reader::new(BufReader::new(file));
        let reader = reader.map_err(|problem| {
            let help = "`dovetail capture take` writes captures";
            cannot_read(path, problem).help(help)
        })?;
        let services = reader.header().services.clone();
        let known = by_descriptions(services, Wire::Dovetail);
        known.tell_omitted();
        let contract = forever(known.schema, known.defaults);
        let schema = contract.schema();
        let ids = (0..schema.services.len()).map(|at| ServiceId(at as u32));
        let services = ids.map(|id| {
            let service = &schema[id];
            let name = full_name(&schema[service.package].name, &service.name);
            (name, Service::new(contract, id))
        });
        Ok(Captured {
            contract,
            path: path.to_owned(),
            services: services.collect(),
            reader,
        })
    }

    /// Goes on at this time after the beginning.
    pub(crate) fn skip_to(&mut self, time: Duration) -> Result {
        let skipped = self.reader.skip_to(whole(time));
        skipped.map_err(|problem| cannot_read(&self.path, problem))
    }

    /// Returns the next call.
    pub(crate) fn next(&mut self) -> Result<Option<ReadCall>> {
        match self.reader.next() {
            Some(Ok(call)) => Ok(Some(self.read(call))),
            Some(Err(problem)) => Err(cannot_read(&self.path, problem)),
            None => Ok(None),
        }
    }

    /// Returns the calls that are left.
    pub(crate) fn rest(&mut self) -> Result<Vec<ReadCall>> {
        let mut calls = Vec::new();
        while let Some(call) = self.next()? {
            calls.push(call);
        }
        Ok(calls)
    }

    /// Returns a line about the whole file, once all calls have been read.
    pub(crate) fn summary(&self) -> String {
        let path = self.path.display();
        let Some(summary) = self.reader.summary() else {
            return format!("{path} has no end: its capture was cut off");
        };
        let why = match summary.reason.as_str() {
            "time" => "its time was over",
            "bytes" => "it was full",
            _ => "it was stopped",
        };
        let calls = summary.calls;
        match summary.left_out {
            0 => format!("{path}: {calls} calls; it ended when {why}"),
            left => format!("{path}: {calls} calls, {left} left out; it ended when {why}"),
        }
    }

    fn called(&self, call: &CapturedCall) -> Option<Called> {
        let service = self.services.get(&call.service)?;
        let mut methods = service.table.methods.iter();
        let place = methods.position(|method| method.name == call.method)?;
        Some(Called {
            service: service.id,
            method: service.table.methods[place],
            row: service.table.descriptor.methods.get(place)?,
            streamed: service.streamed[place],
        })
    }

    fn read(&self, call: CapturedCall) -> ReadCall {
        let contract = self.contract;
        let called = self.called(&call);
        let Some(known) = called else {
            return ReadCall {
                arguments: unread("the capture does not describe the method"),
                items: Vec::new(),
                outcome: outcome(&call, Json::Null),
                call,
                called,
            };
        };
        let arguments = match arguments(contract, known.method, &call) {
            Ok(values) => {
                let json = arguments_to_json(contract, known.method, &values);
                shown(contract, known.service, known.method, json)
            }
            Err(why) => unread(&why),
        };
        let items = call.items.iter().map(|item| {
            let items = known.streamed.and_then(|streamed| match item.sent {
                true => streamed.received(),
                false => streamed.sent(),
            });
            let read = items.map(|items| items.read(contract, &item.item));
            let read = read.unwrap_or_else(|| Err("the method has no such stream".to_owned()));
            (item.sent, read.unwrap_or_else(|why| unread(&why)))
        });
        ReadCall {
            arguments,
            items: items.collect(),
            outcome: outcome(&call, reply(contract, known, &call)),
            called,
            call,
        }
    }
}

impl ReadCall {
    /// Returns service and method, for display.
    pub(crate) fn name(&self) -> String {
        path(&self.call.service, &self.call.method)
    }

    /// Returns all of it, as an object.
    pub(crate) fn json(&self) -> Json {
        let call = &self.call;
        let headers = call.headers.iter().map(|header| {
            let value = String::from_utf8_lossy(&header.value).into_owned();
            (header.name.clone(), Json::from(value))
        });
        let items = self.items.iter().map(|(sent, item)| match sent {
            true => json!({ "sent": item }),
            false => json!({ "received": item }),
        });
        let mut object = json!({
            "began_us": call.began,
            "elapsed_us": call.elapsed,
            "service": call.service,
            "method": call.method,
            "wire": call.wire,
            "peer": call.peer,
            "arguments": self.arguments,
        });
        let optional = [
            ("principal", Json::from(call.principal.clone())),
            ("headers", Json::Object(headers.collect())),
            ("items", Json::Array(items.collect())),
            ("trace_id", Json::from(call.trace.clone())),
            ("missing", Json::from(call.missing.clone())),
        ];
        for (name, value) in optional {
            if !is_empty(&value) {
                object[name] = value;
            }
        }
        object["outcome"] = self.outcome.clone();
        object
    }

    /// Returns the values by which calls are compared: the items that the server has sent, and the
    /// outcome, without the fields of these names.
    pub(crate) fn answer(&self, ignored: &[String]) -> Json {
        let items = self.items.iter().filter(|(sent, _)| *sent);
        let items = items.map(|(_, item)| item.clone()).collect();
        answer(items, self.outcome.clone(), ignored)
    }
}

/// Returns two answers to a call, for display.
pub(crate) fn difference(call: &ReadCall, before: &Json, after: &Json) -> String {
    let (name, arguments) = (call.name(), &call.arguments);
    format!("{name} {arguments}\n  - {before}\n  + {after}\n")
}

/// Returns the values by which calls are compared.
pub(crate) fn answer(items: Vec<Json>, outcome: Json, ignored: &[String]) -> Json {
    let mut answer = outcome;
    if let Some(failed) = answer.get_mut("failed").and_then(Json::as_object_mut) {
        failed.remove("message");
    }
    if !items.is_empty() {
        answer["items"] = Json::Array(items);
    }
    without(&mut answer, ignored);
    answer
}

/// Removes the fields of these names, at any depth.
fn without(json: &mut Json, names: &[String]) {
    match json {
        Json::Object(object) => {
            object.retain(|name, _| !names.contains(name));
            object.values_mut().for_each(|value| without(value, names));
        }
        Json::Array(items) => items.iter_mut().for_each(|item| without(item, names)),
        _ => {}
    }
}

fn is_empty(json: &Json) -> bool {
    match json {
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(object) => object.is_empty(),
        _ => false,
    }
}

/// Stands in the place of a message that cannot be read.
fn unread(why: &str) -> Json {
    json!({ "unreadable": why })
}

/// Reads the parameters of a call.
pub(crate) fn arguments(
    contract: &Contract<'_>,
    method: &Method,
    call: &CapturedCall,
) -> std::result::Result<Struct, String> {
    let mut slot = ParamsSlot::new(contract, method);
    decode(&mut slot, &call.parameters)?;
    Ok(slot.values)
}

pub(crate) fn decode(slot: &mut impl Decode, bytes: &Bytes) -> std::result::Result<(), String> {
    match Encoding::Tagged.decode(slot, bytes, Limits::default()) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// The result or the exception of a call, or the exception of its stream.
fn reply(contract: &Contract<'_>, called: Called, call: &CapturedCall) -> Json {
    if !call.thrown.is_empty() {
        let items = called.streamed.and_then(Streamed::received);
        let end = items.map(|items| read_reply(contract, items.end(), &call.thrown));
        return end.unwrap_or_else(|| unread("the method has no such stream"));
    }
    match call.reply.is_empty() {
        true => Json::Null,
        false => read_reply(contract, called.method, &call.reply),
    }
}

fn read_reply(contract: &Contract<'_>, method: &Method, bytes: &Bytes) -> Json {
    let mut slot = ReplySlot::new(contract, method);
    match decode(&mut slot, bytes) {
        Ok(()) => slot.into_reply().map_or_else(
            || unread("neither a result nor a declared exception"),
            |reply| reply_json(contract, method, &reply),
        ),
        Err(why) => unread(&why),
    }
}

/// Returns a reply as JSON: `{"result": …}`, or `{"exception": {NAME: …}}`.
pub(crate) fn reply_json(contract: &Contract<'_>, method: &Method, reply: &Reply) -> Json {
    match (reply, &method.result) {
        (Reply::Result(Some(value)), Some(ty)) => json!({ "result": to_json(contract, ty, value) }),
        (Reply::Result(_), _) => json!({ "result": null }),
        (Reply::Exception { index, value }, _) => {
            let ty = &method.throws[*index].ty;
            let name = type_name(contract.schema(), ty);
            let exception = Map::from_iter([(name, to_json(contract, ty, value))]);
            json!({ "exception": exception })
        }
    }
}

/// Returns how a call has ended.
fn outcome(call: &CapturedCall, reply: Json) -> Json {
    match call.code.as_str() {
        "" => json!({ "running": true }),
        // A one-way call has none.
        "OK" | "EXCEPTION" if reply.is_null() => json!({ "result": null }),
        "OK" | "EXCEPTION" => reply,
        code => json!({ "failed": { "code": code, "message": call.message } }),
    }
}

fn whole(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

fn cannot_read(path: &Path, problem: impl std::fmt::Display) -> Failure {
    let failure = format!("cannot read `{}`: {problem}", path.display());
    Failure::new(Exit::Failed, failure)
}

/// Returns the path of a method: with its service, if it has one.
pub(crate) fn path(service: &str, method: &str) -> String {
    match service {
        "" => method.to_owned(),
        service => format!("{service}/{method}"),
    }
}

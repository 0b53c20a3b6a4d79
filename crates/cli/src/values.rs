//! Options of calls that the commands share: durations, the usual wire, arguments.

use dovetail::Wire;
use dovetail::encoding::Limits;
use dovetail::protocol::{Protocol, Transport};
use dovetail_dynamic::{Contract, JsonError, Struct, arguments_from_json, from_text};
use dovetail_protocol::thrift;
use dovetail_schema::{Method, Schema, ServiceId, capnp};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// The wire that servers of a contract speak unless somebody says otherwise: that of the contract's
/// language.
pub(crate) fn usual_wire(schema: &Schema) -> Wire {
    let root = schema.root().map(|root| &schema[root]);
    match root {
        Some(root) if root.messages => Wire::Grpc,
        Some(root) if root.annotations.get(capnp::ID).is_some() => Wire::Capnp,
        _ => DEFAULT_WIRE,
    }
}

/// The wire of Apache Thrift's own examples. A server that expects frames refuses it at once, where
/// an unframed one would wait for more of a frame.
const DEFAULT_WIRE: Wire = Wire::Thrift(thrift::Wire::new(Protocol::Binary, Transport::Unframed));

/// The parameters of a call. In a contract of protobuf's an object is the one message of the call.
pub(crate) fn arguments(
    contract: &Contract<'_>,
    service: ServiceId,
    method: &Method,
    json: Json,
) -> Result<Struct, JsonError> {
    let json = match takes_message(contract, service, method) && json.is_object() {
        true => json!([json]),
        false => json,
    };
    arguments_from_json(contract, method, &json)
}

/// The parameters of a call, whose one message is in protobuf's text format.
pub(crate) fn arguments_in_text(
    contract: &Contract<'_>,
    service: ServiceId,
    method: &Method,
    text: &str,
) -> Result<Struct, String> {
    let param = method.params.first();
    let param = param.filter(|_| takes_message(contract, service, method));
    let param = param.ok_or("only calls of protobuf's contracts have a text format")?;
    let message = from_text(contract, &param.ty, text, Limits::default());
    let message = message.map_err(|problem| problem.to_string())?;
    Ok([(param.id, message)].into_iter().collect())
}

/// Returns arguments in JSON in the form that is shown: the message of a call that has one, else
/// all of them.
pub(crate) fn shown(
    contract: &Contract<'_>,
    service: ServiceId,
    method: &Method,
    mut arguments: Json,
) -> Json {
    match method.params.first() {
        Some(param) if takes_message(contract, service, method) => arguments[&param.name].take(),
        _ => arguments,
    }
}

fn takes_message(contract: &Contract<'_>, service: ServiceId, method: &Method) -> bool {
    let schema = contract.schema();
    schema[schema[service].package].messages && method.params.len() == 1
}

/// `20ms`, `1.5s`, `2m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic() || c == 'µ');
    let unit = match &text[digits.len()..] {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "" => return Err("the unit is missing: 20ms, 1.5s, 2m".to_owned()),
        _ => return Err("the units are us, ms, s, m, h".to_owned()),
    };
    let number: f64 = digits
        .parse()
        .map_err(|_| "expected a number and a unit: 20ms")?;
    Duration::try_from_secs_f64(number * unit).map_err(|_| "too large or negative".to_owned())
}

/// `500KB`, `64MB`, `2GB`, or a number.
pub(crate) fn bytes(text: &str) -> Result<i64, String> {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let unit = match &text[digits.len()..] {
        "" | "B" => 1,
        "KB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        _ => return Err("the units are KB, MB, GB".to_owned()),
    };
    let number: Option<i64> = digits.parse().ok();
    let number = number.and_then(|number| number.checked_mul(unit));
    let number = number.filter(|number| *number > 0);
    number.ok_or_else(|| "expected a number of bytes: 64MB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let rows = [
            ("500", Some(500)),
            ("64MB", Some(64 << 20)),
            ("2GB", Some(2 << 30)),
            ("0", None),
            ("-1KB", None),
            ("1.5MB", None),
            ("1TB", None),
        ];
        for (text, expected) in rows {
            assert_eq!(bytes(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn durations() {
        let rows = [
            ("20ms", Some(20_000)),
            ("1.5s", Some(1_500_000)),
            ("2m", Some(120_000_000)),
            ("5µs", Some(5)),
            ("0s", Some(0)),
            ("20", None),
            ("ms", None),
            ("-1s", None),
            ("1y", None),
        ];
        for (text, micros) in rows {
            assert_eq!(duration(text).ok().map(|d| d.as_micros()), micros, "{text}");
        }
    }
}

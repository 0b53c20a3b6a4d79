//! Types that JSON has as text, so that they can be keys of objects, and their constants in a
//! contract.

use crate::Value;
use dovetail_schema::{Type, text};
use dovetail_wire::{SignedDuration, Timestamp, parse_decimal, protobuf};

/// The text of a value; `None` for those that have other forms.
pub(super) fn to_text(value: &Value) -> Option<String> {
    Some(match value {
        Value::Uuid(value) => value.to_string(),
        Value::Timestamp(value) => match Timestamp::try_from(*value) {
            Ok(value) => value.to_string(),
            // The last day of the year 9999, or none.
            Err(_) => value.to_string(),
        },
        Value::TimestampTz(value) => value.to_string(),
        Value::Date(value) => value.to_string(),
        Value::Duration(value) => match SignedDuration::try_from(*value) {
            Ok(value) => value.to_string(),
            Err(_) => value.to_string(),
        },
        Value::Decimal(value) => value.to_string(),
        _ => return None,
    })
}

/// The value of a text; `None` where it is none of this type.
pub(super) fn from_text(ty: &Type, text: &str) -> Option<Value> {
    Some(match ty {
        Type::Uuid => Value::Uuid(text.parse().ok()?),
        Type::Timestamp { offset: false } => Value::Timestamp(instant(text)?),
        Type::Timestamp { offset: true } => Value::TimestampTz(text.parse().ok()?),
        Type::Date => Value::Date(text.parse().ok()?),
        Type::Duration => Value::Duration(duration(text)?.into()),
        Type::Decimal => Value::Decimal(parse_decimal(text)?),
        _ => return None,
    })
}

/// In any form of RFC 3339, and also on the last day of the year 9999.
fn instant(text: &str) -> Option<protobuf::Timestamp> {
    let known = text.parse::<Timestamp>().map(Into::into).ok();
    known.or_else(|| text.parse().ok())
}

/// As a contract writes it, with days and weeks of one length, or in the words of people
/// (`1h 30m`).
fn duration(text: &str) -> Option<SignedDuration> {
    match text::duration(text) {
        Some((seconds, nanos)) => Some(SignedDuration::new(seconds, nanos)),
        None => text.parse().ok(),
    }
}

/// How such a text is written; `None` for types that have none.
pub(super) fn example(ty: &Type) -> Option<&'static str> {
    Some(match ty {
        Type::Timestamp { offset: false } => "\"2026-11-20T22:47:36.5Z\"",
        Type::Timestamp { offset: true } => "\"2026-11-20T23:47:36+01:00\"",
        Type::Date => "\"2026-11-20\"",
        Type::Duration => "\"PT1.5S\" or \"1h 30m\"",
        Type::Decimal => "\"-12.50\", with at most 28 digits",
        _ => return None,
    })
}

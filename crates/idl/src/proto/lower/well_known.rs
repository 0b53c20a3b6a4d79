//! Messages of protobuf itself that are types of the schema.

use dovetail_schema::Type;

/// The type that a message stands for, by its absolute name without the dot in front.
pub(in super::super) fn of(name: &str) -> Option<Type> {
    Some(match name.strip_prefix("google.protobuf.")? {
        "Timestamp" => Type::Timestamp { offset: false },
        "Duration" => Type::Duration,
        "Any" => Type::Any,
        "Value" => Type::Dynamic,
        _ => return None,
    })
}

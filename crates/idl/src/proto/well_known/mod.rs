//! Files that every protobuf compiler brings along: the well-known types, and what options and
//! features are declared with. Written anew: names, numbers and types only. Dovetail's own options
//! are among them.

use crate::source::{BUILT_IN, Source};
use dovetail_schema::OPTIONS_PROTO;

/// Declares options.
pub(super) const DESCRIPTOR: &str = "google/protobuf/descriptor.proto";

const FILES: &[(&str, &str)] = &[
    ("dovetail/v1/options.proto", OPTIONS_PROTO),
    ("google/protobuf/any.proto", include_str!("any.proto")),
    ("google/protobuf/api.proto", include_str!("api.proto")),
    (
        "google/protobuf/compiler/plugin.proto",
        include_str!("plugin.proto"),
    ),
    (
        "google/protobuf/cpp_features.proto",
        include_str!("cpp_features.proto"),
    ),
    (DESCRIPTOR, include_str!("descriptor.proto")),
    (
        "google/protobuf/duration.proto",
        include_str!("duration.proto"),
    ),
    ("google/protobuf/empty.proto", include_str!("empty.proto")),
    (
        "google/protobuf/field_mask.proto",
        include_str!("field_mask.proto"),
    ),
    (
        "google/protobuf/go_features.proto",
        include_str!("go_features.proto"),
    ),
    (
        "google/protobuf/java_features.proto",
        include_str!("java_features.proto"),
    ),
    (
        "google/protobuf/source_context.proto",
        include_str!("source_context.proto"),
    ),
    ("google/protobuf/struct.proto", include_str!("struct.proto")),
    (
        "google/protobuf/timestamp.proto",
        include_str!("timestamp.proto"),
    ),
    ("google/protobuf/type.proto", include_str!("type.proto")),
    (
        "google/protobuf/wrappers.proto",
        include_str!("wrappers.proto"),
    ),
];

/// The built-in file of this path.
pub(super) fn source(path: &str) -> Option<Source> {
    let (name, text) = FILES.iter().find(|(known, _)| *known == path)?;
    Some(Source::new(format!("{BUILT_IN}{name}"), *text))
}

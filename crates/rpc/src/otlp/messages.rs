//! Messages that all requests of OTLP have, by the numbers of
//! `opentelemetry/proto/{common,resource}/v1`.

use dovetail_wire::message;
use std::time::{SystemTime, UNIX_EPOCH};

/// The attributes of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Resource {
    attributes: Vec<KeyValue>,
}

message!(Resource {
    1 attributes: Vec<KeyValue>,
});

impl Resource {
    /// Returns the resource of a service with further attributes.
    pub(super) fn new(service: &str, attributes: &[(&str, &str)]) -> Self {
        let service = [("service.name", service)];
        let all = service.iter().chain(attributes);
        Resource {
            attributes: all.map(|(key, value)| KeyValue::new(key, *value)).collect(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KeyValue {
    key: String,
    value: AnyValue,
}

message!(KeyValue {
    1 key: String,
    2 value: AnyValue,
});

impl KeyValue {
    pub(crate) fn new(key: &str, string: impl Into<String>) -> Self {
        KeyValue {
            key: key.to_owned(),
            value: AnyValue {
                string: string.into(),
            },
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct AnyValue {
    string: String,
}

message!(AnyValue {
    1 string as "string_value": String,
});

/// The library that has made the spans or the metrics.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scope {
    name: String,
    version: String,
}

message!(Scope as "InstrumentationScope" {
    1 name: String,
    2 version: String,
});

impl Scope {
    /// Returns this library.
    pub(crate) fn own() -> Self {
        Scope {
            name: "dovetail".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Response {
    pub(crate) partial_success: Option<PartialSuccess>,
}

message!(Response {
    1 partial_success: Option<PartialSuccess>,
});

/// The spans or points that the collector has refused.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PartialSuccess {
    pub(crate) rejected: i64,
    pub(crate) message: String,
}

message!(PartialSuccess {
    1 rejected: i64,
    2 message as "error_message": String,
});

/// Nanoseconds since 1970, for more than 500 years.
pub(crate) fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

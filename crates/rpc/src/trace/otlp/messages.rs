//! Spans as a collector takes them, by the numbers of `opentelemetry/proto/trace/v1/trace.proto`.

use crate::peer::intercept::Outcome;
use crate::trace::{Span, SpanKind};
use crate::{Status, descriptor};
use dovetail_wire::{Bytes, message};
use std::time::{SystemTime, UNIX_EPOCH};

descriptor!(pub(super) static TRACES = "TraceService" in "opentelemetry.proto.collector.trace.v1" {
    Export(1 request: Request) -> Response [messages];
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Request {
    resource_spans: Vec<ResourceSpans>,
}

message!(Request {
    1 resource_spans: Vec<ResourceSpans>,
});

#[derive(Clone, Debug, Default, PartialEq)]
struct ResourceSpans {
    resource: Resource,
    scope_spans: Vec<ScopeSpans>,
}

message!(ResourceSpans {
    1 resource: Resource,
    2 scope_spans: Vec<ScopeSpans>,
});

/// The attributes of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Resource {
    attributes: Vec<KeyValue>,
}

message!(Resource {
    1 attributes: Vec<KeyValue>,
});

#[derive(Clone, Debug, Default, PartialEq)]
struct KeyValue {
    key: String,
    value: AnyValue,
}

message!(KeyValue {
    1 key: String,
    2 value: AnyValue,
});

#[derive(Clone, Debug, Default, PartialEq)]
struct AnyValue {
    string: String,
}

message!(AnyValue {
    1 string as "string_value": String,
});

#[derive(Clone, Debug, Default, PartialEq)]
struct ScopeSpans {
    scope: Scope,
    spans: Vec<SpanMessage>,
}

message!(ScopeSpans {
    1 scope: Scope,
    2 spans: Vec<SpanMessage>,
});

#[derive(Clone, Debug, Default, PartialEq)]
struct Scope {
    name: String,
    version: String,
}

message!(Scope {
    1 name: String,
    2 version: String,
});

#[derive(Clone, Debug, Default, PartialEq)]
struct SpanMessage {
    trace: Bytes,
    span: Bytes,
    parent: Bytes,
    name: String,
    kind: i32,
    start: u64,
    end: u64,
    attributes: Vec<KeyValue>,
    status: SpanStatus,
    flags: u32,
}

message!(SpanMessage as "Span" {
    1 trace as "trace_id": Bytes,
    2 span as "span_id": Bytes,
    4 parent as "parent_span_id": Bytes,
    5 name: String,
    6 kind: i32,
    7 start as "start_time_unix_nano": u64 [fixed],
    8 end as "end_time_unix_nano": u64 [fixed],
    9 attributes: Vec<KeyValue>,
    15 status: SpanStatus,
    16 flags: u32 [fixed],
});

#[derive(Clone, Debug, Default, PartialEq)]
struct SpanStatus {
    message: String,
    code: i32,
}

message!(SpanStatus as "Status" {
    2 message: String,
    3 code: i32,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Response {
    pub(super) partial_success: Option<PartialSuccess>,
}

message!(Response {
    1 partial_success: Option<PartialSuccess>,
});

/// Spans that the collector has refused.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PartialSuccess {
    pub(super) rejected: i64,
    pub(super) message: String,
}

message!(PartialSuccess as "ExportTracePartialSuccess" {
    1 rejected as "rejected_spans": i64,
    2 message as "error_message": String,
});

/// Numbers of `Span.SpanKind`, `Status.StatusCode` and `SpanFlags`.
const SERVER: i32 = 2;
const CLIENT: i32 = 3;
const ERROR: i32 = 2;
const SAMPLED: u32 = 1;
const KNOWS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;

impl Resource {
    /// Adds an attribute.
    pub(super) fn push(&mut self, key: &str, value: &str) {
        self.attributes.push(KeyValue::new(key, value.to_owned()));
    }
}

impl KeyValue {
    fn new(key: &str, string: String) -> Self {
        KeyValue {
            key: key.to_owned(),
            value: AnyValue { string },
        }
    }
}

/// Makes the request with which spans are sent.
pub(super) fn request(resource: &Resource, spans: &[Span]) -> Request {
    let scope = Scope {
        name: "dovetail".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Request {
        resource_spans: vec![ResourceSpans {
            resource: resource.clone(),
            scope_spans: vec![ScopeSpans {
                scope,
                spans: spans.iter().map(SpanMessage::from).collect(),
            }],
        }],
    }
}

impl From<&Span> for SpanMessage {
    fn from(span: &Span) -> Self {
        let id = |bytes: &[u8]| Bytes::copy_from_slice(bytes);
        let remote = match (span.kind, span.parent) {
            (SpanKind::Server, Some(_)) => KNOWS_REMOTE | IS_REMOTE,
            _ => KNOWS_REMOTE,
        };
        let attributes = span.attributes().into_iter();
        SpanMessage {
            trace: id(&span.context.trace_id().to_be_bytes()),
            span: id(&span.context.span_id().to_be_bytes()),
            parent: span
                .parent
                .map(|parent| id(&parent.to_be_bytes()))
                .unwrap_or_default(),
            name: span.name(),
            kind: match span.kind {
                SpanKind::Server => SERVER,
                SpanKind::Client => CLIENT,
            },
            start: nanoseconds(span.start),
            end: nanoseconds(span.start + span.elapsed),
            attributes: attributes
                .map(|(key, value)| KeyValue::new(key, value))
                .collect(),
            status: match (span.is_error(), &span.outcome) {
                (true, Outcome::Failed(status)) => SpanStatus::error(status),
                _ => SpanStatus::default(),
            },
            // A span that is recorded is sampled for its collector, whatever was decided at its
            // beginning.
            flags: SAMPLED | remote,
        }
    }
}

impl SpanStatus {
    fn error(status: &Status) -> Self {
        SpanStatus {
            message: status.message().to_owned(),
            code: ERROR,
        }
    }
}

/// Nanoseconds since 1970, for more than 500 years.
fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

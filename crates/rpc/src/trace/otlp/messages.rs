//! Spans as a collector takes them, by the numbers of `opentelemetry/proto/trace/v1/trace.proto`.

use crate::otlp::{KeyValue, Resource, Response, Scope, nanoseconds};
use crate::peer::intercept::Outcome;
use crate::trace::{Span, SpanKind};
use crate::{Status, descriptor};
use dovetail_wire::{Bytes, message};

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

/// Numbers of `Span.SpanKind`, `Status.StatusCode` and `SpanFlags`.
const SERVER: i32 = 2;
const CLIENT: i32 = 3;
const ERROR: i32 = 2;
const SAMPLED: u32 = 1;
const KNOWS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;

/// Makes the request with which spans are sent.
pub(super) fn request(resource: &Resource, spans: &[Span]) -> Request {
    Request {
        resource_spans: vec![ResourceSpans {
            resource: resource.clone(),
            scope_spans: vec![ScopeSpans {
                scope: Scope::own(),
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

//! Metrics as a collector takes them, by the numbers of
//! `opentelemetry/proto/metrics/v1/metrics.proto`.

use crate::descriptor;
use crate::otlp::{KeyValue, Resource, Response, Scope};
use dovetail_wire::message;

descriptor!(pub(super) static METRICS = "MetricsService" in "opentelemetry.proto.collector.metrics.v1" {
    Export(1 request: Request) -> Response [messages];
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Request {
    resource_metrics: Vec<ResourceMetrics>,
}

message!(Request {
    1 resource_metrics: Vec<ResourceMetrics>,
});

impl Request {
    pub(super) fn new(resource: &Resource, metrics: Vec<Metric>) -> Self {
        let scope = Scope::own();
        Request {
            resource_metrics: vec![ResourceMetrics {
                resource: resource.clone(),
                scope_metrics: vec![ScopeMetrics { scope, metrics }],
            }],
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct ResourceMetrics {
    resource: Resource,
    scope_metrics: Vec<ScopeMetrics>,
}

message!(ResourceMetrics {
    1 resource: Resource,
    2 scope_metrics: Vec<ScopeMetrics>,
});

#[derive(Clone, Debug, Default, PartialEq)]
struct ScopeMetrics {
    scope: Scope,
    metrics: Vec<Metric>,
}

message!(ScopeMetrics {
    1 scope: Scope,
    2 metrics: Vec<Metric>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Metric {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) unit: String,
    pub(super) gauge: Option<Gauge>,
    pub(super) sum: Option<Sum>,
    pub(super) histogram: Option<Histogram>,
}

message!(Metric {
    1 name: String,
    2 description: String,
    3 unit: String,
    5 gauge: Option<Gauge>,
    7 sum: Option<Sum>,
    9 histogram: Option<Histogram>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Gauge {
    pub(super) points: Vec<Point>,
}

message!(Gauge {
    1 points as "data_points": Vec<Point>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sum {
    pub(super) points: Vec<Point>,
    pub(super) temporality: i32,
    pub(super) grows: bool,
}

message!(Sum {
    1 points as "data_points": Vec<Point>,
    2 temporality as "aggregation_temporality": i32,
    3 grows as "is_monotonic": bool,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Histogram {
    pub(super) points: Vec<Distribution>,
    pub(super) temporality: i32,
}

message!(Histogram {
    1 points as "data_points": Vec<Distribution>,
    2 temporality as "aggregation_temporality": i32,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Point {
    pub(super) start: u64,
    pub(super) time: u64,
    pub(super) double: Option<f64>,
    pub(super) number: Option<i64>,
    pub(super) attributes: Vec<KeyValue>,
}

message!(Point as "NumberDataPoint" {
    2 start as "start_time_unix_nano": u64 [fixed],
    3 time as "time_unix_nano": u64 [fixed],
    4 double as "as_double": Option<f64>,
    6 number as "as_int": Option<i64> [fixed],
    7 attributes: Vec<KeyValue>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Distribution {
    pub(super) start: u64,
    pub(super) time: u64,
    pub(super) count: u64,
    pub(super) sum: Option<f64>,
    pub(super) counts: Vec<u64>,
    pub(super) bounds: Vec<f64>,
    pub(super) attributes: Vec<KeyValue>,
}

message!(Distribution as "HistogramDataPoint" {
    2 start as "start_time_unix_nano": u64 [fixed],
    3 time as "time_unix_nano": u64 [fixed],
    4 count: u64 [fixed],
    5 sum: Option<f64>,
    6 counts as "bucket_counts": Vec<u64> [fixed],
    7 bounds as "explicit_bounds": Vec<f64>,
    9 attributes: Vec<KeyValue>,
});

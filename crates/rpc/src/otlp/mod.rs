//! A collector of OpenTelemetry, which takes spans and metrics by OTLP over gRPC:
//! <https://opentelemetry.io/docs/specs/otlp/>.

#[cfg(feature = "grpc")]
mod collector;
#[cfg(feature = "grpc")]
mod messages;
pub(crate) mod names;

#[cfg(feature = "grpc")]
pub(crate) use collector::Collector;
#[cfg(feature = "grpc")]
pub(crate) use messages::{KeyValue, Resource, Response, Scope, nanoseconds};

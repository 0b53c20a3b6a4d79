//! Dovetail: one contract, one handler, one port, every wire.
//!
#![cfg_attr(
    all(feature = "grpc", feature = "macros", feature = "signals", feature = "tls"),
    doc = include_str!("front_page.md")
)]
#![deny(unsafe_code)]

mod access_log;
mod address;
pub mod admin;
mod block_on;
mod buffers;
pub mod capture;
mod clock;
#[cfg(feature = "config")]
pub mod config;
mod counters;
mod descriptor;
mod dispatch;
mod exceptions;
#[cfg(feature = "grpc")]
mod grpc;
mod health;
pub mod identity;
mod load_reports;
mod method;
pub mod names;
mod observer;
mod peer;
mod random;
pub mod reflection;
mod server;
pub mod sessions;
pub mod statistics;
pub mod throttle;
#[cfg_attr(not(feature = "tls"), path = "tls/absent.rs")]
mod tls;
pub mod trace;
mod web;

mod client;
#[cfg(feature = "export")]
pub mod export;
#[cfg(feature = "testing")]
pub mod testing;
pub mod transport;

pub use client::{Backoff, HedgingPolicy, RetryPolicy, blocking};
#[cfg(feature = "async")]
pub use client::{Channel, ChannelBuilder};

pub use access_log::AccessLog;
pub use address::{Address, ParseAddressError};
pub use counters::Counters;
pub use dispatch::Router;
pub use dispatch::functions::Function;
pub use dispatch::mock::Mock;
#[cfg(feature = "macros")]
pub use dovetail_macros::{Exceptions, Message, service};
pub use dovetail_protocol as protocol;
pub use dovetail_protocol::dovetail::{Compression, MethodKind};
pub use dovetail_protocol::http::Cors;
pub use dovetail_protocol::{Code, Execution, Origin, Status, Wire};
pub use dovetail_wire as wire;
#[cfg(feature = "compact-strings")]
pub use dovetail_wire::CompactString;
#[cfg(feature = "decimal")]
pub use dovetail_wire::Decimal;
pub use dovetail_wire::{
    Any, Array, Bytes, Case, Dynamic, Fixed, Free, LongArray, Message, OrderedFloat, Ref, Required,
    UnknownFields, Uuid, enumeration, extends, family, message, oneof, thrown, union, variants,
};
#[cfg(feature = "time")]
pub use dovetail_wire::{Date, Offset, SignedDuration, Timestamp, TimestampTz};
pub use exceptions::Exceptions;
#[cfg(feature = "grpc")]
pub use grpc::Keepalive;
pub use health::Health;
pub use load_reports::LoadReports;
pub use method::{Method, MethodTypes, ServiceDescriptor};
pub use peer::call::{Call, HandlerFuture, Reply};
pub use peer::context::Context;
pub use peer::intercept::{
    CallEnd, CallHead, ClientCall, ClientInterceptor, Decision, DecisionFuture, Direction, Outcome,
    Response, ServerInterceptor, StreamItem,
};
pub use peer::objects::ObjectRef;
pub use peer::response_headers::ResponseHeaders;
pub use peer::service::Service;
#[cfg(feature = "async")]
pub use peer::streams::{Answer, DescribedNext, DescribedStreams, Sender, Streamed, Upload};
pub use peer::streams::{ItemSink, Items, Receiver, Streaming};
pub use reflection::Reflection;
pub use server::{HalfClosed, Model, Running, Server, ServerLimits};
#[cfg(feature = "tower")]
pub use server::{HttpBody, HttpService};
#[cfg(feature = "tls")]
pub use tls::{ClientCertificate, ClientTls, Pem, ServerTls, TlsPeer};

/// The code in documents is code.
#[cfg(all(doctest, feature = "async", feature = "macros"))]
mod documents {
    #[cfg(feature = "testing")]
    #[doc = include_str!("../../../docs/code-first.md")]
    mod code_first {}

    #[cfg(feature = "config")]
    #[doc = include_str!("../../../docs/configuration.md")]
    mod configuration {}

    #[cfg(feature = "tokens")]
    #[doc = include_str!("../../../docs/identity.md")]
    mod identity {}

    #[doc = include_str!("../../../docs/interceptors.md")]
    mod interceptors {}

    #[doc = include_str!("../../../docs/admin.md")]
    mod admin {}

    #[doc = include_str!("../../../docs/tracing.md")]
    mod tracing {}

    #[doc = include_str!("../../../docs/sessions.md")]
    mod sessions {}

    #[doc = include_str!("../../../docs/statistics.md")]
    mod statistics {}

    #[doc = include_str!("../../../docs/balancing.md")]
    mod balancing {}

    #[doc = include_str!("../../../docs/throttling.md")]
    mod throttling {}

    #[doc = include_str!("../../../README.md")]
    mod readme {}
}

//! Dovetail: one contract, one handler, one port, every wire.
#![deny(unsafe_code)]

mod access_log;
mod address;
pub mod admin;
mod block_on;
mod buffers;
mod call;
mod cancellation;
mod capnp;
pub mod capture;
mod clock;
#[cfg(feature = "config")]
pub mod config;
mod context;
mod descriptor;
mod exceptions;
mod extensions;
mod functions;
#[cfg(feature = "grpc")]
mod grpc;
mod health;
pub mod identity;
mod incoming;
mod intercept;
mod link;
mod load_reports;
mod messages;
mod method;
mod mock;
pub mod names;
mod objects;
mod random;
pub mod reflection;
mod remembered;
mod reply;
mod response_headers;
mod server;
mod service;
pub mod sessions;
pub mod statistics;
mod streams;
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
pub use call::{Call, HandlerFuture, Reply};
pub use context::Context;
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
pub use functions::Function;
#[cfg(feature = "grpc")]
pub use grpc::Keepalive;
pub use health::Health;
pub use intercept::{
    CallEnd, CallHead, ClientCall, ClientInterceptor, Decision, DecisionFuture, Direction, Outcome,
    Response, ServerInterceptor, StreamItem,
};
pub use load_reports::LoadReports;
pub use method::{Method, MethodTypes, ServiceDescriptor};
pub use mock::Mock;
pub use objects::ObjectRef;
pub use reflection::Reflection;
pub use response_headers::ResponseHeaders;
pub use server::{Counters, HalfClosed, Model, Running, Server, ServerLimits};
pub use service::Service;
#[cfg(feature = "async")]
pub use streams::{Answer, DescribedNext, DescribedStreams, Sender, Streamed, Upload};
pub use streams::{ItemSink, Items, Receiver, Streaming};
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

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
pub mod client;
mod clock;
#[cfg(feature = "config")]
pub mod config;
mod counters;
mod descriptor;
mod dispatch;
mod exceptions;
#[cfg(feature = "export")]
pub mod export;
#[doc(hidden)]
pub mod generated;
#[cfg(feature = "grpc")]
mod grpc;
pub mod headers;
mod health;
pub mod identity;
mod load_reports;
pub mod method;
pub mod names;
mod observer;
mod otlp;
mod peer;
mod random;
pub mod reflection;
#[cfg(feature = "serde")]
pub mod serde;
pub mod server;
pub mod sessions;
pub mod statistics;
#[cfg(feature = "testing")]
pub mod testing;
pub mod throttle;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(not(feature = "tls"))]
#[path = "tls/absent.rs"]
mod tls;
pub mod trace;
pub mod transport;
mod web;

/// Values in bytes: the encodings, their limits, and the traits of an encoding of one's own.
pub mod encoding {
    pub use dovetail_wire::{
        Budget, Codec, Cursor, Decode, DecodeError, DecodeErrorKind, Encode, EncodeError, Encoding,
        Field, FieldValue, Kind, Limits, NextField, ReadNodes, Reader, Sequence, UnknownValue,
        Value, Writer, WrittenNodes,
    };
}

/// Code of the user's around calls, the same on every wire: `docs/interceptors.md`.
pub mod intercept {
    pub use crate::peer::intercept::{
        CallEnd, CallHead, ClientCall, ClientInterceptor, Decision, DecisionFuture, Direction,
        Outcome, Response, ServerInterceptor, StreamItem,
    };
}

/// Parts for a protocol of one's own between Thrift's transports and the values:
/// `examples/custom-encoding`.
pub mod protocol {
    pub use dovetail_protocol::thrift::{
        CustomHead, CustomProtocol, Detect, MessageKind, Protocol, ProtocolError, Transport,
        Wire as ThriftWire,
    };
    pub use dovetail_protocol::{Codec, ConnectionLimits, Name};
}

/// How a call can fail.
pub mod status {
    pub use dovetail_protocol::{Code, Execution, Origin, Status};
}

/// Streams of items in either direction: `docs/code-first.md` and `docs/generated-rust.md`.
pub mod stream {
    #[cfg(feature = "async")]
    pub use crate::peer::streams::{
        Answer, DescribedNext, DescribedStreams, Sender, Streamed, Upload,
    };
    pub use crate::peer::streams::{ItemSink, Items, Receiver, Streaming};
}

/// Types of values that contracts have and the standard library does not.
pub mod types {
    #[cfg(feature = "compact-strings")]
    pub use dovetail_wire::CompactString;
    #[cfg(feature = "decimal")]
    pub use dovetail_wire::Decimal;
    pub use dovetail_wire::{
        Any, Array, Bytes, Case, Dynamic, Fixed, Free, LongArray, OrderedFloat, Ref, Required,
        UnknownFields, Uuid,
    };
    #[cfg(feature = "time")]
    pub use dovetail_wire::{Date, Offset, SignedDuration, Timestamp, TimestampTz};

    /// Moments and spans as protobuf has them, with the range of `int64` for the seconds.
    #[cfg(feature = "time")]
    pub mod protobuf {
        pub use dovetail_wire::protobuf::{Duration, Timestamp};
    }
}

pub use address::Address;
pub use client::blocking;
#[cfg(feature = "async")]
pub use client::{Channel, ChannelBuilder};
#[cfg(feature = "macros")]
pub use dovetail_macros::{Exceptions, Headers, Message, service};
pub use dovetail_protocol::{Code, Status, Wire};
pub use dovetail_wire::{
    Message, enumeration, extends, family, masked_debug, message, oneof, thrown, union, variants,
};
pub use exceptions::Exceptions;
pub use headers::Headers;
pub use peer::context::Context;
pub use peer::objects::ObjectRef;
pub use peer::service::Service;
pub use server::{Running, Server};

/// The code in documents is code.
#[cfg(all(doctest, feature = "async", feature = "macros"))]
mod documents {
    #[doc = include_str!("../../../docs/code-first.md")]
    mod code_first {}

    #[doc = include_str!("../../../docs/how-to/streams.md")]
    mod streams {}

    #[doc = include_str!("../../../docs/how-to/errors.md")]
    mod errors {}

    #[doc = include_str!("../../../docs/how-to/deadlines.md")]
    mod deadlines {}

    #[cfg(feature = "testing")]
    #[doc = include_str!("../../../docs/how-to/testing.md")]
    mod testing {}

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

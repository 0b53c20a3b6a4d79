//! Servers and clients over real sockets: what runs beside what, what is refused, what survives.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod fixture;

mod access_log;
#[cfg(target_os = "linux")]
mod addresses;
#[cfg(all(
    feature = "grpc",
    feature = "macros",
    feature = "tls",
    feature = "tokens"
))]
mod admin;
#[cfg(feature = "async")]
mod async_streams;
#[cfg(feature = "async")]
mod callbacks;
mod capnp;
#[cfg(all(feature = "grpc", feature = "macros"))]
mod capture;
#[cfg(feature = "tls")]
mod certificates;
#[cfg(all(feature = "grpc", feature = "lz4", feature = "zstd"))]
mod chosen_compression;
mod clients;
#[cfg(all(feature = "lz4", feature = "zstd"))]
mod compression;
mod concurrency;
#[cfg(feature = "config")]
mod config;
#[cfg(all(
    feature = "grpc",
    feature = "macros",
    feature = "tls",
    feature = "tokens"
))]
mod console;
#[cfg(all(feature = "grpc", feature = "macros"))]
mod contracts;
mod cuts;
#[cfg(feature = "dns")]
mod dns;
mod drain;
#[cfg(all(
    feature = "grpc",
    feature = "macros",
    feature = "tls",
    feature = "tokens"
))]
mod dumps;
#[cfg(feature = "async")]
mod events;
#[cfg(all(
    feature = "decimal",
    feature = "grpc",
    feature = "time",
    feature = "tls"
))]
mod every_wire;
#[cfg(feature = "grpc")]
mod executed;
mod functions;
mod gone;
mod graphs;
#[cfg(feature = "grpc")]
mod grpc;
#[cfg(feature = "grpc")]
mod grpc_streams;
mod handlers;
#[cfg(all(
    feature = "grpc",
    feature = "macros",
    feature = "tls",
    feature = "tokens"
))]
mod heads;
#[cfg(feature = "grpc")]
mod health;
#[cfg(feature = "grpc")]
mod health_checks;
#[cfg(all(feature = "grpc", feature = "zstd"))]
mod held;
#[cfg(feature = "async")]
mod hold_ups;
mod hostile;
mod http;
#[cfg(all(
    feature = "grpc",
    feature = "macros",
    feature = "tls",
    feature = "tokens"
))]
mod identity;
#[cfg(all(feature = "grpc", feature = "macros"))]
mod interceptors;
#[cfg(feature = "jwt")]
mod jwt;
mod limits;
#[cfg(all(feature = "shm", target_os = "linux"))]
mod local_upgrade;
mod msgpack_rpc;
#[cfg(feature = "grpc")]
mod names;
mod native;
#[cfg(feature = "grpc")]
mod nested;
#[cfg(feature = "async")]
mod objects;
#[cfg(feature = "async")]
mod own_runtime;
#[cfg(all(
    feature = "grpc",
    feature = "macros",
    feature = "tls",
    feature = "tokens"
))]
mod permissions;
mod pipes;
#[cfg(feature = "tls")]
mod proxies;
#[cfg(feature = "grpc")]
mod reflection;
#[cfg(all(feature = "consul", feature = "kubernetes"))]
mod registries;
#[cfg(all(
    feature = "grpc",
    feature = "macros",
    feature = "tls",
    feature = "tokens"
))]
mod relay;
#[cfg(feature = "grpc")]
mod restarts;
#[cfg(all(feature = "config", feature = "macros"))]
mod runtime_values;
#[cfg(all(feature = "macros", feature = "serde"))]
mod serde_values;
#[cfg(all(
    feature = "grpc",
    feature = "macros",
    feature = "tls",
    feature = "tokens"
))]
mod sessions;
mod spelling;
#[cfg(all(feature = "grpc", feature = "macros"))]
mod statistics;
mod streams;
#[cfg(all(feature = "grpc", feature = "macros"))]
mod throttle;
#[cfg(feature = "tls")]
mod tls;
#[cfg(all(feature = "grpc", feature = "macros"))]
mod tracing;
#[cfg(feature = "testing")]
mod virtual_time;
mod web;
#[cfg(feature = "grpc")]
mod web_http2;
mod websocket;

// The types, and random values of them, that the encodings are tested with.
#[cfg(all(
    feature = "decimal",
    feature = "grpc",
    feature = "time",
    feature = "tls"
))]
#[path = "../../../wire/tests/fixtures/mod.rs"]
mod fixtures;
#[cfg(all(
    feature = "decimal",
    feature = "grpc",
    feature = "time",
    feature = "tls"
))]
#[path = "../../../wire/tests/fixtures/values.rs"]
mod values;

//! The fuzz targets. A target is a function of bytes that panics where something is wrong; it is
//! run by `fuzz/libfuzzer`, and by a test here over every golden file.
//!
//! A new area is a module with a `TARGETS` of its own, added to [`TARGETS`].

mod capnp;
mod capnp_rpc;
mod capture;
mod codecs;
mod connect;
mod contracts;
mod conversation;
#[path = "../../crates/wire/tests/fixtures/mod.rs"]
mod fixtures;
mod grpc;
mod machines;
mod msgpack_rpc;
mod native;
#[cfg(target_os = "linux")]
mod shared_memory;
mod text;
mod websocket;

/// A name, as `FUZZ_TARGET` gives it, and the function.
pub type Target = (&'static str, fn(&[u8]));

/// Everything that is fuzzed.
pub const TARGETS: &[Target] = &[
    ("binary", codecs::binary),
    ("compact", codecs::compact),
    ("json", codecs::json),
    ("protobuf", codecs::protobuf),
    ("msgpack", codecs::msgpack),
    ("plain-json", codecs::plain_json),
    ("tagless", codecs::tagless),
    ("tagged", codecs::tagged),
    ("relay", codecs::relay),
    ("graphs", codecs::graphs),
    ("server", machines::server),
    ("server-of-one-wire", machines::server_of_one_wire),
    ("header", machines::header),
    ("http", machines::http),
    ("client", machines::client),
    ("connect", connect::requests),
    ("connect-ends", connect::ends),
    ("detection", machines::detection),
    ("msgpack-rpc-server", msgpack_rpc::server),
    ("msgpack-rpc-client", msgpack_rpc::client),
    ("websocket", websocket::frames),
    ("grpc-messages", grpc::messages),
    ("grpc-headers", grpc::headers),
    ("grpc-text", grpc::text),
    ("own-server", native::server),
    ("own-client", native::client),
    ("conversation", conversation::conversation),
    ("compare", contracts::compare),
    ("thrift-idl", contracts::thrift),
    ("text-format", text::messages),
    ("proto-idl", contracts::proto),
    ("capnp-idl", contracts::capnp),
    ("capnp", capnp::messages),
    ("capnp-rpc", capnp_rpc::connection),
    ("capture", capture::files),
    ("descriptors", contracts::descriptors),
    ("plugin", contracts::plugin),
    #[cfg(target_os = "linux")]
    ("shared-memory", shared_memory::segment),
];

/// The target with this name.
pub fn find(name: &str) -> Option<fn(&[u8])> {
    TARGETS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, target)| *target)
}

//! Front ends on arbitrary text: a schema or diagnostics that can be shown, never a panic or a
//! hang. And what peers say of their contracts.

use crate::fixtures::{Optionals, Presence, Tree};
use dovetail_idl::proto::plugin::Request;
use dovetail_idl::proto::{self, DescriptorError};
use dovetail_idl::{MemoryLoader, compile};
use dovetail_schema::{Schema, TypeId};
use dovetail_wire::description::{self, FieldType, Signature};
use dovetail_wire::{Field, Kind};
use std::sync::LazyLock;

/// The bytes as a `.thrift` file, invalid UTF-8 replaced.
pub(crate) fn thrift(data: &[u8]) {
    check("fuzz.thrift", data);
}

/// Reads a `.proto` file.
pub(crate) fn proto(data: &[u8]) {
    check("fuzz.proto", data);
}

/// Reads a `.capnp` file, and finds the places of its fields.
pub(crate) fn capnp(data: &[u8]) {
    let Some(schema) = check("fuzz.capnp", data) else {
        return;
    };
    for index in 0..schema.types.len() {
        let _ = dovetail_schema::capnp::layout(&schema, TypeId(index as u32));
    }
}

/// A set of our own.
static OURS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let text = "syntax = \"proto3\"; package a; enum E { Z = 0; } message M { map<string, M> m = 1; oneof o { E e = 2; } } \
                service S { rpc Do(M) returns (stream M); }";
    let files = MemoryLoader::from_iter([("a.proto", text)]);
    let ours = proto::describe("a.proto", &files).files;
    ours.map(|files| files.encode()).unwrap_or_default()
});

/// The bytes as what a server's reflection says, and as changes of a set of our own.
pub(crate) fn descriptors(data: &[u8]) {
    for bytes in [data, &changed(&OURS, data)] {
        check_refusal(proto::from_descriptors(bytes));
    }
}

/// The bytes as what protobuf's compiler asks a plugin for, and as changes of a request for our own
/// set.
pub(crate) fn plugin(data: &[u8]) {
    // The one file of the set is the request's field 15.
    let file = OURS.get(1..).unwrap_or_default();
    let ours = [b"\x0a\x07a.proto\x7a", file].concat();
    for bytes in [data, &changed(&ours, data)] {
        let request = Request::decode(bytes);
        check_refusal(request.and_then(|request| request.contracts()));
    }
}

/// Bytes of ours with some that others have chosen: a place, and what comes there.
fn changed(ours: &[u8], data: &[u8]) -> Vec<u8> {
    let mut changed = ours.to_vec();
    for change in data.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % changed.len();
        changed[at] = change[2];
    }
    changed
}

fn check_refusal<T>(read: Result<T, DescriptorError>) {
    if let Err(problem) = read {
        let shown = problem.to_string();
        assert!(!shown.is_empty() && !shown.contains(char::is_control));
    }
}

fn check(name: &str, data: &[u8]) -> Option<Schema> {
    let text = String::from_utf8_lossy(data);
    let compiled = compile(name, &MemoryLoader::from_iter([(name, &*text)]));
    let shown = compiled.render(false);
    assert!(
        compiled.schema.is_some() || !shown.is_empty(),
        "refused without a word"
    );
    compiled.schema
}

/// The bytes as a peer's description, and as changes of our own: which end compares makes no
/// difference.
pub(crate) fn compare(data: &[u8]) {
    let ours = ours();
    for theirs in [data, &changed(&ours, data)] {
        let here = description::compare(&ours, theirs);
        let there = description::compare(theirs, &ours);
        assert_eq!(here.is_ok(), there.is_ok(), "{here:?} {there:?}");
        if let Err(problem) = here {
            assert!(!problem.to_string().is_empty());
        }
    }
}

/// The description of a method that reaches types of all kinds.
fn ours() -> Vec<u8> {
    let params = [
        FieldType::of::<Optionals>(Field::new(1, "optionals", Kind::Struct)),
        FieldType::of::<Presence>(Field::new(2, "presence", Kind::Struct)),
        FieldType::of::<Tree>(Field::new(3, "tree", Kind::Struct)),
    ];
    description::describe(&Signature {
        name: "compare",
        oneway: false,
        client_stream: None,
        server_stream: None,
        params: params.into_iter().flatten().collect(),
        result: None,
        exceptions: Vec::new(),
    })
}

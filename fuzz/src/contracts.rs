//! Front ends on arbitrary text: a schema or diagnostics that can be shown, never a panic or a hang. And what
//! peers say of their contracts.

use crate::zoo::{Optionals, Presence, Tree};
use dovetail_idl::{MemoryLoader, compile};
use dovetail_wire::description::{self, FieldType, Signature};
use dovetail_wire::{Field, Kind};

/// The bytes as a `.thrift` file, invalid UTF-8 replaced.
pub(crate) fn thrift(data: &[u8]) {
    check("fuzz.thrift", data);
}

/// The same as a `.proto` file.
pub(crate) fn proto(data: &[u8]) {
    check("fuzz.proto", data);
}

fn check(name: &str, data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let compiled = compile(name, &MemoryLoader::from_iter([(name, &*text)]));
    let shown = compiled.render(false);
    assert!(
        compiled.schema.is_some() || !shown.is_empty(),
        "refused without a word"
    );
}

/// The bytes as a peer's description, and as changes of our own: which end compares makes no difference.
pub(crate) fn compare(data: &[u8]) {
    let ours = ours();
    let mut changed = ours.clone();
    for change in data.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % changed.len();
        changed[at] = change[2];
    }
    for theirs in [data, &changed] {
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

//! Cap'n Proto's encoding: a message or an error, never a panic, and what was read is written and
//! read again as the same.

use dovetail_dynamic::{Contract, Typed, TypedSlot, Value, capnp};
use dovetail_idl::{MemoryLoader, compile};
use dovetail_schema::{Schema, Type, TypeId};
use dovetail_wire::capnp::{Layouts, Segments, decode, encode, pack, unpack};
use dovetail_wire::{Bytes, Limits};
use std::sync::LazyLock;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let text = "@0xa4f1c83e7d905b27; struct Zoo { flag @0 :Bool = true; i @1 :Int32 = 5; d @2 :Float64; text @3 :Text; \
        data @4 :Data; color @5 :Color; zoo @6 :Zoo; flags @7 :List(Bool); shorts @8 :List(Int16); texts @9 :List(Text); \
        zoos @10 :List(Zoo); grid @11 :List(List(Int32)); voids @12 :List(Void); any @13 :AnyPointer; \
        union { none @14 :Void; number @15 :UInt64; group :group { a @16 :UInt8; b @17 :Text; } } } \
        enum Color { red @0; green @1; }";
    let files = MemoryLoader::from_iter([("a.capnp", text)]);
    compile("a.capnp", &files).schema.unwrap_or_default()
});

static LAYOUTS: LazyLock<Option<Layouts>> =
    LazyLock::new(|| capnp::layouts(&SCHEMA, SCHEMA.find_type("Zoo")?).ok());

/// The bytes as a message with its table of segments, as one segment, and as something packed.
pub(crate) fn messages(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    if let Ok(Some((message, len))) = Segments::split(&bytes, 1 << 20) {
        assert!(len <= data.len());
        check(&message);
    }
    let whole = data.len() / 8 * 8;
    if let Ok(message) = Segments::single(bytes.slice(..whole)) {
        check(&message);
    }
    if let Ok(unpacked) = unpack(data, 1 << 20) {
        assert_eq!(unpack(&pack(&unpacked), 1 << 20).ok(), Some(unpacked));
    }
}

fn check(message: &Segments) {
    let Some(layouts) = &*LAYOUTS else { return };
    let contract = Contract::new(&SCHEMA);
    let limits = Limits {
        allocation: 1 << 20,
        ..Limits::default()
    };
    let ty = Type::Named(SCHEMA.find_type("Zoo").unwrap_or(TypeId(0)));
    let read = |message: &Segments, limits| {
        let mut slot = TypedSlot {
            contract: &contract,
            ty: &ty,
            value: None,
        };
        decode(&mut slot, message, layouts, limits).ok()?;
        slot.value
    };
    // A pointer to anything can be too deep to be copied once more.
    let again = |value: &Value| {
        let typed = Typed {
            contract: &contract,
            ty: &ty,
            value,
        };
        let segment = encode(&typed, layouts, Limits::default()).ok()?;
        read(&Segments::single(segment.into()).ok()?, Limits::default())
    };
    // Written again, a value has all fields that a shorter struct leaves to their defaults.
    let Some(value) = read(message, limits).and_then(|value| again(&value)) else {
        return;
    };
    let Some(same) = again(&value) else { return };
    // A float that is no number differs from itself.
    assert_eq!(format!("{same:?}"), format!("{value:?}"));
}

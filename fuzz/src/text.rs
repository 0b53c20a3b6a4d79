//! Protobuf's text format: a message or an error, never a panic, and what was read is written and
//! read again as the same.

use dovetail_dynamic::{Contract, UnknownText, Value, from_text, to_text};
use dovetail_idl::{MemoryLoader, compile};
use dovetail_schema::{Schema, Type, TypeId};
use dovetail_wire::Limits;
use std::sync::LazyLock;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let text = "edition = \"2023\"; package p; \
        import \"google/protobuf/any.proto\"; import \"google/protobuf/struct.proto\"; \
        message M { sint32 i = 1; fixed64 u = 2; double d = 3; float f = 4; \
        bool b = 5; string s = 6; bytes r = 7; E e = 8; M m = 9; \
        repeated int32 l = 10; map<string, M> a = 11; message G { int32 x = 1; } \
        G g = 12 [features.message_encoding = DELIMITED]; \
        oneof o { int32 p = 13; M q = 14; } google.protobuf.Any y = 15; \
        google.protobuf.Value v = 17; extensions 100 to 199; reserved z; } \
        enum E { A = 0; B = 1; } extend M { int32 x = 100; }";
    let files = MemoryLoader::from_iter([("a.proto", text)]);
    compile("a.proto", &files).schema.unwrap_or_default()
});

/// The bytes as the text of a message, invalid UTF-8 replaced.
pub(crate) fn messages(data: &[u8]) {
    let contract = Contract::new(&SCHEMA);
    let ty = Type::Named(TypeId(0));
    let limits = Limits {
        allocation: 1 << 20,
        ..Limits::default()
    };
    let text = String::from_utf8_lossy(data);
    let Ok(value) = from_text(&contract, &ty, &text, limits) else {
        return;
    };
    let show = |value: &Value| to_text(&contract, &ty, value, UnknownText::Shown);
    // Bytes in an `Any` can be messages that are too deep.
    let Ok(shown) = show(&value) else {
        return;
    };
    match from_text(&contract, &ty, &shown, Limits::default()) {
        Ok(again) => assert_eq!(show(&again).as_ref(), Ok(&shown), "{text:?}"),
        Err(problem) if problem.problem().ends_with("inside one another") => {}
        Err(problem) => panic!("{text:?} became {shown:?}: {problem}"),
    }
}

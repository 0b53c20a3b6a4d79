//! Values through every codec, and through generated-style types of the same contract.

#![allow(clippy::expect_used)]

mod common;

use common::*;
use dovetail_dynamic::{
    Contract, Params, ParamsSlot, Reply, ReplyBody, ReplyFields, ReplySlot, Struct, Typed,
    TypedSlot, Value,
};
use dovetail_schema::Type;
use dovetail_wire::{
    Bytes, Decode, Encode, EncodeError, Encoding, FieldValue as _, Limits, UnknownFields,
    UnknownValue, Writer, message,
};
use proptest::prelude::*;

const ENCODINGS: [Encoding; 6] = [
    Encoding::Tagless,
    Encoding::Tagged,
    Encoding::ThriftBinary,
    Encoding::ThriftCompact,
    Encoding::ThriftJson,
    Encoding::Msgpack,
];

fn encode(encoding: Encoding, value: &impl Encode) -> Bytes {
    let mut out = Vec::new();
    encoding
        .encode(value, &mut out, Limits::default())
        .expect("an encoding");
    out.into()
}

fn decode<D: Decode>(encoding: Encoding, into: &mut D, bytes: &Bytes) -> Result<usize, String> {
    encoding
        .decode(into, bytes, Limits::default())
        .map_err(|e| e.to_string())
}

proptest! {
    #[test]
    fn any_value_survives_any_codec((ty, value) in any_typed(shared())) {
        let contract = Contract::new(shared());
        for encoding in ENCODINGS {
            let bytes = encode(encoding, &Typed { contract: &contract, ty: &ty, value: &value });
            let mut slot = TypedSlot { contract: &contract, ty: &ty, value: None };
            prop_assert_eq!(decode(encoding, &mut slot, &bytes), Ok(bytes.len()));
            let back = slot.value.expect("a value");
            prop_assert!(same(&back, &value), "{}: {back:?}\n{value:?}", encoding.name());
        }
    }

    #[test]
    fn garbage_never_panics(ty in any_type(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let contract = Contract::new(shared());
        for encoding in ENCODINGS {
            let mut slot = TypedSlot { contract: &contract, ty: &ty, value: None };
            let _ = decode(encoding, &mut slot, &bytes.clone().into());
        }
    }
}

/// `User` as generated code has it, without its last field.
#[derive(Clone, Debug, Default, PartialEq)]
struct User {
    id: i64,
    name: String,
    email: String,
    stars: i32,
    unknown_fields: UnknownFields,
}

message!(User {
    1 id: i64,
    2 name: String,
    3 email: String,
    4 stars: i32,
    ..unknown_fields
});

fn ada() -> Value {
    Value::Struct(Struct::from_iter([
        (1, Value::Int(7)),
        (2, Value::String("Ada".into())),
        (3, Value::String("a@example.com".into())),
        (4, Value::Int(5)),
        (5, Value::Enum(2)),
    ]))
}

#[test]
fn generated_and_dynamic_types_understand_each_other() {
    let contract = Contract::new(shared());
    let ty = Type::Named(USER);
    let value = ada();
    // Contracts that differ need tags.
    for encoding in &ENCODINGS[1..] {
        let encoding = *encoding;
        let bytes = encode(
            encoding,
            &Typed {
                contract: &contract,
                ty: &ty,
                value: &value,
            },
        );
        let mut user = User::default();
        decode(encoding, &mut user, &bytes).unwrap();
        assert_eq!((user.id, user.name.as_str(), user.stars), (7, "Ada", 5));
        assert_eq!(user.unknown_fields.iter().count(), 1);

        let mut slot = TypedSlot {
            contract: &contract,
            ty: &ty,
            value: None,
        };
        decode(encoding, &mut slot, &encode(encoding, &user)).unwrap();
        assert!(same(&slot.value.unwrap(), &value));
    }
}

#[test]
fn parameters_and_replies() {
    let contract = Contract::new(shared());
    let method = get_user();
    let oops = Value::Struct(Struct::from_iter([(1, Value::String("no".into()))]));
    let replies = [
        Reply::Result(Some(ada())),
        Reply::Exception {
            index: 0,
            value: oops,
        },
    ];
    for encoding in ENCODINGS {
        let values = Struct::from_iter([(1, Value::Int(7)), (2, Value::Bool(true))]);
        let bytes = encode(encoding, &Params::new(&contract, &method, &values));
        let mut slot = ParamsSlot::new(&contract, &method);
        decode(encoding, &mut slot, &bytes).unwrap();
        assert_eq!(slot.values, values);

        for reply in replies.clone() {
            let bytes = encode(encoding, &ReplyBody::new(&contract, &method, reply.clone()));
            let mut slot = ReplySlot::new(&contract, &method);
            decode(encoding, &mut slot, &bytes).unwrap();
            assert_eq!(slot.into_reply(), Some(reply));
        }
    }
}

/// Values that encodings without tags cannot express: the caller has to send them in another one.
#[test]
fn what_needs_tags() {
    let contract = Contract::new(shared());
    let Value::Struct(mut unknown) = ada() else {
        panic!("a struct")
    };
    unknown.unknown_fields.push(9, UnknownValue::Bool(true));
    let Value::Struct(mut partial) = ada() else {
        panic!("a struct")
    };
    partial.take(3);
    for value in [unknown, partial] {
        let typed = Typed {
            contract: &contract,
            ty: &Type::Named(USER),
            value: &Value::Struct(value),
        };
        let refused = Encoding::Tagless.encode(&typed, &mut Vec::new(), Limits::default());
        assert_eq!(refused, Err(EncodeError::NeedsTags));
        encode(Encoding::Tagged, &typed);
    }
}

/// The way a server writes a result: as a field of the reply.
struct AsResult(ReplyFields);

impl Encode for AsResult {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        if writer.is_positional() {
            return self.0.write_answer(writer);
        }
        writer.begin_reply()?;
        let field = dovetail_wire::Field::new(0, "success", ReplyFields::KIND);
        self.0.write_field(&field, writer)?;
        writer.end_struct()
    }
}

#[test]
fn a_whole_reply_stands_in_for_a_result() {
    let contract: &'static Contract<'static> = Box::leak(Box::new(Contract::new(shared())));
    let method = Box::leak(Box::new(get_user()));
    let value = Value::Struct(Struct::from_iter([(1, Value::String("no".into()))]));
    let reply = Reply::Exception { index: 0, value };
    let body = ReplyBody::new(contract, method, reply.clone());
    let expected = ENCODINGS.map(|encoding| encode(encoding, &body));
    let stand_in = AsResult(body.into());
    assert_eq!(ENCODINGS.map(|e| encode(e, &stand_in)), expected);
}

#[test]
fn what_does_not_fit_is_refused() {
    let contract = Contract::new(shared());
    let rows = [
        (Type::I8, Value::Int(128), "not of the type"),
        (Type::I32, Value::String("x".into()), "not of the type"),
        (Type::U8, Value::Int(-1), "not of the type"),
        (
            Type::Named(COLOR),
            Value::Struct(Struct::new()),
            "not of the type",
        ),
        (
            Type::Named(POINT),
            Value::Struct(Struct::new()),
            "without one of its required fields",
        ),
        (
            Type::Named(OOPS),
            Value::Struct(Struct::from_iter([(9, Value::Int(1))])),
            "does not have",
        ),
        (Type::Date, Value::Int(1), "not of the type"),
        (
            array(Type::I8, &[2]),
            Value::List(vec![Value::Int(1)]),
            "not of the type",
        ),
        (
            array(Type::I8, &[0, 0]),
            Value::Array(vec![1, 2], vec![Value::Int(1)]),
            "not of the type",
        ),
        (list(OBJECT), Value::List(vec![]), "references to objects"),
    ];
    for (ty, value, expected) in rows {
        let typed = Typed {
            contract: &contract,
            ty: &ty,
            value: &value,
        };
        let error = Encoding::ThriftBinary
            .encode(&typed, &mut Vec::new(), Limits::default())
            .expect_err("a refusal");
        assert!(error.to_string().contains(expected), "{ty:?}: {error}");
    }
}

#[test]
fn depth_is_bounded() {
    let contract = Contract::new(shared());
    let mut value = Value::Struct(Struct::new());
    for _ in 0..100 {
        value = Value::Struct(Struct::from_iter([(3, value)]));
    }
    let typed = Typed {
        contract: &contract,
        ty: &Type::Named(SHAPE),
        value: &value,
    };
    for encoding in ENCODINGS {
        let limits = Limits {
            depth: 1000,
            ..Limits::default()
        };
        let error = encoding
            .encode(&typed, &mut Vec::new(), limits)
            .expect_err("too deep");
        assert!(error.to_string().contains("nested deeper"), "{error}");
    }
}

/// A field that gRPC leaves out is there: Thrift's servers could not tell it from one that nobody
/// set.
#[test]
fn zero_is_there_where_it_is_not_sent() {
    let text = "enum E { A = 0, B = 1 } struct S { 1: i32 a; 2: optional i32 b } \
                service C { S f(1: i32 a, 2: string b, 3: i32 c = 7, 5: E e, 6: S s) }";
    let loader = dovetail_idl::MemoryLoader::from_iter([("a.thrift", text)]);
    let schema = dovetail_idl::compile("a.thrift", &loader).schema;
    let schema = schema.expect("a contract");
    let contract = Contract::new(&schema);
    let method = &schema.services[0].methods[0];
    let mut params = ParamsSlot::new(&contract, method);
    // Only the struct has been sent, and nothing is in it.
    let sent = Bytes::from_static(b"\x32\x00");
    decode(Encoding::Protobuf, &mut params, &sent).expect("parameters");
    let inner: Struct = [(1, Value::Int(0))].into_iter().collect();
    let expected = [
        (6, Value::Struct(inner.clone())),
        (1, Value::Int(0)),
        (2, Value::String(String::new())),
        (3, Value::Int(7)),
        (5, Value::Enum(0)),
    ];
    assert_eq!(params.values, expected.into_iter().collect());
    let mut reply = ReplySlot::new(&contract, method);
    decode(Encoding::Protobuf, &mut reply, &Bytes::new()).expect("a reply");
    let result = Some(Value::Struct(Struct::new()));
    assert_eq!(reply.into_reply(), Some(Reply::Result(result)));
}

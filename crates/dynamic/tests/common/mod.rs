//! A contract with everything in it, and any value of any of its types.
#![allow(dead_code, unreachable_pub, clippy::expect_used)] // Each test file uses its own part.

use dovetail_dynamic::{Contract, Struct, Value};
use dovetail_schema::{
    Annotations, ArrayForm, Dimension, Enum, EnumValue, ExceptionTraits, Field, Method, Package,
    PackageId, Presence, Reserved, Schema, Service, ServiceId, StructKind, Type, TypeDef, TypeId,
    TypeKind,
};
use dovetail_wire::{
    Any, Bytes, Date, Decimal, Dynamic, Offset, SignedDuration, Timestamp, TimestampTz, Uuid,
};
use proptest::prelude::*;

pub const COLOR: TypeId = TypeId(0);
pub const POINT: TypeId = TypeId(1);
pub const SHAPE: TypeId = TypeId(2);
pub const TREE: TypeId = TypeId(3);
pub const PIXEL: TypeId = TypeId(4);
pub const OOPS: TypeId = TypeId(5);
pub const USER: TypeId = TypeId(6);
pub const LOOP: TypeId = TypeId(7);
pub const USER_ID: TypeId = TypeId(8);

/// A type that no encoding of this version carries.
pub const OBJECT: Type = Type::Object(ServiceId(0));

pub fn field(id: i32, name: &str, ty: Type) -> Field {
    Field::new(id, name, ty)
}

pub fn optional(field: Field) -> Field {
    Field {
        presence: Presence::Optional,
        ..field
    }
}

pub fn required(field: Field) -> Field {
    Field {
        presence: Presence::Required,
        ..field
    }
}

pub fn default(field: Field, value: dovetail_schema::Value) -> Field {
    Field {
        default: Some(value),
        ..field
    }
}

pub fn list(item: Type) -> Type {
    Type::List(Box::new(item))
}

pub fn map(key: Type, value: Type) -> Type {
    Type::Map(Box::new(key), Box::new(value))
}

/// An array of these extents, 0 for free ones.
pub fn array(item: Type, extents: &[u32]) -> Type {
    let dimension = |extent: &u32| match extent {
        0 => Dimension::Dynamic,
        extent => Dimension::Fixed(*extent),
    };
    Type::Array(Box::new(item), extents.iter().map(dimension).collect())
}

fn define(name: &str, kind: TypeKind) -> TypeDef {
    TypeDef {
        package: PackageId(0),
        name: name.to_owned(),
        doc: None,
        annotations: Annotations::default(),
        deprecated: None,
        kind,
    }
}

fn structure(kind: StructKind, extends: Option<TypeId>, fields: Vec<Field>) -> TypeKind {
    TypeKind::Struct(dovetail_schema::Struct {
        kind,
        extends,
        fields,
        reserved: Reserved::default(),
    })
}

fn colors() -> TypeKind {
    let value = |(name, number): (&str, i32)| EnumValue {
        name: name.to_owned(),
        number,
        doc: None,
        annotations: Annotations::default(),
        deprecated: None,
    };
    TypeKind::Enum(Enum {
        closed: false,
        values: [("RED", 1), ("GREEN", 2), ("BLUE", -7)].map(value).into(),
        reserved: Reserved::default(),
    })
}

pub fn schema() -> Schema {
    let plain = StructKind::Struct;
    let named = Type::Named;
    let types = vec![
        define("Color", colors()),
        define(
            "Point",
            structure(
                plain,
                None,
                vec![
                    required(field(1, "x", Type::I32)),
                    required(field(2, "y", Type::I32)),
                    optional(field(3, "label", Type::String)),
                ],
            ),
        ),
        define(
            "Shape",
            structure(
                StructKind::Union,
                None,
                vec![
                    field(1, "radius", Type::F64),
                    field(2, "corners", list(named(POINT))),
                    field(3, "both", named(SHAPE)),
                ],
            ),
        ),
        define(
            "Tree",
            structure(
                plain,
                None,
                vec![
                    field(1, "value", Type::I64),
                    field(2, "children", list(named(TREE))),
                    optional(field(3, "parent", named(TREE))),
                ],
            ),
        ),
        define(
            "Pixel",
            structure(
                plain,
                Some(POINT),
                vec![optional(field(4, "color", named(COLOR)))],
            ),
        ),
        define(
            "Oops",
            structure(
                StructKind::Exception(ExceptionTraits::default()),
                None,
                vec![field(1, "why", Type::String)],
            ),
        ),
        define(
            "User",
            structure(
                plain,
                None,
                vec![
                    field(1, "id", named(USER_ID)),
                    field(2, "name", Type::String),
                    field(3, "email", Type::String),
                    default(field(4, "stars", Type::I32), dovetail_schema::Value::Int(3)),
                    field(5, "favorite", named(COLOR)),
                ],
            ),
        ),
        // A type of which no finite value exists.
        define(
            "Loop",
            structure(plain, None, vec![required(field(1, "next", named(LOOP)))]),
        ),
        define("UserId", TypeKind::Alias(Type::I64)),
    ];
    Schema {
        packages: vec![Package {
            name: "test".to_owned(),
            ..Package::default()
        }],
        types,
        services: vec![Service {
            package: PackageId(0),
            name: "Users".to_owned(),
            doc: None,
            annotations: Annotations::default(),
            deprecated: None,
            extends: None,
            methods: Vec::new(),
        }],
        ..Schema::default()
    }
}

pub fn get_user() -> Method {
    Method {
        name: "getUser".to_owned(),
        doc: None,
        annotations: Annotations::default(),
        deprecated: None,
        params: vec![
            field(1, "id", Type::Named(USER_ID)),
            default(
                field(2, "verbose", Type::Bool),
                dovetail_schema::Value::Bool(true),
            ),
        ],
        result: Some(Type::Named(USER)),
        client_stream: None,
        server_stream: None,
        throws: vec![field(1, "oops", Type::Named(OOPS))],
        oneway: false,
        idempotency: Default::default(),
    }
}

/// Any type that Thrift can carry.
pub fn any_type() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![
        prop::sample::select(vec![
            Type::Bool,
            Type::I8,
            Type::I16,
            Type::I32,
            Type::I64,
            Type::F64,
            Type::String,
            Type::Bytes,
            Type::Uuid,
            Type::Timestamp { offset: false },
            Type::Timestamp { offset: true },
            Type::Date,
            Type::Duration,
            Type::Decimal,
            Type::Any,
            Type::Dynamic,
        ]),
        prop::sample::select(vec![COLOR, POINT, SHAPE, TREE, PIXEL, USER]).prop_map(Type::Named),
    ];
    leaf.prop_recursive(3, 12, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(list),
            inner.clone().prop_map(|item| Type::Set(Box::new(item))),
            (inner.clone(), prop::collection::vec(0..3_u32, 1..4))
                .prop_map(|(item, extents)| array(item, &extents)),
            (inner.clone(), inner).prop_map(|(key, value)| map(key, value)),
        ]
    })
}

/// Any value of a type, all fields that are always sent included.
pub fn any_value(schema: &'static Schema, ty: &Type, depth: usize) -> BoxedStrategy<Value> {
    match schema.resolve(ty) {
        Type::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Type::I8 => any::<i8>().prop_map(|v| Value::Int(v.into())).boxed(),
        Type::I16 => any::<i16>().prop_map(|v| Value::Int(v.into())).boxed(),
        Type::I32 => any::<i32>().prop_map(|v| Value::Int(v.into())).boxed(),
        Type::I64 => any::<i64>().prop_map(Value::Int).boxed(),
        Type::U64 => any::<u64>().prop_map(Value::UInt).boxed(),
        Type::F32 => any::<f32>().prop_map(|v| Value::Float(v.into())).boxed(),
        Type::F64 => any::<f64>().prop_map(Value::Float).boxed(),
        Type::String => any::<String>().prop_map(Value::String).boxed(),
        Type::Bytes => any::<Vec<u8>>()
            .prop_map(|v| Value::Bytes(Bytes::from(v)))
            .boxed(),
        Type::Uuid => any::<u128>()
            .prop_map(|v| Value::Uuid(Uuid::from_u128(v)))
            .boxed(),
        Type::Timestamp { offset: false } => any_instant()
            .prop_map(|instant| Value::Timestamp(instant.into()))
            .boxed(),
        Type::Timestamp { offset: true } => (any_instant(), -1439..=1439)
            .prop_map(|(timestamp, minutes)| {
                let offset = Offset::from_seconds(60 * minutes).expect("an offset");
                Value::TimestampTz(TimestampTz { timestamp, offset })
            })
            .boxed(),
        Type::Date => (-4_371_587..=2_932_896)
            .prop_map(|days| Value::Date(Date::from_days(days).expect("a day")))
            .boxed(),
        Type::Duration => (any::<i64>(), 0..1_000_000_000)
            .prop_map(|(seconds, nanos)| {
                let duration = SignedDuration::new(seconds, nanos * seconds.signum() as i32);
                Value::Duration(duration.into())
            })
            .boxed(),
        Type::Decimal => (any::<i64>(), 0..=28_u32)
            .prop_map(|(number, scale)| Value::Decimal(Decimal::new(number, scale)))
            .boxed(),
        Type::Any => (any::<Vec<u8>>(), 0..7)
            .prop_map(|(value, encoding)| {
                let type_name = "elsewhere.Unknown".to_owned();
                let value = Bytes::from(value);
                Value::Any(Box::new(Any {
                    type_name,
                    value,
                    encoding,
                    ..Any::default()
                }))
            })
            .boxed(),
        Type::Dynamic => any_dynamic().prop_map(Value::Dynamic).boxed(),
        Type::Array(item, dimensions) => any_array(schema, item, dimensions, depth),
        Type::List(item) | Type::Set(item) => {
            prop::collection::vec(any_value(schema, item, depth + 1), 0..3)
                .prop_map(Value::List)
                .boxed()
        }
        Type::Map(key, value) => {
            let entry = (
                any_value(schema, key, depth + 1),
                any_value(schema, value, depth + 1),
            );
            prop::collection::vec(entry, 0..3)
                .prop_map(|e| Value::Map(unique(e)))
                .boxed()
        }
        Type::Named(id) => any_named(schema, *id, depth),
        other => panic!("{other:?} is no type of this test"),
    }
}

fn any_instant() -> impl Strategy<Value = Timestamp> {
    let (least, most) = (
        Timestamp::MIN.as_nanosecond(),
        Timestamp::MAX.as_nanosecond(),
    );
    (least..=most).prop_map(|nanos| Timestamp::from_nanosecond(nanos).expect("a timestamp"))
}

/// Values that JSON can express.
fn any_dynamic() -> impl Strategy<Value = Dynamic> {
    let leaf = prop_oneof![
        Just(Dynamic::NULL),
        any::<bool>().prop_map(Dynamic::from),
        any::<i64>().prop_map(Dynamic::from),
        (1 << 63..=u64::MAX).prop_map(Dynamic::from),
        (-1e300..1e300).prop_map(Dynamic::from),
        any::<String>().prop_map(Dynamic::from),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Dynamic::from_iter),
            prop::collection::vec((any::<String>(), inner), 0..3).prop_map(Dynamic::from_iter),
        ]
    })
}

fn any_array(
    schema: &'static Schema,
    item: &Type,
    dimensions: &[Dimension],
    depth: usize,
) -> BoxedStrategy<Value> {
    use prop::collection::vec;
    let inside = |inside| any_array(schema, item, inside, depth + 1);
    match ArrayForm::of(dimensions) {
        None => any_value(schema, item, depth),
        Some(ArrayForm::Fixed(extent, rest)) => vec(inside(rest), extent as usize)
            .prop_map(Value::List)
            .boxed(),
        Some(ArrayForm::List(rest)) => vec(inside(rest), 0..3).prop_map(Value::List).boxed(),
        Some(ArrayForm::Free(outside, rest)) => {
            // No rows of nothing: JSON does not show how many there are.
            let extent = |dimension: &Dimension| match dimension {
                Dimension::Fixed(extent) => *extent..=*extent,
                Dimension::Dynamic => 1..=2,
            };
            let extents: Vec<_> = outside.iter().map(extent).collect();
            let inside = inside(rest);
            extents
                .prop_flat_map(move |extents| {
                    let count = extents.iter().product::<u32>() as usize;
                    let elements = vec(inside.clone(), count);
                    elements.prop_map(move |elements| Value::Array(extents.clone(), elements))
                })
                .boxed()
        }
    }
}

fn unique(entries: Vec<(Value, Value)>) -> Vec<(Value, Value)> {
    let mut kept: Vec<(Value, Value)> = Vec::new();
    for entry in entries {
        if kept.iter().all(|(key, _)| *key != entry.0) {
            kept.push(entry);
        }
    }
    kept
}

fn any_named(schema: &'static Schema, id: TypeId, depth: usize) -> BoxedStrategy<Value> {
    if let TypeKind::Enum(_) = schema[id].kind {
        return prop_oneof![Just(1), Just(-7), any::<i32>()]
            .prop_map(Value::Enum)
            .boxed();
    }
    let contract = Contract::new(schema);
    let table = contract.table(id).expect("a struct");
    if table.union {
        let deep = depth > 2;
        let member = |f: &&Field| {
            let id = f.id;
            any_value(schema, &f.ty, depth + 1)
                .prop_map(move |v| Value::Struct(Struct::from_iter([(id, v)])))
                .boxed()
        };
        // The last member of the one union here contains the union itself.
        let members = &table.fields[..table.fields.len() - usize::from(deep)];
        return prop::strategy::Union::new(members.iter().map(member)).boxed();
    }
    let fields: Vec<BoxedStrategy<Option<(i32, Value)>>> = table
        .fields
        .iter()
        .map(|f| any_field(schema, f, depth))
        .collect();
    fields
        .prop_map(|fields| Value::Struct(fields.into_iter().flatten().collect()))
        .boxed()
}

fn any_field(
    schema: &'static Schema,
    field: &Field,
    depth: usize,
) -> BoxedStrategy<Option<(i32, Value)>> {
    let id = field.id;
    let optional = field.presence == Presence::Optional;
    match (optional, depth > 2) {
        (true, true) => Just(None).boxed(),
        (false, true) if matches!(field.ty, Type::List(_)) => {
            Just(Some((id, Value::List(Vec::new())))).boxed()
        }
        (true, false) => prop::option::of(any_value(schema, &field.ty, depth + 1))
            .prop_map(move |v| v.map(|v| (id, v)))
            .boxed(),
        (false, _) => any_value(schema, &field.ty, depth + 1)
            .prop_map(move |v| Some((id, v)))
            .boxed(),
    }
}

/// Any type with any value of it.
pub fn any_typed(schema: &'static Schema) -> impl Strategy<Value = (Type, Value)> {
    any_type().prop_flat_map(move |ty| any_value(schema, &ty, 0).prop_map(move |v| (ty.clone(), v)))
}

/// One schema for the whole test run.
pub fn shared() -> &'static Schema {
    static SCHEMA: std::sync::OnceLock<Schema> = std::sync::OnceLock::new();
    SCHEMA.get_or_init(schema)
}

/// Equal up to the order in which fields are kept.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Array(a, x), Value::Array(b, y)) => {
            a == b && x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y))
        }
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(a, b)| same(&a.0, &b.0) && same(&a.1, &b.1))
        }
        (Value::Struct(a), Value::Struct(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(id, a)| b.get(id).is_some_and(|b| same(a, b)))
                && a.unknown_fields == b.unknown_fields
        }
        (a, b) => a == b,
    }
}

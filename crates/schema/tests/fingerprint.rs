//! What changes a fingerprint, and what does not. One contract, and edits of it.
#![allow(clippy::unwrap_used, clippy::panic)]

use dovetail_schema::{
    Annotation, Annotations, Dimension, Enum, EnumValue, ErrorKind, ExceptionTraits, Field,
    Fingerprint, Idempotency, Method, Package, PackageId, Presence, Reserved, Schema, Service,
    ServiceId, Sharing, Stream, Struct, StructKind, Type, TypeDef, TypeId, TypeKind, Value,
};

fn field(id: i32, name: &str, ty: Type) -> Field {
    Field {
        id,
        name: name.to_owned(),
        ty,
        presence: Presence::Default,
        default: None,
        sharing: Sharing::Value,
        doc: None,
        annotations: Annotations::default(),
        deprecated: None,
    }
}

fn def(name: &str, kind: TypeKind) -> TypeDef {
    TypeDef {
        package: PackageId(0),
        name: name.to_owned(),
        doc: None,
        annotations: Annotations::default(),
        deprecated: None,
        kind,
    }
}

fn structure(name: &str, kind: StructKind, fields: Vec<Field>) -> TypeDef {
    let body = Struct {
        kind,
        extends: None,
        fields,
        reserved: Reserved::default(),
    };
    def(name, TypeKind::Struct(body))
}

fn value(name: &str, number: i32) -> EnumValue {
    EnumValue {
        name: name.to_owned(),
        number,
        doc: None,
        annotations: Annotations::default(),
        deprecated: None,
    }
}

const ROOT: TypeId = TypeId(0);
const COLOR: TypeId = TypeId(1);
const NODE: TypeId = TypeId(2);
const ALIAS: TypeId = TypeId(3);
const PROBLEM: TypeId = TypeId(4);
const BASE: TypeId = TypeId(5);

/// A struct that reaches an enum, a struct that contains itself, a list, and an alias.
fn contract() -> Schema {
    let named = Type::Named;
    let color = Enum {
        values: vec![value("RED", 0), value("GREEN", 1)],
        ..Enum::default()
    };
    let root = vec![
        field(1, "id", Type::I64),
        field(2, "color", named(COLOR)),
        field(3, "nodes", Type::List(Box::new(named(NODE)))),
        field(4, "text", named(ALIAS)),
        field(
            5,
            "vector",
            Type::Array(Box::new(Type::F64), vec![Dimension::Fixed(3)]),
        ),
    ];
    let mut next = field(2, "next", named(NODE));
    next.presence = Presence::Optional;
    let method = Method {
        name: "get".to_owned(),
        doc: None,
        annotations: Annotations::default(),
        deprecated: None,
        params: vec![field(1, "id", Type::I64)],
        result: Some(named(ROOT)),
        client_stream: None,
        server_stream: Some(Stream {
            item: named(NODE),
            throws: Vec::new(),
        }),
        throws: vec![field(1, "problem", named(PROBLEM))],
        oneway: false,
        idempotency: Idempotency::Unknown,
    };
    Schema {
        packages: vec![Package {
            name: "test".to_owned(),
            ..Package::default()
        }],
        types: vec![
            structure("Root", StructKind::Struct, root),
            def("Color", TypeKind::Enum(color)),
            structure(
                "Node",
                StructKind::Struct,
                vec![field(1, "value", Type::I32), next],
            ),
            def("Alias", TypeKind::Alias(Type::String)),
            structure(
                "Problem",
                StructKind::Exception(ExceptionTraits::default()),
                vec![field(1, "message", Type::String)],
            ),
            structure(
                "Base",
                StructKind::Struct,
                vec![field(9, "base", Type::Bool)],
            ),
        ],
        services: vec![Service {
            package: PackageId(0),
            name: "Service".to_owned(),
            doc: None,
            annotations: Annotations::default(),
            deprecated: None,
            extends: None,
            methods: vec![method],
        }],
        constants: Vec::new(),
    }
}

fn fields(schema: &mut Schema, id: TypeId) -> &mut Vec<Field> {
    match &mut schema.types[id.0 as usize].kind {
        TypeKind::Struct(def) => &mut def.fields,
        _ => panic!("not a struct"),
    }
}

fn colors(schema: &mut Schema) -> &mut Vec<EnumValue> {
    match &mut schema.types[COLOR.0 as usize].kind {
        TypeKind::Enum(def) => &mut def.values,
        _ => panic!("not an enum"),
    }
}

fn method(schema: &mut Schema) -> &mut Method {
    &mut schema.services[0].methods[0]
}

fn prints(schema: &Schema) -> (Fingerprint, Fingerprint) {
    let method = &schema[ServiceId(0)].methods[0];
    (
        schema.fingerprint(&Type::Named(ROOT)),
        schema.method_fingerprint(method),
    )
}

/// An edit of the contract, with a word for it.
type Edit = (&'static str, fn(&mut Schema));

#[test]
fn what_is_on_the_wire_counts() {
    let edits: &[Edit] = &[
        ("field renamed", |s| {
            fields(s, ROOT)[0].name = "key".to_owned()
        }),
        ("field renumbered", |s| fields(s, ROOT)[0].id = 7),
        ("field retyped", |s| fields(s, ROOT)[0].ty = Type::I32),
        ("signedness", |s| fields(s, ROOT)[0].ty = Type::U64),
        ("timestamp", |s| {
            fields(s, ROOT)[0].ty = Type::Timestamp { offset: false }
        }),
        ("required", |s| {
            fields(s, ROOT)[0].presence = Presence::Required
        }),
        ("optional", |s| {
            fields(s, ROOT)[0].presence = Presence::Optional
        }),
        ("shared", |s| fields(s, ROOT)[0].sharing = Sharing::Ref),
        ("fields reordered", |s| fields(s, ROOT).swap(0, 1)),
        ("field added", |s| {
            fields(s, ROOT).push(field(6, "more", Type::Bool))
        }),
        ("field removed", |s| drop(fields(s, ROOT).pop())),
        ("set for list", |s| {
            fields(s, ROOT)[2].ty = Type::Set(Box::new(Type::Named(NODE)))
        }),
        ("extent", |s| {
            fields(s, ROOT)[4].ty = Type::Array(Box::new(Type::F64), vec![Dimension::Fixed(4)]);
        }),
        ("fixed and dynamic", |s| {
            fields(s, ROOT)[4].ty = Type::Array(Box::new(Type::F64), vec![Dimension::Dynamic]);
        }),
        ("type renamed", |s| s.types[0].name = "Other".to_owned()),
        ("struct to union", |s| {
            s.types[0] = structure("Root", StructKind::Union, fields(s, ROOT).clone())
        }),
        ("extends", |s| match &mut s.types[0].kind {
            TypeKind::Struct(def) => def.extends = Some(BASE),
            _ => panic!("not a struct"),
        }),
        ("enum value renamed", |s| {
            colors(s)[0].name = "PINK".to_owned()
        }),
        ("enum value renumbered", |s| colors(s)[0].number = 5),
        ("enum value added", |s| colors(s).push(value("BLUE", 2))),
        ("deep field renamed", |s| {
            fields(s, NODE)[0].name = "number".to_owned()
        }),
        ("recursion made required", |s| {
            fields(s, NODE)[1].presence = Presence::Required
        }),
        ("alias to another type", |s| {
            s.types[3].kind = TypeKind::Alias(Type::Bytes)
        }),
    ];
    let before = prints(&contract());
    let mut seen = vec![before];
    for (name, edit) in edits {
        let mut schema = contract();
        edit(&mut schema);
        let after = prints(&schema);
        assert_ne!(after.0, before.0, "{name}");
        assert_ne!(after.1, before.1, "{name}: a method includes its result");
        assert!(!seen.contains(&after), "{name}: as if it were another edit");
        seen.push(after);
    }
}

#[test]
fn the_form_of_a_method_counts() {
    let edits: &[Edit] = &[
        ("renamed", |s| method(s).name = "fetch".to_owned()),
        ("oneway", |s| method(s).oneway = true),
        ("no result", |s| method(s).result = None),
        ("parameter added", |s| {
            method(s).params.push(field(2, "more", Type::Bool))
        }),
        ("parameter renamed", |s| {
            method(s).params[0].name = "key".to_owned()
        }),
        ("no stream", |s| method(s).server_stream = None),
        ("other direction", |s| {
            let stream = method(s).server_stream.take();
            method(s).client_stream = stream;
        }),
        ("stream that throws", |s| {
            let throws = vec![field(1, "problem", Type::Named(PROBLEM))];
            method(s).server_stream = Some(Stream {
                item: Type::Named(NODE),
                throws,
            });
        }),
        ("throws nothing", |s| method(s).throws.clear()),
        ("exception changed", |s| fields(s, PROBLEM)[0].id = 2),
    ];
    let before = prints(&contract()).1;
    let mut seen = vec![before];
    for (name, edit) in edits {
        let mut schema = contract();
        edit(&mut schema);
        let after = prints(&schema).1;
        assert!(!seen.contains(&after), "{name}");
        seen.push(after);
    }
}

#[test]
fn what_leaves_no_trace_does_not_count() {
    let edits: &[Edit] = &[
        ("documentation", |s| {
            s.types[0].doc = Some("text".to_owned());
            fields(s, ROOT)[0].doc = Some("text".to_owned());
            method(s).doc = Some("text".to_owned());
        }),
        ("annotations", |s| {
            let annotation = Annotation {
                key: "k".to_owned(),
                value: "v".to_owned(),
            };
            fields(s, ROOT)[0]
                .annotations
                .untyped
                .push(annotation.clone());
            s.types[0].annotations.untyped.push(annotation);
        }),
        ("deprecation", |s| {
            fields(s, ROOT)[0].deprecated = Some(String::new())
        }),
        ("defaults", |s| {
            fields(s, ROOT)[0].default = Some(Value::Int(5))
        }),
        ("file names", |s| {
            s.packages[0] = Package {
                path: "other".to_owned(),
                ..Package::default()
            }
        }),
        ("alias renamed", |s| s.types[3].name = "Other".to_owned()),
        ("alias written out", |s| {
            fields(s, ROOT)[3].ty = Type::String
        }),
        ("alias of an alias", |s| {
            s.types
                .push(def("Again", TypeKind::Alias(Type::Named(ALIAS))));
            fields(s, ROOT)[3].ty = Type::Named(TypeId(6));
        }),
        ("another type", |s| {
            s.types
                .push(structure("New", StructKind::Struct, Vec::new()))
        }),
        ("what is not reached", |s| fields(s, BASE)[0].id = 3),
        ("order of definition", |s| {
            // Color goes to the end: ids in a schema are no part of the contract.
            let color = s.types[1].clone();
            s.types.push(color);
            fields(s, ROOT)[1].ty = Type::Named(TypeId(6));
        }),
        ("reservations", |s| match &mut s.types[0].kind {
            TypeKind::Struct(def) => def.reserved.ids.push((20, 30)),
            _ => panic!("not a struct"),
        }),
        ("what an exception says about itself", |s| {
            match &mut s.types[4].kind {
                TypeKind::Struct(def) => {
                    let kind = ErrorKind::Transient;
                    def.kind = StructKind::Exception(ExceptionTraits {
                        kind,
                        ..ExceptionTraits::default()
                    });
                }
                _ => panic!("not a struct"),
            }
        }),
        ("idempotency", |s| {
            method(s).idempotency = Idempotency::ReadOnly
        }),
    ];
    let before = prints(&contract());
    for (name, edit) in edits {
        let mut schema = contract();
        edit(&mut schema);
        assert_eq!(prints(&schema), before, "{name}");
    }
}

/// `a: T, b: T` differs from `a: T, b: U` where T and U have the same fields under other names.
#[test]
fn repetition_is_told_from_resemblance() {
    let node = |name: &str| structure(name, StructKind::Struct, vec![field(1, "x", Type::I32)]);
    let pair = |a: u32, b: u32| {
        let fields = vec![
            field(1, "a", Type::Named(TypeId(a))),
            field(2, "b", Type::Named(TypeId(b))),
        ];
        let types = vec![
            structure("Pair", StructKind::Struct, fields),
            node("T"),
            node("U"),
        ];
        Schema {
            types,
            ..Schema::default()
        }
        .fingerprint(&Type::Named(TypeId(0)))
    };
    assert_ne!(pair(1, 1), pair(1, 2));
    assert_ne!(pair(1, 2), pair(2, 1));
    assert_eq!(pair(1, 1), pair(1, 1));
}

/// Two types that contain each other, entered from either side.
#[test]
fn mutual_recursion_ends() {
    let list = |id: u32| Type::List(Box::new(Type::Named(TypeId(id))));
    let types = vec![
        structure("A", StructKind::Struct, vec![field(1, "b", list(1))]),
        structure(
            "B",
            StructKind::Struct,
            vec![field(1, "a", list(0)), field(2, "b", list(1))],
        ),
    ];
    let schema = Schema {
        types,
        ..Schema::default()
    };
    let print = |id: u32| schema.fingerprint(&Type::Named(TypeId(id)));
    assert_ne!(print(0), print(1));
    assert_eq!(print(0), print(0));
}

/// A chain of structs that is deeper than any stack.
#[test]
fn depth_costs_no_stack() {
    let types = (0..200_000u32).map(|id| {
        let next = Type::Named(TypeId((id + 1) % 200_000));
        structure("S", StructKind::Struct, vec![field(1, "next", next)])
    });
    let schema = Schema {
        types: types.collect(),
        ..Schema::default()
    };
    schema.fingerprint(&Type::Named(TypeId(0)));
}

/// The form that two ends compare may not change once it is in use.
#[test]
fn the_form_is_stable() {
    let (ty, method) = prints(&contract());
    assert_eq!(ty.to_string(), "7902ffa34f812b5850394ea7f2d8c1df");
    assert_eq!(method.to_string(), "c313a8aae9a1950eddb25a1ffa1f1ea5");
}

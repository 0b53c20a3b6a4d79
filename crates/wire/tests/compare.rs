//! Two contracts that differ: either they understand each other, field by field, or they are told
//! which field stands in the way. No value ever arrives in another field.
#![allow(clippy::unwrap_used, clippy::panic, clippy::type_complexity)]

mod fixtures;

use dovetail_wire::description::{
    Definition, FieldPresence, FieldType, Incompatible, Named, Signature, StreamTypes, Type,
    compare, describe, describe_with, fingerprint,
};
use dovetail_wire::{
    Cursor, Field, FieldValue, Kind, Limits, NextField, Reader as _, Ref, Writer as _, tagged,
};
use std::collections::BTreeMap;

type Row = FieldType<'static, usize>;

fn row(id: i32, name: &'static str, kind: Kind) -> Row {
    FieldType {
        id,
        name,
        presence: FieldPresence::Always,
        ty: Type::Scalar(kind),
    }
}

const BASE: [(i32, &str, Kind); 4] = [
    (1, "number", Kind::I32),
    (2, "text", Kind::String),
    (3, "truth", Kind::Bool),
    (4, "price", Kind::F64),
];

/// The struct of four fields, and every version of it with one of its fields changed, moved, added
/// or gone.
fn versions() -> Vec<Vec<Row>> {
    let base: Vec<Row> = BASE
        .iter()
        .map(|(id, name, kind)| row(*id, name, *kind))
        .collect();
    let mut all = vec![base.clone()];
    let mut edit = |change: &dyn Fn(&mut Vec<Row>)| {
        let mut rows = base.clone();
        change(&mut rows);
        all.push(rows);
    };
    for at in 0..4 {
        edit(&|rows| rows[at].name = "renamed");
        edit(&|rows| rows[at].id = 9);
        edit(&|rows| rows[at].presence = FieldPresence::Required);
        edit(&|rows| rows[at].presence = FieldPresence::Optional);
        edit(&|rows| drop(rows.remove(at)));
        edit(&|rows| rows.insert(at, row(7, "added", Kind::I64)));
        edit(&|rows| rows[at] = row(7, "replaced", Kind::I64));
        for (_, _, kind) in BASE {
            edit(&|rows| rows[at].ty = Type::Scalar(kind));
        }
        for other in 0..at {
            edit(&|rows| rows.swap(at, other));
            edit(&|rows| {
                let name = rows[at].name;
                rows[at].name = rows[other].name;
                rows[other].name = name;
            });
        }
    }
    edit(&|rows| rows.rotate_left(1));
    edit(&|rows| rows.clear());
    all
}

/// A method with such a struct as its parameter.
fn description(rows: &[Row]) -> Vec<u8> {
    let param = FieldType {
        id: 1,
        name: "it",
        presence: FieldPresence::Always,
        ty: Type::Struct(0),
    };
    let signature = Signature {
        name: "take",
        oneway: false,
        client_stream: None,
        server_stream: None,
        params: vec![param],
        result: None,
        exceptions: Vec::new(),
    };
    describe_with(&signature, |_| Definition::Struct("S", rows.to_vec()))
}

fn table(rows: &[Row]) -> Vec<Field<'static>> {
    let field = |row: &Row| Field::new(row.id, row.name, row.ty.kind());
    rows.iter().map(field).collect()
}

/// A message in which every field holds its own id.
fn write(rows: &[Row]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = tagged::Writer::new(&mut out, Limits::default());
    writer.begin_struct().unwrap();
    for field in table(rows) {
        writer.begin_field(&field).unwrap();
        match field.kind {
            Kind::I32 => writer.i32(field.id),
            Kind::I64 => writer.i64(field.id.into()),
            Kind::String => writer.string(&field.id.to_string()),
            Kind::Bool => writer.bool(field.id % 2 == 1),
            _ => writer.f64(field.id.into()),
        }
        .unwrap();
        writer.end_field().unwrap();
    }
    writer.end_struct().unwrap();
    out
}

/// Reads the values that arrive, by name, as text.
fn read(rows: &[Row], bytes: &[u8]) -> BTreeMap<&'static str, String> {
    let mut reader = tagged::Reader::new(bytes, Limits::default());
    let (fields, mut cursor) = (table(rows), Cursor::default());
    let mut found = BTreeMap::new();
    reader.begin_struct().unwrap();
    loop {
        let field = match reader.next_field(&fields, &mut cursor).unwrap() {
            NextField::Known(index) => fields[index],
            NextField::Unknown(_) => {
                reader.unknown_value().unwrap();
                continue;
            }
            NextField::End => return found,
        };
        let value = match field.kind {
            Kind::I32 => reader.i32().unwrap().to_string(),
            Kind::I64 => reader.i64().unwrap().to_string(),
            Kind::String => reader.string().unwrap().into_owned(),
            Kind::Bool => reader.bool().unwrap().to_string(),
            _ => reader.f64().unwrap().to_string(),
        };
        found.insert(field.name, value);
    }
}

fn shown(row: &Row) -> String {
    match row.ty.kind() {
        Kind::Bool => (row.id % 2 == 1).to_string(),
        _ => row.id.to_string(),
    }
}

/// Returns whether the specification lets two structs agree.
fn compatible(ours: &[Row], theirs: &[Row]) -> bool {
    let known = |row: &Row, rows: &[Row]| {
        row.presence != FieldPresence::Required || rows.iter().any(|other| other.id == row.id)
    };
    let present = |a: FieldPresence, b: FieldPresence| {
        let both = [a, b];
        !both.contains(&FieldPresence::Required) || !both.contains(&FieldPresence::Optional)
    };
    ours.iter().all(|row| known(row, theirs))
        && theirs.iter().all(|row| known(row, ours))
        && ours.iter().all(|a| {
            theirs
                .iter()
                .filter(|b| a.id == b.id || a.name == b.name)
                .all(|b| a.id == b.id && a.ty == b.ty && present(a.presence, b.presence))
        })
}

#[test]
fn one_field_differs_at_either_end() {
    let versions = versions();
    let (mut agreed, mut refused) = (0, 0);
    for ours in &versions {
        for theirs in &versions {
            let result = compare(&description(ours), &description(theirs));
            assert_eq!(
                result.is_ok(),
                compatible(ours, theirs),
                "{ours:?} {theirs:?}: {result:?}"
            );
            match result {
                Ok(()) => {
                    agreed += 1;
                    let both = |row: &&Row| theirs.iter().any(|other| other.id == row.id);
                    let expected = ours.iter().filter(both).map(|row| (row.name, shown(row)));
                    assert_eq!(
                        read(ours, &write(theirs)),
                        expected.collect(),
                        "{ours:?} {theirs:?}"
                    );
                }
                Err(problem) => {
                    refused += 1;
                    let text = problem.to_string();
                    let mut rows = ours.iter().chain(theirs);
                    assert!(
                        rows.any(|row| text.contains(&format!("`S.{}`", row.name))),
                        "{text}"
                    );
                }
            }
        }
    }
    assert!(agreed > 500 && refused > 500, "{agreed} {refused}");
}

#[test]
fn refusals_name_the_place() {
    let base = versions().swap_remove(0);
    let rows: &[(&dyn Fn(&mut Vec<Row>), &str)] = &[
        (
            &|rows| rows[3].ty = Type::Scalar(Kind::I64),
            "`S.price` is double here and i64 there",
        ),
        (
            &|rows| rows[3].id = 8,
            "`S.price` is number 4 here and number 8 there",
        ),
        (
            &|rows| {
                let mut more = row(9, "new", Kind::I64);
                more.presence = FieldPresence::Required;
                rows.push(more);
            },
            "`S.new` is unknown here and required there",
        ),
        (
            &|rows| {
                rows[1].ty = Type::Map(
                    Box::new(Type::Scalar(Kind::Bytes)),
                    Box::new(Type::List(Box::new(Type::Struct(0)))),
                )
            },
            "`S.text` is string here and map<binary, list<S>> there",
        ),
    ];
    for (change, expected) in rows {
        let mut theirs = base.clone();
        change(&mut theirs);
        let result = compare(&description(&base), &description(&theirs));
        assert_eq!(result.unwrap_err().to_string(), *expected);
    }
}

fn around<T: FieldValue>() -> Vec<u8> {
    let param = FieldType::of::<T>(Field::new(1, "it", T::KIND));
    describe(&Signature {
        name: "take",
        oneway: false,
        client_stream: None,
        server_stream: None,
        params: param.into_iter().collect(),
        result: None,
        exceptions: Vec::new(),
    })
}

/// Types that contain themselves, and all others.
#[test]
fn circles_end() {
    let all = [
        around::<fixtures::Tree>(),
        around::<fixtures::Chain>(),
        around::<fixtures::Newer>(),
        around::<fixtures::Optionals>(),
        around::<fixtures::Choice>(),
        around::<fixtures::Presence>(),
    ];
    for ours in &all {
        for theirs in &all {
            let result = compare(ours, theirs);
            assert_eq!(compare(theirs, ours).is_ok(), result.is_ok());
            assert_eq!(fingerprint(ours) == fingerprint(theirs), ours == theirs);
        }
    }
    assert!(compare(&around::<fixtures::Newer>(), &around::<fixtures::Older>()).is_ok());
    assert!(compare(&around::<fixtures::Colour>(), &around::<i32>()).is_ok());
    let union = compare(&around::<fixtures::Choice>(), &around::<fixtures::Empty>());
    assert_eq!(
        union.unwrap_err().to_string(),
        "`Choice` is a union here and a struct there"
    );
    let tree = compare(&around::<fixtures::Tree>(), &around::<fixtures::Chain>());
    assert_eq!(
        tree.unwrap_err().to_string(),
        "`Tree.children` is list<Tree> here and Chain there"
    );
}

/// Types that are equal on the wire, and mean something else.
#[test]
fn carriers_are_not_what_they_carry() {
    use dovetail_wire::*;
    let all = [
        ("timestamp", around::<Timestamp>()),
        ("timestamp_tz", around::<TimestampTz>()),
        ("date", around::<Date>()),
        ("duration", around::<SignedDuration>()),
        ("decimal", around::<Decimal>()),
        ("any", around::<Any>()),
        ("dynamic", around::<Dynamic>()),
        ("array<i32, 3>", around::<[i32; 3]>()),
        ("array<i64, 3>", around::<[i64; 3]>()),
        ("array<array<i32, 3>, 4>", around::<[[i32; 3]; 4]>()),
        ("array<i32, *, *>", around::<Array<i32, (Free, Free)>>()),
        ("array<i32, 3, *>", around::<Array<i32, (Fixed<3>, Free)>>()),
        ("list<i32>", around::<Vec<i32>>()),
        ("i32", around::<i32>()),
        ("string", around::<String>()),
        ("Older", around::<fixtures::Older>()),
    ];
    for (ours, here) in &all {
        for (theirs, there) in &all {
            let expected = match ours == theirs {
                true => Ok(()),
                false => Err(format!("`take.it` is {ours} here and {theirs} there")),
            };
            assert_eq!(compare(here, there).map_err(|e| e.to_string()), expected);
        }
    }
}

#[test]
fn families_and_references() {
    let rows: [(Vec<u8>, Vec<u8>, Option<&str>); 6] = [
        // The base alone, and fewer members.
        (
            around::<fixtures::AnyAnimal>(),
            around::<fixtures::Animal>(),
            None,
        ),
        (
            around::<fixtures::AnyAnimal>(),
            around::<fixtures::Feline>(),
            None,
        ),
        (
            around::<fixtures::Cage>(),
            around::<fixtures::OldCage>(),
            None,
        ),
        (
            around::<Ref<fixtures::AnyAnimal>>(),
            around::<Ref<fixtures::Animal>>(),
            None,
        ),
        (
            around::<Ref<fixtures::Person>>(),
            around::<Ref<fixtures::Lonely>>(),
            None,
        ),
        (
            around::<Ref<fixtures::Person>>(),
            around::<fixtures::PlainPerson>(),
            Some("`take.it` is ref Person here and Person there"),
        ),
    ];
    for (ours, theirs, problem) in rows {
        let found = compare(&ours, &theirs).err().map(|e| e.to_string());
        assert_eq!(found.as_deref(), problem);
        assert_eq!(compare(&theirs, &ours).is_ok(), problem.is_none());
        assert_ne!(ours, theirs);
    }
}

#[test]
fn members_of_one_name_are_compared() {
    // Two families of S, in which T has a field that differs.
    let family = |kind: Kind| {
        let signature = Signature {
            name: "take",
            oneway: false,
            params: Vec::new(),
            result: Some(Type::Family(0)),
            exceptions: Vec::new(),
            client_stream: None,
            server_stream: None,
        };
        describe_with(&signature, |number| match number {
            0 => Definition::Family("S", vec![1, 2]),
            1 => Definition::Struct("S", Vec::new()),
            _ => Definition::Struct("T", vec![row(1, "own", kind)]),
        })
    };
    let problem = compare(&family(Kind::I32), &family(Kind::I64)).unwrap_err();
    assert_eq!(problem.to_string(), "`T.own` is i32 here and i64 there");
}

#[test]
fn calls_of_another_kind() {
    let with_stream = |oneway, result: Option<Kind>, item: Option<Kind>| {
        describe(&Signature::<Named> {
            name: "add",
            oneway,
            params: Vec::new(),
            result: result.map(Type::Scalar),
            exceptions: Vec::new(),
            client_stream: None,
            server_stream: item.map(|item| StreamTypes {
                item: Type::Scalar(item),
                exceptions: Vec::new(),
            }),
        })
    };
    let signature = |oneway, result| with_stream(oneway, result, None);
    let here = signature(false, Some(Kind::I32));
    let stream = compare(
        &with_stream(false, None, Some(Kind::I32)),
        &with_stream(false, None, Some(Kind::String)),
    );
    assert_eq!(
        stream.unwrap_err().to_string(),
        "an item of the stream of `add` is i32 here and string there"
    );
    let rows = [
        (
            with_stream(false, Some(Kind::I32), Some(Kind::I32)),
            "`add` is a call with an answer here and a call with a stream there",
        ),
        (
            signature(true, None),
            "`add` is a call with an answer here and one-way there",
        ),
        (
            signature(false, None),
            "the result of `add` is i32 here and void there",
        ),
        (
            signature(false, Some(Kind::U32)),
            "the result of `add` is i32 here and u32 there",
        ),
    ];
    for (there, expected) in rows {
        assert_eq!(compare(&here, &there).unwrap_err().to_string(), expected);
    }
}

/// A description cut at every byte, and with every bit of it another one.
fn broken(ours: &[u8]) {
    for end in 0..ours.len() {
        let refused = compare(ours, &ours[..end]);
        assert!(
            matches!(refused, Err(Incompatible::Malformed(_))),
            "{end}: {refused:?}"
        );
    }
    for at in 0..ours.len() {
        for bit in 0..8 {
            let mut theirs = ours.to_vec();
            theirs[at] ^= 1 << bit;
            let _ = compare(ours, &theirs).map_err(|problem| problem.to_string());
        }
    }
}

/// Descriptions come from peers.
#[test]
fn hostile() {
    broken(&around::<fixtures::Person>());
    let ours = around::<fixtures::Optionals>();
    broken(&ours);
    let head = |more: &[u8]| [b"\x01\x04take\x00", more].concat();
    let rows: &[(&str, Vec<u8>)] = &[
        ("nothing", Vec::new()),
        ("another version", vec![2]),
        (
            "a huge count",
            head(b"\x80\x80\x80\x80\x80\x80\x80\x80\x10"),
        ),
        (
            "containers without end",
            head(&[b"\x01\x02\x00\x00", &[17; 1000][..]].concat()),
        ),
        (
            "an id twice",
            head(b"\x02\x02\x01a\x00\x04\x02\x01b\x00\x04\x00\x00\x00"),
        ),
        (
            "a name twice",
            head(b"\x02\x02\x01a\x00\x04\x04\x01a\x00\x04\x00\x00\x00"),
        ),
        (
            "a type without definition",
            head(b"\x01\x02\x00\x00\x10\x00\x00\x00\x00"),
        ),
        (
            "a struct that is an enum",
            head(b"\x01\x02\x00\x00\x10\x00\x00\x00\x01\x03\x00\x00"),
        ),
        (
            "references without end",
            head(&[b"\x01\x02\x00\x00", &[26; 1000][..]].concat()),
        ),
        (
            "a reference to a number",
            head(b"\x01\x02\x00\x00\x1a\x04\x00\x00\x00"),
        ),
        (
            "a family of nothing",
            head(b"\x01\x02\x00\x00\x1b\x00\x00\x00\x01\x04\x00\x00"),
        ),
        (
            "a family of itself",
            head(b"\x01\x02\x00\x00\x1b\x00\x00\x00\x01\x04\x00\x01\x00"),
        ),
        (
            "a family of a union",
            head(b"\x01\x02\x00\x00\x1b\x00\x00\x00\x02\x04\x00\x01\x01\x02\x00\x00"),
        ),
        ("bytes behind it", head(b"\x00\x00\x00\x00\x00")),
        ("a long one", vec![1; 2 << 20]),
    ];
    for (what, theirs) in rows {
        let refused = compare(&ours, theirs);
        assert!(
            matches!(refused, Err(Incompatible::Malformed(_))),
            "{what}: {refused:?}"
        );
    }
    assert!(compare(&head(b"\x00\x00\x00\x00"), &head(b"\x00\x00\x00\x00")).is_ok());
}

#[test]
fn objects_are_compared_by_their_service() {
    let describe = |service: Option<&'static str>| {
        let signature: Signature<'_, usize> = Signature {
            name: "open",
            oneway: false,
            params: Vec::new(),
            result: Some(match service {
                Some(_) => Type::List(Box::new(Type::Object(0))),
                None => Type::List(Box::new(Type::Scalar(Kind::I64))),
            }),
            exceptions: Vec::new(),
            client_stream: None,
            server_stream: None,
        };
        describe_with(&signature, |_| Definition::Service(service.unwrap_or("")))
    };
    let counter = describe(Some("Counter"));
    assert_eq!(
        &counter[1..],
        b"\x04open\0\0\x11\x14\0\0\x01\x05\x07Counter"
    );
    assert_eq!(compare(&counter, &counter), Ok(()));
    for (theirs, part) in [(Some("Listener"), "Listener"), (None, "list<i64>")] {
        let difference = compare(&counter, &describe(theirs)).unwrap_err();
        let text = difference.to_string();
        assert!(text.contains(part) && text.contains("Counter"), "{text}");
    }
}

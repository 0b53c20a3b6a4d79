//! The places of our fields, their types and values are those of Cap'n Proto's own compiler, for
//! files of ours and of others. `cargo xtask fetch-peer-idl` installs it; without it, these tests
//! say so and pass.
#![allow(clippy::unwrap_used)]

mod support;

use dovetail_idl::compile;
use dovetail_schema::capnp::{self, FieldLayout, GroupLayout, Slot, StructLayout};
use dovetail_schema::{Field, Method, Schema, Struct, Type, TypeDef, TypeKind, Value};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use support::{Below, capnp_text, files, files_below, report, tests};

/// The description of what the compiler's plugins are given.
const REQUEST: &str = "/usr/include/capnp/schema.capnp";

#[test]
fn files_of_ours() {
    let names = files(&tests("capnp"), ".capnp");
    assert!(names.len() >= 5);
    let built_in = vec!["../../src/capnp/built_in".to_owned()];
    let compared = check(&tests("capnp"), &built_in, &names);
    assert!(
        compared.is_none_or(|compared| compared > 40),
        "{compared:?}"
    );
}

#[test]
fn files_of_others() {
    let root = tests("../../../target/peer-idl");
    let packages: [(&str, &[&str]); 3] = [
        ("capnproto.org-go-capnp-v3-v3.1.0-alpha.1", &["std"]),
        ("pycapnp-2.2.4", &["test"]),
        ("libcapnp-dev", &[]),
    ];
    for (package, include) in packages {
        let root = root.join(package);
        if !root.exists() {
            println!("skipped: no files in {}", root.display());
            continue;
        }
        let names = files_below(&root, ".capnp");
        let include: Vec<String> = include.iter().map(|it| (*it).to_owned()).collect();
        let compared = check(&root, &include, &names);
        println!(
            "{package}: {} files, {compared:?} structs and interfaces",
            names.len()
        );
    }
}

/// Compares what we make of these files with what the compiler makes of them. Returns how many
/// structs and interfaces were compared; `None` without the compiler.
fn check(root: &Path, include: &[String], names: &[String]) -> Option<usize> {
    if Command::new("capnp").arg("--version").output().is_err() || !Path::new(REQUEST).exists() {
        println!("skipped: no Cap'n Proto compiler; `cargo xtask fetch-peer-idl` installs it");
        return None;
    }
    let loader = Below {
        root: root.to_owned(),
        include: include.to_vec(),
    };
    let (mut failures, mut compared) = (Vec::new(), 0);
    for name in names {
        let compiled = compile(name, &loader);
        let theirs = ask(root, include, name);
        let (schema, nodes) = match (&compiled.schema, theirs) {
            (Some(schema), Ok(nodes)) => (schema, nodes),
            (None, Ok(_)) => {
                failures.push(format!("{name} is refused\n{}", compiled.render(false)));
                continue;
            }
            (_, Err(error)) => {
                failures.push(format!("{name}: their compiler refuses it: {error}"));
                continue;
            }
        };
        let compare = Compare {
            schema,
            nodes: &nodes,
        };
        let (count, problems) = compare.all();
        compared += count;
        failures.extend(problems.iter().map(|problem| format!("{name}: {problem}")));
    }
    report(failures);
    Some(compared)
}

/// The nodes that the compiler makes of a file, by their ids.
fn ask(root: &Path, include: &[String], name: &str) -> Result<HashMap<u64, Json>, String> {
    let mut compiler = Command::new("capnp");
    compiler
        .args(["compile", "-o-"])
        .current_dir(root)
        .env("PWD", root);
    for directory in include {
        compiler.arg(format!("-I{directory}"));
    }
    let request = compiler.arg(name).output().unwrap();
    if !request.status.success() {
        return Err(String::from_utf8_lossy(&request.stderr).into_owned());
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &request.stdout).unwrap();
    let said = Command::new("capnp")
        .args(["convert", "binary:text", REQUEST, "CodeGeneratorRequest"])
        .stdin(Stdio::from(file.reopen().unwrap()))
        .output()
        .unwrap();
    let request = capnp_text::parse(std::str::from_utf8(&said.stdout).unwrap());
    let nodes = request["nodes"].as_array().unwrap().iter();
    Ok(nodes
        .map(|node| (number(&node["id"]), node.clone()))
        .collect())
}

fn number(json: &Json) -> u64 {
    json.as_u64().unwrap_or(0)
}

struct Compare<'a> {
    schema: &'a Schema,
    nodes: &'a HashMap<u64, Json>,
}

type Problems = Vec<String>;

impl Compare<'_> {
    fn all(&self) -> (usize, Problems) {
        let (mut compared, mut problems) = (0, Vec::new());
        for (index, def) in self.schema.types.iter().enumerate() {
            let Some(node) = self.node(&def.annotations) else {
                continue;
            };
            compared += 1;
            let layout = capnp::layout(self.schema, dovetail_schema::TypeId(index as u32));
            match &def.kind {
                TypeKind::Struct(own) => {
                    let place = &def.name;
                    self.structure(place, &own.fields, &layout, node, &mut problems);
                }
                TypeKind::Enum(own) => {
                    let theirs = node["enum"]["enumerants"].as_array().unwrap();
                    for value in &own.values {
                        let theirs = &theirs[value.number as usize]["name"];
                        expect(
                            &def.name,
                            "enumerant",
                            theirs.as_str(),
                            Some(&*value.name),
                            &mut problems,
                        );
                    }
                }
                TypeKind::Alias(_) => {}
            }
        }
        for service in &self.schema.services {
            let Some(node) = self.node(&service.annotations) else {
                continue;
            };
            compared += 1;
            let theirs = node["interface"]["methods"].as_array().unwrap();
            let own = service
                .methods
                .iter()
                .filter(|method| method.annotations.get(capnp::INHERITED).is_none());
            expect(
                &service.name,
                "methods",
                theirs.len(),
                own.clone().count(),
                &mut problems,
            );
            for (method, theirs) in own.zip(theirs) {
                self.method(&service.name, method, theirs, &mut problems);
            }
        }
        (compared, problems)
    }

    fn node(&self, annotations: &dovetail_schema::Annotations) -> Option<&Json> {
        let id = annotations.get(capnp::ID)?.strip_prefix("0x")?;
        self.nodes.get(&u64::from_str_radix(id, 16).unwrap())
    }

    fn method(&self, place: &str, method: &Method, theirs: &Json, problems: &mut Problems) {
        let place = format!("{place}.{}", method.name);
        expect(
            &place,
            "name",
            theirs["name"].as_str(),
            Some(&*method.name),
            problems,
        );
        if method.annotations.get(capnp::PARAMS).is_none() {
            let layout = capnp::parameters(self.schema, &method.params);
            let node = &self.nodes[&number(&theirs["paramStructType"])];
            self.structure(&place, &method.params, &layout, node, problems);
        }
        if let Some(name) = method.annotations.get(capnp::RESULT) {
            let mut result = [Field::new(1, name, method.result.clone().unwrap())];
            result[0].annotations = method.annotations.clone();
            let layout = capnp::parameters(self.schema, &result);
            let node = &self.nodes[&number(&theirs["resultStructType"])];
            self.structure(&place, &result, &layout, node, problems);
        }
    }

    fn structure(
        &self,
        place: &str,
        own: &[Field],
        layout: &StructLayout,
        node: &Json,
        problems: &mut Problems,
    ) {
        let theirs = &node["struct"];
        let size = (
            theirs["dataWordCount"].as_u64(),
            theirs["pointerCount"].as_u64(),
        );
        let size = (size.0.unwrap_or(0), size.1.unwrap_or(0));
        let own_size = (layout.data_words.into(), layout.pointers.into());
        expect(place, "size", size, own_size, problems);
        self.group(place, own, &layout.fields, node, problems);
    }

    fn group(
        &self,
        place: &str,
        own: &[Field],
        layout: &GroupLayout,
        node: &Json,
        problems: &mut Problems,
    ) {
        let theirs = &node["struct"];
        let count = theirs["discriminantCount"].as_u64().unwrap_or(0);
        let tag = theirs["discriminantOffset"].as_u64().unwrap_or(0);
        let own_tag = layout.fields.iter().find_map(|field| field.tag);
        let tag = (count > 0).then_some(tag as u32);
        expect(place, "tag", tag, own_tag.map(|tag| tag.offset), problems);
        let none = Vec::new();
        let fields = theirs["fields"].as_array().unwrap_or(&none);
        expect(place, "fields", fields.len(), own.len(), problems);
        for (field, layout) in own.iter().zip(&layout.fields) {
            let place = format!("{place}.{}", field.name);
            let found = fields.iter().find(|theirs| theirs["name"] == *field.name);
            match found {
                Some(theirs) => self.field(&place, field, layout, theirs, problems),
                None => problems.push(format!("{place}: they have no such field")),
            }
        }
    }

    fn field(
        &self,
        place: &str,
        own: &Field,
        layout: &FieldLayout,
        theirs: &Json,
        problems: &mut Problems,
    ) {
        let tag = theirs["discriminantValue"].as_u64().unwrap_or(65535);
        let tag = (tag != 65535).then_some(tag as u16);
        expect(place, "tag", tag, layout.tag.map(|tag| tag.value), problems);
        if let Slot::Group(inside) = &layout.slot {
            let node = &self.nodes[&number(&theirs["group"]["typeId"])];
            self.group(place, &self.inside(&own.ty).fields, inside, node, problems);
            return;
        }
        let slot = &theirs["slot"];
        let offset = slot["offset"].as_u64().unwrap_or(0) as u32;
        let (kind, _) = slot["type"].as_object().unwrap().iter().next().unwrap();
        let bits = match kind.as_str() {
            "void" => 0,
            "bool" => 1,
            "int8" | "uint8" => 8,
            "int16" | "uint16" | "enum" => 16,
            "int32" | "uint32" | "float32" => 32,
            "int64" | "uint64" | "float64" => 64,
            _ => 100,
        };
        let theirs = match bits {
            0 => Slot::Void,
            100 => Slot::Pointer(offset),
            bits => Slot::Data { bits, offset },
        };
        expect(place, "place", &theirs, &layout.slot, problems);
        let parameter = ["parameter", "implicitMethodParameter"]
            .iter()
            .any(|key| slot["type"][kind].get(key).is_some());
        // A generic type has been applied here.
        if !(parameter && bits == 100) {
            expect(place, "type", kind.as_str(), self.kind(own), problems);
        }
        self.default(place, own, kind, slot, problems);
    }

    fn default(&self, place: &str, own: &Field, kind: &str, slot: &Json, problems: &mut Problems) {
        let explicit = slot["hadExplicitDefault"].as_bool() == Some(true);
        expect(place, "default", explicit, own.default.is_some(), problems);
        let theirs = &slot["defaultValue"][kind];
        let same = match &own.default {
            Some(Value::Bool(own)) => theirs.as_bool() == Some(*own),
            Some(Value::Int(own)) => theirs.to_string().parse() == Ok(*own),
            Some(Value::Double(own)) => float(theirs, *own),
            Some(Value::String(own)) => theirs.as_str() == Some(own),
            Some(Value::Enum(_, own)) => theirs.as_i64() == Some(i64::from(*own)),
            Some(Value::Bytes(own)) => {
                let own = own.iter().copied().map(char::from);
                theirs.as_str().is_some_and(|theirs| theirs.chars().eq(own))
            }
            _ => true,
        };
        if !same {
            problems.push(format!(
                "{place}: they have the default {theirs}, we {:?}",
                own.default
            ));
        }
    }

    fn inside(&self, ty: &Type) -> &Struct {
        match ty {
            Type::Named(id) => match &self.schema[*id].kind {
                TypeKind::Struct(inside) => inside,
                other => panic!("{other:?} is no group"),
            },
            other => panic!("{other:?} is no group"),
        }
    }

    /// The type of a field, in their words.
    fn kind(&self, field: &Field) -> &'static str {
        let any = field.annotations.get(capnp::ANY).is_some();
        match &field.ty {
            Type::Bool => "bool",
            Type::I8 => "int8",
            Type::I16 => "int16",
            Type::I32 => "int32",
            Type::I64 => "int64",
            Type::U8 => "uint8",
            Type::U16 => "uint16",
            Type::U32 => "uint32",
            Type::U64 => "uint64",
            Type::F32 => "float32",
            Type::F64 => "float64",
            Type::String => "text",
            Type::Bytes if any => "anyPointer",
            Type::Bytes => "data",
            Type::List(_) => "list",
            Type::Object(_) => "interface",
            Type::Named(id) => match &self.schema[*id] {
                def if capnp::is_void(def) => "void",
                TypeDef {
                    kind: TypeKind::Enum(_),
                    ..
                } => "enum",
                _ => "struct",
            },
            other => panic!("{other:?}"),
        }
    }
}

fn float(theirs: &Json, own: f64) -> bool {
    match theirs.as_str() {
        Some("nan") => own.is_nan(),
        Some("inf") => own == f64::INFINITY,
        Some("-inf") => own == f64::NEG_INFINITY,
        _ => theirs
            .as_f64()
            .is_some_and(|theirs| theirs as f32 == own as f32),
    }
}

fn expect<T: PartialEq + std::fmt::Debug>(
    place: &str,
    what: &str,
    theirs: T,
    ours: T,
    problems: &mut Problems,
) {
    if theirs != ours {
        problems.push(format!(
            "{place}: {what}: they have {theirs:?}, we {ours:?}"
        ));
    }
}

//! A contract in Cap'n Proto's language; `docs/capnproto.md` has the mapping.
//!
//! Read again, a contract has the same places for all fields. Names are those that the language
//! asks for: `camelCase`, types with a capital letter.

mod fields;
mod names;
mod services;
mod values;

use crate::export::{Problems, file_name, files, quoted};
use crate::{File, Unsupported};
use dovetail_schema::capnp::{ID, TYPES_CAPNP, TYPES_PATH, is_group, is_void};
use dovetail_schema::{
    Annotations, Constant, Enum, Package, PackageId, Schema, Struct, StructKind, TypeDef, TypeKind,
};
use md5::{Digest, Md5};
use names::{member, upper};
pub use services::interface;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// Writes a contract: one file for each package, in the order of the schema, all for one
/// folder. Where one of them needs it, `dovetail/types.capnp` is the first.
///
/// # Errors
///
/// Everything in it that a `.capnp` file cannot say.
pub fn write(schema: &Schema) -> Result<Vec<File>, Vec<Unsupported>> {
    let uses_types = Cell::new(false);
    let mut files = files(schema, Problems::default(), |id, problems| {
        // `Void` is a word of the language.
        let all_void = schema
            .types
            .iter()
            .filter(|def| def.package == id)
            .all(is_void);
        let has_types = schema.types.iter().any(|def| def.package == id);
        if all_void && has_types {
            return None;
        }
        let writer = Writer::new(schema, id, problems);
        let file = writer.file();
        uses_types.set(uses_types.get() || writer.uses_types.get());
        Some(file)
    })?;
    if uses_types.get() {
        files.insert(
            0,
            File {
                path: TYPES_PATH.to_owned(),
                text: TYPES_CAPNP.to_owned(),
            },
        );
    }
    Ok(files)
}

/// A file in the making.
struct Writer<'a> {
    schema: &'a Schema,
    id: PackageId,
    package: &'a Package,
    /// The packages to which it refers.
    used: RefCell<BTreeSet<PackageId>>,
    /// Set once it refers to the file with types of other languages.
    uses_types: Cell<bool>,
    /// Structs that types of other languages need: their names and their texts.
    helpers: RefCell<Vec<(String, String)>>,
    problems: &'a Problems,
}

impl<'a> Writer<'a> {
    fn new(schema: &'a Schema, id: PackageId, problems: &'a Problems) -> Self {
        Writer {
            schema,
            id,
            package: &schema[id],
            used: RefCell::default(),
            uses_types: Cell::new(false),
            helpers: RefCell::default(),
            problems,
        }
    }

    fn refuse(&self, what: &str, at: &str) {
        self.problems.refuse(what, at);
    }

    fn file(&self) -> File {
        let schema = self.schema;
        let mut parts = Vec::new();
        let own = |def: &&TypeDef| def.package == self.id && !is_group(def) && !is_void(def);
        parts.extend(
            schema
                .types
                .iter()
                .filter(own)
                .filter_map(|def| self.definition(def)),
        );
        let constants = schema.constants.iter().filter(|def| def.package == self.id);
        parts.extend(constants.map(|constant| self.constant(constant)));
        let services = schema.services.iter().filter(|def| def.package == self.id);
        parts.extend(services.map(|service| self.service(service)));
        parts.extend(self.helpers.take().into_iter().map(|(_, text)| text));
        // Only now it is known what is imported.
        parts.insert(0, self.header());
        File {
            path: format!("{}.capnp", file_name(self.package)),
            text: parts.join("\n"),
        }
    }

    fn header(&self) -> String {
        let id = match self.package.annotations.get(ID) {
            Some(id) => id.to_owned(),
            None => format!(
                "{:#x}",
                made_up(&self.package.name, &file_name(self.package))
            ),
        };
        let mut text = format!("@{id};\n");
        text += &doc(self.package.doc.as_deref(), "");
        if self.uses_types.get() {
            text += &format!("\nusing Dovetail = import {};\n", quoted(TYPES_PATH));
        }
        for used in self.used.borrow().iter() {
            let name = file_name(&self.schema[*used]);
            let path = quoted(&format!("{name}.capnp"));
            text += &format!("using {} = import {path};\n", upper(&name));
        }
        if let Some(namespace) = self.package.namespaces.get("cpp") {
            let namespace = quoted(&namespace.replace('.', "::"));
            text += &format!("$import \"/capnp/c++.capnp\".namespace({namespace});\n");
        }
        text
    }

    /// ` @0x…`, where the contract has an id that no other definition has.
    fn id_of(&self, annotations: &Annotations) -> String {
        own_id(self.schema, annotations).map_or_else(String::new, |id| format!(" @{id}"))
    }

    fn definition(&self, def: &TypeDef) -> Option<String> {
        let name = upper(&def.name);
        let id = self.id_of(&def.annotations);
        Some(match &def.kind {
            // It has no name of its own there.
            TypeKind::Alias(_) => return None,
            TypeKind::Enum(inside) => self.enumeration(&format!("{name}{id}"), def, inside),
            TypeKind::Struct(inside) => self.structure(&format!("{name}{id}"), def, inside),
        })
    }

    fn enumeration(&self, head: &str, def: &TypeDef, inside: &Enum) -> String {
        let mut values: Vec<_> = inside.values.iter().collect();
        values.sort_by_key(|value| value.number);
        values.dedup_by_key(|value| value.number);
        let mut text = format!("enum {head} {{\n{}", doc(def.doc.as_deref(), "  "));
        let mut next = 0;
        for value in values {
            if !(0..=names::MAX_FILLED).contains(&value.number) {
                self.refuse(
                    "numbers of enums are from 0 to 1000 in Cap'n Proto",
                    &value.name,
                );
                break;
            }
            for unused in next..value.number {
                text += &format!("  unused{unused} @{unused};\n");
            }
            next = value.number + 1;
            text += &format!("  {} @{};\n", member(&value.name), value.number);
            text += &doc(value.doc.as_deref(), "  ");
        }
        text + "}\n"
    }

    fn structure(&self, head: &str, def: &TypeDef, inside: &Struct) -> String {
        if inside.extends.is_some() {
            self.refuse("a struct extends no other one in Cap'n Proto", &def.name);
        }
        let comment = match inside.kind {
            StructKind::Exception(_) => "  # Thrown.\n",
            _ => "",
        };
        let comment = format!("{comment}{}", doc(def.doc.as_deref(), "  "));
        let body = self.body(&def.name, inside);
        format!("struct {head} {{\n{comment}{body}}}\n")
    }

    fn constant(&self, constant: &Constant) -> String {
        let name = member(&constant.name);
        let ty = self.ty(&constant.ty, &constant.annotations, &constant.name);
        let value = self.value(&constant.ty, &constant.value, &constant.name);
        format!(
            "const {name} :{ty} = {value};\n{}",
            doc(constant.doc.as_deref(), "")
        )
    }
}

/// The id that the contract gives a definition, unless another one has it, too: those of a generic
/// type.
fn own_id<'a>(schema: &'a Schema, annotations: &'a Annotations) -> Option<&'a str> {
    let id = annotations.get(ID)?;
    let types = schema.types.iter().map(|def| &def.annotations);
    let services = schema.services.iter().map(|def| &def.annotations);
    let same = types.chain(services).filter(|it| it.get(ID) == Some(id));
    (same.count() == 1).then_some(id)
}

/// An id for a file or an interface that has none: the same for the same names.
fn made_up(package: &str, name: &str) -> u64 {
    let bytes: [u8; 16] = Md5::digest(format!("{package}/{name}")).into();
    let first = bytes.first_chunk().copied().unwrap_or_default();
    u64::from_be_bytes(first) | 1 << 63
}

/// The comment behind a definition that documents it.
fn doc(text: Option<&str>, indent: &str) -> String {
    let lines = text.unwrap_or_default().lines();
    lines
        .map(|line| format!("{}\n", format!("{indent}# {line}").trim_end()))
        .collect()
}

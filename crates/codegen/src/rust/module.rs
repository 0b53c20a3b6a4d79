//! One module: how it spells types, what it imports, which lints it cannot satisfy.

use super::Context;
use super::expr::Expr;
use super::expr::fill;
use super::options::{Maps, Strings};
use super::text::Text;
use dovetail_schema::{Field, PackageId, Presence, Sharing, Type, TypeId, TypeKind};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// A module while it is printed.
pub(super) struct Module<'a> {
    pub(super) cx: &'a Context<'a>,
    packages: &'a [PackageId],
    /// Names imported so far, by the path that they come from.
    imports: RefCell<BTreeMap<String, BTreeSet<String>>>,
    lints: RefCell<BTreeSet<&'static str>>,
}

/// Whether a type stands in a key, where everything has to be comparable.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Value,
    Key,
}

impl<'a> Module<'a> {
    pub(super) fn new(cx: &'a Context<'a>, packages: &'a [PackageId]) -> Self {
        Module {
            cx,
            packages,
            imports: RefCell::default(),
            lints: RefCell::default(),
        }
    }

    pub(super) fn print_items(&self, text: &mut Text) {
        let schema = self.cx.schema;
        let mut sections = [Text::indented(text.indent()), Text::indented(text.indent())];
        for (index, constant) in schema.constants.iter().enumerate() {
            if self.packages.contains(&constant.package) {
                self.print_constant(&mut sections[0], index);
            }
        }
        for (index, def) in schema.types.iter().enumerate() {
            if self.packages.contains(&def.package) {
                self.print_type(&mut sections[1], TypeId(index as u32));
            }
        }
        for section in sections {
            if !section.is_empty() {
                text.gap();
                text.raw(&section.finish());
            }
        }
        for (index, service) in schema.services.iter().enumerate() {
            if self.packages.contains(&service.package) && self.cx.options.has_services() {
                self.print_service(text, index);
            }
        }
    }

    fn path(&self) -> &[String] {
        match self.packages.first() {
            Some(package) => self.cx.names.module(*package),
            None => &[],
        }
    }

    /// Notes that the module contains something which a lint would judge, though the contract
    /// dictates it.
    pub(super) fn allow(&self, lint: &'static str) {
        self.lints.borrow_mut().insert(lint);
    }

    /// A name of the standard library or of Dovetail: imported if need be, spelled out where the
    /// module has an item of that name.
    pub(super) fn name(&self, name: &str) -> String {
        let path = match name {
            "Option" => "::std::option",
            "None" | "Some" => "::std::option::Option",
            "Result" => "::std::result",
            "Vec" => "::std::vec",
            "String" => "::std::string",
            "Box" => "::std::boxed",
            "Default" => "::std::default",
            "From" => "::std::convert",
            "Send" | "Sync" => "::std::marker",
            "BTreeMap" | "BTreeSet" | "HashMap" | "HashSet" => "::std::collections",
            "Arc" | "LazyLock" => "::std::sync",
            "Future" => "::std::future",
            "Context" | "ObjectRef" | "Service" | "Status" => &self.cx.options.crate_path,
            _ => &self.runtime("generated"),
        };
        let prelude = matches!(
            name,
            "Option"
                | "None"
                | "Some"
                | "Result"
                | "Vec"
                | "String"
                | "Box"
                | "Default"
                | "From"
                | "Send"
                | "Sync"
        );
        if self.cx.names.taken(self.path(), name) {
            return format!("{path}::{name}");
        }
        if !prelude {
            let mut imports = self.imports.borrow_mut();
            imports
                .entry(path.to_owned())
                .or_default()
                .insert(name.to_owned());
        }
        name.to_owned()
    }

    /// A name of Dovetail that only part of the file's users can import: always spelled out.
    pub(super) fn runtime(&self, name: &str) -> String {
        format!("{}::{name}", self.cx.options.crate_path)
    }

    pub(super) fn imports(&self, indent: usize) -> String {
        let mut text = Text::indented(indent);
        let imports = self.imports.borrow();
        let mut sorted: Vec<_> = imports.iter().collect();
        // As rustfmt sorts them: a module comes before the names beside it.
        sorted.sort_by_key(|(path, _)| format!("{path}::~"));
        for (path, names) in sorted {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let line = match names.as_slice() {
                [only] => format!("use {path}::{only};"),
                _ => format!("use {path}::{{{}}};", names.join(", ")),
            };
            if text.fits(&line) {
                text.line(&line);
                continue;
            }
            text.open(&format!("use {path}::{{"));
            let words: Vec<String> = names.iter().map(|name| format!("{name},")).collect();
            for line in fill(&words, indent + 4) {
                text.line(&line);
            }
            text.close("};");
        }
        text.finish()
    }

    pub(super) fn print_lints(&self, text: &mut Text) {
        let lints: Vec<String> = self
            .lints
            .borrow()
            .iter()
            .map(|&lint| lint.to_owned())
            .collect();
        if !lints.is_empty() {
            text.attribute("allow", &lints);
        }
    }

    /// Documentation as the contract has it. Its authors did not write Markdown for rustdoc's eyes.
    pub(super) fn docs(&self, text: &mut Text, doc: Option<&str>) {
        if let Some(doc) = doc {
            if doc.contains(['[', '<']) || doc.contains("://") {
                self.allow("rustdoc::all");
            }
            let listed = |line: &str| line.trim_start().starts_with(['-', '*', '+', '0', '1']);
            if doc.lines().any(listed) {
                self.allow("clippy::doc_lazy_continuation");
                self.allow("clippy::doc_overindented_list_items");
            }
        }
        text.docs(doc);
    }

    /// The path to an item of another package, from here.
    pub(super) fn item(&self, package: PackageId, name: &str) -> String {
        let (here, there) = (self.path(), self.cx.names.module(package));
        let common = here.iter().zip(there).take_while(|(a, b)| a == b).count();
        let mut parts: Vec<&str> = vec!["super"; here.len() - common];
        if parts.is_empty() && there.len() > common {
            parts.push("self");
        }
        parts.extend(there[common..].iter().map(String::as_str));
        parts.push(name);
        parts.join("::")
    }

    /// The path to a type itself, also where others extend it.
    pub(super) fn named(&self, id: TypeId) -> String {
        let cx = self.cx;
        self.item(cx.schema[id].package, cx.names.of_type(id))
    }

    /// The type of text.
    pub(super) fn string(&self) -> String {
        self.name(match self.cx.options.strings {
            Strings::Standard => "String",
            Strings::Compact => "CompactString",
        })
    }

    /// Empty text.
    pub(super) fn no_text(&self) -> Expr {
        let new = match self.cx.options.strings {
            Strings::Standard => "new()",
            Strings::Compact => "default()",
        };
        Expr::atom(format!("{}::{new}", self.string()))
    }

    fn hashed(&self, place: Place) -> bool {
        self.cx.options.maps == Maps::Hashed && place == Place::Value
    }

    /// The Rust for a type.
    pub(super) fn ty(&self, ty: &Type, place: Place) -> String {
        let name = |name| self.name(name);
        match ty {
            Type::Bool => "bool".to_owned(),
            Type::I8 => "i8".to_owned(),
            Type::I16 => "i16".to_owned(),
            Type::I32 => "i32".to_owned(),
            Type::I64 => "i64".to_owned(),
            Type::U8 => "u8".to_owned(),
            Type::U16 => "u16".to_owned(),
            Type::U32 => "u32".to_owned(),
            Type::U64 => "u64".to_owned(),
            Type::F32 => self.float("f32", place),
            Type::F64 => self.float("f64", place),
            Type::String => self.string(),
            Type::Bytes => name("Bytes"),
            Type::Uuid => name("Uuid"),
            Type::List(item) => self.generic("Vec", &[self.ty(item, place)]),
            Type::Set(item) => {
                let set = if self.hashed(place) {
                    "HashSet"
                } else {
                    "BTreeSet"
                };
                self.generic(set, &[self.ty(item, Place::Key)])
            }
            Type::Map(key, value) => {
                let map = self.map_name(place);
                let map = self.generic(map, &[self.ty(key, Place::Key), self.ty(value, place)]);
                if map.matches('<').count() > 3 {
                    self.allow("clippy::type_complexity");
                }
                map
            }
            Type::Timestamp { offset: false } if self.is_protobuf() => {
                self.runtime("types::protobuf::Timestamp")
            }
            Type::Timestamp { offset: false } => name("Timestamp"),
            Type::Timestamp { offset: true } => name("TimestampTz"),
            Type::Date => name("Date"),
            Type::Duration if self.is_protobuf() => self.runtime("types::protobuf::Duration"),
            Type::Duration => name("SignedDuration"),
            Type::Decimal => name("Decimal"),
            Type::Any => name("Any"),
            Type::Dynamic => name("Dynamic"),
            Type::Array(item, dimensions) => self.array(item, dimensions, place),
            Type::Named(id) => self.named_in(*id, place),
            Type::Object(id) => {
                let names = &self.cx.names.services[id.0 as usize];
                self.item(self.cx.schema[*id].package, &names.object)
            }
        }
    }

    pub(super) fn map_name(&self, place: Place) -> &'static str {
        if self.hashed(place) {
            "HashMap"
        } else {
            "BTreeMap"
        }
    }

    /// An alias whose type would be spelled differently inside a key is followed there.
    fn named_in(&self, id: TypeId, place: Place) -> String {
        if let TypeKind::Alias(target) = &self.cx.schema[id].kind
            && self.differs_in(target, place)
        {
            return self.ty(target, place);
        }
        match self.cx.names.families.get(&id) {
            Some(family) => self.item(self.cx.schema[id].package, family),
            None => self.named(id),
        }
    }

    fn differs_in(&self, ty: &Type, place: Place) -> bool {
        let facts = &self.cx.facts;
        place == Place::Key
            && (facts.alias_contains(ty, is_float)
                || (self.hashed(Place::Value) && facts.alias_contains(ty, is_unordered)))
    }

    fn float(&self, name: &str, place: Place) -> String {
        match place {
            Place::Value => name.to_owned(),
            Place::Key => self.generic("OrderedFloat", &[name.to_owned()]),
        }
    }

    pub(super) fn generic(&self, name: &str, arguments: &[String]) -> String {
        format!("{}<{}>", self.name(name), arguments.join(", "))
    }

    /// Returns the place of the fields of a type.
    pub(super) fn place_in(&self, owner: TypeId) -> Place {
        if self.cx.facts.keyed(owner) {
            Place::Key
        } else {
            Place::Value
        }
    }

    /// The Rust for a field of `owner`, with `Option` and `Box` where it needs them.
    pub(super) fn field_type(&self, owner: TypeId, field: &Field) -> String {
        let ty = self.present_type(owner, field);
        match self.is_optional(owner, field) {
            true => self.generic("Option", &[ty]),
            false => ty,
        }
    }

    /// The Rust for a field of `owner` that has a value.
    pub(super) fn present_type(&self, owner: TypeId, field: &Field) -> String {
        let ty = self.ty(&field.ty, self.place_in(owner));
        if field.sharing == Sharing::Ref {
            return self.generic("Ref", &[ty]);
        }
        if self.is_endless(owner, field) {
            return self.generic("Required", &[ty]);
        }
        match self.cx.facts.recursive(owner, &field.ty) {
            true => self.generic("Box", &[ty]),
            false => ty,
        }
    }

    /// The path to the enum of a oneof.
    pub(super) fn oneof_type(&self, owner: TypeId, oneof: &str) -> String {
        let package = self.cx.schema[owner].package;
        self.item(package, self.cx.names.of_oneof(owner, oneof))
    }

    /// True for a contract in protobuf's language, in which a time can be anything.
    fn is_protobuf(&self) -> bool {
        self.cx
            .schema
            .packages
            .iter()
            .all(|package| package.messages)
    }

    /// A field that could be filled for ever is optional unless the contract requires it, and what
    /// is chosen in a union is there.
    pub(super) fn is_optional(&self, owner: TypeId, field: &Field) -> bool {
        let facts = &self.cx.facts;
        !facts.is_union(owner)
            && field.sharing == Sharing::Value
            && match field.presence {
                Presence::Optional => true,
                Presence::Default => facts.endless(owner, field),
                Presence::Required => false,
            }
    }

    /// True for a required field that could be filled for ever.
    pub(super) fn is_endless(&self, owner: TypeId, field: &Field) -> bool {
        field.presence == Presence::Required && self.cx.facts.endless(owner, field)
    }

    /// A parameter as a server takes it.
    pub(super) fn param_type(&self, field: &Field) -> String {
        let ty = self.ty(&field.ty, Place::Value);
        match (field.sharing, field.presence) {
            (Sharing::Ref, _) => self.generic("Ref", &[ty]),
            (_, Presence::Optional) => self.generic("Option", &[ty]),
            _ => ty,
        }
    }
}

pub(super) fn is_float(ty: &Type) -> bool {
    matches!(ty, Type::F32 | Type::F64)
}

fn is_unordered(ty: &Type) -> bool {
    matches!(ty, Type::Set(_) | Type::Map(..))
}

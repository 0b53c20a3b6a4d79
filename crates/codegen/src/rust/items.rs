//! Types: structs, exceptions, unions, enums, aliases.

use super::expr::Expr;
use super::module::{Module, Place};
use super::names::{case_names, enum_names, field_names, member_names, oneof_of};
use super::options::Maps;
use super::text::Text;
use dovetail_schema::{
    Enum, Field, IntFormat, JsonForm, Presence, Struct, StructKind, Type, TypeDef, TypeId,
    TypeKind, Value,
};
use std::collections::BTreeSet;

/// A field with what Rust makes of it.
struct Row<'a> {
    field: &'a Field,
    /// The name and type of the field in Rust, which those of a oneof share.
    name: String,
    ty: String,
    /// The type in the table.
    row: String,
    /// The path to it: `base.` for each struct in between, and the name.
    path: String,
}

impl Module<'_> {
    pub(super) fn print_type(&self, text: &mut Text, id: TypeId) {
        let def = &self.cx.schema[id];
        text.gap();
        self.docs(text, def.doc.as_deref());
        match &def.kind {
            TypeKind::Alias(target) => self.print_alias(text, id, target),
            TypeKind::Enum(kind) => self.print_enum(text, id, def, kind),
            TypeKind::Struct(kind) if kind.kind == StructKind::Union => {
                self.print_union(text, id, kind);
            }
            TypeKind::Struct(kind) => {
                self.print_struct(text, id, kind);
                self.print_family(text, id, kind);
            }
        }
    }

    fn print_alias(&self, text: &mut Text, id: TypeId, target: &Type) {
        text.deprecated(self.cx.schema[id].deprecated.as_deref());
        let name = self.cx.names.of_type(id);
        let target = self.ty(target, Place::Value);
        text.typed(&format!("pub type {name} ="), &target, ';');
    }

    fn print_enum(&self, text: &mut Text, id: TypeId, def: &TypeDef, kind: &Enum) {
        let traits = [
            "Clone",
            "Copy",
            "Default",
            "PartialEq",
            "Eq",
            "Hash",
            "PartialOrd",
            "Ord",
        ];
        text.derive(&traits, self.cx.options);
        text.deprecated(def.deprecated.as_deref());
        let name = self.cx.names.of_type(id);
        text.line(&format!("pub struct {name}(pub i32);"));
        text.gap();
        let enumeration = self.name("enumeration");
        let form = json_form(self.cx.schema.json_form(id));
        let head = format!(
            "{enumeration}!({name}{}{form} {{",
            wire_name(name, &def.name)
        );
        if kind.values.is_empty() {
            return text.line(&format!("{head}}});"));
        }
        text.open(&head);
        for (value, name) in kind.values.iter().zip(enum_names(def)) {
            self.docs(text, value.doc.as_deref());
            text.deprecated(value.deprecated.as_deref());
            if name.chars().any(char::is_lowercase) {
                self.allow("non_upper_case_globals");
            }
            let wire = wire_name(&name, &value.name);
            text.line(&format!("{name}{wire} = {},", value.number));
        }
        text.close("});");
    }

    /// The struct's own fields.
    fn rows<'a>(&'a self, id: TypeId, def: &'a Struct) -> Vec<Row<'a>> {
        let names = field_names(self.cx.schema, def);
        let fields = def.fields.iter().zip(names);
        fields
            .map(|(field, name)| {
                let (ty, row) = self.row_types(id, field);
                Row {
                    field,
                    path: name.clone(),
                    name,
                    ty,
                    row,
                }
            })
            .collect()
    }

    /// The type of a field, and that of its row in the table.
    fn row_types(&self, id: TypeId, field: &Field) -> (String, String) {
        let Some(oneof) = oneof_of(field) else {
            let ty = self.field_type(id, field);
            return (ty.clone(), ty);
        };
        let oneof = self.oneof_type(id, oneof);
        let row = self.generic("Case", &[oneof.clone(), field.id.to_string()]);
        (self.generic("Option", &[oneof]), row)
    }

    /// `Debug` without the values of sensitive fields.
    fn print_struct_debug(&self, text: &mut Text, id: TypeId, def: &Struct, rows: &[Row<'_>]) {
        let own = distinct(rows).into_iter();
        let own = own.map(|row| (row.name.as_str(), is_masked(row.field)));
        let (before, after) = match def.extends {
            Some(_) => (Some("base"), None),
            None => (None, Some("unknown_fields")),
        };
        let before = before.map(|name| (name, false));
        let after = after.map(|name| (name, false));
        let fields = before.into_iter().chain(own).chain(after);
        let name = self.cx.names.of_type(id);
        self.print_debug(text, &format!("struct {name}"), fields);
    }

    fn print_enum_debug(
        &self,
        text: &mut Text,
        name: &str,
        variants: &[(&Field, String, String)],
        unknown: Option<&str>,
    ) {
        let own = variants.iter();
        let own = own.map(|(field, name, _)| (name.as_str(), field.is_sensitive()));
        let all = own.chain(unknown.map(|name| (name, false)));
        self.print_debug(text, &format!("enum {name}"), all);
    }

    /// Prints the table of `Debug`: the parts of a type, and whether they are masked.
    fn print_debug<'n>(
        &self,
        text: &mut Text,
        head: &str,
        parts: impl Iterator<Item = (&'n str, bool)>,
    ) {
        text.gap();
        text.open(&format!("{}!({head} {{", self.name("masked_debug")));
        for (name, masked) in parts {
            let mark = if masked { " [sensitive]" } else { "" };
            text.line(&format!("{name}{mark},"));
        }
        text.close("});");
    }

    /// The fields of all structs that a struct extends, the outermost first.
    fn inherited_rows<'a>(&'a self, def: &'a Struct) -> Vec<Row<'a>> {
        let Some(id) = def.extends else {
            return Vec::new();
        };
        let TypeKind::Struct(base) = &self.cx.schema[id].kind else {
            return Vec::new();
        };
        let mut rows = self.inherited_rows(base);
        rows.extend(self.rows(id, base));
        rows.iter_mut()
            .for_each(|row| row.path.insert_str(0, "base."));
        rows
    }

    fn print_struct(&self, text: &mut Text, id: TypeId, def: &Struct) {
        let rows = self.rows(id, def);
        let defaults = rows.iter().any(|row| !self.starts_at_zero(id, row.field));
        let masked = rows.iter().any(|row| is_masked(row.field));
        let mut traits = derived(masked);
        if !defaults {
            traits.push("Default");
        }
        self.comparisons(&[id], &mut traits);
        text.derive(&traits, self.cx.options);
        text.deprecated(self.cx.schema[id].deprecated.as_deref());
        let name = self.cx.names.of_type(id);
        let base = def.extends.map(|base| self.named(base));
        text.open(&format!("pub struct {name} {{"));
        if let Some(base) = &base {
            text.line(&format!("pub base: {base},"));
        }
        for row in distinct(&rows) {
            if oneof_of(row.field).is_none() {
                self.docs(text, row.field.doc.as_deref());
                text.deprecated(row.field.deprecated.as_deref());
            }
            text.typed(&format!("pub {}:", row.name), &row.ty, ',');
        }
        if base.is_none() {
            let unknown = self.name("UnknownFields");
            text.line(&format!("pub unknown_fields: {unknown},"));
        }
        text.close("}");
        if masked {
            self.print_struct_debug(text, id, def, &rows);
        }
        if defaults {
            self.print_default(text, id, def, &rows);
        }
        for row in distinct(&rows) {
            if let Some(oneof) = oneof_of(row.field) {
                self.print_oneof(text, id, def, oneof);
            }
        }
        let mut all = self.inherited_rows(def);
        all.extend(rows);
        let bases = self.cx.schema.bases(id).len();
        let rest = format!("..{}unknown_fields", "base.".repeat(bases));
        self.print_table(text, "message", id, &all, &rest);
        if let Some(base) = &base {
            text.gap();
            text.line(&format!("{}!({name}: {base});", self.name("extends")));
        }
        if let StructKind::Exception(_) = def.kind {
            self.print_error(text, id, &all);
        }
    }

    /// The enum of a struct and those that extend it.
    fn print_family(&self, text: &mut Text, id: TypeId, def: &Struct) {
        let Some(family) = self.cx.facts.family(id) else {
            return;
        };
        let mut traits = vec!["Clone", "Debug"];
        self.comparisons(family, &mut traits);
        text.gap();
        let name = self.cx.names.of_type(id);
        text.line(&format!("/// [`{name}`], or a struct that extends it."));
        text.derive(&traits, self.cx.options);
        self.allow("clippy::enum_variant_names");
        self.allow("clippy::large_enum_variant");
        let any = &self.cx.names.families[&id];
        let members = family.iter().zip(member_names(&self.cx.names, family));
        let members: Vec<String> = members
            .map(|(id, name)| format!("{name}({}),", self.named(*id)))
            .collect();
        text.open(&format!("pub enum {any} {{"));
        members.iter().for_each(|member| text.line(member));
        text.close("}");
        text.gap();
        let exception = match def.kind {
            StructKind::Exception(_) => "exception ",
            _ => "",
        };
        text.open(&format!("{}!({exception}{any} {{", self.name("family")));
        members.iter().for_each(|member| text.line(member));
        text.close("});");
    }

    /// `PartialEq`, and the rest of the comparisons where every field of these types has them.
    fn comparisons(&self, ids: &[TypeId], traits: &mut Vec<&str>) {
        traits.push("PartialEq");
        let facts = &self.cx.facts;
        if ids.iter().any(|id| facts.floating(*id)) {
            return;
        }
        traits.push("Eq");
        let hashing = ids.iter().any(|id| facts.hashing(*id));
        if self.cx.options.maps == Maps::Ordered || !hashing {
            traits.extend(["Hash", "PartialOrd", "Ord"]);
        }
    }

    fn print_default(&self, text: &mut Text, id: TypeId, def: &Struct, rows: &[Row<'_>]) {
        let name = self.cx.names.of_type(id);
        let default = self.name("Default");
        text.gap();
        text.open(&format!("impl {default} for {name} {{"));
        text.open("fn default() -> Self {");
        let own = distinct(rows).into_iter();
        let own = own.map(|row| (row.name.clone(), self.initial(id, row.field)));
        let named = |name: &str, ty: String| (name.to_owned(), Expr::atom(ty + "::default()"));
        let mut fields: Vec<(String, Expr)> = Vec::new();
        fields.extend(def.extends.map(|base| named("base", self.named(base))));
        fields.extend(own);
        if def.extends.is_none() {
            fields.push(named("unknown_fields", self.name("UnknownFields")));
        }
        let value = Expr::Struct("Self".to_owned(), fields, None);
        let value = value.render(text.indent(), 0, 0);
        text.line(&value);
        text.close("}");
        text.close("}");
    }

    /// Returns whether a derived `Default` gives the field the value that the contract wants.
    fn starts_at_zero(&self, owner: TypeId, field: &Field) -> bool {
        match &field.default {
            None => true,
            Some(_) if self.is_optional(owner, field) => self.is_absent(owner, field),
            Some(Value::Bool(value)) => !value,
            Some(Value::Int(value)) => *value == 0,
            Some(Value::Double(value)) => value.to_bits() == 0,
            Some(Value::Enum(_, number)) => *number == 0,
            Some(Value::String(value)) => value.is_empty(),
            Some(Value::Bytes(value)) => value.is_empty(),
            Some(Value::Uuid(value)) => *value == [0; 16],
            Some(Value::List(items)) => items.is_empty(),
            Some(Value::Map(entries)) => entries.is_empty(),
            Some(Value::Struct(_, fields)) => fields.is_empty(),
        }
    }

    /// The value of a field in a fresh struct.
    fn initial(&self, owner: TypeId, field: &Field) -> Expr {
        match &field.default {
            Some(value) if !(self.is_optional(owner, field) && self.is_absent(owner, field)) => {
                self.field_value(owner, field, value)
            }
            _ if self.is_optional(owner, field) => Expr::atom(self.name("None")),
            _ => self.zero(&field.ty),
        }
    }

    /// Returns whether a fresh message has no value in an optional field with a default. In
    /// protobuf, the default is what readers take for a field that is absent, and never travels;
    /// and no field of a oneof has a value from the start.
    fn is_absent(&self, owner: TypeId, field: &Field) -> bool {
        oneof_of(field).is_some() || self.cx.schema[self.cx.schema[owner].package].messages
    }

    /// The value of a type that nobody has given one.
    pub(super) fn zero(&self, ty: &Type) -> Expr {
        match self.cx.schema.resolve(ty) {
            Type::Bool => Expr::atom("false"),
            ty if is_integer(ty) => Expr::atom("0"),
            Type::String => self.no_text(),
            Type::List(_) => Expr::atom(format!("{}::new()", self.name("Vec"))),
            _ => Expr::atom(format!("{}::default()", self.name("Default"))),
        }
    }

    /// The table from which the encodings are made.
    fn print_table(&self, text: &mut Text, kind: &str, id: TypeId, rows: &[Row<'_>], rest: &str) {
        let name = self.cx.names.of_type(id);
        let wire =
            wire_name(name, &self.cx.schema[id].name) + json_form(self.cx.schema.json_form(id));
        let table = self.name(kind);
        text.gap();
        if rows.is_empty() {
            return text.line(&format!("{table}!({name}{wire} {{ {rest} }});"));
        }
        text.open(&format!("{table}!({name}{wire} {{"));
        for Row {
            field,
            name,
            row,
            path,
            ..
        } in rows
        {
            let wire = wire_name(name, &field.name);
            let implicit = self.cx.schema.is_implicit(id, field);
            let attributes = attributes(field, implicit);
            text.line(&format!("{} {path}{wire}: {row}{attributes},", field.id));
        }
        text.line(rest);
        text.close("});");
    }

    fn print_error(&self, text: &mut Text, id: TypeId, rows: &[Row<'_>]) {
        let name = self.cx.names.of_type(id);
        text.gap();
        text.open(&format!("impl ::std::fmt::Display for {name} {{"));
        text.open("fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {");
        match self.message_field(id, rows) {
            Some(Row { path, ty, .. }) if ty.contains("Option<") => {
                text.line(&format!(
                    "f.write_str(self.{path}.as_deref().unwrap_or_default())"
                ));
            }
            Some(Row { path, .. }) => text.line(&format!("f.write_str(&self.{path})")),
            None => text.line("::std::fmt::Debug::fmt(self, f)"),
        }
        text.close("}");
        text.close("}");
        text.gap();
        text.line(&format!("impl ::std::error::Error for {name} {{}}"));
    }

    /// Returns the field that is the text of an exception: the one that its annotation `message`
    /// names, one called so, or the only one that it has.
    fn message_field<'r, 'a>(&self, id: TypeId, rows: &'r [Row<'a>]) -> Option<&'r Row<'a>> {
        let def = &self.cx.schema[id];
        let named = |name: &str| rows.iter().find(|row| row.field.name == name);
        let only = || rows.first().filter(|_| rows.len() == 1);
        let field = match def.annotations.get("message") {
            Some(name) => named(name),
            None => named("message").or_else(only),
        };
        let is_text = |field: &Field| *self.cx.schema.resolve(&field.ty) == Type::String;
        let shows = |field: &Field| is_text(field) && !field.is_sensitive();
        field.filter(|row| shows(row.field) && oneof_of(row.field).is_none())
    }

    /// The enum of a oneof.
    fn print_oneof(&self, text: &mut Text, id: TypeId, def: &Struct, oneof: &str) {
        let cases = case_names(def, oneof);
        let variant = |(field, name)| (field, name, self.present_type(id, field));
        let variants: Vec<_> = cases.into_iter().map(variant).collect();
        let name = self.cx.names.of_oneof(id, oneof);
        let masked = variants.iter().any(|(field, ..)| field.is_sensitive());
        let mut traits = derived(masked);
        self.comparisons(&[id], &mut traits);
        text.gap();
        let owner = self.cx.names.of_type(id);
        text.line(&format!("/// The oneof `{oneof}` of [`{owner}`]."));
        text.derive(&traits, self.cx.options);
        text.open(&format!("pub enum {name} {{"));
        self.print_variants(text, &variants);
        text.close("}");
        if masked {
            self.print_enum_debug(text, name, &variants, None);
        }
        text.gap();
        text.open(&format!("{}!({name} as {oneof:?} {{", self.name("oneof")));
        for (field, variant, ty) in &variants {
            text.line(&format!("{} {variant}: {ty},", field.id));
        }
        text.close("});");
    }

    /// The variants of an enum: a field, its name and its type for each.
    fn print_variants(&self, text: &mut Text, variants: &[(&Field, String, String)]) {
        if variants.len() > 1 {
            self.allow("clippy::enum_variant_names");
            self.allow("clippy::large_enum_variant");
        }
        for (field, name, ty) in variants {
            self.docs(text, field.doc.as_deref());
            text.deprecated(field.deprecated.as_deref());
            text.line(&format!("{name}({ty}),"));
        }
    }

    fn print_union(&self, text: &mut Text, id: TypeId, def: &Struct) {
        let rows = self.rows(id, def);
        let masked = rows.iter().any(|row| row.field.is_sensitive());
        let mut traits = derived(masked);
        self.comparisons(&[id], &mut traits);
        text.derive(&traits, self.cx.options);
        text.deprecated(self.cx.schema[id].deprecated.as_deref());
        let name = self.cx.names.of_type(id);
        text.open(&format!("pub enum {name} {{"));
        let variants = rows.iter();
        let variants = variants.map(|row| (row.field, row.name.clone(), row.ty.clone()));
        let variants: Vec<_> = variants.collect();
        self.print_variants(text, &variants);
        text.line(&format!("Unknown({}),", self.name("UnknownFields")));
        text.close("}");
        if masked {
            self.print_enum_debug(text, name, &variants, Some("Unknown"));
        }
        self.print_table(text, "union", id, &rows, "..Unknown");
    }
}

/// True for a field of a struct whose value `Debug` leaves out. A oneof has a `Debug` of its own.
fn is_masked(field: &Field) -> bool {
    field.is_sensitive() && oneof_of(field).is_none()
}

/// The traits that every type derives.
fn derived(masked: bool) -> Vec<&'static str> {
    match masked {
        true => vec!["Clone"],
        false => vec!["Clone", "Debug"],
    }
}

/// The rows that are fields in Rust: of each oneof the first.
fn distinct<'r, 'a>(rows: &'r [Row<'a>]) -> Vec<&'r Row<'a>> {
    let mut seen = BTreeSet::new();
    let new = rows.iter().filter(|row| seen.insert(&row.name));
    new.collect()
}

pub(super) fn is_integer(ty: &Type) -> bool {
    matches!(
        ty,
        Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::U8 | Type::U16 | Type::U32 | Type::U64
    )
}

/// ` as "name"`, where Rust's name is not the contract's.
pub(super) fn wire_name(rust: &str, contract: &str) -> String {
    if rust == contract {
        String::new()
    } else {
        format!(" as {contract:?}")
    }
}

/// Returns the entry of the table about a type's JSON.
fn json_form(form: JsonForm) -> &'static str {
    match form {
        JsonForm::Fields => "",
        JsonForm::Bare => " json Bare",
        JsonForm::Mask => " json Mask",
        JsonForm::Null => " json Null",
    }
}

/// Flags of a field in the table, behind its type: ` [required, zigzag]`.
pub(super) fn attributes(field: &Field, implicit: bool) -> String {
    let flags = [
        (field.presence == Presence::Required, "required"),
        (field.is_sensitive(), "sensitive"),
        (implicit, "implicit"),
        (field.protobuf.expanded, "expanded"),
        (field.protobuf.delimited, "group"),
    ];
    let flags = flags.into_iter().filter(|(set, _)| *set);
    let format = match field.protobuf.format {
        IntFormat::Varint => None,
        IntFormat::ZigZag => Some("zigzag"),
        IntFormat::Fixed => Some("fixed"),
    };
    let key_format = match field.protobuf.key_format {
        IntFormat::Varint => None,
        IntFormat::ZigZag => Some("zigzag_key"),
        IntFormat::Fixed => Some("fixed_key"),
    };
    let formats = format.into_iter().chain(key_format);
    let json = field.protobuf.json_name.as_ref();
    let json = json.map(|name| format!("json({name:?})"));
    let words = flags.map(|(_, name)| name).chain(formats);
    let all: Vec<String> = words.map(str::to_owned).chain(json).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!(" [{}]", all.join(", ")),
    }
}

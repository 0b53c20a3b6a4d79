//! Messages and enums.

use super::dialect::Dialect;
use super::{DEPRECATED, Writer, block, comment};
use crate::case::screaming;
use crate::export::quoted;
use crate::scope::Scope;
use dovetail_schema::{
    Enum, EnumValue, Field, IntFormat, RESERVED_IDS, Reserved, Struct, StructKind, Type, TypeDef,
    TypeId, TypeKind,
};
use std::collections::HashSet;

impl Writer<'_> {
    /// The types directly in a message, or in none.
    pub(super) fn definitions(&self, around: &str, indent: &str) -> Vec<String> {
        let types = self.names.at(around);
        let types = types.filter_map(|(name, id)| self.definition(name, id, indent));
        types.chain(self.extensions(around, indent)).collect()
    }

    /// The extensions whose names are directly in a message, or in none.
    fn extensions(&self, around: &str, indent: &str) -> Vec<String> {
        let names = [self.package.name.as_str(), around];
        let scope: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        let scope = scope.join(".");
        let inside = format!("{indent}  ");
        let extended = |(index, def): (usize, &TypeDef)| {
            let TypeKind::Struct(def) = &def.kind else {
                return None;
            };
            let own = |field: &&Field| field.extension().is_some_and(|(own, _)| own == scope);
            let fields = def.fields.iter().filter(own);
            let fields: String = fields.map(|f| self.field(f, false, &inside)).collect();
            (!fields.is_empty()).then(|| {
                let extended = Type::Named(TypeId(index as u32));
                let extended = self.field_type(&extended, IntFormat::Varint).name;
                block("extend", &extended, &fields, indent)
            })
        };
        let types = self.schema.types.iter().enumerate();
        types.filter_map(extended).collect()
    }

    fn definition(&self, full: &str, id: Option<TypeId>, indent: &str) -> Option<String> {
        let name = full.rsplit('.').next().unwrap_or(full);
        self.identifier(name);
        let inside = format!("{indent}  ");
        let Some((id, def)) = id.map(|id| (id, &self.schema[id])) else {
            let body = self.definitions(full, &inside).join("\n");
            return Some(block("message", name, &body, indent));
        };
        let mut notes = Vec::new();
        let (word, body) = match &def.kind {
            TypeKind::Alias(_) => return None,
            TypeKind::Enum(values) => ("enum", self.enumeration(def, values, &inside)),
            TypeKind::Struct(fields) => {
                let base = fields.extends.map(|base| &self.schema[base].name);
                notes.extend(base.map(|base| format!("Extends {base}, whose fields come first.")));
                ("message", self.structure(id, full, fields, &inside))
            }
        };
        let before = comment(def.doc.as_deref(), &notes, indent);
        let deprecated = match def.deprecated {
            Some(_) => format!("{inside}{DEPRECATED}"),
            None => String::new(),
        };
        Some(before + &block(word, name, &(deprecated + &body), indent))
    }

    fn structure(&self, id: TypeId, name: &str, def: &Struct, indent: &str) -> String {
        let mut parts = Vec::new();
        let reserved = self.reserved(&self.kept(id, &def.reserved), indent);
        parts.extend(Some(reserved).filter(|text| !text.is_empty()));
        parts.extend(self.definitions(name, indent));
        let bases = self.schema.bases(id);
        let chain = bases.iter().rev().chain([&id]);
        let fields = chain.flat_map(|id| match &self.schema[*id].kind {
            TypeKind::Struct(def) => def.fields.as_slice(),
            _ => &[],
        });
        let (extensions, fields): (Vec<&Field>, Vec<&Field>) =
            fields.partition(|field| field.extension().is_some());
        let ranges = extensions.iter();
        let ranges = ranges.map(|field| format!("{indent}extensions {};\n", field.id));
        parts.extend(Some(ranges.collect::<String>()).filter(|text| !text.is_empty()));
        let fields = self.fields(&fields, def.kind == StructKind::Union, indent);
        parts.extend(Some(fields).filter(|text| !text.is_empty()));
        parts.join("\n")
    }

    /// The fields of a message, those of a oneof where its first one is. Those of a union are in one, but for containers,
    /// which cannot be.
    pub(super) fn fields(&self, fields: &[&Field], union: bool, indent: &str) -> String {
        if let Some(name) = twice_in_json(fields.iter().copied()).filter(|_| !self.package.messages)
        {
            self.refuse("two fields have the same name in JSON; rename one", name);
        }
        let names = fields.iter().map(|field| field.name.as_str());
        let choice = Scope::with(&names.collect::<Vec<_>>()).claim("value");
        let oneof = |field: &Field| match &field.protobuf.oneof {
            None if union && self.is_single(&field.ty) => Some(choice.clone()),
            known => known.clone(),
        };
        let mut text = String::new();
        let mut written = HashSet::new();
        for field in fields {
            let Some(name) = oneof(field) else {
                text += &self.field(field, union, indent);
                continue;
            };
            if !written.insert(name.clone()) {
                continue;
            }
            let members = fields
                .iter()
                .filter(|field| oneof(field).as_ref() == Some(&name));
            let members = members.map(|field| self.field(field, true, &format!("{indent}  ")));
            let members: String = members.collect();
            text += &format!("{indent}oneof {name} {{\n{members}{indent}}}\n");
        }
        text
    }

    /// What is reserved in a struct: in families, ids that say which struct it is, too.
    fn kept(&self, id: TypeId, reserved: &Reserved) -> Reserved {
        let (first, last) = RESERVED_IDS.into_inner();
        let mut reserved = reserved.clone();
        let free = |(start, end): &(i32, i32)| *end < first || *start > last;
        if self.extended.contains(&id) && reserved.ids.iter().all(free) {
            reserved.ids.push((first, last));
        }
        if !self.package.messages {
            reserved.ids.retain(|(_, end)| *end > 0);
            reserved
                .ids
                .iter_mut()
                .for_each(|(start, _)| *start = (*start).max(1));
        }
        reserved
    }

    fn reserved(&self, reserved: &Reserved, indent: &str) -> String {
        let ids = reserved
            .ids
            .iter()
            .map(|(first, last)| match first == last {
                true => first.to_string(),
                false => format!("{first} to {last}"),
            });
        let names = reserved.names.iter().map(|name| match self.dialect {
            Dialect::Edition2023 => name.clone(),
            _ => quoted(name),
        });
        let statement = |items: Vec<String>| match items.is_empty() {
            true => String::new(),
            false => format!("{indent}reserved {};\n", items.join(", ")),
        };
        statement(ids.collect()) + &statement(names.collect())
    }

    fn enumeration(&self, def: &TypeDef, values: &Enum, indent: &str) -> String {
        let mut text = String::new();
        let mut option = |option: &str| text += &format!("{indent}option {option};\n");
        if values.closed && self.dialect == Dialect::Edition2023 {
            option("features.enum_type = CLOSED");
        }
        let mut numbers = HashSet::new();
        if !values
            .values
            .iter()
            .all(|value| numbers.insert(value.number))
        {
            option("allow_alias = true");
        }
        match clash(def, values) {
            // Compilers take that in proto2, if the enum says so.
            Some(_) if self.package.messages && self.dialect == Dialect::Proto2 => {
                option("deprecated_legacy_json_field_conflicts = true");
            }
            Some(name) if !self.package.messages => self.refuse(
                "two values have the same name in other languages; rename one",
                name,
            ),
            _ => {}
        }
        text += &self.reserved(&values.reserved, indent);
        let prefix = screaming(&def.name);
        if self.dialect == Dialect::Proto3 && !numbers.contains(&0) {
            let name = self
                .scope
                .borrow_mut()
                .claim(&format!("{prefix}_UNSPECIFIED"));
            text += &format!(
                "{indent}// Not in the contract: what is left out is 0.\n{indent}{name} = 0;\n"
            );
        }
        let mut sorted: Vec<&EnumValue> = values.values.iter().collect();
        if self.dialect == Dialect::Proto3 {
            // The first one is 0.
            sorted.sort_by_key(|value| value.number != 0);
        }
        text.extend(
            sorted
                .into_iter()
                .map(|value| self.value(def, &prefix, value, indent)),
        );
        text
    }

    fn value(&self, def: &TypeDef, prefix: &str, value: &EnumValue, indent: &str) -> String {
        self.identifier(&value.name);
        let mut scope = self.scope.borrow_mut();
        // Values are names of what is around the enum.
        let name = match def.name.contains('.') {
            true => value.name.clone(),
            false if scope.contains(&value.name) => {
                scope.claim(&format!("{prefix}_{}", value.name))
            }
            false => scope.claim(&value.name),
        };
        let before = comment(value.doc.as_deref(), &[], indent);
        let options = match value.deprecated {
            Some(_) => " [deprecated = true]",
            None => "",
        };
        format!("{before}{indent}{name} = {}{options};\n", value.number)
    }
}

/// A value whose name differs from that of another one by case and by the name of the enum alone: compilers refuse it.
fn clash<'a>(def: &TypeDef, values: &'a Enum) -> Option<&'a str> {
    let letters = |name: &str| name.replace('_', "").to_lowercase();
    let prefix = letters(&def.name);
    let mut known = HashSet::new();
    let clashing = values.values.iter().find(|value| {
        let name = letters(&value.name);
        !known.insert(name.strip_prefix(&prefix).unwrap_or(&name).to_owned())
    });
    clashing.map(|value| value.name.as_str())
}

/// A field whose name in JSON another one has.
pub(super) fn twice_in_json<'a>(mut fields: impl Iterator<Item = &'a Field>) -> Option<&'a str> {
    let mut known = HashSet::new();
    let twice = fields.find(|field| !known.insert(json_name(&field.name)))?;
    Some(&twice.name)
}

/// The name of a field in JSON.
fn json_name(name: &str) -> String {
    let mut json = String::new();
    let mut upper = false;
    for c in name.chars() {
        match c {
            '_' => upper = true,
            c if upper => {
                json.extend(c.to_uppercase());
                upper = false;
            }
            c => json.push(c),
        }
    }
    json
}

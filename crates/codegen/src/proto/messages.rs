//! Messages and enums.

use super::dialect::Dialect;
use super::{Style, Writer, block, buf, comment, deprecated};
use crate::export::quoted;
use crate::scope::Scope;
use dovetail_schema::{
    Field, IntFormat, RESERVED_IDS, Reserved, Struct, StructKind, Type, TypeDef, TypeId, TypeKind,
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
        let body = match &def.kind {
            TypeKind::Alias(_) => return None,
            TypeKind::Enum(values) => return Some(self.enumeration(id, values, indent)),
            TypeKind::Struct(fields) => {
                let base = fields.extends.map(|base| &self.schema[base].name);
                notes.extend(base.map(|base| format!("Extends {base}, whose fields come first.")));
                self.structure(id, full, fields, &inside)
            }
        };
        let before = comment(def.doc.as_deref(), &notes, indent);
        let deprecated = deprecated(def, &inside);
        Some(before + &block("message", name, &(deprecated + &body), indent))
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

    /// The fields of a message, those of a oneof where its first one is. Those of a union are in
    /// one, but for containers, which cannot be.
    pub(super) fn fields(&self, fields: &[&Field], union: bool, indent: &str) -> String {
        if let Some(name) = twice_in_json(fields.iter().copied()).filter(|_| !self.package.messages)
        {
            self.refuse("two fields have the same name in JSON; rename one", name);
        }
        let mut names = Scope::default();
        for field in fields {
            let name = self.style.field(&field.name);
            if names.contains(&name) && self.style == Style::Buf {
                self.refuse(buf::SAME, &field.name);
            }
            names.claim(&name);
        }
        let mut wanted = ["value", "choice", "kind"].into_iter();
        let free = wanted.find(|name| self.style == Style::Contract || !names.contains(name));
        let choice = names.claim(free.unwrap_or("value"));
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

    /// Returns the reserved ids and names of a struct: in families, ids that say which struct it
    /// is, too.
    fn kept(&self, id: TypeId, reserved: &Reserved) -> Reserved {
        let (first, last) = RESERVED_IDS.into_inner();
        let mut reserved = reserved.clone();
        for name in &mut reserved.names {
            *name = self.style.field(name).into_owned();
        }
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

    pub(super) fn reserved(&self, reserved: &Reserved, indent: &str) -> String {
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
}

/// A field whose name in JSON another one has.
pub(super) fn twice_in_json<'a>(mut fields: impl Iterator<Item = &'a Field>) -> Option<&'a str> {
    let mut known = HashSet::new();
    let twice = fields.find(|field| !known.insert(json_name(&field.name)))?;
    Some(&twice.name)
}

/// The name of a field in JSON.
pub(super) fn json_name(name: &str) -> String {
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

//! Fields and their types.

use super::names::{Ordinals, member, union_of, upper};
use super::{Writer, doc};
use crate::export::file_name;
use crate::scope::Scope;
use dovetail_schema::capnp::{ANY, UNION, is_group, is_void};
use dovetail_schema::{
    Annotations, Field, PackageId, Presence, Sharing, Struct, StructKind, Type, TypeId, TypeKind,
};

/// The lines that the fields of a struct, a group or a union stand on.
struct Block<'b> {
    owner: &'b str,
    ordinals: &'b Ordinals,
    indent: String,
}

impl Block<'_> {
    fn deeper(&self) -> Self {
        Block {
            indent: format!("{}  ", self.indent),
            ..*self
        }
    }
}

impl Writer<'_> {
    /// The fields of a struct, with those that fill the gaps between their ordinals.
    pub(super) fn body(&self, owner: &str, def: &Struct) -> String {
        let mut ids = Vec::new();
        self.ids(&def.fields, &mut ids);
        let ordinals = Ordinals::new(ids);
        let block = Block {
            owner,
            ordinals: &ordinals,
            indent: "  ".to_owned(),
        };
        let mut text = match def.kind {
            StructKind::Union => self.union(&block, None, &def.fields),
            _ => self.members(&block, &def.fields),
        };
        for unused in ordinals.unused() {
            text += &format!("  unused{unused} @{unused} :Void;\n");
        }
        text
    }

    /// The ids of all fields, those in groups too.
    fn ids(&self, fields: &[Field], ids: &mut Vec<i32>) {
        for field in fields {
            match self.group(&field.ty) {
                Some(group) => self.ids(&group.fields, ids),
                None => ids.push(field.id),
            }
        }
    }

    fn group(&self, ty: &Type) -> Option<&Struct> {
        let Type::Named(id) = ty else { return None };
        let def = &self.schema[*id];
        match &def.kind {
            TypeKind::Struct(group) if is_group(def) => Some(group),
            _ => None,
        }
    }

    /// Fields, and the members of a oneof as a union.
    fn members(&self, block: &Block<'_>, fields: &[Field]) -> String {
        let mut text = String::new();
        let mut scope = Scope::default();
        let mut done: Vec<&str> = Vec::new();
        for field in fields {
            let Some(oneof) = union_of(field) else {
                text += &self.field(block, field, false, &mut scope);
                continue;
            };
            if done.contains(&oneof) {
                continue;
            }
            done.push(oneof);
            let of = |field: &&Field| union_of(field) == Some(oneof);
            let members: Vec<Field> = fields.iter().filter(of).cloned().collect();
            let name = (oneof != UNION).then(|| scope.claim(&member(oneof)));
            text += &self.union(block, name.as_deref(), &members);
        }
        text
    }

    fn union(&self, block: &Block<'_>, name: Option<&str>, fields: &[Field]) -> String {
        let (indent, inside) = (&block.indent, block.deeper());
        let mut scope = Scope::default();
        let mut text = match name {
            _ if fields.is_empty() => return String::new(),
            Some(name) => format!("{indent}{name} :union {{\n"),
            None => format!("{indent}union {{\n"),
        };
        for field in fields {
            text += &self.field(&inside, field, true, &mut scope);
        }
        if fields.len() == 1 {
            // The language has no unions of one.
            let (name, ordinal) = (scope.claim("noValue"), block.ordinals.another());
            text += &format!("{}{name} @{ordinal} :Void;\n", inside.indent);
        }
        text + indent + "}\n"
    }

    fn field(
        &self,
        block: &Block<'_>,
        field: &Field,
        is_member: bool,
        scope: &mut Scope,
    ) -> String {
        let indent = &block.indent;
        let name = scope.claim(&member(field.short_name()));
        let at = format!("{}.{}", block.owner, field.name);
        if name.contains('_') {
            self.refuse("two fields have one name in Cap'n Proto", &at);
        }
        if field.sharing == Sharing::Ref {
            self.refuse(
                "Cap'n Proto has no references between parts of a value",
                &at,
            );
        }
        if let Some(group) = self.group(&field.ty) {
            if group.kind == StructKind::Union {
                return self.union(block, Some(&name), &group.fields);
            }
            let members = self.members(&block.deeper(), &group.fields);
            return format!("{indent}{name} :group {{\n{members}{indent}}}\n");
        }
        let typed = self.typed(field, is_member, &at);
        let ordinal = block.ordinals.of(field.id);
        let doc = doc(field.doc.as_deref(), indent);
        format!("{indent}{name} @{ordinal} :{typed};\n{doc}")
    }

    /// Parameters of a method, on one line.
    pub(super) fn parameters(&self, owner: &str, fields: &[Field]) -> String {
        let mut scope = Scope::default();
        let parameters = fields.iter().map(|field| {
            let at = format!("{owner}.{}", field.name);
            let name = scope.claim(&member(&field.name));
            format!("{name} :{}", self.typed(field, false, &at))
        });
        parameters.collect::<Vec<_>>().join(", ")
    }

    /// The type of a field, and its default. A number that may be absent has a struct of its own,
    /// which has none.
    fn typed(&self, field: &Field, is_member: bool, at: &str) -> String {
        let ty = self.ty(&field.ty, &field.annotations, at);
        if field.presence == Presence::Optional
            && !is_member
            && let Some(boxed) = self.boxed(&field.ty, &ty)
        {
            return boxed;
        }
        match &field.default {
            Some(value) => format!("{ty} = {}", self.value(&field.ty, value, at)),
            None => ty,
        }
    }

    /// The struct around a number or the value of an enum, which is called so.
    fn boxed(&self, ty: &Type, plain: &str) -> Option<String> {
        match self.schema.resolve(ty) {
            Type::Bool
            | Type::I8
            | Type::I16
            | Type::I32
            | Type::I64
            | Type::U8
            | Type::U16
            | Type::U32
            | Type::U64
            | Type::F32
            | Type::F64
            | Type::Date => {
                self.uses_types.set(true);
                Some(format!("Dovetail.Optional{plain}"))
            }
            Type::Named(id) if matches!(self.schema[*id].kind, TypeKind::Enum(_)) => {
                let name = format!("Optional{}", upper(&self.schema[*id].name));
                self.help(&name, &format!("  value @0 :{plain};\n"));
                Some(name)
            }
            _ => None,
        }
    }

    /// Adds a struct of this name behind the others, once.
    fn help(&self, name: &str, body: &str) {
        let mut helpers = self.helpers.borrow_mut();
        if helpers.iter().all(|(known, _)| known != name) {
            helpers.push((name.to_owned(), format!("struct {name} {{\n{body}}}\n")));
        }
    }

    pub(super) fn ty(&self, ty: &Type, annotations: &Annotations, at: &str) -> String {
        let name = match self.schema.resolve(ty) {
            Type::Bool => "Bool",
            Type::I8 => "Int8",
            Type::I16 => "Int16",
            Type::I32 | Type::Date => "Int32",
            Type::I64 => "Int64",
            Type::U8 => "UInt8",
            Type::U16 => "UInt16",
            Type::U32 => "UInt32",
            Type::U64 => "UInt64",
            Type::F32 => "Float32",
            Type::F64 => "Float64",
            Type::String | Type::Decimal => "Text",
            Type::Bytes if annotations.get(ANY).is_some() => "AnyPointer",
            Type::Bytes | Type::Uuid => "Data",
            Type::Timestamp { .. } | Type::Duration => return self.time(ty),
            Type::List(item) | Type::Set(item) => {
                return format!("List({})", self.ty(item, annotations, at));
            }
            Type::Map(key, value) => return self.map(key, value, annotations, at),
            Type::Named(id) => return self.named(*id),
            Type::Object(id) => {
                let service = &self.schema[*id];
                return self.reference(service.package, &service.name);
            }
            Type::Any => return self.unknown("a message of any type", at),
            Type::Dynamic => return self.unknown("a value of any type", at),
            Type::Array(..) => return self.unknown("an array", at),
        };
        name.to_owned()
    }

    fn unknown(&self, what: &str, at: &str) -> String {
        self.refuse(&format!("Cap'n Proto has no form for {what}"), at);
        "AnyPointer".to_owned()
    }

    fn time(&self, ty: &Type) -> String {
        self.uses_types.set(true);
        let name = match self.schema.resolve(ty) {
            Type::Timestamp { offset: true } => "TimestampTz",
            Type::Timestamp { offset: false } => "Timestamp",
            _ => "Duration",
        };
        format!("Dovetail.{name}")
    }

    /// A map is a list of entries.
    fn map(&self, key: &Type, value: &Type, annotations: &Annotations, at: &str) -> String {
        let (key, value) = (
            self.ty(key, annotations, at),
            self.ty(value, annotations, at),
        );
        let plain = |ty: &str| ty.replace(|c: char| !c.is_ascii_alphanumeric(), "");
        let name = format!("{}To{}", plain(&key), plain(&value));
        self.help(&name, &format!("  key @0 :{key};\n  value @1 :{value};\n"));
        format!("List({name})")
    }

    fn named(&self, id: TypeId) -> String {
        let def = &self.schema[id];
        match is_void(def) {
            true => "Void".to_owned(),
            false => self.reference(def.package, &def.name),
        }
    }

    /// The name of something, with its file in front where that is another one.
    pub(super) fn reference(&self, package: PackageId, name: &str) -> String {
        if package == self.id {
            return upper(name);
        }
        self.used.borrow_mut().insert(package);
        let file = upper(&file_name(&self.schema[package]));
        format!("{file}.{}", upper(name))
    }
}

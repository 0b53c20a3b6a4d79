//! Constants and default values.

use super::expr::Expr;
use super::items::is_integer;
use super::module::{Module, Place, is_float};
use super::names::{case_names, enum_names, field_names, member_names, oneof_of};
use super::text::Text;
use dovetail_schema::{Field, Sharing, Struct, StructKind, Type, TypeId, TypeKind, Value};

impl Module<'_> {
    pub(super) fn print_constant(&self, text: &mut Text, index: usize) {
        let constant = &self.cx.schema.constants[index];
        let name = &self.cx.names.constants[index];
        text.gap();
        self.docs(text, constant.doc.as_deref());
        let resolved = self.cx.schema.resolve(&constant.ty);
        let ty = self.ty(&constant.ty, Place::Value);
        match (resolved, &constant.value) {
            (Type::String, Value::String(value)) => {
                text.assignment(&format!("pub const {name}: &str ="), &format!("{value:?};"));
            }
            _ if self.is_const(resolved) => {
                let value = self.value(&constant.ty, &constant.value, Place::Value);
                let value = value.flat().unwrap_or_default();
                text.assignment(&format!("pub const {name}: {ty} ="), &format!("{value};"));
            }
            _ => {
                let value = self.value(&constant.ty, &constant.value, Place::Value);
                let lock = self.name("LazyLock");
                text.lazy(&format!("pub static {name}: {lock}<{ty}> ="), &lock, &value);
            }
        }
    }

    /// Returns whether the value can be made at compile time.
    fn is_const(&self, ty: &Type) -> bool {
        match ty {
            Type::Named(id) => matches!(self.cx.schema[*id].kind, TypeKind::Enum(_)),
            Type::Bool | Type::Bytes | Type::Uuid => true,
            Type::Timestamp { offset: false } | Type::Date | Type::Duration | Type::Decimal => true,
            _ => is_integer(ty) || is_float(ty),
        }
    }

    /// A value as a field of `owner`, with `Some` and `Box` where the field has them.
    pub(super) fn field_value(&self, owner: TypeId, field: &Field, value: &Value) -> Expr {
        let expr = self.present_value(owner, field, value);
        match self.is_optional(owner, field) {
            true => Expr::call(self.name("Some"), expr),
            false => expr,
        }
    }

    /// A value as a field of `owner` that is there.
    fn present_value(&self, owner: TypeId, field: &Field, value: &Value) -> Expr {
        let expr = self.value(&field.ty, value, self.place_in(owner));
        if field.sharing == Sharing::Ref {
            return Expr::call(format!("{}::new", self.name("Ref")), expr);
        }
        if self.is_endless(owner, field) {
            return Expr::call(format!("{}::from", self.name("Required")), expr);
        }
        match self.cx.facts.recursive(owner, &field.ty) {
            true => Expr::call(format!("{}::new", self.name("Box")), expr),
            false => expr,
        }
    }

    /// A value as the variant of a oneof of `owner`.
    fn case_value(
        &self,
        owner: TypeId,
        def: &Struct,
        oneof: &str,
        given: (&Field, &Value),
    ) -> Expr {
        let (field, value) = given;
        let cases = case_names(def, oneof);
        let variant = cases.into_iter().find(|(case, _)| case.id == field.id);
        let variant = variant.map(|(_, variant)| variant).unwrap_or_default();
        let path = format!("{}::{variant}", self.oneof_type(owner, oneof));
        let value = self.present_value(owner, field, value);
        Expr::call(self.name("Some"), Expr::call(path, value))
    }

    /// A value of a type, owned.
    pub(super) fn value(&self, ty: &Type, value: &Value, place: Place) -> Expr {
        let ty = self.cx.schema.resolve(ty);
        match (ty, value) {
            (Type::F32 | Type::F64, _) => self.number(ty, value, place),
            (Type::Named(id), Value::Int(number)) => self.enum_value(*id, *number as i32),
            (_, Value::Enum(id, number)) => self.enum_value(*id, *number),
            (_, Value::Bool(value)) => Expr::atom(value.to_string()),
            (_, Value::Int(value)) => Expr::atom(value.to_string()),
            (_, Value::Double(value)) => Expr::atom(format!("{value:?}")),
            (
                Type::Timestamp { .. } | Type::Date | Type::Duration | Type::Decimal,
                Value::String(value),
            ) => self.text_value(ty, value),
            (_, Value::String(value)) if value.is_empty() => self.no_text(),
            (_, Value::String(value)) => {
                let string = format!("{}::from", self.string());
                Expr::call(string, Expr::atom(format!("{value:?}")))
            }
            (_, Value::Bytes(value)) => {
                let literal = Expr::atom(format!("b\"{}\"", value.escape_ascii()));
                Expr::call(format!("{}::from_static", self.name("Bytes")), literal)
            }
            (_, Value::Uuid(value)) => {
                let number = u128::from_be_bytes(*value);
                let literal = Expr::atom(format!("0x{number:032x}"));
                Expr::call(format!("{}::from_u128", self.name("Uuid")), literal)
            }
            (Type::Array(item, dimensions), value) => {
                self.array_value(item, dimensions, value, place)
            }
            (_, Value::List(items)) => self.list(ty, items, place),
            (_, Value::Map(entries)) => self.map(ty, entries, place),
            (_, Value::Struct(id, fields)) => {
                let own = self.struct_value(*id, fields);
                self.member(ty, *id, own)
            }
        }
    }

    fn number(&self, ty: &Type, value: &Value, place: Place) -> Expr {
        let (wide, narrow) = match value {
            Value::Double(value) => (*value, *value as f32),
            Value::Int(value) => (*value as f64, *value as f32),
            _ => (0.0, 0.0),
        };
        let (name, literal) = match ty {
            Type::F32 => ("f32", format!("{narrow:?}")),
            _ => ("f64", format!("{wide:?}")),
        };
        self.allow("clippy::approx_constant");
        let literal = match literal.as_str() {
            "inf" => format!("{name}::INFINITY"),
            "-inf" => format!("{name}::NEG_INFINITY"),
            "NaN" => format!("{name}::NAN"),
            _ => literal,
        };
        match place {
            Place::Value => Expr::atom(literal),
            Place::Key => Expr::call(self.name("OrderedFloat"), Expr::atom(literal)),
        }
    }

    fn enum_value(&self, id: TypeId, number: i32) -> Expr {
        let def = &self.cx.schema[id];
        let path = self.named(id);
        let known = match &def.kind {
            TypeKind::Enum(def) => def.values.iter().position(|v| v.number == number),
            _ => None,
        };
        let name = known.and_then(|index| enum_names(def).into_iter().nth(index));
        Expr::atom(match name {
            Some(name) => format!("{path}::{name}"),
            None => format!("{path}({number})"),
        })
    }

    fn list(&self, ty: &Type, items: &[Value], place: Place) -> Expr {
        match ty {
            Type::Set(item) => {
                let (set, _) = self.set_and_map(place);
                let items = items.iter().map(|v| self.value(item, v, Place::Key));
                self.collection(set, items.collect())
            }
            Type::List(item) if !items.is_empty() => {
                let items = items.iter().map(|v| self.value(item, v, place));
                Expr::Array("vec![", items.collect())
            }
            _ => Expr::atom(format!("{}::new()", self.name("Vec"))),
        }
    }

    fn map(&self, ty: &Type, entries: &[(Value, Value)], place: Place) -> Expr {
        let (_, map) = self.set_and_map(place);
        let Type::Map(key, value) = ty else {
            return self.collection(map, Vec::new());
        };
        let entries = entries.iter().map(|(k, v)| {
            Expr::tuple(vec![
                self.value(key, k, Place::Key),
                self.value(value, v, place),
            ])
        });
        self.collection(map, entries.collect())
    }

    fn set_and_map(&self, place: Place) -> (&'static str, &'static str) {
        match self.map_name(place) {
            "HashMap" => ("HashSet", "HashMap"),
            map => ("BTreeSet", map),
        }
    }

    fn collection(&self, name: &str, items: Vec<Expr>) -> Expr {
        let name = self.name(name);
        if items.is_empty() {
            return Expr::atom(format!("{name}::new()"));
        }
        Expr::call(format!("{name}::from"), Expr::Array("[", items))
    }

    /// A struct where its family is called for.
    fn member(&self, ty: &Type, id: TypeId, value: Expr) -> Expr {
        let Type::Named(base) = ty else {
            return value;
        };
        let Some(family) = self.cx.facts.family(*base) else {
            return value;
        };
        let names = member_names(&self.cx.names, family);
        let variant = family.iter().zip(names).find(|(member, _)| **member == id);
        let any = self.ty(ty, Place::Value);
        match variant {
            Some((_, variant)) => Expr::call(format!("{any}::{variant}"), value),
            None => value,
        }
    }

    fn struct_value(&self, id: TypeId, given: &[(String, Value)]) -> Expr {
        let path = self.named(id);
        let TypeKind::Struct(def) = &self.cx.schema[id].kind else {
            return Expr::atom(format!("{path}::default()"));
        };
        let mut values = self.own_values(id, def, given);
        if def.kind == StructKind::Union {
            return match values.pop() {
                Some((variant, value)) => Expr::call(format!("{path}::{variant}"), value),
                None => Expr::atom(format!("{path}::default()")),
            };
        }
        let inherited = given
            .iter()
            .any(|(name, _)| def.fields.iter().all(|f| f.name != *name));
        if let Some(base) = def.extends.filter(|_| inherited) {
            values.insert(0, ("base".to_owned(), self.struct_value(base, given)));
        }
        if values.is_empty() {
            return Expr::atom(format!("{path}::default()"));
        }
        // Beside its own fields a struct has `base` or `unknown_fields`, which nobody gives.
        let rest = values.len() <= def.fields.len();
        let rest = rest.then(|| format!("{}::default()", self.name("Default")));
        Expr::Struct(path, values, rest)
    }

    /// The struct's own fields among those given, in the order of the contract.
    fn own_values(
        &self,
        id: TypeId,
        def: &Struct,
        given: &[(String, Value)],
    ) -> Vec<(String, Expr)> {
        let fields = def.fields.iter().zip(field_names(self.cx.schema, def));
        fields
            .filter_map(|(field, name)| {
                let (_, value) = given.iter().find(|(given, _)| *given == field.name)?;
                let value = match oneof_of(field) {
                    Some(oneof) => self.case_value(id, def, oneof, (field, value)),
                    None => self.field_value(id, field, value),
                };
                Some((name, value))
            })
            .collect()
    }
}

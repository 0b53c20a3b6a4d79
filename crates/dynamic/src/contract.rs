use crate::array;
use dovetail_schema::{
    ArrayForm, Field, IntFormat, JsonForm, Method, Presence, Schema, Sharing, Struct, StructKind,
    Type, TypeId, TypeKind,
};
use dovetail_wire::description::Logical;
use dovetail_wire::{self as wire, Kind};
use std::collections::BTreeMap;

/// A schema, with the tables that encodings ask for when they meet a struct.
pub struct Contract<'a> {
    schema: &'a Schema,
    /// By type id; `None` for enums and aliases.
    tables: Vec<Option<Table<'a>>>,
    families: BTreeMap<TypeId, Vec<TypeId>>,
    /// Whether it has all default values that there are.
    defaults: bool,
}

/// The fields of a struct or union, of a method's parameters, or of its reply; inherited ones
/// first.
#[derive(Clone, Debug, Default)]
pub struct Table<'a> {
    /// The fields as the schema has them. The result of a method has no row here, only on the wire.
    pub fields: Vec<&'a Field>,
    /// True for a union: at most one field is present.
    pub union: bool,
    /// The form of the struct in JSON.
    pub(crate) form: wire::Form,
    /// True for the reply of a method: where fields have no ids, it is a union.
    reply: bool,
    types: Vec<&'a Type>,
    wire: Vec<wire::Field<'a>>,
}

/// The name that Apache Thrift gives to the result of a call among the fields of the reply.
const RESULT: &str = "success";

impl<'a> Contract<'a> {
    /// Makes the tables of all types of a schema.
    pub fn new(schema: &'a Schema) -> Self {
        let table = |id: usize| match &schema.types[id].kind {
            TypeKind::Struct(def) => {
                let mut table = Table::of_struct(schema, def);
                table.leave_out_zeros(schema, TypeId(id as u32));
                table.form = match schema.json_form(TypeId(id as u32)) {
                    JsonForm::Bare => wire::Form::Bare,
                    JsonForm::Mask => wire::Form::Mask,
                    JsonForm::Fields | JsonForm::Null => wire::Form::Fields,
                };
                Some(table)
            }
            _ => None,
        };
        Contract {
            schema,
            tables: (0..schema.types.len()).map(table).collect(),
            families: schema.families(),
            defaults: true,
        }
    }

    /// Returns the contract with default values that only another end knows, as for one
    /// [described](crate::Described) by a server: what JSON leaves out is absent, and not zero.
    #[must_use]
    pub fn without_defaults(mut self) -> Self {
        self.defaults = false;
        self
    }

    /// Whether a field without a default value has none.
    pub(crate) fn has_defaults(&self) -> bool {
        self.defaults
    }

    /// The schema.
    pub fn schema(&self) -> &'a Schema {
        self.schema
    }

    /// The fields of a struct, union or exception; `None` for other types.
    pub fn table(&self, id: TypeId) -> Option<&Table<'a>> {
        self.tables.get(id.0 as usize)?.as_ref()
    }

    /// A struct and all that extend it, itself first; nothing where none does.
    pub fn family(&self, id: TypeId) -> Option<&[TypeId]> {
        self.families.get(&id).map(Vec::as_slice)
    }

    /// The parameters of a method.
    pub fn params(&self, method: &'a Method) -> Table<'a> {
        Table::of_fields(self.schema, &method.params)
    }

    /// The reply of a method: the result, if it has one, and the declared exceptions.
    pub fn reply(&self, method: &'a Method) -> Table<'a> {
        let mut table = Table {
            reply: true,
            ..Table::default()
        };
        if let Some(result) = &method.result {
            table.push_type(self.schema, wire::Field::new(0, RESULT, Kind::Bool), result);
        }
        method
            .throws
            .iter()
            .for_each(|f| table.push(self.schema, f));
        table
    }

    /// The shape of a type as encodings see it; `None` for types that no encoding of this version
    /// carries.
    pub fn kind(&self, ty: &Type) -> Option<Kind> {
        kind(self.schema, ty)
    }
}

fn format(format: IntFormat) -> wire::IntFormat {
    match format {
        IntFormat::Varint => wire::IntFormat::Varint,
        IntFormat::ZigZag => wire::IntFormat::ZigZag,
        IntFormat::Fixed => wire::IntFormat::Fixed,
    }
}

impl<'a> Table<'a> {
    fn of_struct(schema: &'a Schema, def: &'a Struct) -> Self {
        let mut chain = vec![def];
        let mut base = def.extends;
        // A schema whose inheritance runs in a circle is refused by front ends; do not hang on one.
        while let Some(id) = base.filter(|_| chain.len() <= schema.types.len()) {
            let TypeKind::Struct(def) = &schema[id].kind else {
                break;
            };
            chain.push(def);
            base = def.extends;
        }
        let mut table = Table::of_fields(schema, chain.iter().rev().flat_map(|def| &def.fields));
        table.union = def.kind == StructKind::Union;
        table
    }

    fn of_fields(schema: &'a Schema, fields: impl IntoIterator<Item = &'a Field>) -> Self {
        let mut table = Table::default();
        fields.into_iter().for_each(|f| table.push(schema, f));
        table
    }

    /// Notes which fields protobuf leaves out where they are zero.
    fn leave_out_zeros(&mut self, schema: &Schema, owner: TypeId) {
        for (row, field) in self.wire.iter_mut().zip(&self.fields) {
            row.implicit = schema.is_implicit(owner, field);
        }
    }

    fn push(&mut self, schema: &'a Schema, field: &'a Field) {
        let mut row = wire::Field::new(field.id, &field.name, Kind::Bool);
        row.required = field.presence == Presence::Required;
        row.format = format(field.protobuf.format);
        row.key_format = format(field.protobuf.key_format);
        row.expanded = field.protobuf.expanded;
        row.group = field.protobuf.delimited;
        row.nullable = match schema.resolve(&field.ty) {
            Type::Dynamic => true,
            Type::Named(id) => schema.json_form(*id) == JsonForm::Null,
            _ => false,
        };
        row.oneof = field.protobuf.oneof.as_deref();
        row.json = field.protobuf.json_name.as_deref();
        row.sensitive = field.is_sensitive();
        self.fields.push(field);
        self.push_type(schema, row, &field.ty);
    }

    fn push_type(&mut self, schema: &'a Schema, mut row: wire::Field<'a>, ty: &'a Type) {
        // A type without a shape is refused when its value is written; no peer can send one.
        row.kind = kind(schema, ty).unwrap_or(Kind::Struct);
        row.element = element(schema, ty);
        self.wire.push(row);
        self.types.push(ty);
    }

    /// Returns the rows as encodings see them.
    pub fn wire(&self) -> &[wire::Field<'a>] {
        &self.wire
    }

    /// The type of the row with this index.
    pub(crate) fn ty(&self, index: usize) -> &'a Type {
        self.types[index]
    }

    /// Returns whether a positional encoding has one of the fields, not all of them.
    pub(crate) fn is_choice(&self) -> bool {
        self.union || self.reply
    }

    /// Whether the row with this index may be absent.
    pub(crate) fn is_optional(&self, index: usize) -> bool {
        let own = self.fields.get(index);
        own.is_some_and(|f| f.presence == Presence::Optional && f.sharing == Sharing::Value)
    }

    /// Whether the row with this index is a reference.
    pub(crate) fn is_ref(&self, index: usize) -> bool {
        let own = self.fields.get(index);
        own.is_some_and(|field| field.sharing == Sharing::Ref)
    }

    /// The field with this name.
    pub fn find(&self, name: &str) -> Option<&'a Field> {
        self.fields.iter().find(|f| f.name == name).copied()
    }
}

/// A type that is another one on the wire, as descriptions call it.
pub(crate) fn logical(ty: &Type) -> Option<Logical> {
    Some(match ty {
        Type::Timestamp { offset: false } => Logical::Timestamp,
        Type::Timestamp { offset: true } => Logical::TimestampTz,
        Type::Date => Logical::Date,
        Type::Duration => Logical::Duration,
        Type::Decimal => Logical::Decimal,
        Type::Any => Logical::Any,
        Type::Dynamic => Logical::Dynamic,
        _ => return None,
    })
}

/// The shape of the elements of a list or set.
fn element(schema: &Schema, ty: &Type) -> Option<Kind> {
    match schema.resolve(ty) {
        Type::List(item) | Type::Set(item) => kind(schema, item),
        Type::Array(item, dimensions) => match ArrayForm::of(dimensions)? {
            ArrayForm::Fixed(_, inside) | ArrayForm::List(inside) => {
                array::kind(inside).or_else(|| kind(schema, item))
            }
            ArrayForm::Free(..) => None,
        },
        _ => None,
    }
}

fn kind(schema: &Schema, ty: &Type) -> Option<Kind> {
    Some(match schema.resolve(ty) {
        Type::Bool => Kind::Bool,
        Type::I8 => Kind::I8,
        Type::I16 => Kind::I16,
        Type::I32 => Kind::I32,
        Type::I64 => Kind::I64,
        Type::U8 => Kind::U8,
        Type::U16 => Kind::U16,
        Type::U32 => Kind::U32,
        Type::U64 => Kind::U64,
        Type::F32 => Kind::F32,
        Type::F64 => Kind::F64,
        Type::String => Kind::String,
        Type::Bytes => Kind::Bytes,
        Type::Uuid => Kind::Uuid,
        Type::List(_) => Kind::List,
        Type::Set(_) => Kind::Set,
        Type::Map(..) => Kind::Map,
        Type::Named(id) => match schema[*id].kind {
            TypeKind::Enum(_) => Kind::Enum,
            _ => Kind::Struct,
        },
        Type::Array(_, dimensions) => array::kind(dimensions)?,
        Type::Object(_) => return None,
        ty => logical(ty)?.kind(),
    })
}

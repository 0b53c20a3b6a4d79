//! Notes of a program's types and methods about themselves that are not on the wire: documentation
//! and default values.

use crate::method::{Method, MethodTypes, ServiceDescriptor};
use dovetail_dynamic::{Contract, ParamsSlot, Struct, TypedSlot, Value, to_constant};
use dovetail_schema::{self as schema, Field, Presence, Schema, ServiceId, Type, TypeId, TypeKind};
use dovetail_wire::description::{self, Definition, FieldType, Named, Notes};
use dovetail_wire::{Encoding, Limits};
use std::collections::HashMap;

/// Adds it to the contract of these services.
pub(super) fn add(schema: &mut Schema, services: &[(&'static ServiceDescriptor, ServiceId)]) {
    let mut known = Known::default();
    let methods = services.iter().flat_map(|(service, _)| service.methods);
    for types in methods.filter_map(Method::types) {
        let signature = types.signature("", false);
        signature.types().for_each(|ty| known.ty(ty));
    }
    // Values are read by the types, before these have any.
    let defaults = defaults(schema, &known);
    for (def, defaults) in schema.types.iter_mut().zip(defaults) {
        let Some(notes) = known.notes.get(def.name.as_str()) else {
            continue;
        };
        def.doc = text(notes.docs);
        let mut docs = notes.members.iter().map(|lines| text(lines));
        match &mut def.kind {
            TypeKind::Enum(def) => def
                .values
                .iter_mut()
                .for_each(|value| value.doc = docs.next().flatten()),
            TypeKind::Struct(def) => def.fields.iter_mut().for_each(|field| {
                field.doc = docs.next().flatten();
                field.default = default(field, &defaults);
            }),
            TypeKind::Alias(_) => {}
        }
    }
    for (service, id) in services {
        let params = parameters(schema, service, *id);
        let Some(said) = schema.services.get_mut(id.0 as usize) else {
            continue;
        };
        said.doc = text(service.docs);
        let methods = said.methods.iter_mut().zip(service.methods);
        for ((said, method), defaults) in methods.zip(params) {
            said.doc = text(method.docs);
            let params = said.params.iter_mut();
            params.for_each(|param| param.default = default(param, &defaults));
        }
    }
}

/// Documentation without the space that stands before each line.
fn text(lines: &[&str]) -> Option<String> {
    let lines = lines.iter().flat_map(|doc| doc.split('\n'));
    let lines: Vec<&str> = lines
        .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end())
        .collect();
    let text = lines.join("\n").trim_matches('\n').to_owned();
    (!text.is_empty()).then_some(text)
}

/// Constants by the ids of fields.
type Defaults = Vec<(i32, schema::Value)>;

fn default(field: &Field, defaults: &Defaults) -> Option<schema::Value> {
    let mut all = defaults.iter().filter(|(id, _)| *id == field.id);
    all.next().map(|(_, value)| value.clone())
}

/// The values of fresh structs, one list for each type.
fn defaults(schema: &Schema, known: &Known) -> Vec<Defaults> {
    let contract = Contract::new(schema);
    let of = |(index, def): (usize, &schema::TypeDef)| {
        let TypeKind::Struct(kind) = &def.kind else {
            return Defaults::new();
        };
        let ty = Type::Named(TypeId(index as u32));
        let mut slot = TypedSlot {
            contract: &contract,
            ty: &ty,
            value: None,
        };
        let fresh = known
            .notes
            .get(def.name.as_str())
            .and_then(|notes| notes.fresh.clone());
        let read =
            fresh.map(|fresh| Encoding::Tagged.decode(&mut slot, &fresh.into(), Limits::default()));
        match (read, slot.value) {
            (Some(Ok(_)), Some(Value::Struct(value))) => constants(&contract, &kind.fields, &value),
            _ => Defaults::new(),
        }
    };
    schema.types.iter().enumerate().map(of).collect()
}

/// The default values of parameters, one list for each method.
fn parameters(schema: &Schema, service: &ServiceDescriptor, id: ServiceId) -> Vec<Defaults> {
    let contract = Contract::new(schema);
    let methods = schema[id].methods.iter().zip(service.methods);
    let of = |(said, method): (&schema::Method, &Method)| {
        let fresh = method.types().as_ref().and_then(MethodTypes::defaults);
        // Those without a default value are not among them.
        let mut some = said.clone();
        some.params
            .iter_mut()
            .for_each(|param| param.presence = Presence::Optional);
        let mut slot = ParamsSlot::new(&contract, &some);
        let read =
            fresh.map(|fresh| Encoding::Tagged.decode(&mut slot, &fresh.into(), Limits::default()));
        match read {
            Some(Ok(_)) => constants(&contract, &said.params, &slot.values),
            _ => Defaults::new(),
        }
    };
    methods.map(of).collect()
}

/// Those of the fields that are not what they are anyway.
fn constants(contract: &Contract<'_>, fields: &[Field], value: &Struct) -> Defaults {
    let constant = |field: &Field| {
        let value = value.get(field.id).filter(|value| !is_zero(value))?;
        Some((field.id, to_constant(contract, &field.ty, value)?))
    };
    fields.iter().filter_map(constant).collect()
}

/// True for what a field without a default value has.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(truth) => !truth,
        Value::Int(number) => *number == 0,
        Value::UInt(number) => *number == 0,
        Value::Float(number) => number.to_bits() == 0,
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::Uuid(uuid) => uuid.is_nil(),
        Value::Enum(number) => *number == 0,
        Value::Timestamp(at) => *at == Default::default(),
        Value::Date(day) => *day == Default::default(),
        Value::Duration(span) => *span == Default::default(),
        Value::Decimal(number) => number.is_zero(),
        Value::List(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
        _ => false,
    }
}

/// The types that methods reach, by name. In one contract each name is one type.
#[derive(Default)]
struct Known {
    notes: HashMap<&'static str, Notes>,
}

impl Known {
    fn ty(&mut self, ty: &description::Type<Named>) {
        match ty {
            description::Type::List(item)
            | description::Type::Set(item)
            | description::Type::Array(_, item)
            | description::Type::Ref(item) => self.ty(item),
            description::Type::Map(key, item) => {
                self.ty(key);
                self.ty(item);
            }
            description::Type::Enum(named)
            | description::Type::Struct(named)
            | description::Type::Family(named) => self.named(*named),
            description::Type::Scalar(_)
            | description::Type::Logical(_)
            | description::Type::Object(_) => {}
        }
    }

    fn named(&mut self, named: Named) {
        let fields = |known: &mut Self, name, fields: Vec<FieldType<'static, Named>>| {
            if known.notes.insert(name, named.notes()).is_none() {
                fields.iter().for_each(|field| known.ty(&field.ty));
            }
        };
        match named.define() {
            Definition::Struct(name, all) | Definition::Union(name, all) => fields(self, name, all),
            Definition::Enum(name, _) => fields(self, name, Vec::new()),
            Definition::Family(_, members) => {
                members.into_iter().for_each(|member| self.named(member))
            }
            Definition::Service(_) => {}
        }
    }
}

//! Values through the wire's visitor, as generated code does it, with the schema at hand instead of
//! types.

use crate::absent;
use crate::any;
use crate::contract::Table;
use crate::identity::{read_named, read_ref, write_named, write_ref};
use crate::{Contract, MAX_DEPTH, Struct, Value, array, duplicates, positional};
use dovetail_schema::{Enum, JsonForm, Type, TypeId, TypeKind};
use dovetail_wire::{
    self as wire, Begun, Decode, DecodeError, DecodeErrorKind, Encode, EncodeError, Kind, Names,
    NextField, Reader, Uuid, Value as _, Writer,
};

/// A value with its type, on its way out.
#[derive(Clone, Copy)]
pub struct Typed<'a> {
    /// The contract that defines the type.
    pub contract: &'a Contract<'a>,
    /// The type.
    pub ty: &'a Type,
    /// The value.
    pub value: &'a Value,
}

/// A value with its type, on its way in.
pub struct TypedSlot<'a> {
    /// The contract that defines the type.
    pub contract: &'a Contract<'a>,
    /// The type.
    pub ty: &'a Type,
    /// The value; `None` until decoded.
    pub value: Option<Value>,
}

impl Encode for Typed<'_> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        write(self.contract, self.ty, self.value, writer, MAX_DEPTH)
    }
}

impl Decode for TypedSlot<'_> {
    fn decode<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        let old = self.value.take();
        let mut value = read(self.contract, self.ty, old, reader, MAX_DEPTH)?;
        duplicates::remove_in(&mut value, reader.budget())?;
        self.value = Some(value);
        Ok(())
    }
}

pub(crate) const MISTYPED: EncodeError = EncodeError::Unsupported {
    what: "a value that is not of the type that the contract says",
};

pub(crate) const SHAPELESS: EncodeError = EncodeError::Unsupported {
    what: "references to objects, which need Dovetail's own wire and generated code",
};

/// The names of an enum's numbers.
struct EnumNames<'a> {
    name: &'a str,
    def: &'a Enum,
    null: bool,
}

impl Names for EnumNames<'_> {
    fn name(&self, number: i32) -> Option<&str> {
        let mut values = self.def.values.iter();
        let found = values.find(|value| value.number == number);
        found.map(|value| value.name.as_str())
    }

    fn number(&self, name: &str) -> Option<i32> {
        let mut values = self.def.values.iter();
        let found = values.find(|value| value.name == name);
        found.map(|value| value.number)
    }

    fn type_name(&self) -> &str {
        self.name
    }

    fn value(&self, index: usize) -> Option<(i32, &str)> {
        let value = self.def.values.get(index)?;
        Some((value.number, &value.name))
    }

    fn is_null(&self) -> bool {
        self.null
    }
}

fn names<'a>(contract: &Contract<'a>, id: TypeId, def: &'a Enum) -> EnumNames<'a> {
    EnumNames {
        name: &contract.schema()[id].name,
        def,
        null: contract.schema().json_form(id) == JsonForm::Null,
    }
}

fn shape(contract: &Contract<'_>, ty: &Type) -> Result<Kind, EncodeError> {
    contract.kind(ty).ok_or(SHAPELESS)
}

pub(crate) fn deeper(left: usize) -> Result<usize, EncodeError> {
    left.checked_sub(1)
        .ok_or(EncodeError::TooDeep { limit: MAX_DEPTH })
}

pub(crate) fn write<W: Writer + ?Sized>(
    contract: &Contract<'_>,
    ty: &Type,
    value: &Value,
    writer: &mut W,
    left: usize,
) -> Result<(), EncodeError> {
    match (contract.schema().resolve(ty), value) {
        (Type::Bool, Value::Bool(value)) => writer.bool(*value),
        (Type::Date, Value::Date(value)) => value.write(writer),
        (Type::Date, _) => Err(MISTYPED),
        (_, Value::Int(value)) => write_int(shape(contract, ty)?, *value, writer),
        (_, Value::UInt(value)) => write_uint(shape(contract, ty)?, *value, writer),
        (Type::F32, Value::Float(value)) => writer.f32(*value as f32),
        (Type::F64, Value::Float(value)) => writer.f64(*value),
        (Type::String, Value::String(value)) => writer.string(value),
        (Type::Bytes, Value::Bytes(value)) => writer.bytes(value),
        (Type::Uuid, Value::Uuid(value)) => writer.uuid(value.as_bytes()),
        (Type::Timestamp { offset: false }, Value::Timestamp(value)) => value.write(writer),
        (Type::Timestamp { offset: true }, Value::TimestampTz(value)) => value.write(writer),
        (Type::Duration, Value::Duration(value)) => value.write(writer),
        (Type::Decimal, Value::Decimal(value)) => value.write(writer),
        (Type::Any, Value::Any(value)) => {
            match writer.any_message(value, &any::Types(contract, left))? {
                true => Ok(()),
                false => wire::write_message(&**value, writer),
            }
        }
        (Type::Dynamic, Value::Dynamic(value)) => value.write(writer),
        (Type::Array(item, dimensions), value) => {
            array::write(contract, (item, dimensions), value, writer, left)
        }
        (Type::List(item), Value::List(items)) => {
            writer.begin_list(shape(contract, item)?, items.len())?;
            write_items(contract, item, items, writer, deeper(left)?)
        }
        (Type::Set(item), Value::List(items)) => {
            writer.begin_set(shape(contract, item)?, items.len())?;
            write_items(contract, item, items, writer, deeper(left)?)
        }
        (Type::Map(key, item), Value::Map(entries)) => {
            let left = deeper(left)?;
            writer.begin_map(shape(contract, key)?, shape(contract, item)?, entries.len())?;
            for (k, v) in entries {
                write(contract, key, k, writer, left)?;
                write(contract, item, v, writer, left)?;
            }
            writer.end_map()
        }
        (Type::Named(id), Value::Enum(number)) => match &contract.schema()[*id].kind {
            TypeKind::Enum(def) => writer.enumeration(*number, &names(contract, *id, def)),
            _ => Err(MISTYPED),
        },
        (Type::Named(id), value) => write_named(contract, *id, value, false, writer, left),
        _ => Err(MISTYPED),
    }
}

fn write_int<W: Writer + ?Sized>(
    kind: Kind,
    value: i64,
    writer: &mut W,
) -> Result<(), EncodeError> {
    match kind {
        Kind::I8 => writer.i8(value.try_into().map_err(|_| MISTYPED)?),
        Kind::I16 => writer.i16(value.try_into().map_err(|_| MISTYPED)?),
        Kind::I32 => writer.i32(value.try_into().map_err(|_| MISTYPED)?),
        Kind::I64 => writer.i64(value),
        _ => Err(MISTYPED),
    }
}

fn write_uint<W: Writer + ?Sized>(
    kind: Kind,
    value: u64,
    writer: &mut W,
) -> Result<(), EncodeError> {
    match kind {
        Kind::U8 => writer.u8(value.try_into().map_err(|_| MISTYPED)?),
        Kind::U16 => writer.u16(value.try_into().map_err(|_| MISTYPED)?),
        Kind::U32 => writer.u32(value.try_into().map_err(|_| MISTYPED)?),
        Kind::U64 => writer.u64(value),
        _ => Err(MISTYPED),
    }
}

fn write_items<W: Writer + ?Sized>(
    contract: &Contract<'_>,
    ty: &Type,
    items: &[Value],
    writer: &mut W,
    left: usize,
) -> Result<(), EncodeError> {
    for item in items {
        write(contract, ty, item, writer, left)?;
    }
    writer.end_list()
}

/// Writes the value of a row of the table; only a reference can have none.
pub(crate) fn write_row<W: Writer + ?Sized>(
    contract: &Contract<'_>,
    table: &Table<'_>,
    index: usize,
    value: Option<&Value>,
    writer: &mut W,
    left: usize,
) -> Result<(), EncodeError> {
    match value {
        _ if table.is_ref(index) => write_ref(contract, table.ty(index), value, writer, left),
        Some(value) => write(contract, table.ty(index), value, writer, left),
        None => Ok(()),
    }
}

/// Writes the fields that are present, in the order of the table.
pub(crate) fn write_struct<W: Writer + ?Sized>(
    contract: &Contract<'_>,
    table: &Table<'_>,
    value: &Struct,
    writer: &mut W,
    left: usize,
) -> Result<(), EncodeError> {
    if writer.is_positional() {
        return positional::write_struct(contract, table, value, writer, left);
    }
    writer.begin_message(table.form)?;
    write_fields(contract, table, value, writer, left)?;
    writer.end_struct()
}

/// Writes the fields without the struct around them.
pub(crate) fn write_fields<W: Writer + ?Sized>(
    contract: &Contract<'_>,
    table: &Table<'_>,
    value: &Struct,
    writer: &mut W,
    left: usize,
) -> Result<(), EncodeError> {
    value.unknown_fields.write_first(writer)?;
    let mut written = 0;
    for (index, row) in table.wire().iter().enumerate() {
        match value.get(row.id) {
            Some(field)
                if (row.implicit || matches!(field, Value::Dynamic(_)))
                    && writer.leaves_out_defaults()
                    && field.is_zero() =>
            {
                written += 1;
            }
            Some(field) => {
                writer.begin_field(row)?;
                write_row(contract, table, index, Some(field), writer, left)?;
                writer.end_field()?;
                written += 1;
            }
            None if row.required => {
                return Err(EncodeError::Unsupported {
                    what: "a struct without one of its required fields",
                });
            }
            None => {}
        }
    }
    if written != value.len() {
        return Err(EncodeError::Unsupported {
            what: "a field that the contract does not have",
        });
    }
    value.unknown_fields.write(writer)
}

pub(crate) fn too_deep() -> DecodeError {
    DecodeErrorKind::TooDeep { limit: MAX_DEPTH }.into()
}

/// Reads a value of a type that the wire has itself, over the one that the field has so far.
macro_rules! merged {
    ($variant:ident, $old:expr, $reader:expr) => {{
        let mut value = match $old {
            Some(Value::$variant(old)) => old,
            _ => Default::default(),
        };
        wire::Value::read(&mut value, $reader)?;
        Value::$variant(value)
    }};
}

/// Reads a value. `old` is what the field has so far: some encodings send a value in pieces.
pub(crate) fn read<'de, R: Reader<'de> + ?Sized>(
    contract: &Contract<'_>,
    ty: &Type,
    old: Option<Value>,
    reader: &mut R,
    left: usize,
) -> Result<Value, DecodeError> {
    let ty = contract.schema().resolve(ty);
    Ok(match ty {
        Type::Bool => Value::Bool(reader.bool()?),
        Type::I8 => Value::Int(reader.i8()?.into()),
        Type::I16 => Value::Int(reader.i16()?.into()),
        Type::I32 => Value::Int(reader.i32()?.into()),
        Type::I64 => Value::Int(reader.i64()?),
        Type::U8 => Value::UInt(reader.u8()?.into()),
        Type::U16 => Value::UInt(reader.u16()?.into()),
        Type::U32 => Value::UInt(reader.u32()?.into()),
        Type::U64 => Value::UInt(reader.u64()?),
        Type::F32 => Value::Float(reader.f32()?.into()),
        Type::F64 => Value::Float(reader.f64()?),
        Type::String => Value::String(reader.string()?.into_owned()),
        Type::Bytes => Value::Bytes(reader.bytes()?),
        Type::Uuid => Value::Uuid(Uuid::from_bytes(reader.uuid()?)),
        Type::Timestamp { offset: false } => merged!(Timestamp, old, reader),
        Type::Timestamp { offset: true } => merged!(TimestampTz, old, reader),
        Type::Date => merged!(Date, old, reader),
        Type::Duration => merged!(Duration, old, reader),
        Type::Decimal => merged!(Decimal, old, reader),
        Type::Any => match reader.any_message(&any::Types(contract, left))? {
            Some(value) => {
                reader.budget().block(size_of::<wire::Any>())?;
                Value::Any(Box::new(value))
            }
            None => {
                reader.budget().block(size_of::<wire::Any>())?;
                let mut value = match old {
                    Some(Value::Any(old)) => old,
                    _ => Default::default(),
                };
                wire::read_message(&mut *value, reader)?;
                Value::Any(value)
            }
        },
        Type::Dynamic => merged!(Dynamic, old, reader),
        Type::Array(item, dimensions) => {
            array::read(contract, (item, dimensions), old, reader, left)?
        }
        Type::List(_) | Type::Set(_) | Type::Map(..) => {
            let left = left.checked_sub(1).ok_or_else(too_deep)?;
            read_container(contract, ty, old, reader, left)?
        }
        Type::Named(id) => match &contract.schema()[*id].kind {
            TypeKind::Enum(def) => Value::Enum(reader.enumeration(&names(contract, *id, def))?),
            _ => read_named(contract, *id, old, None, reader, left)?,
        },
        Type::Object(_) => return Err(DecodeError::malformed(SHAPELESS.to_string())),
    })
}

fn read_container<'de, R: Reader<'de> + ?Sized>(
    contract: &Contract<'_>,
    ty: &Type,
    old: Option<Value>,
    reader: &mut R,
    left: usize,
) -> Result<Value, DecodeError> {
    let kind = |ty| {
        contract
            .kind(ty)
            .ok_or_else(|| DecodeError::malformed(SHAPELESS.to_string()))
    };
    let (item, mut sequence) = match ty {
        Type::List(item) => (item, reader.begin_list(kind(item)?)?),
        Type::Set(item) => (item, reader.begin_set(kind(item)?)?),
        Type::Map(key, item) => {
            return read_map(
                contract,
                (key, item),
                (kind(key)?, kind(item)?),
                old,
                reader,
                left,
            );
        }
        _ => return Err(DecodeError::malformed("a container of no known kind")),
    };
    let mut items = match old {
        Some(Value::List(old)) if sequence.append => old,
        _ => Vec::new(),
    };
    reader.budget().reserve(&mut items, sequence.reserve)?;
    while reader.next_element(&mut sequence)? {
        let value = read(contract, item, None, reader, left).map_err(|e| e.within("[]"))?;
        if !leaves_out(&value, reader) {
            reader.budget().room(&mut items)?;
            items.push(value);
        }
    }
    Ok(Value::List(items))
}

fn read_map<'de, R: Reader<'de> + ?Sized>(
    contract: &Contract<'_>,
    (key, item): (&Type, &Type),
    (key_kind, item_kind): (Kind, Kind),
    old: Option<Value>,
    reader: &mut R,
    left: usize,
) -> Result<Value, DecodeError> {
    let mut sequence = reader.begin_map(key_kind, item_kind)?;
    let mut entries = match old {
        Some(Value::Map(old)) if sequence.append => old,
        _ => Vec::new(),
    };
    reader.budget().reserve(&mut entries, sequence.reserve)?;
    while reader.next_element(&mut sequence)? {
        reader.budget().room(&mut entries)?;
        let k = read(contract, key, None, reader, left).map_err(|e| e.within("[key]"))?;
        let v = read(contract, item, None, reader, left).map_err(|e| e.within("[value]"))?;
        if !leaves_out(&v, reader) {
            entries.push((k, v));
        }
    }
    Ok(Value::Map(entries))
}

/// Reads fields over those that the struct has. Checks required ones.
pub(crate) fn read_struct<'de, R: Reader<'de> + ?Sized>(
    contract: &Contract<'_>,
    table: &Table<'_>,
    value: &mut Struct,
    reader: &mut R,
    left: usize,
) -> Result<(), DecodeError> {
    if reader.is_positional() {
        return positional::read_struct(contract, table, value, reader, left);
    }
    reader.begin_message(table.form)?;
    read_rest(contract, table, value, Begun::default(), reader, left)
}

/// Reads the value of a row of the table; `None` for a reference that leads to nothing.
pub(crate) fn read_row<'de, R: Reader<'de> + ?Sized>(
    contract: &Contract<'_>,
    table: &Table<'_>,
    index: usize,
    old: Option<Value>,
    reader: &mut R,
    left: usize,
) -> Result<Option<Value>, DecodeError> {
    let row = &table.wire()[index];
    let value = match table.is_ref(index) {
        true => read_ref(contract, table.ty(index), reader, left),
        false => read(contract, table.ty(index), old, reader, left).map(Some),
    };
    let value = value.map_err(|e| e.within_field(row))?;
    Ok(value.filter(|value| !leaves_out(value, reader)))
}

/// Whether the value that was read last has a name that the contract does not have, and is to be
/// left out for that.
fn leaves_out<'de, R: Reader<'de> + ?Sized>(value: &Value, reader: &R) -> bool {
    matches!(value, Value::Enum(_)) && reader.is_left_out()
}

/// Reads the rest of a struct that has begun.
pub(crate) fn read_rest<'de, R: Reader<'de> + ?Sized>(
    contract: &Contract<'_>,
    table: &Table<'_>,
    value: &mut Struct,
    mut begun: Begun,
    reader: &mut R,
    left: usize,
) -> Result<(), DecodeError> {
    loop {
        let next = match begun.next.take() {
            Some(next) => next,
            None => reader.next_field(table.wire(), &mut begun.cursor)?,
        };
        match next {
            NextField::Known(index) => {
                let row = &table.wire()[index];
                let old = value.take(row.id);
                if table.union {
                    value.clear();
                }
                if row.oneof.is_some() {
                    // The last one counts.
                    let others = table.wire().iter().filter(|other| other.oneof == row.oneof);
                    others.for_each(|other| drop(value.take(other.id)));
                }
                let field = read_row(contract, table, index, old, reader, left)?;
                if let Some(field) = field {
                    value.put(row.id, field, reader.budget())?;
                }
            }
            NextField::Unknown(id) => {
                begun.check_unknown(id)?;
                let unknown = reader.unknown_value()?;
                value.unknown_fields.keep(id, unknown, reader.budget())?;
            }
            NextField::End => break,
        }
    }
    begun.keep(Some(&mut value.unknown_fields), reader)?;
    if reader.leaves_out_defaults() && !table.is_choice() {
        absent::fill(contract, table, value, reader.budget())?;
    }
    check_required(table, value)
}

/// Refuses a struct without one of its required fields.
pub(crate) fn check_required(table: &Table<'_>, value: &Struct) -> Result<(), DecodeError> {
    let mut rows = table.wire().iter();
    match rows.find(|row| row.required && value.get(row.id).is_none()) {
        None => Ok(()),
        Some(row) => Err(DecodeErrorKind::MissingField {
            name: row.name.to_owned().into(),
        }
        .into()),
    }
}

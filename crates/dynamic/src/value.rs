use dovetail_schema::TypeId;
use dovetail_wire::{
    Any, Budget, Bytes, Date, Decimal, DecodeError, Dynamic, TimestampTz, UnknownFields, Uuid,
    protobuf,
};

/// A value of some type of a schema. The type is not repeated in it: the schema says whether an
/// `Int` is an `i8` or an `i64`, and whether a `List` is a list or a set.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A truth value.
    Bool(bool),
    /// A signed integer of any width.
    Int(i64),
    /// An unsigned integer of any width.
    UInt(u64),
    /// A floating point number of either width.
    Float(f64),
    /// Text.
    String(String),
    /// Bytes.
    Bytes(Bytes),
    /// A UUID.
    Uuid(Uuid),
    /// The number of an enum's value, named or not.
    Enum(i32),
    /// An instant.
    Timestamp(protobuf::Timestamp),
    /// An instant with its offset from UTC.
    TimestampTz(TimestampTz),
    /// A day.
    Date(Date),
    /// A span of time.
    Duration(protobuf::Duration),
    /// A decimal number.
    Decimal(Decimal),
    /// A message with the name of its type.
    Any(Box<Any>),
    /// A value that brings its own shape.
    Dynamic(Dynamic),
    /// The elements of a list or set, or of an array whose outermost extent is fixed, or its only
    /// free one.
    List(Vec<Value>),
    /// An array of two or more extents, the last of them free: the extents, and the elements row by
    /// row.
    Array(Vec<u32>, Vec<Value>),
    /// The entries of a map, in the order in which they came.
    Map(Vec<(Value, Value)>),
    /// A struct, union or exception.
    Struct(Struct),
    /// A struct or exception that extends the one that the schema says.
    Derived(TypeId, Struct),
    /// The value behind a `ref` field, under a number that no other node of the message has. A node
    /// without a number has no other reference to it.
    Node(u64, Box<Value>),
    /// The node of this number, which comes before, or in which the `ref` field is.
    Again(u64),
}

impl Value {
    /// Returns true for zero and for empty values, which protobuf leaves out of fields without
    /// presence.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Value::Bool(value) => !value,
            Value::Int(value) => *value == 0,
            Value::UInt(value) => *value == 0,
            Value::Float(value) => value.to_bits() == 0,
            Value::String(value) => value.is_empty(),
            Value::Bytes(value) => value.is_empty(),
            Value::Enum(value) => *value == 0,
            Value::List(items) => items.is_empty(),
            Value::Map(entries) => entries.is_empty(),
            Value::Dynamic(Dynamic::Unknown(fields)) => fields.is_empty(),
            _ => false,
        }
    }
}

/// The fields of a struct, union or exception that are present; also the parameters of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Struct {
    fields: Vec<(i32, Value)>,
    /// Fields that the contract does not have; written again with the rest.
    pub unknown_fields: UnknownFields,
}

impl Struct {
    /// No field is present.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of the field with this id.
    pub fn get(&self, id: i32) -> Option<&Value> {
        let (_, value) = self.fields.iter().find(|(known, _)| *known == id)?;
        Some(value)
    }

    /// Sets the field with this id.
    pub fn set(&mut self, id: i32, value: Value) {
        match self.fields.iter_mut().find(|(known, _)| *known == id) {
            Some((_, slot)) => *slot = value,
            None => self.fields.push((id, value)),
        }
    }

    /// Charges the budget for the place of a field, and sets it.
    pub(crate) fn put(
        &mut self,
        id: i32,
        value: Value,
        budget: &mut Budget,
    ) -> Result<(), DecodeError> {
        budget.room(&mut self.fields)?;
        self.set(id, value);
        Ok(())
    }

    /// Takes the field with this id out.
    pub fn take(&mut self, id: i32) -> Option<Value> {
        let at = self.fields.iter().position(|(known, _)| *known == id)?;
        Some(self.fields.swap_remove(at).1)
    }

    /// Removes all fields.
    pub fn clear(&mut self) {
        self.fields.clear();
    }

    /// The fields that are present, by id, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (i32, &Value)> {
        self.fields.iter().map(|(id, value)| (*id, value))
    }

    /// The values of the fields that are present.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.fields.iter_mut().map(|(_, value)| value)
    }

    /// Returns the number of fields that are present.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Returns whether no field is present.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}

impl FromIterator<(i32, Value)> for Struct {
    fn from_iter<I: IntoIterator<Item = (i32, Value)>>(fields: I) -> Self {
        let mut value = Struct::new();
        fields
            .into_iter()
            .for_each(|(id, field)| value.set(id, field));
        value
    }
}

use crate::description::{Logical, Named, Type};
use crate::{
    Bytes, DecodeError, EncodeError, Kind, Reader, UnknownFields, Uuid, Value, Writer, enumeration,
    message, read_message, union, write_message,
};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

/// A value that brings its own shape. Up to `List` it is `google.protobuf.Value`; the others, which
/// JSON does not have, become numbers and text there.
///
/// ```
/// use dovetail_wire::Dynamic;
///
/// let point = Dynamic::from_iter([("x", Dynamic::from(1.5)), ("y", Dynamic::NULL)]);
/// assert_eq!(point.get("x").and_then(Dynamic::as_f64), Some(1.5));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Dynamic {
    /// Nothing, said so.
    Null(NullValue),
    /// A floating point number.
    Double(f64),
    /// Text.
    String(String),
    /// A truth value.
    Bool(bool),
    /// Values by name.
    Map(DynamicMap),
    /// Values in order.
    List(DynamicList),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// Bytes.
    Bytes(Bytes),
    /// A UUID.
    Uuid(Uuid),
    /// Nothing, or what a newer peer sent.
    Unknown(UnknownFields),
}

union!(Dynamic [Dynamic] {
    1 Null as "null_value": NullValue,
    2 Double as "number_value": f64,
    3 String as "string_value": String,
    4 Bool as "bool_value": bool,
    5 Map as "struct_value": DynamicMap,
    6 List as "list_value": DynamicList,
    7 Int as "int_value": i64 [native],
    8 UInt as "uint_value": u64 [native],
    9 Bytes as "bytes_value": Bytes [native],
    10 Uuid as "uuid_value": Uuid [native],
    ..Unknown
});

/// Values are written as they are if the encoding says what they are; else as a union.
impl Value for Dynamic {
    const KIND: Kind = Kind::Struct;
    const NULLABLE: bool = true;

    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        match writer.dynamic(self)? {
            true => Ok(()),
            false => write_message(self, writer),
        }
    }

    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        match reader.dynamic()? {
            Some(value) => {
                *self = value;
                Ok(())
            }
            None => read_message(self, reader),
        }
    }

    fn is_zero(&self) -> bool {
        matches!(self, Self::Unknown(fields) if fields.is_empty())
    }

    fn describe() -> Type<Named> {
        Type::Logical(Logical::Dynamic)
    }
}

/// The only value of nothing.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NullValue(pub i32);

enumeration!(NullValue json Null {
    /// Nothing.
    NULL_VALUE = 0,
});

/// Values by name: `google.protobuf.Struct`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DynamicMap {
    /// The values.
    pub fields: BTreeMap<String, Dynamic>,
}

message!(DynamicMap json Bare {
    1 fields: BTreeMap<String, Dynamic>,
});

/// Values in order: `google.protobuf.ListValue`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DynamicList {
    /// The values.
    pub values: Vec<Dynamic>,
}

message!(DynamicList json Bare {
    1 values: Vec<Dynamic>,
});

impl Dynamic {
    /// Nothing.
    pub const NULL: Self = Dynamic::Null(NullValue::NULL_VALUE);

    /// Returns whether there is nothing.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null(_) | Self::Unknown(_))
    }

    /// The number as a double, if it is a number; large integers are rounded.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Double(value) => Some(*value),
            Self::Int(value) => Some(*value as f64),
            Self::UInt(value) => Some(*value as f64),
            _ => None,
        }
    }

    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value with this name, if it is a map that has it.
    pub fn get(&self, name: &str) -> Option<&Dynamic> {
        match self {
            Self::Map(map) => map.fields.get(name),
            _ => None,
        }
    }
}

macro_rules! from {
    ($($variant:ident($type:ty),)*) => {$(
        impl From<$type> for Dynamic {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

from! {
    Bool(bool),
    Int(i64),
    Int(i32),
    UInt(u64),
    Double(f64),
    String(&str),
    String(String),
    Bytes(Bytes),
    Uuid(Uuid),
    List(DynamicList),
    Map(DynamicMap),
}

impl FromIterator<Dynamic> for Dynamic {
    fn from_iter<I: IntoIterator<Item = Dynamic>>(values: I) -> Self {
        let values = values.into_iter().collect();
        Self::List(DynamicList { values })
    }
}

impl<K: Into<String>, V: Into<Dynamic>> FromIterator<(K, V)> for Dynamic {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let entry = |(name, value): (K, V)| (name.into(), value.into());
        let fields = entries.into_iter().map(entry).collect();
        Self::Map(DynamicMap { fields })
    }
}

impl Deref for DynamicMap {
    type Target = BTreeMap<String, Dynamic>;

    fn deref(&self) -> &Self::Target {
        &self.fields
    }
}

impl DerefMut for DynamicMap {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.fields
    }
}

impl Deref for DynamicList {
    type Target = Vec<Dynamic>;

    fn deref(&self) -> &Self::Target {
        &self.values
    }
}

impl DerefMut for DynamicList {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.values
    }
}

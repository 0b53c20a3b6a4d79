use crate::TypeId;
use serde::{Deserialize, Serialize};

/// A constant value: of a constant, a default, or an annotation. Already converted to the type that
/// it stands for, so that a reader need not know the rules of the language it was written in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// A `bool`.
    Bool(bool),
    /// Any integer type, signed or unsigned; within the range of its type.
    Int(i128),
    /// A floating point type.
    Double(f64),
    /// A `string`, or the text form of a decimal, timestamp, date or duration.
    String(String),
    /// A `binary`.
    Bytes(Vec<u8>),
    /// A `uuid`, in network byte order.
    Uuid([u8; 16]),
    /// A value of an enum; the number need not have a name.
    Enum(TypeId, i32),
    /// A list, set or array.
    List(Vec<Value>),
    /// A map, in the order written.
    Map(Vec<(Value, Value)>),
    /// A struct, union or exception: field name and value, in the order written.
    Struct(TypeId, Vec<(String, Value)>),
}

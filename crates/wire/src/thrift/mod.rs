//! Apache Thrift's encodings of values.

pub mod binary;
pub mod compact;
pub mod json;

use crate::field::find;
use crate::{DecodeError, DecodeErrorKind, EncodeError, Field, Kind};
use std::borrow::Cow;

/// A container's length as all of Thrift's encodings count it.
#[inline]
fn length(len: usize) -> Result<i32, EncodeError> {
    i32::try_from(len).map_err(|_| EncodeError::TooLong { length: len })
}

/// A field's id as all of Thrift's encodings number it.
#[inline]
fn field_id(id: i32) -> Result<i16, EncodeError> {
    i16::try_from(id).map_err(|_| EncodeError::Unsupported {
        what: "a field id of more than 16 bits in Thrift",
    })
}

/// How error messages call a type that was sent.
fn type_name(kind: Option<Kind>) -> Cow<'static, str> {
    match kind {
        None => "an unknown type",
        Some(Kind::Bool) => "bool",
        Some(Kind::I8 | Kind::U8) => "byte",
        Some(Kind::I16 | Kind::U16) => "i16",
        Some(Kind::I32 | Kind::U32 | Kind::Enum) => "i32",
        Some(Kind::I64 | Kind::U64) => "i64",
        Some(Kind::F64 | Kind::F32) => "double",
        Some(Kind::String | Kind::Bytes) => "string",
        Some(Kind::Uuid) => "uuid",
        Some(Kind::Struct) => "struct",
        Some(Kind::List) => "list",
        Some(Kind::Set) => "set",
        Some(Kind::Map) => "map",
        Some(Kind::Object) => "a reference to an object",
    }
    .into()
}

/// Accepts a list where the contract has a set, and a set where it has a list. Refuses a field of
/// any other type: to skip it would turn its value into a default without a word.
#[cold]
fn retyped(field: &Field<'_>, found: Option<Kind>) -> Result<(), DecodeError> {
    let sequence = |kind| matches!(kind, Kind::List | Kind::Set);
    match sequence(field.kind) && found.is_some_and(sequence) {
        true => Ok(()),
        false => Err(mismatch(field.kind, found).within(field.name.to_owned())),
    }
}

#[cold]
#[inline(never)]
fn mismatch(expected: Kind, found: Option<Kind>) -> DecodeError {
    DecodeErrorKind::TypeMismatch {
        expected,
        found: type_name(found),
    }
    .into()
}

#[cold]
#[inline(never)]
fn invalid_type(found: u8) -> DecodeError {
    DecodeErrorKind::InvalidType { found }.into()
}

//! A message of protobuf in the words of a call, and back.
//!
//! In Dovetail parameters are a struct, and a reply is one with the result as a field. That is what
//! gRPC and Connect send for methods that know nothing of messages. Where request and answer are
//! messages, as in a contract of protobuf, they are the values of field 1: the header of that field
//! is taken away, or put before.

use super::Spelling;
use crate::method::Method;
use crate::{Code, Status};
use dovetail_protocol::{Execution, Failure};
use dovetail_wire::{Any, Bytes, spelling};

/// The wire type of what has a length.
pub(crate) const DELIMITED: u64 = 2;

/// The number of the field that a message begins with, and the length of its header. `None` for an
/// empty message.
pub(crate) fn first_field(message: &[u8]) -> Option<(i32, usize)> {
    let (tag, rest) = varint(message)?;
    let (_, rest) = varint(rest)?;
    Some((
        i32::try_from(tag >> 3).ok()?,
        message.len().saturating_sub(rest.len()),
    ))
}

pub(crate) fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if *byte < 0x80 {
            return Some((value, bytes.get(at + 1..)?));
        }
    }
    None
}

/// The struct that has this message as field 1.
pub(crate) fn as_field(message: &[u8]) -> Bytes {
    field(1, message)
}

/// The struct that has this message as its only field.
pub(crate) fn field(number: u64, message: &[u8]) -> Bytes {
    let mut field = Vec::with_capacity(message.len() + 20);
    for mut left in [number << 3 | DELIMITED, message.len() as u64] {
        while left >= 0x80 {
            field.push(left as u8 | 0x80);
            left >>= 7;
        }
        field.push(left as u8);
    }
    field.extend_from_slice(message);
    field.into()
}

/// A declared exception of this method, one of `all`, as a detail that is named as in a `.proto` of
/// the contract.
pub(crate) fn thrown(
    method: Option<&'static Method>,
    all: &[(i32, &str)],
    id: i32,
    value: &[u8],
    spelling: Spelling,
) -> Failure {
    let service = method.map_or("", |method| method.service);
    let named = all.iter().find(|(known, _)| *known == id);
    let name = named.map_or("unknown", |(_, name)| *name);
    let name = match (service.rsplit_once('.'), spelling) {
        (None, _) => name.to_owned(),
        (Some((package, _)), Spelling::Contract) => format!("{package}.{name}"),
        (Some((package, _)), Spelling::Buf) => {
            format!("{}.{}", spelling::package(package), spelling::pascal(name))
        }
    };
    let status = Status::new(Code::Unknown, format!("the method has thrown `{name}`"));
    Failure {
        details: vec![Any {
            type_name: format!("type.googleapis.com/{name}"),
            value: Bytes::copy_from_slice(value),
            ..Any::default()
        }],
        status: status.with_execution(Execution::Finished),
    }
}

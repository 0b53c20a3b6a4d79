//! Cap'n Proto's encoding (<https://capnproto.org/encoding.html>).
//!
//! It differs from all others in that a value has its place before it is written: a struct is a
//! block of words, in which each field has a fixed place, and pointers lead to texts, lists and
//! further structs. A [`Writer`] and a [`Reader`] so need the [`Layouts`] of the structs that they
//! meet. A message is one value: a pointer in its first word leads to it.
//!
//! A reader trusts no pointer. What a pointer leads to is within its segment; words are counted as
//! often as they are reached, so that pointers to the same place cannot make a small message a
//! large value; depth is limited.

mod builder;
mod copy;
mod interface;
mod layouts;
mod packed;
mod pointer;
mod reader;
mod segments;
mod view;
mod writer;

pub use builder::{Builder, Words};
pub use interface::InterfaceMethod;
pub use layouts::{Layouts, Structs};
pub use packed::{pack, unpack};
pub use reader::{NO_OBJECT, Reader};
pub use segments::{Segments, frame};
pub use view::{Object, PointerAt, View};
pub use writer::Writer;

use crate::{Decode, DecodeError, Encode, EncodeError, Limits};

/// Bytes of a word.
const WORD: usize = 8;

/// Writes a value as the root of a message of one segment, without the table of segments; [`frame`]
/// adds that.
pub fn encode<E: Encode>(
    value: &E,
    layouts: &Layouts,
    limits: Limits,
) -> Result<Vec<u8>, EncodeError> {
    let mut segment = Vec::new();
    let mut writer = Writer::new(&mut segment, layouts, limits);
    let erased: &mut dyn crate::Writer = &mut writer;
    value.encode(erased)?;
    Ok(segment)
}

/// Reads the root of a message.
pub fn decode<D: Decode>(
    into: &mut D,
    message: &Segments,
    layouts: &Layouts,
    limits: Limits,
) -> Result<(), DecodeError> {
    let mut reader = Reader::new(message, layouts, limits);
    let erased: &mut dyn crate::Reader<'_> = &mut reader;
    into.decode(erased)
}

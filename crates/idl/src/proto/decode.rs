//! Descriptors out of bytes: the other direction of [`super::encode`], for what protobuf's own
//! tools and other servers say.
//!
//! Options are read as far as they say something about a contract. Extensions are not.

use super::descriptor::*;
use std::fmt;

/// Why descriptors are none, or none that a contract can be made of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DescriptorError {
    /// Bytes that are no `google.protobuf.FileDescriptorSet`.
    Malformed(&'static str),
    /// Messages inside one another, more than protobuf's compiler takes.
    TooDeep,
    /// More than fits 64 MiB in memory.
    TooLarge,
    /// A type that none of the files defines.
    Missing {
        /// The type, with its package.
        name: String,
        /// The place where it is needed.
        at: String,
    },
    /// The language does not allow it.
    Invalid {
        /// The problem.
        what: &'static str,
        /// With which definition.
        at: String,
    },
}

impl fmt::Display for DescriptorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(what) => write!(f, "these bytes are no descriptors: {what}"),
            Self::TooDeep => write!(f, "messages inside one another, more than {MAX_DEPTH}"),
            Self::TooLarge => f.write_str("descriptors that need more than 64 MiB of memory"),
            // Names are whatever the bytes say.
            Self::Missing { name, at } => {
                let (name, at) = (name.escape_debug(), at.escape_debug());
                write!(f, "`{at}` needs `{name}`, which is missing")
            }
            Self::Invalid { what, at } => write!(f, "`{}`: {what}", at.escape_debug()),
        }
    }
}

impl std::error::Error for DescriptorError {}

type Result<T> = std::result::Result<T, DescriptorError>;

/// As deep as protobuf's compiler reads.
const MAX_DEPTH: usize = 32;

/// The memory that descriptors may take: an element of two bytes becomes hundreds.
const MEMORY: usize = 64 << 20;

impl FileSet {
    /// Reads the bytes of a `google.protobuf.FileDescriptorSet`.
    ///
    /// # Errors
    ///
    /// Bytes that are none, and more than 64 MiB of descriptors. Whether what they say is true,
    /// nobody has checked.
    pub fn decode(bytes: &[u8]) -> Result<FileSet> {
        let (mut set, mut memory) = (FileSet::default(), Memory::default());
        each(bytes, |number, value| match (number, value) {
            (1, Raw::Bytes(bytes)) => memory.push(&mut set.files, |memory| file(bytes, memory)),
            _ => Ok(()),
        })?;
        Ok(set)
    }
}

/// The bytes that may still be allocated.
pub(super) struct Memory(usize);

impl Default for Memory {
    fn default() -> Self {
        Memory(MEMORY)
    }
}

impl Memory {
    /// Takes this many bytes off the budget.
    pub(super) fn take(&mut self, bytes: usize) -> Result<()> {
        self.0 = self.0.checked_sub(bytes).ok_or(DescriptorError::TooLarge)?;
        Ok(())
    }

    pub(super) fn push<T>(
        &mut self,
        all: &mut Vec<T>,
        read: impl FnOnce(&mut Memory) -> Result<T>,
    ) -> Result<()> {
        // Vectors grow to twice what is in them.
        self.take(2 * size_of::<T>())?;
        all.push(read(self)?);
        Ok(())
    }

    pub(super) fn text(&mut self, bytes: &[u8]) -> Result<String> {
        self.take(bytes.len())?;
        let text = std::str::from_utf8(bytes);
        let text = text.map_err(|_| DescriptorError::Malformed("text that is not UTF-8"))?;
        Ok(text.to_owned())
    }
}

/// A value of a field.
#[derive(Clone, Copy)]
pub(super) enum Raw<'a> {
    Int(u64),
    Bytes(&'a [u8]),
}

impl Raw<'_> {
    /// As protobuf reads an `int32`.
    fn int(self) -> i32 {
        match self {
            Raw::Int(value) => value as i32,
            Raw::Bytes(_) => 0,
        }
    }

    fn flag(self) -> bool {
        matches!(self, Raw::Int(1..))
    }
}

/// Hands out the fields of a message. Those of fixed width, and groups, stand in no descriptor but
/// in custom options.
pub(super) fn each<'a>(
    bytes: &'a [u8],
    mut take: impl FnMut(u64, Raw<'a>) -> Result<()>,
) -> Result<()> {
    let mut input = Input(bytes);
    let mut groups = 0usize;
    while !input.0.is_empty() {
        let tag = input.varint()?;
        let value = match tag & 7 {
            0 => Some(Raw::Int(input.varint()?)),
            1 => input.skip(8)?,
            2 => {
                let length = usize::try_from(input.varint()?).unwrap_or(usize::MAX);
                Some(Raw::Bytes(input.bytes(length)?))
            }
            3 => {
                groups += 1;
                None
            }
            4 => {
                groups = groups
                    .checked_sub(1)
                    .ok_or(DescriptorError::Malformed("a group that ends unbegun"))?;
                None
            }
            5 => input.skip(4)?,
            _ => return Err(DescriptorError::Malformed("an unknown wire type")),
        };
        if let Some(value) = value.filter(|_| groups == 0) {
            take(tag >> 3, value)?;
        }
    }
    match groups {
        0 => Ok(()),
        _ => Err(CUT),
    }
}

const CUT: DescriptorError = DescriptorError::Malformed("they are cut off");

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn bytes(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(CUT)?;
        self.0 = rest;
        Ok(taken)
    }

    fn skip(&mut self, length: usize) -> Result<Option<Raw<'a>>> {
        self.bytes(length).map(|_| None)
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or(CUT)?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DescriptorError::Malformed("a number of more than 64 bits"))
    }
}

pub(super) fn file(bytes: &[u8], memory: &mut Memory) -> Result<File> {
    let mut file = File::default();
    let (mut syntax, mut edition) = (String::new(), 0);
    each(bytes, |number, value| {
        match (number, value) {
            (1, Raw::Bytes(name)) => file.name = memory.text(name)?,
            (2, Raw::Bytes(name)) => file.package = memory.text(name)?,
            (3, Raw::Bytes(path)) => memory.push(&mut file.dependencies, |m| m.text(path))?,
            (4, Raw::Bytes(bytes)) => {
                memory.push(&mut file.messages, |m| message(bytes, MAX_DEPTH, m))?;
            }
            (5, Raw::Bytes(bytes)) => memory.push(&mut file.enums, |m| enumeration(bytes, m))?,
            (6, Raw::Bytes(bytes)) => memory.push(&mut file.services, |m| service(bytes, m))?,
            (7, Raw::Bytes(bytes)) => memory.push(&mut file.extensions, |m| field(bytes, m))?,
            (8, Raw::Bytes(bytes)) => options(bytes, FILE, &mut file.options, memory)?,
            (9, Raw::Bytes(bytes)) => locations(bytes, &mut file.locations, memory)?,
            (12, Raw::Bytes(text)) => syntax = memory.text(text)?,
            (14, value) => edition = value.int(),
            (15, Raw::Bytes(path)) => {
                memory.push(&mut file.option_dependencies, |m| m.text(path))?;
            }
            _ => {}
        }
        Ok(())
    })?;
    file.edition = match (syntax.as_str(), edition) {
        ("" | "proto2", _) => Edition::Proto2,
        ("proto3", _) => Edition::Proto3,
        ("editions", 1000) => Edition::E2023,
        ("editions", 1001) => Edition::E2024,
        _ => {
            let what = "a file of an edition that this version does not know";
            return Err(DescriptorError::Malformed(what));
        }
    };
    Ok(file)
}

fn message(bytes: &[u8], left: usize, memory: &mut Memory) -> Result<Message> {
    let left = left.checked_sub(1).ok_or(DescriptorError::TooDeep)?;
    let mut def = Message::default();
    each(bytes, |number, value| match (number, value) {
        (1, Raw::Bytes(name)) => memory.text(name).map(|name| def.name = name),
        (2, Raw::Bytes(bytes)) => memory.push(&mut def.fields, |m| field(bytes, m)),
        (3, Raw::Bytes(bytes)) => memory.push(&mut def.messages, |m| message(bytes, left, m)),
        (4, Raw::Bytes(bytes)) => memory.push(&mut def.enums, |m| enumeration(bytes, m)),
        (6, Raw::Bytes(bytes)) => memory.push(&mut def.extensions, |m| field(bytes, m)),
        (7, Raw::Bytes(bytes)) => options(bytes, MESSAGE, &mut def.options, memory),
        (8, Raw::Bytes(bytes)) => memory.push(&mut def.oneofs, |m| oneof(bytes, m)),
        (9, Raw::Bytes(bytes)) => memory.push(&mut def.reserved_ranges, |_| range(bytes)),
        (10, Raw::Bytes(name)) => memory.push(&mut def.reserved_names, |m| m.text(name)),
        _ => Ok(()),
    })?;
    Ok(def)
}

fn range(bytes: &[u8]) -> Result<(i32, i32)> {
    let mut range = (0, 0);
    each(bytes, |number, value| {
        match number {
            1 => range.0 = value.int(),
            2 => range.1 = value.int(),
            _ => {}
        }
        Ok(())
    })?;
    Ok(range)
}

fn field(bytes: &[u8], memory: &mut Memory) -> Result<Field> {
    let mut def = Field::default();
    each(bytes, |number, value| {
        match (number, value) {
            (1, Raw::Bytes(name)) => def.name = memory.text(name)?,
            (2, Raw::Bytes(name)) => def.extendee = memory.text(name)?,
            (3, value) => def.number = value.int(),
            (4, value) => {
                def.label = match value.int() {
                    1 => Label::Optional,
                    2 => Label::Required,
                    3 => Label::Repeated,
                    _ => return Err(DescriptorError::Malformed("an unknown label")),
                };
            }
            (5, value) => {
                let kind = Kind::of_number(value.int());
                def.kind = Some(kind.ok_or(DescriptorError::Malformed("an unknown type"))?);
            }
            (6, Raw::Bytes(name)) => def.type_name = memory.text(name)?,
            (7, Raw::Bytes(text)) => def.default = Some(memory.text(text)?),
            (8, Raw::Bytes(bytes)) => options(bytes, FIELD, &mut def.options, memory)?,
            (9, value) => def.oneof = Some(value.int()),
            (10, Raw::Bytes(name)) => def.json_name = Some(memory.text(name)?),
            (17, value) => def.proto3_optional = value.flag(),
            _ => {}
        }
        Ok(())
    })?;
    Ok(def)
}

fn oneof(bytes: &[u8], memory: &mut Memory) -> Result<Oneof> {
    let mut def = Oneof::default();
    each(bytes, |number, value| match (number, value) {
        (1, Raw::Bytes(name)) => memory.text(name).map(|name| def.name = name),
        (2, Raw::Bytes(bytes)) => options(bytes, ONEOF, &mut def.options, memory),
        _ => Ok(()),
    })?;
    Ok(def)
}

fn enumeration(bytes: &[u8], memory: &mut Memory) -> Result<Enum> {
    let mut def = Enum::default();
    each(bytes, |number, value| match (number, value) {
        (1, Raw::Bytes(name)) => memory.text(name).map(|name| def.name = name),
        (2, Raw::Bytes(bytes)) => memory.push(&mut def.values, |m| enum_value(bytes, m)),
        (3, Raw::Bytes(bytes)) => options(bytes, ENUM, &mut def.options, memory),
        (4, Raw::Bytes(bytes)) => memory.push(&mut def.reserved_ranges, |_| range(bytes)),
        (5, Raw::Bytes(name)) => memory.push(&mut def.reserved_names, |m| m.text(name)),
        _ => Ok(()),
    })?;
    Ok(def)
}

fn enum_value(bytes: &[u8], memory: &mut Memory) -> Result<EnumValue> {
    let mut def = EnumValue::default();
    each(bytes, |number, value| {
        match (number, value) {
            (1, Raw::Bytes(name)) => def.name = memory.text(name)?,
            (2, value) => def.number = value.int(),
            (3, Raw::Bytes(bytes)) => options(bytes, VALUE, &mut def.options, memory)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(def)
}

fn service(bytes: &[u8], memory: &mut Memory) -> Result<Service> {
    let mut def = Service::default();
    each(bytes, |number, value| match (number, value) {
        (1, Raw::Bytes(name)) => memory.text(name).map(|name| def.name = name),
        (2, Raw::Bytes(bytes)) => memory.push(&mut def.methods, |m| method(bytes, m)),
        (3, Raw::Bytes(bytes)) => options(bytes, METHOD, &mut def.options, memory),
        _ => Ok(()),
    })?;
    Ok(def)
}

fn method(bytes: &[u8], memory: &mut Memory) -> Result<Method> {
    let mut def = Method::default();
    each(bytes, |number, value| {
        match (number, value) {
            (1, Raw::Bytes(name)) => def.name = memory.text(name)?,
            (2, Raw::Bytes(name)) => def.input = memory.text(name)?,
            (3, Raw::Bytes(name)) => def.output = memory.text(name)?,
            (4, Raw::Bytes(bytes)) => {
                def.has_block = true;
                options(bytes, METHOD, &mut def.options, memory)?;
            }
            (5, value) => def.client_streaming = value.flag(),
            (6, value) => def.server_streaming = value.flag(),
            _ => {}
        }
        Ok(())
    })?;
    Ok(def)
}

/// Those with comments: the others are of use to compilers alone.
fn locations(bytes: &[u8], all: &mut Vec<Location>, memory: &mut Memory) -> Result<()> {
    each(bytes, |number, value| match (number, value) {
        (1, Raw::Bytes(bytes)) => {
            let location = location(bytes, memory)?;
            match location.leading.is_some() || location.trailing.is_some() {
                true => memory.push(all, |_| Ok(location)),
                false => Ok(()),
            }
        }
        _ => Ok(()),
    })
}

fn location(bytes: &[u8], memory: &mut Memory) -> Result<Location> {
    let mut location = Location::default();
    each(bytes, |number, value| {
        match (number, value) {
            (1, Raw::Bytes(packed)) => {
                memory.take(4 * packed.len())?;
                let mut packed = Input(packed);
                while !packed.0.is_empty() {
                    location.path.push(packed.varint()? as i32);
                }
            }
            (3, Raw::Bytes(text)) => location.leading = Some(comment(text, memory)?),
            (4, Raw::Bytes(text)) => location.trailing = Some(comment(text, memory)?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(location)
}

/// Comments are shown to people: no characters that do something else.
fn comment(bytes: &[u8], memory: &mut Memory) -> Result<String> {
    let mut text = memory.text(bytes)?;
    text.retain(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    Ok(text)
}

/// The options of an element that say something about a contract, by number.
type Known = &'static [(u64, &'static str)];

const FEATURES: &str = "features";
const FEATURE_SET: Known = &[
    (1, "field_presence"),
    (2, "enum_type"),
    (3, "repeated_field_encoding"),
    (5, "message_encoding"),
];
const FILE: Known = &[(50, FEATURES)];
const MESSAGE: Known = &[
    (1, "message_set_wire_format"),
    (3, "deprecated"),
    (7, "map_entry"),
    (12, FEATURES),
];
const FIELD: Known = &[(2, "packed"), (3, "deprecated"), (21, FEATURES)];
const ONEOF: Known = &[(1, FEATURES)];
const ENUM: Known = &[(3, "deprecated"), (7, FEATURES)];
const VALUE: Known = &[(1, "deprecated"), (2, FEATURES)];
const METHOD: Known = &[(33, "deprecated"), (34, "idempotency_level")];

fn options(bytes: &[u8], known: Known, all: &mut Options, memory: &mut Memory) -> Result<()> {
    each(bytes, |number, value| {
        let Some((_, name)) = known.iter().find(|(known, _)| *known == number) else {
            return Ok(());
        };
        memory.push(&mut all.fields, |memory| {
            let value = match value {
                Raw::Int(_) => OptionValue::Int(Kind::Int32, value.int().into()),
                Raw::Bytes(bytes) if *name == FEATURES => {
                    let mut features = Options::default();
                    options(bytes, FEATURE_SET, &mut features, memory)?;
                    OptionValue::Message(features)
                }
                Raw::Bytes(_) => return Err(DescriptorError::Malformed("an option of no type")),
            };
            Ok(OptionField {
                number: number as i32,
                name: (*name).to_owned(),
                value,
            })
        })
    })
}

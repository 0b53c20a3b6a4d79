use crate::{Annotation, Annotations, PackageId, ServiceId, TypeId, Value};
use serde::{Deserialize, Serialize};

/// A named type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypeDef {
    /// The package that defines it.
    pub package: PackageId,
    /// The name as written.
    pub name: String,
    /// The documentation comment, if any.
    pub doc: Option<String>,
    /// Annotations, typed and untyped.
    pub annotations: Annotations,
    /// Why it should no longer be used; empty where no reason is given.
    pub deprecated: Option<String>,
    /// The kind, with its contents.
    pub kind: TypeKind,
}

/// A kind of named type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TypeKind {
    /// Another name for a type (`typedef`).
    Alias(Type),
    /// A set of named numbers.
    Enum(Enum),
    /// A struct, union or exception.
    Struct(Struct),
}

/// The type of a field, parameter, result or element.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Type {
    /// True or false.
    Bool,
    /// Signed, 8 bits.
    I8,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// Unicode text.
    String,
    /// Bytes.
    Bytes,
    /// A UUID, RFC 9562.
    Uuid,
    /// An instant, in nanoseconds since the Unix epoch.
    Timestamp {
        /// The value also carries its offset from UTC.
        offset: bool,
    },
    /// A day of the proleptic Gregorian calendar, with no time zone.
    Date,
    /// A signed span of time, in nanoseconds.
    Duration,
    /// A decimal number of arbitrary scale.
    Decimal,
    /// A message of any named type, with that type's name.
    Any,
    /// A value whose shape is only known at run time.
    Dynamic,
    /// Elements in order.
    List(Box<Type>),
    /// Elements without order or repetition.
    Set(Box<Type>),
    /// Keys, each with its value.
    Map(Box<Type>, Box<Type>),
    /// An array of one or more dimensions, stored in row-major order.
    Array(Box<Type>, Vec<Dimension>),
    /// A type defined in the schema.
    Named(TypeId),
    /// A reference to a remote object that answers this service.
    Object(ServiceId),
}

/// The extent of one dimension of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Dimension {
    /// Part of the type.
    Fixed(u32),
    /// Part of the value.
    Dynamic,
}

/// The outermost dimension of an array, and the dimensions inside it; the element if there are
/// none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayForm<'a> {
    /// A fixed number of elements.
    Fixed(u32, &'a [Dimension]),
    /// Any number of what is inside: a list.
    List(&'a [Dimension]),
    /// Two or more dimensions that belong together, since the last of them is free.
    Free(&'a [Dimension], &'a [Dimension]),
}

impl ArrayForm<'_> {
    /// The form of an array of these dimensions; `None` where there are none.
    pub fn of(dimensions: &[Dimension]) -> Option<ArrayForm<'_>> {
        let free = |dimension: &Dimension| *dimension == Dimension::Dynamic;
        match (dimensions.split_first()?, dimensions.iter().rposition(free)) {
            ((Dimension::Fixed(extent), inside), None) => Some(ArrayForm::Fixed(*extent, inside)),
            ((_, inside), None | Some(0)) => Some(ArrayForm::List(inside)),
            (_, Some(last)) => {
                let (outside, inside) = dimensions.split_at(last + 1);
                Some(ArrayForm::Free(outside, inside))
            }
        }
    }
}

/// The named numbers of an enum.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Enum {
    /// In the order written.
    pub values: Vec<EnumValue>,
    /// A number without a name is no value of it, as in proto2.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// Numbers and names that must not be used again.
    pub reserved: Reserved,
}

/// One named number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnumValue {
    /// The name as written.
    pub name: String,
    /// The number on the wire.
    pub number: i32,
    /// The documentation comment, if any.
    pub doc: Option<String>,
    /// Annotations, typed and untyped.
    pub annotations: Annotations,
    /// Why it should no longer be used; empty where no reason is given.
    pub deprecated: Option<String>,
}

/// Fields under one name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Struct {
    /// Struct, union or exception.
    pub kind: StructKind,
    /// The struct whose fields come first (polymorphism: a value of this type fits wherever the
    /// base does).
    pub extends: Option<TypeId>,
    /// Own fields, in the order written; inherited ones are not repeated.
    pub fields: Vec<Field>,
    /// Ids and names that must not be used again.
    pub reserved: Reserved,
}

/// The three roles that a group of fields can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StructKind {
    /// All fields together.
    Struct,
    /// Exactly one of the fields.
    Union,
    /// A struct that a method can throw.
    Exception(ExceptionTraits),
}

/// Properties of an exception beyond its fields, for callers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExceptionTraits {
    /// Whether the call left anything behind.
    pub safety: Safety,
    /// Whether trying again can help.
    pub kind: ErrorKind,
    /// The end that made the mistake.
    pub fault: Fault,
}

/// Whether a failed call left anything behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Safety {
    /// Nothing is known.
    #[default]
    Unspecified,
    /// The call had no effect: it is safe to send it again.
    Safe,
}

/// Whether trying again can help.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorKind {
    /// Nothing is known.
    #[default]
    Unspecified,
    /// A second call may succeed later.
    Transient,
    /// It can succeed only after the state of the server has changed.
    Stateful,
    /// A second call will fail again.
    Permanent,
}

/// The end that made the mistake behind a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// Nothing is known.
    #[default]
    Unspecified,
    /// The caller's.
    Client,
    /// The server's.
    Server,
}

/// One field of a struct, parameter of a method, or declared exception.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// The number on the wire; negative ones exist in old Thrift files without explicit ids.
    pub id: i32,
    /// The name as written; `[shop.color]` for an extension of protobuf, whose name does not belong
    /// to its message.
    pub name: String,
    /// The type.
    pub ty: Type,
    /// Whether it may be absent.
    pub presence: Presence,
    /// The value where a file gives one.
    pub default: Option<Value>,
    /// Whether identity matters besides the value.
    pub sharing: Sharing,
    /// Properties that only protobuf's encoding needs.
    #[serde(default, skip_serializing_if = "Protobuf::is_default")]
    pub protobuf: Protobuf,
    /// The documentation comment, if any.
    pub doc: Option<String>,
    /// Annotations, typed and untyped.
    pub annotations: Annotations,
    /// Why it should no longer be used; empty where no reason is given.
    pub deprecated: Option<String>,
}

/// The annotation of a sensitive field.
const SENSITIVE: &str = "sensitive";

impl Field {
    /// Returns whether the value is kept out of captures, logs and error texts.
    pub fn is_sensitive(&self) -> bool {
        let value = self.annotations.get(SENSITIVE);
        value.is_some_and(|value| !matches!(value, "0" | "false"))
    }

    /// Makes the field a sensitive one.
    pub fn set_sensitive(&mut self) {
        if !self.is_sensitive() {
            self.annotations.untyped.push(Annotation {
                key: SENSITIVE.to_owned(),
                value: "1".to_owned(),
            });
        }
    }

    /// The scope and the name of an extension: `shop` and `color` for `[shop.color]`.
    pub fn extension(&self) -> Option<(&str, &str)> {
        let name = self.name.strip_prefix('[')?.strip_suffix(']')?;
        Some(name.rsplit_once('.').unwrap_or(("", name)))
    }

    /// The name, of an extension without its scope.
    pub fn short_name(&self) -> &str {
        self.extension().map_or(&self.name, |(_, name)| name)
    }

    /// Makes a field with defaults for everything else.
    pub fn new(id: i32, name: impl Into<String>, ty: Type) -> Self {
        Field {
            id,
            name: name.into(),
            ty,
            presence: Presence::Default,
            default: None,
            sharing: Sharing::Value,
            protobuf: Protobuf::default(),
            doc: None,
            annotations: Annotations::default(),
            deprecated: None,
        }
    }
}

/// How a field travels in protobuf, as far as its type does not say so. For contracts in other
/// languages it is the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Protobuf {
    /// How its integers are written, those of a list and of a map's values too.
    pub format: IntFormat,
    /// How the keys of a map are written.
    #[serde(skip_serializing_if = "IntFormat::is_default")]
    pub key_format: IntFormat,
    /// The numbers of a list are written one by one, not packed.
    pub expanded: bool,
    /// True for a message that is written as a group.
    pub delimited: bool,
    /// The oneof that the field belongs to: at most one of those with the same name is present.
    pub oneof: Option<String>,
    /// The name in JSON, where it is not the usual one, in `lowerCamelCase`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json_name: Option<String>,
}

impl Protobuf {
    fn is_default(&self) -> bool {
        *self == Protobuf::default()
    }
}

/// How integers are written by an encoding with a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum IntFormat {
    /// Base 128, negative numbers in ten bytes: `int32`, `uint64` …
    #[default]
    Varint,
    /// Base 128, sign in the lowest bit: `sint32`, `sint64`.
    ZigZag,
    /// Four or eight bytes: `fixed32`, `sfixed64` …
    Fixed,
}

impl IntFormat {
    fn is_default(&self) -> bool {
        *self == IntFormat::default()
    }
}

/// Whether a field may be absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Presence {
    /// Always written; where a peer leaves it out, its default value is assumed.
    #[default]
    Default,
    /// Always written; a message without it is refused.
    Required,
    /// Present or not, and the difference is visible.
    Optional,
}

/// Whether identity matters besides the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sharing {
    /// Only the value counts.
    #[default]
    Value,
    /// Two `ref` fields that point to one object still do so after transport; cycles are kept.
    Ref,
}

/// Ids and names that must not be used again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserved {
    /// Ranges of ids, first and last included.
    pub ids: Vec<(i32, i32)>,
    /// Names.
    pub names: Vec<String>,
}

/// The form of a type in protobuf's JSON (<https://protobuf.dev/programming-guides/json/>).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonForm {
    /// A message: an object with its fields; an enum: the name of its value.
    Fields,
    /// The value of its one field.
    Bare,
    /// The paths in its one field as one text.
    Mask,
    /// `null`.
    Null,
}

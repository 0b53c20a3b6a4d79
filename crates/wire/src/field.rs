/// The shape of a value, as far as an encoding needs to know it before it sees the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
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
    /// UTF-8 text.
    String,
    /// Bytes.
    Bytes,
    /// 16 bytes, RFC 9562.
    Uuid,
    /// An open enum: an `i32` that may have a name.
    Enum,
    /// A struct, union or exception.
    Struct,
    /// Elements in order.
    List,
    /// Elements without order or repetition.
    Set,
    /// Keys, each with its value.
    Map,
    /// A reference to an object.
    Object,
}

/// How an encoding with a choice (protobuf) writes the integers of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntFormat {
    /// Base 128, negative numbers in ten bytes: `int32`, `uint64` …
    #[default]
    Varint,
    /// Base 128, sign in the lowest bit: `sint32`, `sint64`.
    ZigZag,
    /// Four or eight bytes, little endian: `fixed32`, `sfixed64` …
    Fixed,
}

/// The properties of a field that an encoding may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The number on the wire.
    pub id: i32,
    /// The name in the contract.
    pub name: &'a str,
    /// The shape of the value.
    pub kind: Kind,
    /// The shape of the elements of a list or set; `None` where that is not known.
    pub element: Option<Kind>,
    /// A message without this field is refused.
    pub required: bool,
    /// For integers, for those in a list or set, and for the values of a map: how protobuf writes
    /// them.
    pub format: IntFormat,
    /// For the keys of a map: how protobuf writes them.
    pub key_format: IntFormat,
    /// Protobuf does not write a value that is zero or empty.
    pub implicit: bool,
    /// Protobuf writes the numbers of a list one by one, and not packed.
    pub expanded: bool,
    /// True for a message, or a list of messages, that protobuf writes as groups.
    pub group: bool,
    /// True for a field that protobuf's own definition of the message lacks: its reader takes it
    /// for an unknown one.
    pub native: bool,
    /// `null` is a value in JSON, and not the absence of one.
    pub nullable: bool,
    /// The oneof that the field belongs to: at most one field of the same oneof has a value.
    pub oneof: Option<&'a str>,
    /// The name in JSON, where that is not made of the other one.
    pub json: Option<&'a str>,
    /// The value is kept out of captures and of error texts.
    pub sensitive: bool,
}

impl<'a> Field<'a> {
    /// A field that may be absent.
    pub const fn new(id: i32, name: &'a str, kind: Kind) -> Self {
        Field {
            id,
            name,
            kind,
            element: None,
            required: false,
            format: IntFormat::Varint,
            key_format: IntFormat::Varint,
            implicit: false,
            expanded: false,
            group: false,
            native: false,
            nullable: false,
            oneof: None,
            json: None,
            sensitive: false,
        }
    }

    /// Makes the field one that is refused when absent.
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Makes the field's integers ones in protobuf's `sint` form.
    pub const fn zigzag(mut self) -> Self {
        self.format = IntFormat::ZigZag;
        self
    }

    /// Makes the field's integers ones in protobuf's `fixed` form.
    pub const fn fixed(mut self) -> Self {
        self.format = IntFormat::Fixed;
        self
    }

    /// Writes the keys of the field's map in protobuf's `sint` form.
    pub const fn zigzag_key(mut self) -> Self {
        self.key_format = IntFormat::ZigZag;
        self
    }

    /// Writes the keys of the field's map in protobuf's `fixed` form.
    pub const fn fixed_key(mut self) -> Self {
        self.key_format = IntFormat::Fixed;
        self
    }

    /// Says the shape of the elements.
    #[doc(hidden)]
    pub const fn element(mut self, element: Option<Kind>) -> Self {
        self.element = element;
        self
    }

    /// Takes `null` in JSON for a value.
    #[doc(hidden)]
    pub const fn nullable(mut self, nullable: bool) -> Self {
        self.nullable = nullable;
        self
    }

    /// Leaves the field out in protobuf where its value is zero or empty.
    pub const fn implicit(mut self) -> Self {
        self.implicit = true;
        self
    }

    /// Writes the numbers of the field's list one by one in protobuf.
    pub const fn expanded(mut self) -> Self {
        self.expanded = true;
        self
    }

    /// Writes the field's messages as protobuf's groups.
    pub const fn group(mut self) -> Self {
        self.group = true;
        self
    }

    /// Puts the field into a oneof.
    #[doc(hidden)]
    pub const fn oneof(mut self, name: Option<&'a str>) -> Self {
        self.oneof = name;
        self
    }

    /// Gives the field another name in JSON, as `json_name` of protobuf does.
    pub const fn json(mut self, name: &'a str) -> Self {
        self.json = Some(name);
        self
    }

    /// Keeps the value out of captures and of error texts.
    pub const fn sensitive(mut self) -> Self {
        self.sensitive = true;
        self
    }

    /// Leaves the field to the encodings that are not protobuf's.
    pub const fn native(mut self) -> Self {
        self.native = true;
        self
    }
}

/// Finds the field with this id in the table, looking first at `from`: senders keep to the
/// contract's order, so the next field is near.
#[inline]
pub(crate) fn find(fields: &[Field<'_>], from: usize, id: i32) -> Option<usize> {
    let (before, after) = fields.split_at(from.min(fields.len()));
    let behind = after.iter().position(|field| field.id == id);
    behind
        .map(|index| index + before.len())
        .or_else(|| before.iter().position(|field| field.id == id))
}

/// The form of a message in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// An object with a member for each field.
    #[default]
    Fields,
    /// The value of its one field, as `google.protobuf.Int32Value` and `Struct` are.
    Bare,
    /// The paths in its one field as one text, as `google.protobuf.FieldMask` is.
    Mask,
}

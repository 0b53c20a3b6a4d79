//! The places of fields. Who knows a contract makes them: `dovetail-dynamic` of a schema.

/// The shape of a value, and the layouts of the structs that it can reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layouts {
    /// The shape of the value: a struct.
    pub root: Shape,
    /// The structs, and the groups in them, by number.
    pub structs: Vec<StructLayout>,
}

/// The layout of a struct, or of a group in one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StructLayout {
    /// Words of data. 0 for a group, which stands in the words of its struct.
    pub data: u16,
    /// Pointers behind the data. 0 for a group.
    pub pointers: u16,
    /// The fields.
    pub fields: Vec<FieldLayout>,
}

/// The place and the shape of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldLayout {
    /// Its id in the table of fields.
    pub id: i32,
    /// The tag that says it is there; `None` for one that is no member of a union.
    pub tag: Option<Tag>,
    /// Its place.
    pub place: Place,
    /// Its shape.
    pub shape: Shape,
}

/// The tag of a union, when it has a certain member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Its value.
    pub value: u16,
    /// Its place in the data of the struct, in units of 16 bits.
    pub offset: u32,
}

/// The place of a field in its struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// None: the field is a group, or takes no room.
    Inline,
    /// Bits of the data.
    Data {
        /// Where, in units of the field's size.
        offset: u32,
        /// The bits of the default, with which the value is combined by XOR.
        default: u64,
    },
    /// A pointer.
    Pointer {
        /// Its number.
        index: u32,
    },
}

/// The form of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Nothing.
    Void,
    /// One bit.
    Bit,
    /// A number of 8, 16, 32 or 64 bits.
    Number {
        /// How many bytes.
        bytes: u8,
    },
    /// Text, with a zero byte behind it.
    Text,
    /// Bytes.
    Data,
    /// A list.
    List(Box<Shape>),
    /// A map: a list of structs of this number, whose fields 1 and 2 are key and value.
    Map(u32),
    /// The struct of this number.
    Struct(u32),
    /// The group of this number.
    Group(u32),
    /// A number that may be absent: the field 1 of a struct of this number.
    Boxed(u32),
    /// A pointer to anything, held as the first segment of a message.
    Any,
}

impl Layouts {
    pub(super) fn get(&self, number: u32) -> Option<&StructLayout> {
        self.structs.get(number as usize)
    }
}

impl StructLayout {
    /// The field with this id. Fields come mostly in the order of the layout: it looks at `next` first.
    pub(super) fn field(&self, id: i32, next: usize) -> Option<(usize, &FieldLayout)> {
        match self.fields.get(next) {
            Some(field) if field.id == id => Some((next, field)),
            _ => {
                let index = self.fields.iter().position(|field| field.id == id)?;
                Some((index, self.fields.get(index)?))
            }
        }
    }
}

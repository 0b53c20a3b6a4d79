//! The places of fields as Cap'n Proto's encoding asks for them, in bytes: generated code carries
//! them, and `dovetail_wire::capnp::Structs` reads them.
//!
//! Numbers are varints. The bytes are the count of structs, and for each of them:
//!
//! ```text
//! struct = data words, pointers, count, field*
//! field  = id (zigzag), tag, place, shape
//! tag    = 0 | value + 1, offset in units of 16 bits
//! place  = 0 | 1, offset in units of the field's size, bits of the default | 2, number of the pointer
//! shape  = 0 void | 1 bit | 2 bytes of the number | 3 text | 4 data | 5 shape of the elements
//!        | 6 struct of the entries | 7 struct | 8 group | 9 struct around the number | 10 any pointer
//!        | 11 object
//! ```

use super::{ANY, GroupLayout, Slot, StructLayout, is_void, layout, parameters};
use crate::{Field, Schema, Sharing, Struct, Type, TypeId, TypeKind, Value as Constant, type_name};
use std::collections::HashMap;
use std::fmt;

/// A field or a type that has no form in Cap'n Proto's encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unplaced {
    /// The struct.
    pub owner: String,
    /// The field.
    pub field: String,
    /// The type or the property without a form.
    pub what: String,
}

impl fmt::Display for Unplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unplaced { owner, field, what } = self;
        write!(f, "`{owner}.{field}`: Cap'n Proto has no form for {what}")
    }
}

impl std::error::Error for Unplaced {}

/// The places of the fields of some structs, and of all that they reach.
#[derive(Debug)]
pub struct LayoutWriter<'a> {
    schema: &'a Schema,
    structs: Vec<Vec<u8>>,
    numbers: HashMap<TypeId, u32>,
    /// Structs that have a number and no places yet.
    open: Vec<(TypeId, u32)>,
}

/// The form of a value.
#[derive(Clone, Debug)]
enum Shape {
    Void,
    Bit,
    Number(u8),
    Text,
    Data,
    List(Box<Shape>),
    Map(u32),
    Struct(u32),
    Group(u32),
    Boxed(u32),
    Any,
    Object,
}

impl<'a> LayoutWriter<'a> {
    /// No places yet.
    pub fn new(schema: &'a Schema) -> Self {
        LayoutWriter {
            schema,
            structs: Vec::new(),
            numbers: HashMap::new(),
            open: Vec::new(),
        }
    }

    /// Adds a struct or union; returns its number.
    pub fn structure(&mut self, id: TypeId) -> u32 {
        if let Some(known) = self.numbers.get(&id) {
            return *known;
        }
        let number = self.add();
        self.numbers.insert(id, number);
        self.open.push((id, number));
        number
    }

    /// Adds the struct that parameters or results make, which this name stands for in errors;
    /// returns its number.
    ///
    /// # Errors
    ///
    /// Those of [`finish`](Self::finish).
    pub fn parameters(&mut self, owner: &str, fields: &'a [Field]) -> Result<u32, Unplaced> {
        let layout = parameters(self.schema, fields);
        let number = self.add();
        self.whole(number, owner, fields, &layout)?;
        Ok(number)
    }

    /// Adds a struct whose words are those of another one, which is the value of its only field;
    /// returns its number.
    ///
    /// # Errors
    ///
    /// Those of [`finish`](Self::finish).
    pub fn around(&mut self, id: TypeId, field: i32) -> Result<u32, Unplaced> {
        let number = self.add();
        let layout = layout(self.schema, id);
        let inside = match &self.schema[id].kind {
            TypeKind::Struct(_) if is_void(&self.schema[id]) => Shape::Void,
            _ => self.inside(&Type::Named(id), &layout.fields)?,
        };
        let mut bytes = Vec::new();
        put_field(&mut bytes, field, None, &Place::Inline, &inside);
        self.put(number, (layout.data_words, layout.pointers), 1, bytes);
        Ok(number)
    }

    /// The bytes of all structs.
    ///
    /// # Errors
    ///
    /// The first field that has no form in the encoding: a reference that keeps identity, an array,
    /// a struct that extends another one, a value of any type.
    pub fn finish(mut self) -> Result<Vec<u8>, Unplaced> {
        let schema = self.schema;
        while let Some((id, number)) = self.open.pop() {
            let TypeKind::Struct(def) = &schema[id].kind else {
                continue;
            };
            let layout = layout(schema, id);
            self.whole(number, &schema[id].name, &def.fields, &layout)?;
        }
        let mut all = Vec::new();
        put(&mut all, self.structs.len() as u64);
        all.extend(self.structs.into_iter().flatten());
        Ok(all)
    }

    fn add(&mut self) -> u32 {
        self.structs.push(Vec::new());
        (self.structs.len() - 1) as u32
    }

    fn put(&mut self, number: u32, words: (u16, u16), count: usize, fields: Vec<u8>) {
        let Some(bytes) = self.structs.get_mut(number as usize) else {
            return;
        };
        put(bytes, words.0.into());
        put(bytes, words.1.into());
        put(bytes, count as u64);
        bytes.extend(fields);
    }

    fn whole(
        &mut self,
        number: u32,
        owner: &str,
        fields: &'a [Field],
        layout: &StructLayout,
    ) -> Result<(), Unplaced> {
        let bytes = self.fields(owner, fields, &layout.fields)?;
        let words = (layout.data_words, layout.pointers);
        self.put(number, words, fields.len(), bytes);
        Ok(())
    }

    fn fields(
        &mut self,
        owner: &str,
        fields: &'a [Field],
        layout: &GroupLayout,
    ) -> Result<Vec<u8>, Unplaced> {
        let schema = self.schema;
        let mut bytes = Vec::new();
        for (field, place) in fields.iter().zip(&layout.fields) {
            let unplaced = |what: String| Unplaced {
                owner: owner.to_owned(),
                field: field.name.clone(),
                what,
            };
            if field.sharing == Sharing::Ref {
                return Err(unplaced("references".to_owned()));
            }
            let tag = place.tag.map(|tag| (tag.value, tag.offset));
            let (place, shape) = match &place.slot {
                Slot::Group(inside) => (Place::Inline, self.inside(&field.ty, inside)?),
                slot => {
                    let shape = self.shape(field, &field.ty);
                    let shape = shape.map_err(|ty| unplaced(type_name(schema, ty)))?;
                    let shape = match slot {
                        Slot::Pointer(_) => self.boxed(shape),
                        _ => shape,
                    };
                    (of(slot, field), shape)
                }
            };
            put_field(&mut bytes, field.id, tag, &place, &shape);
        }
        Ok(bytes)
    }

    /// The shape of a group: its fields stand in the words of the struct around it.
    fn inside(&mut self, ty: &Type, layout: &GroupLayout) -> Result<Shape, Unplaced> {
        let schema = self.schema;
        let Type::Named(id) = ty else {
            return Ok(Shape::Void);
        };
        let TypeKind::Struct(Struct { fields, .. }) = &schema[*id].kind else {
            return Ok(Shape::Void);
        };
        let number = self.add();
        let bytes = self.fields(&schema[*id].name, fields, layout)?;
        self.put(number, (0, 0), fields.len(), bytes);
        Ok(Shape::Group(number))
    }

    /// The shape of a type; an error is the type that has none.
    fn shape(&mut self, field: &Field, ty: &'a Type) -> Result<Shape, &'a Type> {
        let schema = self.schema;
        Ok(match schema.resolve(ty) {
            Type::Bool => Shape::Bit,
            Type::I8 | Type::U8 => Shape::Number(1),
            Type::I16 | Type::U16 => Shape::Number(2),
            Type::I32 | Type::U32 | Type::F32 | Type::Date => Shape::Number(4),
            Type::I64 | Type::U64 | Type::F64 => Shape::Number(8),
            Type::String | Type::Decimal => Shape::Text,
            Type::Timestamp { offset } => self.carrier(*offset),
            Type::Duration => self.carrier(false),
            Type::Bytes if field.annotations.get(ANY).is_some() => Shape::Any,
            Type::Bytes | Type::Uuid => Shape::Data,
            Type::List(element) | Type::Set(element) => {
                Shape::List(Box::new(self.shape(field, element)?))
            }
            Type::Object(_) => Shape::Object,
            Type::Map(key, value) => self.map(field, key, value)?,
            Type::Named(id) => match &schema[*id].kind {
                TypeKind::Enum(_) => Shape::Number(2),
                TypeKind::Struct(_) if is_void(&schema[*id]) => Shape::Void,
                TypeKind::Struct(def) if def.extends.is_some() => return Err(ty),
                TypeKind::Struct(_) => Shape::Struct(self.structure(*id)),
                TypeKind::Alias(_) => return Err(ty),
            },
            _ => return Err(ty),
        })
    }

    /// The shape of a field with a pointer: a number has a struct of its own.
    fn boxed(&mut self, shape: Shape) -> Shape {
        if !matches!(shape, Shape::Bit | Shape::Number(_)) {
            return shape;
        }
        let mut bytes = Vec::new();
        let place = Place::Bits {
            offset: 0,
            default: 0,
        };
        put_field(&mut bytes, 1, None, &place, &shape);
        let number = self.add();
        self.put(number, (1, 0), 1, bytes);
        Shape::Boxed(number)
    }

    /// The struct that an instant or a span of time travels as.
    fn carrier(&mut self, has_offset: bool) -> Shape {
        let mut fields = vec![
            Field::new(1, "seconds", Type::I64),
            Field::new(2, "nanoseconds", Type::I32),
        ];
        fields.extend(has_offset.then(|| Field::new(3, "offset", Type::I32)));
        let shapes = [8, 4, 4].map(Shape::Number);
        Shape::Struct(self.made_up(&fields, &shapes))
    }

    /// A list of entries, structs with a key and a value.
    fn map(&mut self, field: &Field, key: &'a Type, value: &'a Type) -> Result<Shape, &'a Type> {
        let entry = [
            Field::new(1, "key", key.clone()),
            Field::new(2, "value", value.clone()),
        ];
        let shapes = [self.shape(field, key)?, self.shape(field, value)?];
        Ok(Shape::Map(self.made_up(&entry, &shapes)))
    }

    /// Adds a struct that the schema does not have.
    fn made_up(&mut self, fields: &[Field], shapes: &[Shape]) -> u32 {
        let layout = parameters(self.schema, fields);
        let mut bytes = Vec::new();
        let places = layout.fields.fields.iter();
        for ((field, place), shape) in fields.iter().zip(places).zip(shapes) {
            put_field(&mut bytes, field.id, None, &of(&place.slot, field), shape);
        }
        let number = self.add();
        let words = (layout.data_words, layout.pointers);
        self.put(number, words, fields.len(), bytes);
        number
    }
}

/// The place of a field.
enum Place {
    Inline,
    Bits { offset: u32, default: u64 },
    Pointer(u32),
}

fn of(slot: &Slot, field: &Field) -> Place {
    match slot {
        Slot::Void | Slot::Group(_) => Place::Inline,
        Slot::Pointer(index) => Place::Pointer(*index),
        Slot::Data { offset, .. } => Place::Bits {
            offset: *offset,
            default: bits(field),
        },
    }
}

/// The bits of a number's default.
fn bits(field: &Field) -> u64 {
    match &field.default {
        Some(Constant::Bool(value)) => (*value).into(),
        // Both signed and unsigned numbers have the low bits of the wide one.
        Some(Constant::Int(value)) => *value as u64,
        Some(Constant::Enum(_, number)) => u64::from(number.cast_unsigned()),
        Some(Constant::Double(value)) if field.ty == Type::F32 => (*value as f32).to_bits().into(),
        Some(Constant::Double(value)) => value.to_bits(),
        _ => 0,
    }
}

pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_field(bytes: &mut Vec<u8>, id: i32, tag: Option<(u16, u32)>, place: &Place, shape: &Shape) {
    put(bytes, u64::from(((id << 1) ^ (id >> 31)).cast_unsigned()));
    match tag {
        None => put(bytes, 0),
        Some((value, offset)) => {
            put(bytes, u64::from(value) + 1);
            put(bytes, offset.into());
        }
    }
    match place {
        Place::Inline => put(bytes, 0),
        Place::Bits { offset, default } => {
            put(bytes, 1);
            put(bytes, (*offset).into());
            put(bytes, *default);
        }
        Place::Pointer(index) => {
            put(bytes, 2);
            put(bytes, (*index).into());
        }
    }
    put_shape(bytes, shape);
}

fn put_shape(bytes: &mut Vec<u8>, shape: &Shape) {
    let (code, number) = match shape {
        Shape::Void => (0, None),
        Shape::Bit => (1, None),
        Shape::Number(size) => (2, Some(u32::from(*size))),
        Shape::Text => (3, None),
        Shape::Data => (4, None),
        Shape::List(_) => (5, None),
        Shape::Map(number) => (6, Some(*number)),
        Shape::Struct(number) => (7, Some(*number)),
        Shape::Group(number) => (8, Some(*number)),
        Shape::Boxed(number) => (9, Some(*number)),
        Shape::Any => (10, None),
        Shape::Object => (11, None),
    };
    put(bytes, code);
    if let Some(number) = number {
        put(bytes, number.into());
    }
    if let Shape::List(element) = shape {
        put_shape(bytes, element);
    }
}

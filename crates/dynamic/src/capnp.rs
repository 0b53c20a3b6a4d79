//! The layouts that Cap'n Proto's encoding asks for, of a schema.

use crate::type_name;
use dovetail_schema::capnp::{self, GroupLayout, Slot};
use dovetail_schema::{Field, Schema, Sharing, Struct, Type, TypeId, TypeKind, Value as Constant};
use dovetail_wire::capnp::{FieldLayout, Layouts, Place, Shape, StructLayout, Tag};
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

/// The layouts of a struct or union, and of all that it reaches.
///
/// # Errors
///
/// The first field that has no form in the encoding: a reference that keeps identity, an object, an array, a struct that extends
/// another one, a value of any type.
pub fn layouts(schema: &Schema, root: TypeId) -> Result<Layouts, Unplaced> {
    let mut plan = Plan {
        schema,
        layouts: Layouts {
            root: Shape::Void,
            structs: Vec::new(),
        },
        numbers: HashMap::new(),
        open: Vec::new(),
    };
    plan.layouts.root = Shape::Struct(plan.number(root));
    while let Some((id, number)) = plan.open.pop() {
        let TypeKind::Struct(def) = &schema[id].kind else {
            continue;
        };
        let layout = capnp::layout(schema, id);
        let fields = plan.group(id, def, &layout.fields)?;
        plan.put(
            number,
            StructLayout {
                data: layout.data_words,
                pointers: layout.pointers,
                ..fields
            },
        );
    }
    Ok(plan.layouts)
}

struct Plan<'a> {
    schema: &'a Schema,
    layouts: Layouts,
    numbers: HashMap<TypeId, u32>,
    /// Structs that have a number and no layout yet.
    open: Vec<(TypeId, u32)>,
}

impl<'a> Plan<'a> {
    fn add(&mut self) -> u32 {
        self.layouts.structs.push(StructLayout::default());
        (self.layouts.structs.len() - 1) as u32
    }

    fn put(&mut self, number: u32, layout: StructLayout) {
        if let Some(place) = self.layouts.structs.get_mut(number as usize) {
            *place = layout;
        }
    }

    /// The number of a struct, whose layout comes later.
    fn number(&mut self, id: TypeId) -> u32 {
        if let Some(known) = self.numbers.get(&id) {
            return *known;
        }
        let number = self.add();
        self.numbers.insert(id, number);
        self.open.push((id, number));
        number
    }

    /// The fields of a struct or a group, which has no words of its own.
    fn group(
        &mut self,
        owner: TypeId,
        def: &'a Struct,
        layout: &GroupLayout,
    ) -> Result<StructLayout, Unplaced> {
        let schema = self.schema;
        let mut fields = Vec::new();
        for (field, place) in def.fields.iter().zip(&layout.fields) {
            let unplaced = |what: String| Unplaced {
                owner: schema[owner].name.clone(),
                field: field.name.clone(),
                what,
            };
            if field.sharing == Sharing::Ref {
                return Err(unplaced("references".to_owned()));
            }
            let tag = place.tag.map(|tag| Tag {
                value: tag.value,
                offset: tag.offset,
            });
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
            fields.push(FieldLayout {
                id: field.id,
                tag,
                place,
                shape,
            });
        }
        Ok(StructLayout {
            data: 0,
            pointers: 0,
            fields,
        })
    }

    fn inside(&mut self, ty: &Type, layout: &GroupLayout) -> Result<Shape, Unplaced> {
        let schema = self.schema;
        let Type::Named(id) = ty else {
            return Ok(Shape::Void);
        };
        let TypeKind::Struct(def) = &schema[*id].kind else {
            return Ok(Shape::Void);
        };
        let number = self.add();
        let group = self.group(*id, def, layout)?;
        self.put(number, group);
        Ok(Shape::Group(number))
    }

    /// The shape of a type; an error is the type that has none.
    fn shape(&mut self, field: &Field, ty: &'a Type) -> Result<Shape, &'a Type> {
        let schema = self.schema;
        let number = |bytes| Shape::Number { bytes };
        Ok(match schema.resolve(ty) {
            Type::Bool => Shape::Bit,
            Type::I8 | Type::U8 => number(1),
            Type::I16 | Type::U16 => number(2),
            Type::I32 | Type::U32 | Type::F32 | Type::Date => number(4),
            Type::I64 | Type::U64 | Type::F64 => number(8),
            Type::String | Type::Decimal => Shape::Text,
            Type::Timestamp { offset } => self.carrier(*offset),
            Type::Duration => self.carrier(false),
            Type::Bytes if field.annotations.get(capnp::ANY).is_some() => Shape::Any,
            Type::Bytes | Type::Uuid => Shape::Data,
            Type::List(element) | Type::Set(element) => {
                Shape::List(Box::new(self.shape(field, element)?))
            }
            Type::Map(key, value) => self.map(field, key, value)?,
            Type::Named(id) => match &schema[*id].kind {
                TypeKind::Enum(_) => number(2),
                TypeKind::Struct(_) if capnp::is_void(&schema[*id]) => Shape::Void,
                TypeKind::Struct(def) if def.extends.is_some() => return Err(ty),
                TypeKind::Struct(_) => Shape::Struct(self.number(*id)),
                TypeKind::Alias(_) => return Err(ty),
            },
            _ => return Err(ty),
        })
    }

    /// The shape of a field with a pointer: a number has a struct of its own.
    fn boxed(&mut self, shape: Shape) -> Shape {
        if !matches!(shape, Shape::Bit | Shape::Number { .. }) {
            return shape;
        }
        let number = self.add();
        self.put(
            number,
            StructLayout {
                data: 1,
                pointers: 0,
                fields: vec![FieldLayout {
                    id: 1,
                    tag: None,
                    place: Place::Data {
                        offset: 0,
                        default: 0,
                    },
                    shape,
                }],
            },
        );
        Shape::Boxed(number)
    }

    /// The struct that an instant or a span of time travels as.
    fn carrier(&mut self, has_offset: bool) -> Shape {
        let i32 = || Type::I32;
        let mut fields = vec![
            Field::new(1, "seconds", Type::I64),
            Field::new(2, "nanoseconds", i32()),
        ];
        fields.extend(has_offset.then(|| Field::new(3, "offset", i32())));
        let layout = capnp::parameters(self.schema, &fields);
        let places = fields.iter().zip(&layout.fields.fields);
        let fields = places.map(|(field, place)| FieldLayout {
            id: field.id,
            tag: None,
            place: of(&place.slot, field),
            shape: Shape::Number {
                bytes: if field.id == 1 { 8 } else { 4 },
            },
        });
        let carrier = StructLayout {
            data: layout.data_words,
            pointers: 0,
            fields: fields.collect(),
        };
        let number = self.add();
        self.put(number, carrier);
        Shape::Struct(number)
    }

    /// A list of entries, structs with a key and a value.
    fn map(&mut self, field: &Field, key: &'a Type, value: &'a Type) -> Result<Shape, &'a Type> {
        let entry = [
            Field::new(1, "key", key.clone()),
            Field::new(2, "value", value.clone()),
        ];
        let layout = capnp::parameters(self.schema, &entry);
        let shapes = [self.shape(field, key)?, self.shape(field, value)?];
        let fields = entry.iter().zip(&layout.fields.fields).zip(shapes);
        let fields = fields.map(|((field, place), shape)| FieldLayout {
            id: field.id,
            tag: None,
            place: of(&place.slot, field),
            shape,
        });
        let entry = StructLayout {
            data: layout.data_words,
            pointers: layout.pointers,
            fields: fields.collect(),
        };
        let number = self.add();
        self.put(number, entry);
        Ok(Shape::Map(number))
    }
}

fn of(slot: &Slot, field: &Field) -> Place {
    match slot {
        Slot::Void | Slot::Group(_) => Place::Inline,
        Slot::Pointer(index) => Place::Pointer { index: *index },
        Slot::Data { offset, .. } => Place::Data {
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

use super::{Definition, FieldPresence, FieldType, Parsed, StreamTypes, Type, TypeRemarks};
use crate::{
    Cursor, Decode, DecodeError, Encode, EncodeError, NextField, Reader, UnknownValue, Writer,
};

/// Stands in the place of text and bytes that are hidden.
pub(crate) const HIDDEN: &str = "…";

/// A message of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The parameters.
    Parameters,
    /// The result as field 0, or a declared exception.
    Reply,
    /// An item of the caller's stream as field 0.
    ClientStream,
    /// An item of the server's stream as field 0, or the exception that ends it.
    ServerStream,
}

/// The places of the sensitive fields in the messages of a method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Masks {
    /// Nobody knows where they are: all fields are hidden.
    all: bool,
    /// The structs that have sensitive fields inside.
    types: Vec<Fields>,
    params: Fields,
    reply: Fields,
    client_stream: Fields,
    server_stream: Fields,
}

/// The fields of a struct to look at; the others have nothing sensitive inside.
type Fields = Vec<(i32, Mask)>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Mask {
    /// The field itself is sensitive.
    Whole { required: bool },
    /// Values inside are.
    Inside(Shape),
}

/// The way to the structs in a value. Lists and sets are not part of it: it is that of their
/// elements.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    /// The struct with this number.
    Struct(usize),
    /// The keys and the values of a map.
    Map(Option<Box<Shape>>, Option<Box<Shape>>),
    /// Values that say more than their fields: one of several structs, a node of a graph, an array
    /// with its dimensions. They are hidden as a whole.
    Opaque(Vec<Shape>),
}

impl Masks {
    /// Returns the places of the fields that the remarks call sensitive, in the messages of a
    /// described method; `None` where there are none.
    pub fn of(method: &Parsed<'_>, remarks: &[TypeRemarks]) -> Option<Self> {
        let signature = &method.signature;
        let types = method.definitions.iter();
        let types = types.map(|definition| match definition {
            Definition::Struct(name, of) | Definition::Union(name, of) => fields(of, name, remarks),
            // Its own entry only says what it leads to.
            Definition::Family(_, members) => {
                let members = members.iter().map(|member| Shape::Struct(*member));
                vec![(0, Mask::Inside(Shape::Opaque(members.collect())))]
            }
            Definition::Enum(..) | Definition::Service(_) => Fields::new(),
        });
        let mut masks = Masks {
            all: false,
            types: types.collect(),
            params: fields(&signature.params, "", remarks),
            reply: reply(signature.result.as_ref(), &signature.exceptions),
            client_stream: stream(signature.client_stream.as_ref()),
            server_stream: stream(signature.server_stream.as_ref()),
        };
        masks.prune();
        let parts = [
            &masks.params,
            &masks.reply,
            &masks.client_stream,
            &masks.server_stream,
        ];
        let is_empty = parts.iter().all(|fields| fields.is_empty());
        (!is_empty).then_some(masks)
    }

    /// Returns masks that hide all fields: for a method with sensitive ones that is not described.
    pub fn all() -> Self {
        Masks {
            all: true,
            ..Masks::default()
        }
    }

    /// Leaves out the ways that lead to nothing.
    fn prune(&mut self) {
        let mut reach = vec![false; self.types.len()];
        loop {
            let reaches = |fields: &Fields| fields.iter().any(|(_, mask)| mask.reaches(&reach));
            let now: Vec<bool> = self.types.iter().map(reaches).collect();
            if now == reach {
                break;
            }
            reach = now;
        }
        let parts = [
            &mut self.params,
            &mut self.reply,
            &mut self.client_stream,
            &mut self.server_stream,
        ];
        for fields in parts.into_iter().chain(&mut self.types) {
            fields.retain(|(_, mask)| mask.reaches(&reach));
        }
    }

    fn fields(&self, part: Part) -> &Fields {
        match part {
            Part::Parameters => &self.params,
            Part::Reply => &self.reply,
            Part::ClientStream => &self.client_stream,
            Part::ServerStream => &self.server_stream,
        }
    }

    /// Reads a message of the method, and hides its sensitive values: text and bytes are `…`, other
    /// values are left out, or zero where the field is required.
    ///
    /// ```
    /// use dovetail_wire::description::{FieldRemarks, Masks, Part, TypeRemarks, parse};
    /// use dovetail_wire::{Encoding, Limits, message};
    ///
    /// #[derive(Default)]
    /// struct Login {
    ///     user: String,
    ///     password: String,
    /// }
    /// message!(Login { 1 user: String, 2 password: String [sensitive], });
    ///
    /// // `login(1: string user, 2: string password)`.
    /// let login = b"\x01\x05login\x00\x02\x02\x04user\x00\x0c\x04\x08password\x00\x0c\x00\x00\x00";
    /// let password = FieldRemarks { id: 2, sensitive: true, ..Default::default() };
    /// let params = TypeRemarks { name: String::new(), fields: vec![password] };
    /// let masks = Masks::of(&parse(login)?, &[params]).ok_or("nothing is sensitive")?;
    ///
    /// let sent = Login { user: "ann".into(), password: "secret".into() };
    /// let sent = Encoding::Tagged.to_bytes(&sent)?.into();
    /// let mut hidden = masks.hide(Part::Parameters);
    /// Encoding::Tagged.decode(&mut hidden, &sent, Limits::default())?;
    /// let kept: Login = Encoding::Tagged.from_bytes(&Encoding::Tagged.to_bytes(&hidden)?.into())?;
    /// assert_eq!((&*kept.user, &*kept.password), ("ann", "…"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hide(&self, part: Part) -> Hidden<'_> {
        Hidden {
            masks: self,
            part,
            message: UnknownValue::Struct(Vec::new()),
        }
    }

    fn hide_fields(&self, fields: &Fields, value: &mut UnknownValue) {
        let UnknownValue::Struct(values) = value else {
            return;
        };
        values.retain_mut(|(id, value)| {
            match fields.iter().find(|(known, _)| known == id) {
                Some((_, Mask::Whole { required })) => return hide(value, *required),
                Some((_, Mask::Inside(shape))) => self.hide_inside(shape, value),
                None => {}
            }
            true
        });
    }

    fn hide_inside(&self, shape: &Shape, value: &mut UnknownValue) {
        match (shape, value) {
            (shape, UnknownValue::List(_, items) | UnknownValue::Set(_, items)) => {
                items
                    .iter_mut()
                    .for_each(|item| self.hide_inside(shape, item));
            }
            (Shape::Struct(number), value) => {
                if let Some(fields) = self.types.get(*number) {
                    self.hide_fields(fields, value);
                }
            }
            (Shape::Map(key, item), UnknownValue::Map(_, _, entries)) => {
                for (k, v) in entries {
                    key.iter().for_each(|key| self.hide_inside(key, k));
                    item.iter().for_each(|item| self.hide_inside(item, v));
                }
            }
            (Shape::Opaque(_), value) => {
                hide(value, true);
            }
            (Shape::Map(..), _) => {}
        }
    }
}

/// Hides a value. False if it is to be left out.
fn hide(value: &mut UnknownValue, required: bool) -> bool {
    use UnknownValue::{
        Bool, Bytes, Enum, F32, F64, I8, I16, I32, I64, List, Map, Set, String, Struct, U8, U16,
        U32, U64, Uuid,
    };
    match value {
        String(text) => *text = HIDDEN.to_owned(),
        Bytes(bytes) => *bytes = crate::Bytes::from_static(HIDDEN.as_bytes()),
        _ if !required => return false,
        Bool(value) => *value = false,
        I8(value) => *value = 0,
        I16(value) => *value = 0,
        I32(value) | Enum(value) => *value = 0,
        I64(value) => *value = 0,
        U8(value) => *value = 0,
        U16(value) => *value = 0,
        U32(value) | F32(value) => *value = 0,
        U64(value) | F64(value) => *value = 0,
        Uuid(value) => *value = [0; 16],
        List(_, items) | Set(_, items) => items.clear(),
        Map(_, _, entries) => entries.clear(),
        Struct(fields) => fields.clear(),
        _ => return false,
    }
    true
}

/// A message whose sensitive values are hidden: read in one encoding that says what its fields are,
/// and written in another one, or the same.
#[derive(Debug)]
pub struct Hidden<'a> {
    masks: &'a Masks,
    part: Part,
    message: UnknownValue,
}

impl Decode for Hidden<'_> {
    fn decode<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        reader.begin_struct()?;
        let (mut fields, mut cursor) = (Vec::new(), Cursor::default());
        while let NextField::Unknown(id) = reader.next_field(&[], &mut cursor)? {
            let value = reader.unknown_value()?;
            reader.budget().room(&mut fields)?;
            fields.push((id, value));
        }
        if self.masks.all {
            fields.clear();
        }
        self.message = UnknownValue::Struct(fields);
        let fields = self.masks.fields(self.part);
        self.masks.hide_fields(fields, &mut self.message);
        Ok(())
    }
}

impl Encode for Hidden<'_> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        self.message.write(writer.as_dyn())
    }
}

impl Mask {
    fn reaches(&self, types: &[bool]) -> bool {
        match self {
            Mask::Whole { .. } => true,
            Mask::Inside(shape) => shape.reaches(types),
        }
    }
}

impl Shape {
    /// Returns whether something sensitive is behind it, by what is known of the structs.
    fn reaches(&self, types: &[bool]) -> bool {
        match self {
            Shape::Struct(number) => types.get(*number).is_some_and(|reaches| *reaches),
            Shape::Map(key, item) => {
                let mut parts = [key, item].into_iter().flatten();
                parts.any(|shape| shape.reaches(types))
            }
            Shape::Opaque(inside) => inside.iter().any(|shape| shape.reaches(types)),
        }
    }
}

/// The masks of a struct's fields.
fn fields(fields: &[FieldType<'_, usize>], name: &str, remarks: &[TypeRemarks]) -> Fields {
    let is_sensitive = |id| {
        let own = remarks.iter().filter(|remarks| remarks.name == name);
        let mut own = own.flat_map(|remarks| &remarks.fields);
        own.any(|field| field.id == id && field.sensitive)
    };
    let mask = |field: &FieldType<'_, usize>| match is_sensitive(field.id) {
        true => Some(Mask::Whole {
            required: field.presence == FieldPresence::Required,
        }),
        false => shape(&field.ty).map(Mask::Inside),
    };
    let fields = fields.iter();
    let fields = fields.filter_map(|field| Some((field.id, mask(field)?)));
    fields.collect()
}

/// The masks of a result or an item, which is field 0, and of exceptions.
fn reply(result: Option<&Type<usize>>, exceptions: &[FieldType<'_, usize>]) -> Fields {
    let mut all = fields(exceptions, "", &[]);
    let result = result.and_then(shape);
    all.extend(result.map(|shape| (0, Mask::Inside(shape))));
    all
}

fn stream(stream: Option<&StreamTypes<'_, usize>>) -> Fields {
    stream.map_or_else(Fields::new, |stream| {
        reply(Some(&stream.item), &stream.exceptions)
    })
}

/// The way to the structs in a value of this type; `None` where it has none.
fn shape(ty: &Type<usize>) -> Option<Shape> {
    Some(match ty {
        Type::Scalar(_) | Type::Logical(_) | Type::Enum(_) | Type::Object(_) => return None,
        Type::List(item) | Type::Set(item) => shape(item)?,
        // Its dimensions are a part of the value.
        Type::Array(extents, item) if extents.contains(&0) => Shape::Opaque(vec![shape(item)?]),
        Type::Array(_, item) => shape(item)?,
        Type::Map(key, item) => match (shape(key), shape(item)) {
            (None, None) => return None,
            (key, item) => Shape::Map(key.map(Box::new), item.map(Box::new)),
        },
        Type::Struct(number) => Shape::Struct(*number),
        Type::Family(number) => Shape::Opaque(vec![Shape::Struct(*number)]),
        Type::Ref(inside) => Shape::Opaque(vec![shape(inside)?]),
    })
}

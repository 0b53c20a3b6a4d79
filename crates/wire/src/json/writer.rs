use super::text::{quote, write};
use super::{RESERVED, RESULT, any, camel_case, mask};
use crate::depth::Depth;
use crate::description::HIDDEN;
use crate::{Any, AnyTypes, Dynamic, EncodeError, Field, Form, Kind, Limits, Names, WrittenNodes};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use std::fmt;

/// The separator that the next value needs before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The whole value, or a field's: nothing.
    Alone,
    /// In a list: the first element, or another.
    FirstElement,
    Element,
    /// In an object that is a map: the first key, or another.
    FirstKey,
    Key,
    /// The value behind a key.
    Value,
    /// In a list of pairs: the first pair's key, or that of another, before which a pair ends.
    FirstPair,
    Pair,
    /// The value of a pair.
    Second,
    /// No value: a struct's first field, or another.
    FirstField,
    Field,
    /// No value: the field that stands for the whole struct.
    Bare,
    /// That field has been written.
    BareEnd,
    /// No value: the field of a field mask.
    Mask,
    /// In a field mask: the first path, or another.
    FirstPath,
    Path,
}

/// Appends values in JSON to a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    depth: Depth,
    nodes: WrittenNodes,
    place: Place,
    /// The places around this one.
    outer: Vec<Place>,
    bare: bool,
    reply: bool,
    replied: Option<i32>,
    numbers: bool,
    hides: bool,
    /// The sensitive field that is being written: the number of places around it, and the place of
    /// its value in the output.
    hidden: Option<(usize, usize)>,
}

impl<'a> Writer<'a> {
    /// Appends to `out`, to which an error leaves an unfinished value appended.
    pub fn new(out: &'a mut Vec<u8>, limits: Limits) -> Self {
        Writer {
            out,
            depth: Depth::new(limits),
            nodes: WrittenNodes::default(),
            place: Place::Alone,
            outer: Vec::new(),
            bare: false,
            reply: false,
            replied: None,
            numbers: false,
            hides: false,
            hidden: None,
        }
    }

    /// Parameters and replies are the value of their one field, without an object around it: the
    /// form that they have in contracts of protobuf.
    #[must_use]
    pub fn bare(mut self, bare: bool) -> Self {
        self.bare = bare;
        self
    }

    /// Values of enums are their numbers, which every reader knows, whatever it calls them.
    #[must_use]
    pub fn numbers(mut self, numbers: bool) -> Self {
        self.numbers = numbers;
        self
    }

    /// Writes `"…"` in the place of each sensitive field's value, for display and for logs.
    #[must_use]
    pub fn hide_sensitive(mut self) -> Self {
        self.hides = true;
        self
    }

    /// Returns the id of the field that a reply has. 0 is the result, another one a declared
    /// exception.
    pub fn replied(&self) -> Option<i32> {
        self.replied
    }

    /// Writes what separates the next value from what is before it. True where the value is a key,
    /// which is text.
    fn separate(&mut self) -> bool {
        let (before, next): (&[u8], _) = match self.place {
            Place::FirstElement => (b"", Place::Element),
            Place::Element => (b",", Place::Element),
            Place::FirstPath => (b"", Place::Path),
            Place::Path => (b",", Place::Path),
            Place::FirstKey => (b"", Place::Value),
            Place::Key => (b",", Place::Value),
            Place::Value => (b":", Place::Key),
            Place::FirstPair => (b"[", Place::Second),
            Place::Pair => (b"],[", Place::Second),
            Place::Second => (b",", Place::Pair),
            place => (b"", place),
        };
        let key = matches!(self.place, Place::FirstKey | Place::Key);
        self.out.extend_from_slice(before);
        self.place = next;
        key
    }

    fn enter(&mut self, place: Place) -> Result<(), EncodeError> {
        self.depth.enter()?;
        self.outer.push(self.place);
        self.place = place;
        Ok(())
    }

    fn leave(&mut self) {
        self.depth.leave();
        self.place = self.outer.pop().unwrap_or(Place::Alone);
    }

    /// A number or truth value, which has quotes where it is a key, or where `quoted` wants them.
    fn scalar(&mut self, value: impl fmt::Display, quoted: bool) -> Result<(), EncodeError> {
        let quote = if self.separate() || quoted { "\"" } else { "" };
        write(self.out, format_args!("{quote}{value}{quote}"))
    }

    fn float(&mut self, wide: f64, shortest: &dyn fmt::Debug) -> Result<(), EncodeError> {
        match wide {
            f64::INFINITY => self.scalar("Infinity", true),
            f64::NEG_INFINITY => self.scalar("-Infinity", true),
            wide if wide.is_nan() => self.scalar("NaN", true),
            // The debug form has an exponent where that is shorter, and always enough digits.
            _ => self.scalar(format_args!("{shortest:?}"), false),
        }
    }

    /// Begins what is around parameters, or a reply.
    fn begin_call(&mut self) -> Result<(), EncodeError> {
        use crate::Writer as _;
        match self.bare {
            true => self.enter(Place::Bare),
            false => self.begin_struct(),
        }
    }

    fn name(&mut self, field: &Field<'_>) -> Result<(), EncodeError> {
        if let Some((_, name)) = RESERVED.iter().find(|(id, _)| *id == field.id) {
            quote(name, self.out);
        } else if self.reply && field.id == 0 && self.outer.len() == 1 {
            quote(RESULT, self.out);
        } else if let Some(name) = field.json {
            quote(name, self.out);
        } else if field.name.contains('_') {
            let name: String = camel_case(field.name).collect();
            quote(&name, self.out);
        } else {
            quote(field.name, self.out);
        }
        Ok(())
    }

    /// A path of a field mask, in which there is nothing to escape but by accident.
    fn path(&mut self, path: &str) -> Result<(), EncodeError> {
        let text = mask::from_path(path).filter(|text| !text.contains(['"', '\\', ',']));
        let text = text.ok_or(EncodeError::Unsupported {
            what: "a path of a field mask that is not in `lower_snake_case`, in JSON",
        })?;
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    /// A value of any shape; what a newer peer sent in another encoding is nothing here.
    fn any(&mut self, value: &Dynamic) -> Result<(), EncodeError> {
        use crate::Writer as _;
        match value {
            Dynamic::Null(_) | Dynamic::Unknown(_) => self.scalar("null", false),
            Dynamic::Double(value) if !value.is_finite() => Err(EncodeError::Unsupported {
                what: "an infinite number or NaN in a dynamic value, in JSON",
            }),
            Dynamic::Double(value) => self.f64(*value),
            Dynamic::String(value) => self.string(value),
            Dynamic::Bool(value) => self.bool(*value),
            // As a number: nobody else says that it is one.
            Dynamic::Int(value) => self.scalar(value, false),
            Dynamic::UInt(value) => self.scalar(value, false),
            Dynamic::Bytes(value) => self.bytes(value),
            Dynamic::Uuid(value) => self.uuid(value.as_bytes()),
            Dynamic::List(list) => {
                self.begin_list(Kind::Struct, list.len())?;
                list.iter().try_for_each(|item| self.any(item))?;
                self.end_list()
            }
            Dynamic::Map(map) => {
                self.begin_map(Kind::String, Kind::Struct, map.len())?;
                for (name, value) in map.iter() {
                    self.string(name)?;
                    self.any(value)?;
                }
                self.end_map()
            }
        }
    }
}

impl crate::Writer for Writer<'_> {
    fn nodes(&mut self) -> Result<&mut WrittenNodes, EncodeError> {
        Ok(&mut self.nodes)
    }

    fn bool(&mut self, value: bool) -> Result<(), EncodeError> {
        self.scalar(value, false)
    }

    fn i8(&mut self, value: i8) -> Result<(), EncodeError> {
        self.scalar(value, false)
    }

    fn i16(&mut self, value: i16) -> Result<(), EncodeError> {
        self.scalar(value, false)
    }

    fn i32(&mut self, value: i32) -> Result<(), EncodeError> {
        self.scalar(value, false)
    }

    fn i64(&mut self, value: i64) -> Result<(), EncodeError> {
        self.scalar(value, true)
    }

    fn u8(&mut self, value: u8) -> Result<(), EncodeError> {
        self.scalar(value, false)
    }

    fn u16(&mut self, value: u16) -> Result<(), EncodeError> {
        self.scalar(value, false)
    }

    fn u32(&mut self, value: u32) -> Result<(), EncodeError> {
        self.scalar(value, false)
    }

    fn u64(&mut self, value: u64) -> Result<(), EncodeError> {
        self.scalar(value, true)
    }

    fn f32(&mut self, value: f32) -> Result<(), EncodeError> {
        let wide = f64::from(value);
        match value.abs() == f32::MAX {
            // As a double its shortest form is larger than it, for which protobuf's library for
            // Python refuses it.
            true => self.float(wide, &wide),
            false => self.float(wide, &value),
        }
    }

    fn f64(&mut self, value: f64) -> Result<(), EncodeError> {
        self.float(value, &value)
    }

    fn string(&mut self, value: &str) -> Result<(), EncodeError> {
        self.separate();
        if self.place == Place::Path {
            return self.path(value);
        }
        quote(value, self.out);
        Ok(())
    }

    fn bytes(&mut self, value: &Bytes) -> Result<(), EncodeError> {
        self.scalar(BASE64_STANDARD.encode(value), true)
    }

    /// As text where it is text: of the fields that are kept here, none is bytes.
    fn unknown_bytes(&mut self, value: &Bytes) -> Result<(), EncodeError> {
        match simdutf8::basic::from_utf8(value) {
            Ok(text) => self.string(text),
            Err(_) => self.bytes(value),
        }
    }

    fn uuid(&mut self, value: &[u8; 16]) -> Result<(), EncodeError> {
        self.scalar(uuid::Uuid::from_bytes(*value).hyphenated(), true)
    }

    fn enumeration(&mut self, value: i32, names: &dyn Names) -> Result<(), EncodeError> {
        match names.name(value) {
            Some(_) if names.is_null() => self.scalar("null", false),
            Some(name) if !self.numbers => self.string(name),
            _ => self.i32(value),
        }
    }

    fn as_text(&mut self, value: &dyn fmt::Display) -> Result<bool, EncodeError> {
        self.scalar(value, true).map(|()| true)
    }

    fn dynamic(&mut self, value: &Dynamic) -> Result<bool, EncodeError> {
        self.any(value).map(|()| true)
    }

    fn any_message(&mut self, value: &Any, types: &dyn AnyTypes) -> Result<bool, EncodeError> {
        if *value == Any::default() {
            self.begin_struct()?;
            return self.end_struct().map(|()| true);
        }
        // Protobuf's libraries, for which this is, have no other encoding.
        let own = types
            .has_own_form(value.name())
            .filter(|_| value.encoding == 0);
        let Some(own) = own else {
            return Ok(false);
        };
        self.depth.enter()?;
        let message = types.to_json(value, self.depth.left())?;
        self.depth.leave();
        self.separate();
        any::write(&value.type_name, &message, own, self.out);
        Ok(true)
    }

    fn begin_list(&mut self, _: Kind, _: usize) -> Result<(), EncodeError> {
        if self.place == Place::Mask {
            return self.enter(Place::FirstPath);
        }
        self.separate();
        self.enter(Place::FirstElement)?;
        self.out.push(b'[');
        Ok(())
    }

    fn end_list(&mut self) -> Result<(), EncodeError> {
        if !matches!(self.place, Place::FirstPath | Place::Path) {
            self.out.push(b']');
        }
        self.leave();
        Ok(())
    }

    /// An object, or a list of pairs where keys are no text.
    fn begin_map(&mut self, key: Kind, _: Kind, _: usize) -> Result<(), EncodeError> {
        self.separate();
        let (place, begin) = match key {
            Kind::Struct | Kind::List | Kind::Set | Kind::Map | Kind::Object => {
                (Place::FirstPair, b'[')
            }
            _ => (Place::FirstKey, b'{'),
        };
        self.enter(place)?;
        self.out.push(begin);
        Ok(())
    }

    fn end_map(&mut self) -> Result<(), EncodeError> {
        self.out.extend_from_slice(match self.place {
            Place::FirstPair => b"]",
            Place::Pair => b"]]",
            _ => b"}",
        });
        self.leave();
        Ok(())
    }

    fn begin_struct(&mut self) -> Result<(), EncodeError> {
        self.separate();
        self.enter(Place::FirstField)?;
        self.out.push(b'{');
        Ok(())
    }

    fn begin_message(&mut self, form: Form) -> Result<(), EncodeError> {
        match form {
            Form::Fields => return self.begin_struct(),
            Form::Bare => {
                self.separate();
                self.enter(Place::Bare)?;
            }
            Form::Mask => {
                self.separate();
                self.enter(Place::Mask)?;
                self.out.push(b'"');
            }
        }
        Ok(())
    }

    fn leaves_out_defaults(&self) -> bool {
        self.place != Place::Bare
    }

    fn begin_params(&mut self, _: &[Field<'_>]) -> Result<(), EncodeError> {
        self.begin_call()
    }

    fn begin_reply(&mut self) -> Result<(), EncodeError> {
        self.reply = true;
        self.begin_call()
    }

    fn begin_field(&mut self, field: &Field<'_>) -> Result<(), EncodeError> {
        if self.reply && self.outer.len() == 1 {
            self.replied = Some(field.id);
        }
        match self.place {
            Place::Bare | Place::Mask => {}
            place => {
                if place == Place::Field {
                    self.out.push(b',');
                }
                self.name(field)?;
                self.out.push(b':');
            }
        }
        // Back to this after the field; not a level of the value, so no depth.
        let (inside, behind) = match self.place {
            Place::Bare => (Place::Alone, Place::BareEnd),
            Place::Mask => (Place::Mask, Place::Mask),
            _ => (Place::Alone, Place::Field),
        };
        self.outer.push(behind);
        self.place = inside;
        if self.hides && field.sensitive && self.hidden.is_none() {
            self.hidden = Some((self.outer.len(), self.out.len()));
        }
        Ok(())
    }

    fn end_field(&mut self) -> Result<(), EncodeError> {
        if let Some((_, start)) = self.hidden.take_if(|(depth, _)| *depth == self.outer.len()) {
            self.out.truncate(start);
            quote(HIDDEN, self.out);
        }
        self.place = self.outer.pop().unwrap_or(Place::Field);
        Ok(())
    }

    fn end_struct(&mut self) -> Result<(), EncodeError> {
        let end: &[u8] = match self.place {
            // Its field has no value.
            Place::Bare if !self.outer.is_empty() => b"null",
            Place::Bare | Place::BareEnd => b"",
            Place::Mask => b"\"",
            _ => b"}",
        };
        self.out.extend_from_slice(end);
        self.leave();
        Ok(())
    }

    /// Fields that the contract does not have have no name, but for those that say more about a
    /// struct.
    fn has_id(&self, id: i32) -> bool {
        RESERVED.iter().any(|(reserved, _)| *reserved == id)
    }

    fn as_dyn(&mut self) -> &mut dyn crate::Writer {
        self
    }
}

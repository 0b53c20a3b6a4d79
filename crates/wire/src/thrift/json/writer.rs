use super::{BASE64, type_name};
use crate::depth::Depth;
use crate::json::text::{quote, write};
use crate::thrift::{field_id, length};
use crate::{EncodeError, Field, Kind, Limits, WrittenNodes};
use base64::Engine as _;
use bytes::Bytes;

/// The separator that the next value needs before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The whole value, or a field's: nothing.
    Alone,
    /// An element: the count or another element is before it.
    Element,
    /// A map's first key.
    FirstKey,
    /// A key after an entry.
    Key,
    /// A value after its key.
    Value,
    /// No value: a struct's first field.
    FirstField,
    /// No value: a field after another.
    Field,
}

/// Appends values in Thrift JSON to a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    depth: Depth,
    nodes: WrittenNodes,
    place: Place,
    /// The places around this one.
    outer: Vec<Place>,
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
        }
    }

    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Writes what separates the next value from what is before it. True where the value is a key.
    fn separate(&mut self) -> bool {
        match self.place {
            Place::Element => self.out.push(b','),
            Place::FirstKey => {
                self.place = Place::Value;
                return true;
            }
            Place::Key => {
                self.out.push(b',');
                self.place = Place::Value;
                return true;
            }
            Place::Value => {
                self.out.push(b':');
                self.place = Place::Key;
            }
            Place::Alone | Place::FirstField | Place::Field => {}
        }
        false
    }

    fn number(&mut self, value: i64) -> Result<(), EncodeError> {
        let quote = if self.separate() { "\"" } else { "" };
        write(self.out, format_args!("{quote}{value}{quote}"))
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
}

impl crate::Writer for Writer<'_> {
    fn nodes(&mut self) -> Result<&mut WrittenNodes, EncodeError> {
        Ok(&mut self.nodes)
    }

    fn bool(&mut self, value: bool) -> Result<(), EncodeError> {
        self.number(value.into())
    }

    fn i8(&mut self, value: i8) -> Result<(), EncodeError> {
        self.number(value.into())
    }

    fn i16(&mut self, value: i16) -> Result<(), EncodeError> {
        self.number(value.into())
    }

    fn i32(&mut self, value: i32) -> Result<(), EncodeError> {
        self.number(value.into())
    }

    fn i64(&mut self, value: i64) -> Result<(), EncodeError> {
        self.number(value)
    }

    fn f64(&mut self, value: f64) -> Result<(), EncodeError> {
        let key = self.separate();
        let quote = if key || !value.is_finite() { "\"" } else { "" };
        match value {
            f64::INFINITY => self.text("\"Infinity\""),
            f64::NEG_INFINITY => self.text("\"-Infinity\""),
            value if value.is_nan() => self.text("\"NaN\""),
            // The debug form has an exponent where that is shorter, and always enough digits.
            value => return write(self.out, format_args!("{quote}{value:?}{quote}")),
        }
        Ok(())
    }

    fn string(&mut self, value: &str) -> Result<(), EncodeError> {
        length(value.len())?;
        self.separate();
        quote(value, self.out);
        Ok(())
    }

    fn bytes(&mut self, value: &Bytes) -> Result<(), EncodeError> {
        length(value.len())?;
        self.separate();
        let text = BASE64.encode(value);
        self.out.reserve(text.len() + 2);
        self.out.push(b'"');
        self.text(&text);
        self.out.push(b'"');
        Ok(())
    }

    /// As text where it is text: Thrift's other wires do not say which it was, and this one writes
    /// the two differently without saying so either.
    fn unknown_bytes(&mut self, value: &Bytes) -> Result<(), EncodeError> {
        match simdutf8::basic::from_utf8(value) {
            Ok(text) => self.string(text),
            Err(_) => self.bytes(value),
        }
    }

    fn uuid(&mut self, value: &[u8; 16]) -> Result<(), EncodeError> {
        self.separate();
        let uuid = uuid::Uuid::from_bytes(*value);
        write(self.out, format_args!("\"{}\"", uuid.hyphenated()))
    }

    fn begin_list(&mut self, element: Kind, len: usize) -> Result<(), EncodeError> {
        let len = length(len)?;
        self.separate();
        self.enter(Place::Element)?;
        write(self.out, format_args!("[\"{}\",{len}", type_name(element)))
    }

    fn end_list(&mut self) -> Result<(), EncodeError> {
        self.out.push(b']');
        self.leave();
        Ok(())
    }

    fn begin_map(&mut self, key: Kind, value: Kind, len: usize) -> Result<(), EncodeError> {
        let len = length(len)?;
        self.separate();
        self.enter(Place::FirstKey)?;
        let (key, value) = (type_name(key), type_name(value));
        write(self.out, format_args!("[\"{key}\",\"{value}\",{len},{{"))
    }

    fn end_map(&mut self) -> Result<(), EncodeError> {
        self.text("}]");
        self.leave();
        Ok(())
    }

    fn begin_struct(&mut self) -> Result<(), EncodeError> {
        self.separate();
        self.enter(Place::FirstField)?;
        self.out.push(b'{');
        Ok(())
    }

    fn begin_field(&mut self, field: &Field<'_>) -> Result<(), EncodeError> {
        let id = field_id(field.id)?;
        if self.place == Place::Field {
            self.out.push(b',');
        }
        // Back to this after the field; not a level of the value, so no depth.
        self.outer.push(Place::Field);
        self.place = Place::Alone;
        write(
            self.out,
            format_args!("\"{id}\":{{\"{}\":", type_name(field.kind)),
        )
    }

    fn end_field(&mut self) -> Result<(), EncodeError> {
        self.out.push(b'}');
        self.place = self.outer.pop().unwrap_or(Place::Field);
        Ok(())
    }

    fn end_struct(&mut self) -> Result<(), EncodeError> {
        self.out.push(b'}');
        self.leave();
        Ok(())
    }

    fn has_id(&self, id: i32) -> bool {
        i16::try_from(id).is_ok()
    }

    fn as_dyn(&mut self) -> &mut dyn crate::Writer {
        self
    }
}

use super::head::put;
use super::{LAST_PLACE, TIMESTAMP, reader};
use crate::depth::Depth;
use crate::{Dynamic, EncodeError, Field, Kind, Limits, UnknownValue, WrittenNodes};
use bytes::Bytes;

/// The form in which structs are written. Both are read, whatever is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Structs {
    /// Arrays, as `MSGPACK_DEFINE` and `MSGPACK_DEFINE_ARRAY` make them in C++. The default.
    #[default]
    Arrays,
    /// Maps from the fields' names, as `MSGPACK_DEFINE_MAP` makes them, and most libraries of other
    /// languages. Fields that are absent, or that this end's contract does not have, are left out.
    Maps,
}

/// Appends values in MessagePack to a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    structs: Structs,
    limits: Limits,
    depth: Depth,
    nodes: WrittenNodes,
    frame: Frame,
    /// Those of the structs around this one.
    outer: Vec<Frame>,
}

/// A struct that is being written.
#[derive(Debug, Default)]
struct Frame {
    form: Form,
    /// The place of its head.
    start: usize,
    /// Elements or entries so far.
    count: u32,
    /// The ids of parameters in order; empty where they are 1, 2, 3 and so on.
    ids: Vec<i32>,
}

/// The form in which a struct is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Form {
    /// An array, in which each field has the place of its id.
    #[default]
    Array,
    /// A map from id to value.
    Map,
    /// A map from name to value.
    Named,
    /// An array, in which each parameter has its place.
    Params,
    /// An error and a result.
    Reply,
}

impl<'a> Writer<'a> {
    /// Appends to `out`, to which an error leaves an unfinished value appended.
    pub fn new(out: &'a mut Vec<u8>, limits: Limits) -> Self {
        Writer {
            out,
            structs: Structs::default(),
            limits,
            depth: Depth::new(limits),
            nodes: WrittenNodes::default(),
            frame: Frame::default(),
            outer: Vec::new(),
        }
    }

    /// Chooses what structs are written as.
    #[must_use]
    pub fn structs(mut self, structs: Structs) -> Self {
        self.structs = structs;
        self
    }

    fn enter(&mut self, form: Form) -> Result<(), EncodeError> {
        self.depth.enter()?;
        let frame = Frame {
            form,
            start: self.out.len(),
            ..Frame::default()
        };
        self.outer.push(std::mem::replace(&mut self.frame, frame));
        Ok(())
    }

    /// Counts an element or entry; the head grows with the number.
    fn element(&mut self) {
        self.frame.count += 1;
        if matches!(self.frame.count, 0x10 | 0x1_0000) {
            let behind = self.frame.start + 1;
            self.out.splice(behind..behind, [0, 0]);
        }
    }

    /// Writes `nil` for what is absent before the element of this number, counted from 1.
    fn pad(&mut self, place: u32) {
        while self.frame.count + 1 < place {
            self.element();
            put::nil(self.out);
        }
    }

    fn key(&mut self, id: i32) {
        self.element();
        put::signed(self.out, id.into());
    }

    /// The array begun becomes a map, for a field that has no place behind those that are there.
    fn turn_into_map(&mut self) -> Result<(), EncodeError> {
        let old = self.out.split_off(self.frame.start);
        let places = std::mem::take(&mut self.frame.count);
        let head = if places < 0x10 { 1 } else { 3 };
        let mut rest = old.get(head..).unwrap_or_default();
        self.frame.form = Form::Map;
        self.out.push(0);
        for place in 1..=places {
            let (value, behind) = reader::split_value(rest, self.limits)?;
            if value != [0xc0] {
                self.key(place as i32);
                self.out.extend_from_slice(value);
            }
            rest = behind;
        }
        Ok(())
    }

    /// Writes the head of the struct, now that its length is known.
    fn finish(&mut self) {
        let mut head = Vec::new();
        match self.frame.form {
            Form::Map | Form::Named => put::map(&mut head, self.frame.count),
            _ => put::array(&mut head, self.frame.count),
        }
        let start = self.frame.start;
        if let Some(room) = self.out.get_mut(start..start + head.len()) {
            room.copy_from_slice(&head);
        }
    }

    fn map(&mut self, len: usize) -> Result<(), EncodeError> {
        self.depth.enter()?;
        put::map(self.out, length(len)?);
        Ok(())
    }

    /// A value of any shape in the form that it has here; what a newer peer sent in another
    /// encoding is nothing here.
    fn any(&mut self, value: &Dynamic) -> Result<(), EncodeError> {
        use crate::Writer as _;
        match value {
            Dynamic::Null(_) | Dynamic::Unknown(_) => put::nil(self.out),
            Dynamic::Double(value) => put::f64(self.out, *value),
            Dynamic::String(value) => self.string(value)?,
            Dynamic::Bool(value) => put::bool(self.out, *value),
            Dynamic::Int(value) => put::signed(self.out, *value),
            Dynamic::UInt(value) => put::unsigned(self.out, *value),
            Dynamic::Bytes(value) => self.bytes(value)?,
            Dynamic::Uuid(value) => put::bin(self.out, value.as_bytes()),
            Dynamic::List(list) => {
                self.begin_list(Kind::Struct, list.len())?;
                list.iter().try_for_each(|item| self.any(item))?;
                self.depth.leave();
            }
            Dynamic::Map(map) => {
                self.map(map.len())?;
                for (name, value) in map.iter() {
                    self.string(name)?;
                    self.any(value)?;
                }
                self.depth.leave();
            }
        }
        Ok(())
    }
}

fn length(len: usize) -> Result<u32, EncodeError> {
    u32::try_from(len).map_err(|_| EncodeError::TooLong { length: len })
}

impl crate::Writer for Writer<'_> {
    fn nodes(&mut self) -> Result<&mut WrittenNodes, EncodeError> {
        Ok(&mut self.nodes)
    }

    fn bool(&mut self, value: bool) -> Result<(), EncodeError> {
        put::bool(self.out, value);
        Ok(())
    }

    fn i8(&mut self, value: i8) -> Result<(), EncodeError> {
        self.i64(value.into())
    }

    fn i16(&mut self, value: i16) -> Result<(), EncodeError> {
        self.i64(value.into())
    }

    fn i32(&mut self, value: i32) -> Result<(), EncodeError> {
        self.i64(value.into())
    }

    fn i64(&mut self, value: i64) -> Result<(), EncodeError> {
        put::signed(self.out, value);
        Ok(())
    }

    fn u8(&mut self, value: u8) -> Result<(), EncodeError> {
        self.u64(value.into())
    }

    fn u16(&mut self, value: u16) -> Result<(), EncodeError> {
        self.u64(value.into())
    }

    fn u32(&mut self, value: u32) -> Result<(), EncodeError> {
        self.u64(value.into())
    }

    fn u64(&mut self, value: u64) -> Result<(), EncodeError> {
        put::unsigned(self.out, value);
        Ok(())
    }

    fn f32(&mut self, value: f32) -> Result<(), EncodeError> {
        put::f32(self.out, value);
        Ok(())
    }

    fn f64(&mut self, value: f64) -> Result<(), EncodeError> {
        put::f64(self.out, value);
        Ok(())
    }

    fn string(&mut self, value: &str) -> Result<(), EncodeError> {
        length(value.len())?;
        put::str(self.out, value);
        Ok(())
    }

    fn bytes(&mut self, value: &Bytes) -> Result<(), EncodeError> {
        length(value.len())?;
        put::bin(self.out, value);
        Ok(())
    }

    /// As text where it is text, as Thrift JSON does.
    fn unknown_bytes(&mut self, value: &Bytes) -> Result<(), EncodeError> {
        match simdutf8::basic::from_utf8(value) {
            Ok(text) => self.string(text),
            Err(_) => self.bytes(value),
        }
    }

    fn uuid(&mut self, value: &[u8; 16]) -> Result<(), EncodeError> {
        put::bin(self.out, value);
        Ok(())
    }

    fn timestamp(&mut self, seconds: i64, nanos: u32) -> Result<bool, EncodeError> {
        let kind = TIMESTAMP.cast_unsigned();
        match (u64::try_from(seconds), u32::try_from(seconds)) {
            (_, Ok(seconds)) if nanos == 0 => {
                self.out.extend([0xd6, kind]);
                self.out.extend(seconds.to_be_bytes());
            }
            (Ok(seconds), _) if seconds < 1 << 34 => {
                self.out.extend([0xd7, kind]);
                self.out
                    .extend((u64::from(nanos) << 34 | seconds).to_be_bytes());
            }
            _ => {
                self.out.extend([0xc7, 12, kind]);
                self.out.extend(nanos.to_be_bytes());
                self.out.extend(seconds.to_be_bytes());
            }
        }
        Ok(true)
    }

    fn dynamic(&mut self, value: &Dynamic) -> Result<bool, EncodeError> {
        self.any(value).map(|()| true)
    }

    fn begin_list(&mut self, _: Kind, len: usize) -> Result<(), EncodeError> {
        self.depth.enter()?;
        put::array(self.out, length(len)?);
        self.out.reserve(len);
        Ok(())
    }

    fn end_list(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        Ok(())
    }

    fn begin_map(&mut self, _: Kind, _: Kind, len: usize) -> Result<(), EncodeError> {
        self.map(len)
    }

    fn end_map(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        Ok(())
    }

    fn begin_struct(&mut self) -> Result<(), EncodeError> {
        self.enter(match self.structs {
            Structs::Arrays => Form::Array,
            Structs::Maps => Form::Named,
        })?;
        self.out.push(0);
        Ok(())
    }

    fn begin_params(&mut self, fields: &[Field<'_>]) -> Result<(), EncodeError> {
        self.enter(Form::Params)?;
        let len = length(fields.len())?;
        put::array(self.out, len);
        self.frame.ids.extend(fields.iter().map(|field| field.id));
        Ok(())
    }

    fn begin_reply(&mut self) -> Result<(), EncodeError> {
        self.enter(Form::Reply)
    }

    fn begin_field(&mut self, field: &Field<'_>) -> Result<(), EncodeError> {
        let id = field.id;
        match self.frame.form {
            Form::Array => match u32::try_from(id) {
                Ok(place) if place > self.frame.count && id <= LAST_PLACE => {
                    self.pad(place);
                    self.element();
                }
                _ => {
                    self.turn_into_map()?;
                    self.key(id);
                }
            },
            // A remark of a struct about itself has an id alone.
            Form::Named if !field.name.is_empty() => {
                self.element();
                self.string(field.name)?;
            }
            Form::Map | Form::Named => self.key(id),
            Form::Params => {
                let mut later = self.frame.ids.iter().skip(self.frame.count as usize);
                let ahead = later.position(|known| *known == id).unwrap_or(0);
                for _ in 0..ahead {
                    put::nil(self.out);
                }
                self.frame.count += ahead as u32 + 1;
            }
            Form::Reply if id == 0 => {
                put::nil(self.out);
                self.frame.count = 2;
            }
            Form::Reply => {
                put::map(self.out, 1);
                self.string(field.name)?;
                self.frame.count = 1;
            }
        }
        Ok(())
    }

    fn end_field(&mut self) -> Result<(), EncodeError> {
        if (self.frame.form, self.frame.count) == (Form::Reply, 1) {
            put::nil(self.out);
            self.frame.count = 2;
        }
        Ok(())
    }

    fn end_struct(&mut self) -> Result<(), EncodeError> {
        let whole = match self.frame.form {
            Form::Array | Form::Map | Form::Named => {
                self.finish();
                self.frame.count as usize
            }
            Form::Params => self.frame.ids.len(),
            Form::Reply => 2,
        };
        for _ in self.frame.count as usize..whole {
            put::nil(self.out);
        }
        self.frame = self.outer.pop().unwrap_or_default();
        self.depth.leave();
        Ok(())
    }

    /// Fields kept from MessagePack leave as they came.
    fn unknown_field(&mut self, id: i32, value: &UnknownValue) -> Result<(), EncodeError> {
        if self.frame.form == Form::Named {
            // A reader of names may understand nothing else.
            return Ok(());
        }
        if let UnknownValue::Msgpack(bytes) = value {
            self.begin_field(&Field::new(id, "", Kind::Struct))?;
            self.out.extend_from_slice(bytes);
            return self.end_field();
        }
        let Some(kind) = value.kind() else {
            return Ok(());
        };
        self.begin_field(&Field::new(id, "", kind))?;
        value.write(self)?;
        self.end_field()
    }

    fn as_dyn(&mut self) -> &mut dyn crate::Writer {
        self
    }
}

//! Values as `interop/golden/values.json` describes them: a writer that is no encoding at all.
#![allow(dead_code)]

use dovetail_wire::{Bytes, EncodeError, Field, Kind, Uuid, Value, Writer};
use serde_json::{Value as Json, json};

/// The description of a value.
pub(crate) fn value<T: Value>(value: &T) -> Json {
    let mut writer = Describe::default();
    value.write(&mut writer).unwrap();
    writer.done.unwrap()
}

pub(crate) fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] * 16 + pair[1]) as u8)
        .collect()
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Default)]
struct Describe {
    open: Vec<Open>,
    done: Option<Json>,
}

enum Open {
    List(Vec<Json>),
    Map(Vec<Json>),
    Struct(serde_json::Map<String, Json>),
    Field(String),
}

impl Describe {
    fn put(&mut self, value: Json) -> Result<(), EncodeError> {
        match self.open.last_mut() {
            None => self.done = Some(value),
            Some(Open::List(items) | Open::Map(items)) => items.push(value),
            Some(Open::Struct(_)) => panic!("a value without a field"),
            Some(Open::Field(_)) => {
                let Some(Open::Field(name)) = self.open.pop() else {
                    unreachable!()
                };
                let Some(Open::Struct(fields)) = self.open.last_mut() else {
                    unreachable!()
                };
                fields.insert(name, value);
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), EncodeError> {
        let value = match self.open.pop().unwrap() {
            Open::List(items) => Json::Array(items),
            Open::Map(items) => items
                .chunks(2)
                .map(|pair| json!([pair[0], pair[1]]))
                .collect(),
            Open::Struct(fields) => Json::Object(fields),
            Open::Field(_) => panic!("a field without a value"),
        };
        self.put(value)
    }
}

impl Writer for Describe {
    fn bool(&mut self, value: bool) -> Result<(), EncodeError> {
        self.put(value.into())
    }
    fn i8(&mut self, value: i8) -> Result<(), EncodeError> {
        self.put(value.into())
    }
    fn i16(&mut self, value: i16) -> Result<(), EncodeError> {
        self.put(value.into())
    }
    fn i32(&mut self, value: i32) -> Result<(), EncodeError> {
        self.put(value.into())
    }
    fn i64(&mut self, value: i64) -> Result<(), EncodeError> {
        self.put(value.into())
    }
    fn f64(&mut self, value: f64) -> Result<(), EncodeError> {
        self.put(match value {
            f64::INFINITY => "Infinity".into(),
            f64::NEG_INFINITY => "-Infinity".into(),
            value if value.is_nan() => "NaN".into(),
            value if value == 0.0 && value.is_sign_negative() => "-0.0".into(),
            value => value.into(),
        })
    }
    fn string(&mut self, value: &str) -> Result<(), EncodeError> {
        self.put(value.into())
    }
    fn bytes(&mut self, value: &Bytes) -> Result<(), EncodeError> {
        self.put(to_hex(value).into())
    }
    fn uuid(&mut self, value: &[u8; 16]) -> Result<(), EncodeError> {
        self.put(Uuid::from_bytes(*value).to_string().into())
    }
    fn begin_list(&mut self, _: Kind, _: usize) -> Result<(), EncodeError> {
        self.open.push(Open::List(Vec::new()));
        Ok(())
    }
    fn end_list(&mut self) -> Result<(), EncodeError> {
        self.close()
    }
    fn begin_map(&mut self, _: Kind, _: Kind, _: usize) -> Result<(), EncodeError> {
        self.open.push(Open::Map(Vec::new()));
        Ok(())
    }
    fn end_map(&mut self) -> Result<(), EncodeError> {
        self.close()
    }
    fn begin_struct(&mut self) -> Result<(), EncodeError> {
        self.open.push(Open::Struct(serde_json::Map::new()));
        Ok(())
    }
    fn begin_field(&mut self, field: &Field<'_>) -> Result<(), EncodeError> {
        self.open.push(Open::Field(field.name.to_owned()));
        Ok(())
    }
    fn end_field(&mut self) -> Result<(), EncodeError> {
        Ok(())
    }
    fn end_struct(&mut self) -> Result<(), EncodeError> {
        self.close()
    }
    fn as_dyn(&mut self) -> &mut dyn Writer {
        self
    }
}

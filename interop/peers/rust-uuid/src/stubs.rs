//! The types and the processor of uuid.thrift, by hand.

use std::collections::{BTreeMap, BTreeSet};

use thrift::protocol::{
    TFieldIdentifier, TInputProtocol, TListIdentifier, TMapIdentifier, TMessageIdentifier, TMessageType,
    TOutputProtocol, TSetIdentifier, TStructIdentifier, TType,
};
use thrift::server::{handle_process_result, TProcessor};
use thrift::{ApplicationError, ApplicationErrorKind, ProtocolError, ProtocolErrorKind};
use uuid::Uuid;

/// The struct of that name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Uuids {
    pub single: Uuid,
    pub many: Vec<Uuid>,
    pub pairs: BTreeMap<Uuid, Uuid>,
    pub distinct: BTreeSet<Uuid>,
    pub last: String,
}

/// A parameter or result of a method.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Nothing,
    One(Uuid),
    Many(Vec<Uuid>),
    Struct(Uuids),
}

pub fn known() -> Vec<Uuid> {
    vec![
        Uuid::nil(),
        Uuid::from_u128(0x00112233445566778899aabbccddeeff),
        Uuid::max(),
    ]
}

/// Described in golden/uuid.json.
pub fn example() -> Uuids {
    let known = known();
    Uuids {
        single: known[1],
        pairs: BTreeMap::from([(known[1], known[2])]),
        distinct: BTreeSet::from([known[2]]),
        many: known,
        last: "end".into(),
    }
}

fn bad<T>(message: String) -> thrift::Result<T> {
    Err(ProtocolError::new(ProtocolErrorKind::InvalidData, message).into())
}

impl Uuids {
    pub fn write(&self, out: &mut dyn TOutputProtocol) -> thrift::Result<()> {
        out.write_struct_begin(&TStructIdentifier::new("Uuids"))?;
        out.write_field_begin(&TFieldIdentifier::new("single", TType::Uuid, 1))?;
        out.write_uuid(&self.single)?;
        out.write_field_end()?;
        out.write_field_begin(&TFieldIdentifier::new("many", TType::List, 2))?;
        write_list(&self.many, out)?;
        out.write_field_end()?;
        out.write_field_begin(&TFieldIdentifier::new("pairs", TType::Map, 3))?;
        out.write_map_begin(&TMapIdentifier::new(
            TType::Uuid,
            TType::Uuid,
            self.pairs.len() as i32,
        ))?;
        for (key, value) in &self.pairs {
            out.write_uuid(key)?;
            out.write_uuid(value)?;
        }
        out.write_map_end()?;
        out.write_field_end()?;
        out.write_field_begin(&TFieldIdentifier::new("distinct", TType::Set, 4))?;
        out.write_set_begin(&TSetIdentifier::new(TType::Uuid, self.distinct.len() as i32))?;
        for value in &self.distinct {
            out.write_uuid(value)?;
        }
        out.write_set_end()?;
        out.write_field_end()?;
        out.write_field_begin(&TFieldIdentifier::new("last", TType::String, 5))?;
        out.write_string(&self.last)?;
        out.write_field_end()?;
        out.write_field_stop()?;
        out.write_struct_end()
    }

    fn read(input: &mut dyn TInputProtocol) -> thrift::Result<Uuids> {
        let mut out = Uuids::default();
        input.read_struct_begin()?;
        loop {
            let field = input.read_field_begin()?;
            match (field.id.unwrap_or(0), field.field_type) {
                (_, TType::Stop) => break,
                (1, TType::Uuid) => out.single = input.read_uuid()?,
                (2, TType::List) => out.many = read_list(input)?,
                (3, TType::Map) => {
                    for _ in 0..input.read_map_begin()?.size {
                        let key = input.read_uuid()?;
                        out.pairs.insert(key, input.read_uuid()?);
                    }
                    input.read_map_end()?;
                }
                (4, TType::Set) => {
                    for _ in 0..input.read_set_begin()?.size {
                        out.distinct.insert(input.read_uuid()?);
                    }
                    input.read_set_end()?;
                }
                (5, TType::String) => out.last = input.read_string()?,
                (id, kind) => return bad(format!("field {id} of Uuids is a {kind}")),
            }
            input.read_field_end()?;
        }
        input.read_struct_end()?;
        Ok(out)
    }
}

fn write_list(values: &[Uuid], out: &mut dyn TOutputProtocol) -> thrift::Result<()> {
    out.write_list_begin(&TListIdentifier::new(TType::Uuid, values.len() as i32))?;
    for value in values {
        out.write_uuid(value)?;
    }
    out.write_list_end()
}

fn read_list(input: &mut dyn TInputProtocol) -> thrift::Result<Vec<Uuid>> {
    let list = input.read_list_begin()?;
    if list.size > 0 && list.element_type != TType::Uuid {
        return bad(format!("a list of {}", list.element_type));
    }
    let mut out = Vec::new();
    for _ in 0..list.size {
        out.push(input.read_uuid()?);
    }
    input.read_list_end()?;
    Ok(out)
}

impl Value {
    /// Writes the struct of arguments (`id` 1) or of the result (`id` 0).
    pub fn write(&self, id: i16, out: &mut dyn TOutputProtocol) -> thrift::Result<()> {
        out.write_struct_begin(&TStructIdentifier::new(""))?;
        let kind = match self {
            Value::Nothing => None,
            Value::One(_) => Some(TType::Uuid),
            Value::Many(_) => Some(TType::List),
            Value::Struct(_) => Some(TType::Struct),
        };
        if let Some(kind) = kind {
            out.write_field_begin(&TFieldIdentifier::new("value", kind, id))?;
        }
        match self {
            Value::Nothing => {}
            Value::One(value) => out.write_uuid(value)?,
            Value::Many(values) => write_list(values, out)?,
            Value::Struct(value) => value.write(out)?,
        }
        if kind.is_some() {
            out.write_field_end()?;
        }
        out.write_field_stop()?;
        out.write_struct_end()
    }

    /// Reads such a struct.
    pub fn read(input: &mut dyn TInputProtocol) -> thrift::Result<Value> {
        let mut out = Value::Nothing;
        input.read_struct_begin()?;
        loop {
            let field = input.read_field_begin()?;
            out = match field.field_type {
                TType::Stop => break,
                TType::Uuid => Value::One(input.read_uuid()?),
                TType::List => Value::Many(read_list(input)?),
                TType::Struct => Value::Struct(Uuids::read(input)?),
                kind => return bad(format!("an argument is a {kind}")),
            };
            input.read_field_end()?;
        }
        input.read_struct_end()?;
        Ok(out)
    }
}

/// The server's side of UuidService.
pub struct Processor;

impl TProcessor for Processor {
    fn process(&self, input: &mut dyn TInputProtocol, out: &mut dyn TOutputProtocol) -> thrift::Result<()> {
        let call = input.read_message_begin()?;
        let args = Value::read(input)?;
        input.read_message_end()?;
        let result = match call.name.as_str() {
            "echo_uuid" | "echo_uuids" => args,
            "known_uuids" => Value::Many(known()),
            name => {
                let message = format!("unknown method {name}");
                let error = ApplicationError::new(ApplicationErrorKind::UnknownMethod, message);
                return handle_process_result(&call, Err(error.into()), out);
            }
        };
        let reply = TMessageIdentifier::new(&*call.name, TMessageType::Reply, call.sequence_number);
        out.write_message_begin(&reply)?;
        result.write(0, out)?;
        out.write_message_end()?;
        out.flush()
    }
}

//! Messages from text.

use super::lexer::Lexer;
use super::{TextError, group_name, message_of, scalar, well_known};
use crate::contract::Table;
use crate::{Contract, MAX_DEPTH, Struct, Typed, Value, absent, any, duplicates};
use dovetail_schema::{Type, TypeId, TypeKind};
use dovetail_wire::{Budget, DecodeError, Encoding, Limits, UnknownValue, Uuid, protobuf};
use std::str::FromStr;

type Result<T> = std::result::Result<T, TextError>;

/// The message of this type that a text in protobuf's text format is.
///
/// Fields are named as in the contract, extensions and messages in an `Any` by their full names in
/// brackets. A number in the place of a name is that of a field, or of one that the contract does
/// not have, which becomes an unknown field.
pub fn from_text(contract: &Contract<'_>, ty: &Type, text: &str, limits: Limits) -> Result<Value> {
    let mut reader = Reader {
        lexer: Lexer::new(text),
        budget: Budget::new(limits),
        left: MAX_DEPTH.min(limits.depth),
    };
    let mut value = reader.message(contract, ty, None)?;
    reader.charged(|budget| duplicates::remove_in(&mut value, budget))?;
    Ok(value)
}

struct Reader<'t> {
    lexer: Lexer<'t>,
    budget: Budget,
    /// How many messages and containers may still be inside this one.
    left: usize,
}

impl<'t> Reader<'t> {
    /// Reads something that other things can be in.
    fn inside<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let Some(left) = self.left.checked_sub(1) else {
            return Err(self.lexer.error("messages too deep inside one another"));
        };
        let before = std::mem::replace(&mut self.left, left);
        let read = read(self);
        self.left = before;
        read
    }

    /// Does what the budget pays for.
    fn charged(
        &mut self,
        work: impl FnOnce(&mut Budget) -> std::result::Result<(), DecodeError>,
    ) -> Result<()> {
        work(&mut self.budget).map_err(|problem| self.lexer.error(problem.to_string()))
    }

    /// Reads the fields of a message up to this mark, or to the end.
    fn message(&mut self, contract: &Contract<'_>, ty: &Type, end: Option<u8>) -> Result<Value> {
        let Some((known, id)) = message_of(contract, ty) else {
            return Err(self.lexer.error("a type that is no message of protobuf"));
        };
        let message = Message {
            contract: known,
            id,
            of_any: contract,
        };
        let fields = self.inside(|reader| reader.fields(&message, end))?;
        let value = Value::Struct(fields);
        if std::ptr::eq(known, contract) {
            return Ok(value);
        }
        let converted = well_known::convert((known, &Type::Named(id)), &value, (contract, ty));
        converted.map_err(|problem| self.lexer.error(problem))
    }

    fn fields(&mut self, message: &Message<'_>, end: Option<u8>) -> Result<Struct> {
        let mut value = Struct::new();
        loop {
            match (self.lexer.peek(), end) {
                (None, None) => break,
                (Some(mark), Some(end)) if mark == end => {
                    self.lexer.takes(end);
                    break;
                }
                (None, Some(end)) => {
                    let text = format!("expected {:?} before the end", char::from(end));
                    return Err(self.lexer.error(text));
                }
                _ => self.field(message, &mut value)?,
            }
            let _separator = self.lexer.takes(b',') || self.lexer.takes(b';');
        }
        let Some(table) = message.contract.table(message.id) else {
            return Ok(value);
        };
        self.charged(|budget| absent::fill(message.contract, table, &mut value, budget))?;
        match crate::codec::check_required(table, &value) {
            Ok(()) => Ok(value),
            Err(problem) => Err(self.lexer.error(problem.to_string())),
        }
    }

    fn field(&mut self, message: &Message<'_>, value: &mut Struct) -> Result<()> {
        let Some(table) = message.contract.table(message.id) else {
            return Err(self.lexer.error("a type that is no message"));
        };
        let found = if self.lexer.takes(b'[') {
            let name = self.lexer.bracketed()?;
            if name.contains('/') {
                return self.any_message(message, name, value);
            }
            message.named(table, &format!("[{name}]")).ok_or(name)
        } else {
            let name = self.lexer.token();
            match name.parse() {
                Ok(number) => match table.fields.iter().position(|f| f.id == number) {
                    Some(index) => Ok(index),
                    None => return self.unknown_field(number, value),
                },
                Err(_) if name.is_empty() => {
                    return Err(self.lexer.error("expected the name of a field"));
                }
                Err(_) => message.named(table, name).ok_or(name.to_owned()),
            }
        };
        match found {
            Ok(index) => self.known_field(message, table, index, value),
            Err(name) if message.is_reserved(&name) => {
                let colon = self.lexer.takes(b':');
                self.skip(colon)
            }
            Err(name) => {
                let def = &message.contract.schema()[message.id].name;
                let text = format!("`{def}` has no field {name:?}");
                Err(self.lexer.error(text))
            }
        }
    }

    /// Passes over the value of a field that there was once.
    fn skip(&mut self, colon: bool) -> Result<()> {
        match self.lexer.peek() {
            Some(b'[') => self.inside(|reader| reader.each(true, |reader| reader.skip(colon))),
            Some(b'{' | b'<') => {
                let end = self.begin()?;
                self.inside(|reader| reader.skip_fields(end))
            }
            Some(b'"' | b'\'') if colon => self.strings().map(drop),
            _ if colon => {
                self.lexer.takes(b'-');
                match self.lexer.token() {
                    "" => Err(self.lexer.error("expected a value")),
                    _ => Ok(()),
                }
            }
            _ => Err(self.lexer.error("expected ':'")),
        }
    }

    fn skip_fields(&mut self, end: u8) -> Result<()> {
        while !self.lexer.takes(end) {
            let named = match self.lexer.takes(b'[') {
                true => !self.lexer.bracketed()?.is_empty(),
                false => !self.lexer.token().is_empty(),
            };
            if !named {
                return Err(self.lexer.error("expected the name of a field"));
            }
            let colon = self.lexer.takes(b':');
            self.skip(colon)?;
            let _separator = self.lexer.takes(b',') || self.lexer.takes(b';');
        }
        Ok(())
    }

    fn known_field(
        &mut self,
        message: &Message<'_>,
        table: &Table<'_>,
        index: usize,
        value: &mut Struct,
    ) -> Result<()> {
        let (Some(field), Some(row)) = (table.fields.get(index), table.wire().get(index)) else {
            return Err(self.lexer.error("a field without a row"));
        };
        let mut taken = table.wire().iter().filter(|other| {
            let oneof = row.oneof.is_some() && row.oneof == other.oneof;
            (other.id == row.id || oneof) && value.get(other.id).is_some()
        });
        let contract = message.contract;
        let ty = contract.schema().resolve(&field.ty);
        let read = match ty {
            Type::List(item) => {
                let mut items = match value.take(field.id) {
                    Some(Value::List(items)) => items,
                    _ => Vec::new(),
                };
                self.several(contract, item, &mut items)?;
                Value::List(items)
            }
            Type::Map(key, item) => {
                let mut entries = match value.take(field.id) {
                    Some(Value::Map(entries)) => entries,
                    _ => Vec::new(),
                };
                self.entries(message, (key, item), &mut entries)?;
                Value::Map(entries)
            }
            _ => {
                if let Some(other) = taken.next() {
                    let text = match other.id == row.id {
                        true => format!("{:?} comes twice", field.name),
                        false => {
                            format!("{:?} beside {:?} of its oneof", field.name, other.name)
                        }
                    };
                    return Err(self.lexer.error(text));
                }
                let colon = self.lexer.takes(b':');
                self.value(contract, ty, colon)?
            }
        };
        self.charged(|budget| value.put(field.id, read, budget))
    }

    /// Reads one value of a repeated field, or a list of them.
    fn several(
        &mut self,
        contract: &Contract<'_>,
        item: &Type,
        items: &mut Vec<Value>,
    ) -> Result<()> {
        let colon = self.lexer.takes(b':');
        self.each(colon || message_of(contract, item).is_some(), |reader| {
            let value = reader.value(contract, item, colon)?;
            reader.charged(|budget| budget.room(items))?;
            items.push(value);
            Ok(())
        })
    }

    /// Reads one value, or those in brackets, which there may be.
    fn each(
        &mut self,
        brackets: bool,
        mut read: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        if !brackets || !self.lexer.takes(b'[') {
            return read(self);
        }
        if self.lexer.takes(b']') {
            return Ok(());
        }
        loop {
            read(self)?;
            if self.lexer.takes(b']') {
                return Ok(());
            }
            self.lexer.expect(b',')?;
        }
    }

    fn entries(
        &mut self,
        message: &Message<'_>,
        (key, item): (&Type, &Type),
        entries: &mut Vec<(Value, Value)>,
    ) -> Result<()> {
        self.lexer.takes(b':');
        self.each(true, |reader| {
            let end = reader.begin()?;
            let entry = reader.inside(|reader| reader.entry(message, (key, item), end))?;
            reader.charged(|budget| budget.room(entries))?;
            entries.push(entry);
            Ok(())
        })
    }

    /// Reads the key and the value of an entry. Either may be absent, and has its type's default
    /// then.
    fn entry(
        &mut self,
        message: &Message<'_>,
        (key, item): (&Type, &Type),
        end: u8,
    ) -> Result<(Value, Value)> {
        let (mut found_key, mut found_value) = (None, None);
        while !self.lexer.takes(end) {
            let (slot, ty) = match self.lexer.token() {
                "key" | "1" => (&mut found_key, key),
                "value" | "2" => (&mut found_value, item),
                _ => return Err(self.lexer.error("an entry has a `key` and a `value`")),
            };
            if slot.is_some() {
                return Err(self.lexer.error("a part of an entry that comes twice"));
            }
            let colon = self.lexer.takes(b':');
            *slot = Some(self.value(message.contract, ty, colon)?);
            let _separator = self.lexer.takes(b',') || self.lexer.takes(b';');
        }
        let fresh = |ty: &Type| absent::result(message.contract, ty);
        match (
            found_key.or_else(|| fresh(key)),
            found_value.or_else(|| fresh(item)),
        ) {
            (Some(key), Some(value)) => Ok((key, value)),
            _ => Err(self.lexer.error("an entry without its key or its value")),
        }
    }

    /// Takes what begins a message, and returns what ends it.
    fn begin(&mut self) -> Result<u8> {
        match self.lexer.takes(b'<') {
            true => Ok(b'>'),
            false => self.lexer.expect(b'{').map(|()| b'}'),
        }
    }

    fn value(&mut self, contract: &Contract<'_>, ty: &Type, colon: bool) -> Result<Value> {
        let ty = contract.schema().resolve(ty);
        if message_of(contract, ty).is_some() {
            let end = self.begin()?;
            return self.message(contract, ty, Some(end));
        }
        if !colon {
            return Err(self.lexer.error("expected ':'"));
        }
        self.scalar(contract, ty)
    }

    fn scalar(&mut self, contract: &Contract<'_>, ty: &Type) -> Result<Value> {
        Ok(match ty {
            Type::Bool => Value::Bool(self.bool()?),
            Type::I8 => Value::Int(self.integer::<i8>()?.into()),
            Type::I16 => Value::Int(self.integer::<i16>()?.into()),
            Type::I32 => Value::Int(self.integer::<i32>()?.into()),
            Type::I64 => Value::Int(self.integer::<i64>()?),
            Type::U8 => Value::UInt(self.integer::<u8>()?.into()),
            Type::U16 => Value::UInt(self.integer::<u16>()?.into()),
            Type::U32 => Value::UInt(self.integer::<u32>()?.into()),
            Type::U64 => Value::UInt(self.integer::<u64>()?),
            Type::F32 => Value::Float(self.float::<f32>()?.into()),
            Type::F64 => Value::Float(self.float::<f64>()?),
            Type::String => match String::from_utf8(self.strings()?) {
                Ok(text) => Value::String(text),
                Err(_) => return Err(self.lexer.error("a string that is not UTF-8")),
            },
            Type::Bytes => Value::Bytes(self.strings()?.into()),
            Type::Uuid => match Uuid::from_slice(&self.strings()?) {
                Ok(uuid) => Value::Uuid(uuid),
                Err(_) => return Err(self.lexer.error("a uuid that has not 16 bytes")),
            },
            Type::Named(id) => match &contract.schema()[*id].kind {
                TypeKind::Enum(def) => self.enumeration(def)?,
                _ => return Err(self.lexer.error("a type without a text")),
            },
            _ => return Err(self.lexer.error("a type that protobuf does not have")),
        })
    }

    fn strings(&mut self) -> Result<Vec<u8>> {
        let bytes = self.lexer.strings()?;
        self.charged(|budget| budget.block(bytes.len()))?;
        Ok(bytes)
    }

    fn bool(&mut self) -> Result<bool> {
        let token = self.lexer.token();
        match token {
            "true" | "True" | "t" => Ok(true),
            "false" | "False" | "f" => Ok(false),
            _ => match scalar::integer(token) {
                Some(0) => Ok(false),
                Some(1) => Ok(true),
                _ => Err(self.lexer.error("expected `true` or `false`")),
            },
        }
    }

    fn integer<T: TryFrom<i128>>(&mut self) -> Result<T> {
        let negative = self.lexer.takes(b'-');
        let number = scalar::integer(self.lexer.token()).map(i128::from);
        let number = number.map(|number| if negative { -number } else { number });
        let signed = T::try_from(-1).is_ok();
        let number = number.filter(|_| signed || !negative);
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| self.lexer.error("expected an integer that fits"))
    }

    fn float<T: FromStr + std::ops::Neg<Output = T>>(&mut self) -> Result<T> {
        let negative = self.lexer.takes(b'-');
        let number = scalar::float(self.lexer.token()).and_then(|text| text.parse::<T>().ok());
        let number = number.ok_or_else(|| self.lexer.error("expected a number"))?;
        Ok(if negative { -number } else { number })
    }

    /// The name of a value, or a number, which has to have a name where the enum is closed.
    fn enumeration(&mut self, def: &dovetail_schema::Enum) -> Result<Value> {
        let numeric = |byte: u8| byte == b'-' || byte.is_ascii_digit();
        if self.lexer.peek().is_some_and(numeric) {
            let number = self.integer()?;
            let known = !def.closed || def.values.iter().any(|value| value.number == number);
            return match known {
                true => Ok(Value::Enum(number)),
                false => Err(self
                    .lexer
                    .error(format!("{number} is no value of the enum"))),
            };
        }
        let name = self.lexer.token();
        let value = def.values.iter().find(|value| value.name == name);
        let value = value.map(|value| Value::Enum(value.number));
        value.ok_or_else(|| {
            self.lexer
                .error(format!("{name:?} is no value of the enum"))
        })
    }

    /// Reads the message in an `Any`, behind its name in brackets.
    fn any_message(
        &mut self,
        message: &Message<'_>,
        name: String,
        value: &mut Struct,
    ) -> Result<()> {
        if !well_known::is_any(message.contract, message.id) {
            return Err(self.lexer.error("a type in a message that is no `Any`"));
        }
        let (url, bytes) = (well_known::TYPE_URL, well_known::ANY_VALUE);
        if value.get(url).is_some() || value.get(bytes).is_some() {
            return Err(self.lexer.error("an `Any` with two values"));
        }
        let full = name.rsplit('/').next().unwrap_or(&name);
        let contract = message.of_any;
        let Some(ty) = any::named(contract.schema(), full) else {
            return Err(self
                .lexer
                .error(format!("the contract has no message {full:?}")));
        };
        self.lexer.takes(b':');
        let end = self.begin()?;
        let inner = self.message(contract, &ty, Some(end))?;
        let typed = Typed {
            contract,
            ty: &ty,
            value: &inner,
        };
        let written = Encoding::Protobuf.to_bytes(&typed);
        let written = written.map_err(|problem| self.lexer.error(problem.to_string()))?;
        self.charged(|budget| {
            budget.block(written.len())?;
            value.put(url, Value::String(name), budget)?;
            value.put(bytes, Value::Bytes(written.into()), budget)
        })
    }

    /// Keeps a field that the contract does not have, as it is written: a number in decimal digits
    /// is a varint, one of 8 or 16 hexadecimal digits is fixed, and a string or a message has a
    /// length.
    fn unknown_field(&mut self, number: i32, value: &mut Struct) -> Result<()> {
        if !(1..1 << 29).contains(&number) {
            return Err(self.lexer.error("a number that no field can have"));
        }
        let colon = self.lexer.takes(b':');
        let unknown = self.unknown_value(colon)?;
        self.charged(|budget| budget.block(size_of::<(i32, UnknownValue)>()))?;
        value.unknown_fields.push(number, unknown);
        Ok(())
    }

    fn unknown_value(&mut self, colon: bool) -> Result<UnknownValue> {
        Ok(match self.lexer.peek() {
            Some(b'{' | b'<') => {
                let end = self.begin()?;
                let inside = self.inside(|reader| reader.unknown_message(end))?;
                UnknownValue::Delimited(inside.into())
            }
            Some(b'"' | b'\'') if colon => UnknownValue::Delimited(self.strings()?.into()),
            _ if !colon => return Err(self.lexer.error("expected ':'")),
            _ => {
                let token = self.lexer.token();
                let number = scalar::integer(token);
                let number = number.ok_or_else(|| self.lexer.error("expected a value"))?;
                let narrow = u32::try_from(number);
                match (token.strip_prefix("0x").map(str::len), narrow) {
                    (Some(8), Ok(number)) => UnknownValue::Fixed32(number),
                    (Some(16), _) => UnknownValue::Fixed64(number),
                    _ => UnknownValue::Varint(number),
                }
            }
        })
    }

    fn unknown_message(&mut self, end: u8) -> Result<Vec<u8>> {
        let mut fields = Struct::new();
        while !self.lexer.takes(end) {
            let Ok(number) = self.lexer.token().parse() else {
                return Err(self.lexer.error("expected the number of a field"));
            };
            self.unknown_field(number, &mut fields)?;
            let _separator = self.lexer.takes(b',') || self.lexer.takes(b';');
        }
        let mut out = Vec::new();
        let mut writer = protobuf::Writer::new(&mut out, Limits::default());
        let written = fields.unknown_fields.write(&mut writer);
        written.map_err(|problem| self.lexer.error(problem.to_string()))?;
        self.charged(|budget| budget.block(out.len()))?;
        Ok(out)
    }
}

/// A message whose fields are read.
struct Message<'a> {
    contract: &'a Contract<'a>,
    id: TypeId,
    /// The contract that knows the types of messages in an `Any`.
    of_any: &'a Contract<'a>,
}

impl Message<'_> {
    /// True for the name of a field that there was once.
    fn is_reserved(&self, name: &str) -> bool {
        match &self.contract.schema()[self.id].kind {
            TypeKind::Struct(def) => def.reserved.names.iter().any(|known| known == name),
            _ => false,
        }
    }

    /// The place of the field that the text calls so.
    fn named(&self, table: &Table<'_>, name: &str) -> Option<usize> {
        let exact = table.fields.iter().position(|field| field.name == name);
        exact.or_else(|| {
            let fields = &table.fields;
            let named = |field| group_name(self.contract, self.id, field) == Some(name);
            fields.iter().position(|field| named(field))
        })
    }
}

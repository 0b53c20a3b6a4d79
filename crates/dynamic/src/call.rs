//! The parameters and the reply of a method, as structs without a name.

use crate::absent;
use crate::codec::{read_rest, read_struct, write_fields, write_struct};
use crate::contract::Table;
use crate::{Contract, MAX_DEPTH, Struct, Value, duplicates};
use dovetail_schema::Method;
use dovetail_wire::description::{Named, Type};
use dovetail_wire::{
    Begun, Decode, DecodeError, Encode, EncodeError, Field, FieldValue, Kind, ReadParams, Reader,
    WriteParams, Writer,
};

/// Parameters to send.
pub struct Params<'a> {
    contract: &'a Contract<'a>,
    table: Table<'a>,
    values: &'a Struct,
}

/// Parameters to receive.
pub struct ParamsSlot<'a> {
    contract: &'a Contract<'a>,
    table: Table<'a>,
    /// The values that have come, by field id.
    pub values: Struct,
}

/// The answer of a method.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Its result; `None` for `void`.
    Result(Option<Value>),
    /// A declared exception.
    Exception {
        /// The index in the method's `throws`.
        index: usize,
        /// The exception.
        value: Value,
    },
}

/// A reply on its way out.
pub struct ReplyBody<'a> {
    contract: &'a Contract<'a>,
    table: Table<'a>,
    fields: Struct,
}

/// A reply on its way in.
pub struct ReplySlot<'a> {
    contract: &'a Contract<'a>,
    method: &'a Method,
    table: Table<'a>,
    fields: Struct,
}

impl<'a> Params<'a> {
    /// These values, by field id, as the parameters of a method.
    pub fn new(contract: &'a Contract<'a>, method: &'a Method, values: &'a Struct) -> Self {
        let table = contract.params(method);
        Params {
            contract,
            table,
            values,
        }
    }
}

impl Encode for Params<'_> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        write_params(self.contract, &self.table, self.values, writer)
    }
}

fn write_params<W: Writer + ?Sized>(
    contract: &Contract<'_>,
    table: &Table<'_>,
    values: &Struct,
    writer: &mut W,
) -> Result<(), EncodeError> {
    if writer.is_positional() {
        return write_struct(contract, table, values, writer, MAX_DEPTH);
    }
    writer.begin_params(table.wire())?;
    write_fields(contract, table, values, writer, MAX_DEPTH)?;
    writer.end_struct()
}

impl WriteParams for Params<'_> {
    /// Ignores the runtime's table: the contract says more.
    fn write<W: Writer + ?Sized>(
        &self,
        _: &[Field<'_>],
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        self.encode(writer)
    }
}

impl<'a> ParamsSlot<'a> {
    /// Nothing has come yet.
    pub fn new(contract: &'a Contract<'a>, method: &'a Method) -> Self {
        ParamsSlot {
            contract,
            table: contract.params(method),
            values: Struct::new(),
        }
    }
}

impl Decode for ParamsSlot<'_> {
    fn decode<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        let (contract, table, values) = (self.contract, &self.table, &mut self.values);
        if reader.is_positional() {
            read_struct(contract, table, values, reader, MAX_DEPTH)?;
        } else {
            reader.begin_params()?;
            read_rest(contract, table, values, Begun::default(), reader, MAX_DEPTH)?;
        }
        duplicates::remove(values, reader.budget())?;
        Ok(())
    }
}

impl ReadParams for ParamsSlot<'_> {
    /// Ignores the runtime's table: the contract says more.
    fn read<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        _: &[Field<'_>],
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        self.decode(reader)
    }

    fn write_back<W: Writer + ?Sized>(
        &self,
        _: &[Field<'_>],
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        write_params(self.contract, &self.table, &self.values, writer)
    }
}

impl<'a> ReplyBody<'a> {
    /// The reply of a method. An exception that the method does not declare makes an empty reply.
    pub fn new(contract: &'a Contract<'a>, method: &'a Method, reply: Reply) -> Self {
        let field = match reply {
            Reply::Result(value) => value.map(|value| (0, value)),
            Reply::Exception { index, value } => {
                method.throws.get(index).map(|field| (field.id, value))
            }
        };
        ReplyBody {
            contract,
            table: contract.reply(method),
            fields: field.into_iter().collect(),
        }
    }
}

impl Encode for ReplyBody<'_> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        if writer.is_positional() {
            return write_struct(self.contract, &self.table, &self.fields, writer, MAX_DEPTH);
        }
        writer.begin_reply()?;
        write_fields(self.contract, &self.table, &self.fields, writer, MAX_DEPTH)?;
        writer.end_struct()
    }
}

/// A whole reply in the place of a result: for servers made for generated code, which write results
/// as the one field of a reply.
#[derive(Default)]
pub struct ReplyFields(Option<ReplyBody<'static>>);

impl From<ReplyBody<'static>> for ReplyFields {
    fn from(body: ReplyBody<'static>) -> Self {
        ReplyFields(Some(body))
    }
}

impl FieldValue for ReplyFields {
    /// Not used: the fields written bring their own kinds.
    const KIND: Kind = Kind::Struct;

    /// Writes the fields of the reply in the place of the one that was asked for.
    fn write_field<W: Writer + ?Sized>(
        &self,
        _: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        match &self.0 {
            Some(ReplyBody {
                contract,
                table,
                fields,
            }) => write_fields(contract, table, fields, writer, MAX_DEPTH),
            None => Ok(()),
        }
    }

    fn describe() -> Option<Type<Named>> {
        None
    }

    /// Not used, as the kind is not.
    fn write_value<W: Writer + ?Sized>(&self, _: &mut W) -> Result<(), EncodeError> {
        Ok(())
    }

    fn write_answer<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        match &self.0 {
            Some(body) => body.encode(writer),
            None => ().write_answer(writer),
        }
    }

    /// Replies are read by [`ReplySlot`].
    fn read_field<'de, R: Reader<'de> + ?Sized>(&mut self, _: &mut R) -> Result<(), DecodeError> {
        Err(DecodeError::malformed("a reply without its contract"))
    }
}

impl<'a> ReplySlot<'a> {
    /// Nothing has come yet.
    pub fn new(contract: &'a Contract<'a>, method: &'a Method) -> Self {
        ReplySlot {
            contract,
            method,
            table: contract.reply(method),
            fields: Struct::new(),
        }
    }

    /// Returns the reply; `None` if it had to have a result and has none, as when the peer's method
    /// throws an exception that this contract does not have.
    pub fn into_reply(mut self) -> Option<Reply> {
        for (index, field) in self.method.throws.iter().enumerate() {
            if let Some(value) = self.fields.take(field.id) {
                return Some(Reply::Exception { index, value });
            }
        }
        let result = self.fields.take(0);
        // An answer in an unknown field is an exception of a newer contract, not a `void`.
        let complete = match self.method.result {
            Some(_) => result.is_some(),
            None => self.fields.unknown_fields.iter().all(|(id, _)| *id == 0),
        };
        complete.then_some(Reply::Result(result))
    }
}

impl Decode for ReplySlot<'_> {
    fn decode<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        let (contract, table, fields) = (self.contract, &self.table, &mut self.fields);
        let read = if reader.is_positional() {
            read_struct(contract, table, fields, reader, MAX_DEPTH)
        } else {
            reader.begin_reply().and_then(|()| {
                read_rest(contract, table, fields, Begun::default(), reader, MAX_DEPTH)
            })
        };
        read.map_err(|e| e.within("reply"))?;
        duplicates::remove(fields, reader.budget())?;
        // Nothing at all is a result that is zero, unless it is an exception that only others know.
        let nothing = fields.is_empty() && fields.unknown_fields.is_empty();
        if nothing && reader.leaves_out_defaults() {
            let result = self.method.result.as_ref();
            if let Some(zero) = result.and_then(|ty| absent::result(contract, ty)) {
                fields.set(0, zero);
            }
        }
        Ok(())
    }
}

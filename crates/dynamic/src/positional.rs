//! Structs and unions in encodings that write values one after the other.

use crate::codec::{check_required, read_row, write_row};
use crate::contract::Table;
use crate::{Contract, Struct};
use dovetail_wire::{
    DecodeError, EncodeError, Presence, Present, Reader, UnknownFields, Writer, place,
    presence_size, read_place,
};

/// Writes a struct, union or reply. One that lacks a field that is always there needs tags.
pub(crate) fn write_struct<W: Writer + ?Sized>(
    contract: &Contract<'_>,
    table: &Table<'_>,
    value: &Struct,
    writer: &mut W,
    left: usize,
) -> Result<(), EncodeError> {
    let known = |(id, _)| table.wire().iter().any(|row| row.id == id);
    if !value.unknown_fields.is_empty() || !value.iter().all(known) {
        return Err(EncodeError::NeedsTags);
    }
    match table.is_choice() {
        true => begin_union(table, value, writer)?,
        false => writer.begin_positional(presence(table, value)?.bytes())?,
    }
    for (index, row) in table.wire().iter().enumerate() {
        let field = value.get(row.id);
        if field.is_some() || !table.is_choice() {
            write_row(contract, table, index, field, writer, left)?;
        }
    }
    writer.end_struct()
}

fn begin_union<W: Writer + ?Sized>(
    table: &Table<'_>,
    value: &Struct,
    writer: &mut W,
) -> Result<(), EncodeError> {
    let mut ids = value.iter().map(|(id, _)| id);
    match (ids.next(), ids.next()) {
        (None, _) => writer.begin_union(0),
        (Some(id), None) => writer.begin_union(place(table.wire(), id)),
        _ => Err(EncodeError::Unsupported {
            what: "a union with more than one of its fields",
        }),
    }
}

/// The presence bits of a struct.
fn presence(table: &Table<'_>, value: &Struct) -> Result<Presence<Vec<u8>>, EncodeError> {
    let size = presence_size(table.wire().len(), optional(table));
    let mut presence = Presence::new(vec![0; size]);
    for (index, row) in table.wire().iter().enumerate() {
        let present = value.get(row.id).is_some();
        match table.is_optional(index) {
            true => presence.push(Some(present)),
            false if present || (table.is_ref(index) && !row.required) => {}
            false => return Err(EncodeError::NeedsTags),
        }
    }
    Ok(presence)
}

fn optional(table: &Table<'_>) -> usize {
    let rows = 0..table.wire().len();
    rows.filter(|index| table.is_optional(*index)).count()
}

/// Reads a struct, union or reply in the place of what is there.
pub(crate) fn read_struct<'de, R: Reader<'de> + ?Sized>(
    contract: &Contract<'_>,
    table: &Table<'_>,
    value: &mut Struct,
    reader: &mut R,
    left: usize,
) -> Result<(), DecodeError> {
    value.clear();
    value.unknown_fields = UnknownFields::default();
    let mut read = |index: usize, reader: &mut R| {
        let field = read_row(contract, table, index, None, reader, left)?;
        if let Some(field) = field {
            value.put(table.wire()[index].id, field, reader.budget())?;
        }
        Ok::<_, DecodeError>(())
    };
    if table.is_choice() {
        if let Some(row) = read_place(table.wire(), reader)? {
            read(place(table.wire(), row.id) - 1, reader)?;
        }
    } else {
        let mut present = Present::read(reader, table.wire().len(), optional(table))?;
        for index in 0..table.wire().len() {
            if !table.is_optional(index) || present.take() {
                read(index, reader)?;
            }
        }
        check_required(table, value)?;
    }
    reader.end_positional()
}

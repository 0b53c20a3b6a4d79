//! Arrays, dimension by dimension.

use crate::codec::{self, MISTYPED, SHAPELESS, deeper, too_deep};
use crate::{Contract, Value};
use dovetail_schema::{ArrayForm, Dimension, Type};
use dovetail_wire::{
    DecodeError, EncodeError, Kind, Reader, Writer, check_shape, read_array, write_array,
    wrong_count,
};

/// The type of the elements, and the dimensions that are left.
type Array<'a> = (&'a Type, &'a [Dimension]);

/// The kind of an array of these dimensions; `None` where there are none.
pub(crate) fn kind(dimensions: &[Dimension]) -> Option<Kind> {
    ArrayForm::of(dimensions).map(|form| match form {
        ArrayForm::Fixed(..) | ArrayForm::List(_) => Kind::List,
        ArrayForm::Free(..) => Kind::Struct,
    })
}

fn kind_of(contract: &Contract<'_>, (item, dimensions): Array<'_>) -> Option<Kind> {
    kind(dimensions).or_else(|| contract.kind(item))
}

/// The extents that are part of the type.
pub(crate) fn shape(dimensions: &[Dimension]) -> Vec<Option<u32>> {
    let extent = |dimension: &Dimension| match dimension {
        Dimension::Fixed(extent) => Some(*extent),
        Dimension::Dynamic => None,
    };
    dimensions.iter().map(extent).collect()
}

pub(crate) fn write<W: Writer + ?Sized>(
    contract: &Contract<'_>,
    (item, dimensions): Array<'_>,
    value: &Value,
    writer: &mut W,
    left: usize,
) -> Result<(), EncodeError> {
    let Some(form) = ArrayForm::of(dimensions) else {
        return codec::write(contract, item, value, writer, left);
    };
    let left = deeper(left)?;
    let (ArrayForm::Fixed(_, inside) | ArrayForm::List(inside) | ArrayForm::Free(_, inside)) = form;
    let kind = kind_of(contract, (item, inside)).ok_or(SHAPELESS)?;
    let all = |items: &[Value], writer: &mut W| {
        let mut items = items.iter();
        items.try_for_each(|one| write(contract, (item, inside), one, writer, left))?;
        writer.end_list()
    };
    match (form, value) {
        (ArrayForm::Fixed(extent, _), Value::List(items)) if items.len() == extent as usize => {
            writer.begin_array(kind, items.len())?;
            all(items, writer)
        }
        (ArrayForm::List(_), Value::List(items)) => {
            writer.begin_list(kind, items.len())?;
            all(items, writer)
        }
        (ArrayForm::Free(outside, _), Value::Array(extents, items)) => {
            check_shape(&shape(outside), extents, items.len()).map_err(|_| MISTYPED)?;
            write_array(writer, extents, |writer| {
                writer.begin_list(kind, items.len())?;
                all(items, writer)
            })
        }
        _ => Err(MISTYPED),
    }
}

/// Reads an array. `old` is what the field has so far.
pub(crate) fn read<'de, R: Reader<'de> + ?Sized>(
    contract: &Contract<'_>,
    (item, dimensions): Array<'_>,
    old: Option<Value>,
    reader: &mut R,
    left: usize,
) -> Result<Value, DecodeError> {
    let Some(form) = ArrayForm::of(dimensions) else {
        return codec::read(contract, item, old, reader, left);
    };
    let left = left.checked_sub(1).ok_or_else(too_deep)?;
    match form {
        ArrayForm::Fixed(extent, inside) => {
            read_fixed(contract, (item, inside), extent as usize, reader, left).map(Value::List)
        }
        ArrayForm::List(inside) => {
            let mut items = match old {
                Some(Value::List(old)) => old,
                _ => Vec::new(),
            };
            read_list(contract, (item, inside), &mut items, reader, left)?;
            Ok(Value::List(items))
        }
        ArrayForm::Free(outside, inside) => {
            let shape = shape(outside);
            let (mut extents, mut items) = match old {
                Some(Value::Array(extents, items)) => (extents, items),
                _ => {
                    let extents: Vec<_> = shape.iter().map(|one| one.unwrap_or(0)).collect();
                    reader.budget().block(size_of_val(&*extents))?;
                    (extents, Vec::new())
                }
            };
            read_array(reader, &mut extents, |reader| {
                read_list(contract, (item, inside), &mut items, reader, left)
            })?;
            check_shape(&shape, &extents, items.len())?;
            Ok(Value::Array(extents, items))
        }
    }
}

fn read_fixed<'de, R: Reader<'de> + ?Sized>(
    contract: &Contract<'_>,
    inside: Array<'_>,
    extent: usize,
    reader: &mut R,
    left: usize,
) -> Result<Vec<Value>, DecodeError> {
    let kind = kind_of(contract, inside).ok_or_else(shapeless)?;
    let mut sequence = reader.begin_array(kind, extent)?;
    let mut items = Vec::new();
    let expected = sequence.reserve.min(extent);
    reader.budget().reserve(&mut items, expected)?;
    while reader.next_element(&mut sequence)? {
        if items.len() == extent {
            return Err(wrong_count(extent, extent + 1));
        }
        reader.budget().room(&mut items)?;
        let one = read(contract, inside, None, reader, left);
        items.push(one.map_err(|e| e.within("[]"))?);
    }
    match items.len() == extent {
        true => Ok(items),
        false => Err(wrong_count(extent, items.len())),
    }
}

fn read_list<'de, R: Reader<'de> + ?Sized>(
    contract: &Contract<'_>,
    inside: Array<'_>,
    items: &mut Vec<Value>,
    reader: &mut R,
    left: usize,
) -> Result<(), DecodeError> {
    let kind = kind_of(contract, inside).ok_or_else(shapeless)?;
    let mut sequence = reader.begin_list(kind)?;
    if !sequence.append {
        items.clear();
    }
    reader.budget().reserve(items, sequence.reserve)?;
    while reader.next_element(&mut sequence)? {
        reader.budget().room(items)?;
        let one = read(contract, inside, None, reader, left);
        items.push(one.map_err(|e| e.within("[]"))?);
    }
    Ok(())
}

#[cold]
fn shapeless() -> DecodeError {
    DecodeError::malformed(SHAPELESS.to_string())
}

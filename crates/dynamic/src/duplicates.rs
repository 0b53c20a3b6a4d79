//! Maps in which a key comes twice: the last value stays, in the place of the first. Protobuf sends
//! the entries of a map in pieces, between which there may be anything, so this is done once a
//! message has been read.

use crate::{Struct, Value};
use dovetail_wire::{Budget, DecodeError};
use std::cmp::Ordering;

/// Keeps one entry for each key, in all maps in a struct. The budget pays for what that takes for a
/// while.
pub(crate) fn remove(fields: &mut Struct, budget: &mut Budget) -> Result<(), DecodeError> {
    let mut values = fields.values_mut();
    values.try_for_each(|value| remove_in(value, budget))
}

/// Keeps one entry for each key, in all maps in a value.
pub(crate) fn remove_in(value: &mut Value, budget: &mut Budget) -> Result<(), DecodeError> {
    match value {
        Value::List(items) | Value::Array(_, items) => items
            .iter_mut()
            .try_for_each(|item| remove_in(item, budget)),
        Value::Struct(fields) | Value::Derived(_, fields) => remove(fields, budget),
        Value::Node(_, value) => remove_in(value, budget),
        Value::Map(entries) => {
            remove_of(entries, budget)?;
            entries.iter_mut().try_for_each(|(key, value)| {
                remove_in(key, budget)?;
                remove_in(value, budget)
            })
        }
        _ => Ok(()),
    }
}

fn remove_of(entries: &mut Vec<(Value, Value)>, budget: &mut Budget) -> Result<(), DecodeError> {
    let ascending = |pair: &[(Value, Value)]| match pair {
        [(one, _), (next, _)] => compare(one, next) == Some(Ordering::Less),
        _ => true,
    };
    // Most senders sort the keys, or send few. Keys of other types than protobuf's have no order
    // here, and stay.
    if entries.windows(2).all(ascending) || !entries.iter().all(|(key, _)| has_order(key)) {
        return Ok(());
    }
    // One list of all places, and another one while they are sorted.
    let mut order = Vec::new();
    budget.block(size_of::<usize>().saturating_mul(entries.len()))?;
    budget.reserve(&mut order, entries.len())?;
    order.extend(0..entries.len());
    let key = |at: usize| entries.get(at).map(|(key, _)| key);
    order.sort_by(|one, next| match (key(*one), key(*next)) {
        (Some(one), Some(next)) => compare(one, next).unwrap_or(Ordering::Equal),
        _ => Ordering::Equal,
    });
    // The sort is stable: the places of a key stand one after the other, the first of them first.
    let same = |one: &usize, next: &usize| key(*one) == key(*next);
    budget.block(entries.len())?;
    let mut gone = vec![false; entries.len()];
    let mut moves = Vec::new();
    for places in order.chunk_by(same) {
        if let [first, .., last] = places {
            budget.room(&mut moves)?;
            moves.push((*first, *last));
            for place in places.iter().skip(1) {
                if let Some(gone) = gone.get_mut(*place) {
                    *gone = true;
                }
            }
        }
    }
    for (first, last) in moves {
        entries.swap(first, last);
    }
    let mut gone = gone.into_iter();
    entries.retain(|_| gone.next() != Some(true));
    Ok(())
}

fn has_order(key: &Value) -> bool {
    compare(key, key).is_some()
}

/// The order of keys that protobuf's maps can have.
fn compare(one: &Value, next: &Value) -> Option<Ordering> {
    match (one, next) {
        (Value::Bool(one), Value::Bool(next)) => Some(one.cmp(next)),
        (Value::Int(one), Value::Int(next)) => Some(one.cmp(next)),
        (Value::UInt(one), Value::UInt(next)) => Some(one.cmp(next)),
        (Value::String(one), Value::String(next)) => Some(one.cmp(next)),
        (Value::Bytes(one), Value::Bytes(next)) => Some(one.cmp(next)),
        (Value::Enum(one), Value::Enum(next)) => Some(one.cmp(next)),
        _ => None,
    }
}

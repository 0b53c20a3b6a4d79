//! Arrays: JSON has them inside one another, one level for each dimension.

use super::JsonError;
use super::input::{self, Result};
use super::output::{self, Context};
use crate::{Contract, Value};
use dovetail_schema::{self as schema, ArrayForm, Dimension, Type};
use dovetail_wire::check_shape;
use serde_json::Value as Json;

type Array<'a> = (&'a Type, &'a [Dimension]);

pub(super) fn to_json(
    cx: &Context<'_>,
    (item, dimensions): Array<'_>,
    value: &Value,
    left: usize,
) -> Json {
    let Some(form) = ArrayForm::of(dimensions) else {
        return output::convert(cx, item, value, left);
    };
    let Some(left) = left.checked_sub(1) else {
        return Json::Null;
    };
    match (form, value) {
        (ArrayForm::Fixed(_, inside) | ArrayForm::List(inside), Value::List(items)) => items
            .iter()
            .map(|one| to_json(cx, (item, inside), one, left))
            .collect(),
        (ArrayForm::Free(outside, inside), Value::Array(extents, items))
            if check_shape(&crate::array::shape(outside), extents, items.len()).is_ok() =>
        {
            let items = items.iter();
            let items = items.map(|one| to_json(cx, (item, inside), one, left));
            rows(extents, &mut items.collect::<Vec<_>>().into_iter())
        }
        _ => Json::Null,
    }
}

/// Puts the elements of an array of these extents into arrays for each dimension.
fn rows(extents: &[u32], items: &mut std::vec::IntoIter<Json>) -> Json {
    match extents {
        [] => items.next().unwrap_or_default(),
        // An array without elements could claim any number of rows.
        _ if items.len() == 0 => Json::Array(Vec::new()),
        [extent, inside @ ..] => (0..*extent).map(|_| rows(inside, items)).collect(),
    }
}

pub(super) fn from_json(
    contract: &Contract<'_>,
    (item, dimensions): Array<'_>,
    json: &Json,
    left: usize,
) -> Result<Value> {
    let Some(form) = ArrayForm::of(dimensions) else {
        return input::convert(contract, item, json, left);
    };
    let left = input::inside(left)?;
    let items = match json {
        Json::Array(items) => items,
        _ => {
            let ty = Type::Array(Box::new(item.clone()), dimensions.to_vec());
            return Err(input::expected(contract, &ty, json));
        }
    };
    match form {
        ArrayForm::Fixed(extent, _) if items.len() != extent as usize => {
            let problem = format!("an array of {}, expected {extent}", items.len());
            Err(JsonError::new(problem).help("the extent is part of the type"))
        }
        ArrayForm::Fixed(_, inside) | ArrayForm::List(inside) => {
            let one = |(at, json)| {
                let value = from_json(contract, (item, inside), json, left);
                value.map_err(|e| e.within(format!("[{at}]")))
            };
            let items: Result<_> = items.iter().enumerate().map(one).collect();
            items.map(Value::List)
        }
        ArrayForm::Free(outside, inside) => {
            let (mut extents, mut found) = (Vec::new(), vec![json]);
            for _ in outside {
                let rows: Vec<&Vec<Json>> = found.iter().filter_map(|row| row.as_array()).collect();
                let extent = rows.first().map_or(0, |row| row.len());
                let even = rows.len() == found.len() && rows.iter().all(|row| row.len() == extent);
                if !even {
                    let problem = "rows of different lengths in one array";
                    return Err(JsonError::new(problem).help("all rows have the same length"));
                }
                extents.push(extent as u32);
                found = rows.into_iter().flatten().collect();
            }
            fixed_of_nothing(outside, &found, &mut extents);
            let shape = crate::array::shape(outside);
            let checked = check_shape(&shape, &extents, found.len());
            checked.map_err(|problem| JsonError::new(problem.to_string()))?;
            let one = |(at, json)| {
                let value = from_json(contract, (item, inside), json, left);
                value.map_err(|e| e.within(format!("[{at}]")))
            };
            let items: Result<_> = found.into_iter().enumerate().map(one).collect();
            Ok(Value::Array(extents, items?))
        }
    }
}

/// Without any elements the extents that are part of the type need not be shown.
fn fixed_of_nothing(dimensions: &[Dimension], found: &[&Json], extents: &mut [u32]) {
    for (dimension, extent) in dimensions.iter().zip(extents) {
        if let (Dimension::Fixed(fixed), true) = (dimension, found.is_empty()) {
            *extent = *fixed;
        }
    }
}

/// A constant of the contract.
pub(super) fn constant(
    contract: &Contract<'_>,
    (item, dimensions): Array<'_>,
    value: &schema::Value,
    left: usize,
) -> Result<Value> {
    let elements = |value: &schema::Value| match value {
        schema::Value::List(items) => items.clone(),
        _ => Vec::new(),
    };
    let all = |items: Vec<schema::Value>, inside: &[Dimension]| -> Result<Vec<Value>> {
        let one = |value: &schema::Value| constant(contract, (item, inside), value, left);
        items.iter().map(one).collect()
    };
    match ArrayForm::of(dimensions) {
        None => input::constant(contract, item, value, left),
        Some(ArrayForm::Fixed(_, inside) | ArrayForm::List(inside)) => {
            all(elements(value), inside).map(Value::List)
        }
        Some(ArrayForm::Free(outside, inside)) => {
            let (mut extents, mut items) = (Vec::new(), vec![value.clone()]);
            for _ in outside {
                extents.push(
                    items
                        .first()
                        .map_or(0, |first| elements(first).len() as u32),
                );
                items = items.iter().flat_map(elements).collect();
            }
            Ok(Value::Array(extents, all(items, inside)?))
        }
    }
}

/// The most elements of an array's zero value: a contract can ask for more than memory holds.
const MAX: u64 = 1 << 16;

/// The zero value of an array type; `None` for one that is too large.
pub(crate) fn zero(contract: &Contract<'_>, (item, dimensions): Array<'_>) -> Option<Value> {
    Some(match ArrayForm::of(dimensions) {
        None => return crate::absent::zero(contract, item),
        Some(ArrayForm::Fixed(extent, inside)) => {
            let fixed = dimensions.iter().map(|dimension| match dimension {
                Dimension::Fixed(extent) => u64::from(*extent),
                Dimension::Dynamic => 1,
            });
            if fixed.fold(1, u64::saturating_mul) > MAX {
                return None;
            }
            Value::List(vec![zero(contract, (item, inside))?; extent as usize])
        }
        Some(ArrayForm::List(_)) => Value::List(Vec::new()),
        Some(ArrayForm::Free(outside, _)) => {
            let shape = crate::array::shape(outside).into_iter();
            Value::Array(
                shape.map(|extent| extent.unwrap_or(0)).collect(),
                Vec::new(),
            )
        }
    })
}

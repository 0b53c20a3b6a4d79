//! The descriptions of types that a message in an `Any` carries.

use crate::Value;
use crate::description::{Named, Type, describe_type};
use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

/// The descriptions that were asked for. They are never freed: a program has a limited number of
/// types.
static KNOWN: LazyLock<RwLock<HashMap<Named, &'static [u8]>>> = LazyLock::new(RwLock::default);

/// The description of a type; `None` for types that every contract has.
pub(super) fn of<M: Value>() -> Option<&'static [u8]> {
    let (Type::Struct(named) | Type::Family(named)) = M::describe() else {
        return None;
    };
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(description) = known.get(&named) {
        return Some(description);
    }
    drop(known);
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let describe = || &*describe_type(M::describe(), Named::define).leak();
    Some(known.entry(named).or_insert_with(describe))
}

//! Names and ordinals, as the language asks for them.

use crate::case::camel;
use dovetail_schema::Field;
use std::cell::Cell;

/// Ids without a field become fields that take no room, up to this number: so an ordinal never
/// changes.
pub(super) const MAX_FILLED: i32 = 1000;

/// The name of a type: `OuterInner` for `Outer.inner_`.
pub(super) fn upper(name: &str) -> String {
    let camel: String = name.split(['.', '[', ']']).map(camel).collect();
    match camel.chars().next() {
        Some(first) if first.is_ascii_digit() => format!("N{camel}"),
        _ if TYPES.contains(&camel.as_str()) => format!("{camel}Type"),
        _ => camel,
    }
}

/// The types of the language.
const TYPES: &[&str] = &[
    "AnyList",
    "AnyPointer",
    "AnyStruct",
    "Bool",
    "Capability",
    "Data",
    "Float32",
    "Float64",
    "Int16",
    "Int32",
    "Int64",
    "Int8",
    "List",
    "Text",
    "Void",
];

/// The name of a field, a method or an enum's value.
pub(super) fn member(name: &str) -> String {
    let upper: String = name.split(['.', '[', ']']).map(camel).collect();
    // `HTTPServer` is `httpServer`, and `URL` is `url`.
    let capitals = upper.chars().take_while(char::is_ascii_uppercase).count();
    let lowered = match capitals {
        0 | 1 => 1,
        all if all == upper.len() => all,
        some => some - 1,
    };
    let lower: String = upper
        .chars()
        .enumerate()
        .map(|(at, c)| match at < lowered {
            true => c.to_ascii_lowercase(),
            false => c,
        })
        .collect();
    match WORDS.contains(&lower.as_str()) {
        true => format!("{lower}Value"),
        false => lower,
    }
}

/// Words that begin a definition.
const WORDS: &[&str] = &[
    "annotation",
    "const",
    "enum",
    "group",
    "import",
    "interface",
    "struct",
    "union",
    "using",
];

/// The ordinals of fields with these ids: one less than the id where ids begin at 1, else their
/// place in the order of ids.
pub(super) struct Ordinals {
    ids: Vec<i32>,
    next: Cell<i32>,
}

impl Ordinals {
    pub(super) fn new(mut ids: Vec<i32>) -> Self {
        ids.sort_unstable();
        let ordinals = Ordinals {
            next: Cell::new(ids.len() as i32),
            ids,
        };
        if let (true, Some(last)) = (ordinals.are_ids(), ordinals.ids.last()) {
            ordinals.next.set(*last);
        }
        ordinals
    }

    fn are_ids(&self) -> bool {
        let within = |id: &i32| (1..=MAX_FILLED).contains(id);
        self.ids.iter().all(within)
    }

    pub(super) fn of(&self, id: i32) -> i32 {
        match self.are_ids() {
            true => id - 1,
            false => self
                .ids
                .iter()
                .position(|own| *own == id)
                .unwrap_or_default() as i32,
        }
    }

    /// The ordinals that no field has.
    pub(super) fn unused(&self) -> Vec<i32> {
        let last = self.ids.last().copied().unwrap_or_default();
        match self.are_ids() {
            true => (1..last)
                .filter(|id| self.ids.binary_search(id).is_err())
                .map(|id| id - 1)
                .collect(),
            false => Vec::new(),
        }
    }

    /// An ordinal behind all others.
    pub(super) fn another(&self) -> i32 {
        self.next.replace(self.next.get() + 1)
    }
}

/// The union that a field is a member of.
pub(super) fn union_of(field: &Field) -> Option<&str> {
    field.protobuf.oneof.as_deref()
}

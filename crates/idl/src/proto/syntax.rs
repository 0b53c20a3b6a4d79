//! The parser's result for a file: descriptors whose names are not resolved, the positions of
//! everything, and options that wait for their types.

use super::descriptor::File;
use crate::source::Span;
use std::collections::HashMap;
use std::rc::Rc;

/// A parsed file.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) file: Rc<File>,
    pub(super) positions: Positions,
    pub(super) options: Vec<Pending>,
    /// Definitions may be missing, so that an unknown name proves nothing.
    pub(super) damaged: bool,
}

/// The positions of definitions, by their paths in the descriptor.
#[derive(Debug, Default)]
pub(super) struct Positions {
    pub(super) list: Vec<Place>,
    index: HashMap<Vec<i32>, usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) path: Vec<i32>,
    pub(super) span: Span,
    pub(super) leading: Option<String>,
    pub(super) trailing: Option<String>,
    pub(super) detached: Vec<String>,
}

impl Positions {
    pub(super) fn add(&mut self, path: &[i32], span: Span) -> usize {
        let place = self.list.len();
        self.index.entry(path.to_owned()).or_insert(place);
        self.list.push(Place {
            path: path.to_owned(),
            span,
            leading: None,
            trailing: None,
            detached: Vec::new(),
        });
        place
    }

    /// Says what something is, once that is known.
    pub(super) fn relocate(&mut self, place: usize, path: Vec<i32>) {
        if let Some(known) = self.list.get_mut(place) {
            self.index.entry(path.clone()).or_insert(place);
            known.path = path;
        }
    }

    /// The first place with this path.
    pub(super) fn get(&self, path: &[i32]) -> Option<&Place> {
        self.list.get(*self.index.get(path)?)
    }

    /// The span of a path, or of the nearest thing around it.
    pub(super) fn span(&self, path: &[i32]) -> Span {
        let mut ends = (0..=path.len()).rev();
        let place = ends.find_map(|end| self.get(&path[..end]));
        place.map_or(Span::default(), |place| place.span)
    }

    /// The span of a part of something.
    pub(super) fn part(&self, path: &[i32], part: i32) -> Span {
        self.span(&[path, &[part]].concat())
    }
}

/// The path of something below another thing.
pub(super) fn below(path: &[i32], tag: i32, index: usize) -> Vec<i32> {
    [path, &[tag, index as i32]].concat()
}

/// An option as it is written.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// The path of the element that it is an option of.
    pub(super) owner: Vec<i32>,
    /// The number of the field `options` of that element.
    pub(super) tag: i32,
    pub(super) name: Vec<NamePart>,
    pub(super) value: Value,
    /// Its place in [`Positions::list`], whose path is only known when the name is.
    pub(super) place: usize,
}

/// A part of an option's name: `deprecated`, or `(some.extension)`.
#[derive(Clone, Debug)]
pub(super) struct NamePart {
    pub(super) text: String,
    pub(super) extension: bool,
    pub(super) span: Span,
}

/// A value as it is written.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) kind: ValueKind,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum ValueKind {
    Word(String),
    Int(Integer),
    Float(f64),
    Text(Vec<u8>),
    Message(Vec<Entry>),
    List(Vec<Value>),
}

/// The notation of a value: inside braces it is the text format, which has more freedoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    Statement,
    TextFormat,
}

impl Notation {
    /// The floating-point number that a word stands for. The text format ignores case.
    pub(super) fn special(self, word: &str) -> Option<f64> {
        let lower = word.to_ascii_lowercase();
        match (self, lower.as_str()) {
            (Notation::Statement, _) if lower != word => None,
            (_, "inf") | (Notation::TextFormat, "infinity") => Some(f64::INFINITY),
            (_, "nan") => Some(f64::NAN),
            _ => None,
        }
    }
}

/// An integer as it is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Integer {
    /// The value, with its sign.
    pub(super) value: i128,
    /// True behind a minus sign, also for `-0`.
    pub(super) negative: bool,
    /// False for octal and hexadecimal digits.
    pub(super) decimal: bool,
}

/// A field in a message value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: NamePart,
    /// The text before the type's name where the name is that of an `Any`: `type.googleapis.com`.
    pub(super) any: Option<String>,
    pub(super) value: Value,
}

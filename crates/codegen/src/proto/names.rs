//! Names of types: which message each of them stands in, and what has to stand before one where it
//! is used.

use dovetail_schema::{PackageId, Schema, TypeId};
use std::collections::HashSet;

/// Words that begin a type.
const SCALARS: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "fixed32",
    "fixed64",
    "float",
    "group",
    "int32",
    "int64",
    "map",
    "message",
    "oneof",
    "option",
    "optional",
    "repeated",
    "required",
    "reserved",
    "rpc",
    "extend",
    "extensions",
    "enum",
    "sfixed32",
    "sfixed64",
    "sint32",
    "sint64",
    "stream",
    "string",
    "uint32",
    "uint64",
];

pub(super) struct Names<'a> {
    /// The names of the file's types, and those of messages in which some stand that are none of
    /// the contract.
    own: Vec<(&'a str, Option<TypeId>)>,
    /// Names that a name can be taken for inside a message of this package.
    inner: HashSet<&'a str>,
    /// The names at its edge: there a name of another package begins.
    outer: HashSet<&'a str>,
    package: &'a str,
}

impl<'a> Names<'a> {
    pub(super) fn new(schema: &'a Schema, id: PackageId) -> Self {
        let package = schema[id].name.as_str();
        let mut names = Names {
            own: Vec::new(),
            inner: HashSet::new(),
            outer: HashSet::new(),
            package,
        };
        for (index, def) in schema.types.iter().enumerate() {
            if def.package == id {
                names.add(&def.name, TypeId(index as u32));
            }
            if schema[def.package].name == package {
                let mut parts = def.name.split('.');
                names.outer.extend(parts.next());
                names.inner.extend(parts);
            }
        }
        names
            .outer
            .extend(schema.services.iter().map(|service| service.name.as_str()));
        let segments = schema
            .packages
            .iter()
            .flat_map(|package| package.name.split('.').skip(1));
        names.outer.extend(segments);
        names
    }

    fn add(&mut self, name: &'a str, id: TypeId) {
        let dots = name.match_indices('.').map(|(at, _)| &name[..at]);
        for around in dots {
            if !self.own.iter().any(|(known, _)| *known == around) {
                self.own.push((around, None));
            }
        }
        match self.own.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = Some(id),
            None => self.own.push((name, Some(id))),
        }
    }

    /// The types directly in a message, or in none where that is empty: their full names.
    pub(super) fn at(&self, around: &str) -> impl Iterator<Item = (&'a str, Option<TypeId>)> {
        let inside =
            move |name: &str| name.rsplit_once('.').map_or("", |(around, _)| around) == around;
        self.own
            .iter()
            .copied()
            .filter(move |(name, _)| inside(name))
    }

    /// A name as it is written in this package; it is one of a type in `package`.
    pub(super) fn used(&self, package: &str, name: &str) -> String {
        let full = match package {
            "" => name.to_owned(),
            _ => format!("{package}.{name}"),
        };
        let own = package == self.package;
        let written = if own { name } else { &full };
        let first = written.split('.').next().unwrap_or_default();
        let taken = self.inner.contains(first) || (!own && self.outer.contains(first));
        match taken || SCALARS.contains(&first) {
            true => format!(".{full}"),
            false => written.to_owned(),
        }
    }
}

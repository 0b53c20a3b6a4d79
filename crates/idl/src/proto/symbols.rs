//! The meaning of every name, and protobuf's rules for finding it: from the innermost scope
//! outwards, by the first part of the name.

use super::descriptor::{Enum, Field, File, Message};
use super::syntax::below;
use std::collections::HashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SymbolKind {
    Message,
    Enum,
    Value,
    Field,
    Extension,
    Oneof,
    Service,
    Method,
}

impl SymbolKind {
    pub(super) fn word(self) -> &'static str {
        match self {
            SymbolKind::Message => "a message",
            SymbolKind::Enum => "an enum",
            SymbolKind::Value => "a value of an enum",
            SymbolKind::Field => "a field",
            SymbolKind::Extension => "an extension",
            SymbolKind::Oneof => "a oneof",
            SymbolKind::Service => "a service",
            SymbolKind::Method => "a method",
        }
    }

    /// True for what can be in front of a dot.
    fn is_scope(self) -> bool {
        matches!(
            self,
            SymbolKind::Message | SymbolKind::Enum | SymbolKind::Service
        )
    }

    pub(super) fn is_type(self) -> bool {
        matches!(self, SymbolKind::Message | SymbolKind::Enum)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Symbol {
    pub(super) kind: SymbolKind,
    pub(super) file: usize,
    /// Leads to it in its file's descriptor.
    pub(super) path: Vec<i32>,
}

/// All names, absolute but without the dot in front.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    map: HashMap<String, Symbol>,
    /// Packages and what is around them, each with a file that has it.
    packages: HashMap<String, usize>,
}

/// A name that is taken.
pub(super) struct Clash {
    pub(super) name: String,
    pub(super) symbol: Symbol,
    /// The place where it is already, and its file; only the file for a package.
    pub(super) other: (usize, Option<Symbol>),
}

/// Why a name stands for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unresolved {
    Unknown,
    /// It exists, in a file that is not imported.
    NotImported(usize),
    /// The first part is this, and does not have the rest.
    Shadowed(String),
}

/// The view of a file: other files, and the packages of those files.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) files: std::collections::HashSet<usize>,
    pub(super) packages: std::collections::HashSet<String>,
}

pub(super) fn join(scope: &str, name: &str) -> String {
    match scope {
        "" => name.to_owned(),
        _ => format!("{scope}.{name}"),
    }
}

/// A package and those around it.
pub(super) fn prefixes(package: &str) -> impl Iterator<Item = &str> {
    let dots = package.match_indices('.').map(|(at, _)| at);
    let ends = dots.chain([package.len()]);
    ends.filter(|end| *end > 0).map(|end| &package[..end])
}

impl Symbols {
    pub(super) fn get(&self, name: &str) -> Option<&Symbol> {
        self.map.get(name)
    }

    /// Adds all names of a file; returns those that exist already.
    pub(super) fn declare(&mut self, index: usize, file: &File) -> Vec<Clash> {
        let mut clashes = Vec::new();
        for package in prefixes(&file.package) {
            match self.map.get(package) {
                Some(other) => clashes.push(Clash {
                    name: package.to_owned(),
                    symbol: Symbol {
                        kind: SymbolKind::Message,
                        file: index,
                        path: vec![2],
                    },
                    other: (other.file, Some(other.clone())),
                }),
                None => {
                    self.packages.entry(package.to_owned()).or_insert(index);
                }
            }
        }
        let mut all = Declare {
            symbols: self,
            file: index,
            clashes: &mut clashes,
        };
        let package = file.package.as_str();
        all.messages(&file.messages, package, &[], 4);
        all.enums(&file.enums, package, &[], 5);
        all.fields(&file.extensions, SymbolKind::Extension, package, &[], 7);
        for (at, service) in file.services.iter().enumerate() {
            let path = below(&[], 6, at);
            let name = all.add(package, &service.name, SymbolKind::Service, path.clone());
            for (at, method) in service.methods.iter().enumerate() {
                all.add(&name, &method.name, SymbolKind::Method, below(&path, 2, at));
            }
        }
        clashes
    }

    /// Finds what a name stands for in a scope, as one of these files sees it. `wanted` tells what
    /// can be meant; anything else by that name is passed over.
    pub(super) fn resolve(
        &self,
        scope: &str,
        name: &str,
        view: &View,
        wanted: impl Fn(SymbolKind) -> bool,
    ) -> Result<(String, &Symbol), Unresolved> {
        if let Some(absolute) = name.strip_prefix('.') {
            return self
                .visible(absolute, view)
                .map(|symbol| (absolute.to_owned(), symbol));
        }
        let (first, rest) = match name.split_once('.') {
            Some((first, rest)) => (first, Some(rest)),
            None => (name, None),
        };
        let mut missing = Unresolved::Unknown;
        let mut scope = Some(scope);
        while let Some(here) = scope {
            let candidate = join(here, first);
            let found = self.visible(&candidate, view);
            match (rest, found) {
                (None, Ok(symbol)) if wanted(symbol.kind) => return Ok((candidate, symbol)),
                (Some(rest), found) => {
                    let is_scope = found.as_ref().is_ok_and(|symbol| symbol.kind.is_scope());
                    if is_scope || view.packages.contains(&candidate) {
                        let whole = format!("{candidate}.{rest}");
                        return match self.visible(&whole, view) {
                            Ok(symbol) => Ok((whole, symbol)),
                            Err(Unresolved::Unknown) => Err(Unresolved::Shadowed(candidate)),
                            Err(other) => Err(other),
                        };
                    }
                    let whole = format!("{candidate}.{rest}");
                    if let (Unresolved::Unknown, Err(other)) =
                        (&missing, self.visible(&whole, view))
                    {
                        missing = other;
                    }
                }
                (None, Err(other)) if missing == Unresolved::Unknown => missing = other,
                _ => {}
            }
            scope = match here {
                "" => None,
                _ => Some(here.rsplit_once('.').map_or("", |(outer, _)| outer)),
            };
        }
        Err(missing)
    }

    fn visible(&self, name: &str, view: &View) -> Result<&Symbol, Unresolved> {
        match self.map.get(name) {
            None => Err(Unresolved::Unknown),
            Some(symbol) if view.files.contains(&symbol.file) => Ok(symbol),
            Some(symbol) => Err(Unresolved::NotImported(symbol.file)),
        }
    }

    /// The type whose name, without its scope, is nearest to this one.
    pub(super) fn closest(
        &self,
        name: &str,
        view: &View,
        wanted: impl Fn(SymbolKind) -> bool,
    ) -> Option<&str> {
        let last = name.rsplit('.').next().unwrap_or(name);
        let same = |known: &&String| {
            let own = known.rsplit('.').next().unwrap_or(known);
            own.eq_ignore_ascii_case(last)
        };
        let seen = |known: &&String| {
            self.map
                .get(*known)
                .is_some_and(|s| view.files.contains(&s.file) && wanted(s.kind))
        };
        self.map
            .keys()
            .filter(same)
            .filter(seen)
            .min()
            .map(String::as_str)
    }
}

struct Declare<'a> {
    symbols: &'a mut Symbols,
    file: usize,
    clashes: &'a mut Vec<Clash>,
}

impl Declare<'_> {
    fn add(&mut self, scope: &str, name: &str, kind: SymbolKind, path: Vec<i32>) -> String {
        let name = join(scope, name);
        let symbol = Symbol {
            kind,
            file: self.file,
            path,
        };
        let other = match self.symbols.map.get(&name) {
            Some(other) => Some((other.file, Some(other.clone()))),
            None => self.symbols.packages.get(&name).map(|file| (*file, None)),
        };
        match other {
            Some(other) => self.clashes.push(Clash {
                name: name.clone(),
                symbol,
                other,
            }),
            None => {
                self.symbols.map.insert(name.clone(), symbol);
            }
        }
        name
    }

    fn messages(&mut self, messages: &[Message], scope: &str, path: &[i32], tag: i32) {
        for (at, message) in messages.iter().enumerate() {
            let path = below(path, tag, at);
            let name = self.add(scope, &message.name, SymbolKind::Message, path.clone());
            self.fields(&message.fields, SymbolKind::Field, &name, &path, 2);
            for (at, oneof) in message.oneofs.iter().enumerate() {
                self.add(&name, &oneof.name, SymbolKind::Oneof, below(&path, 8, at));
            }
            self.messages(&message.messages, &name, &path, 3);
            self.enums(&message.enums, &name, &path, 4);
            self.fields(&message.extensions, SymbolKind::Extension, &name, &path, 6);
        }
    }

    fn fields(&mut self, fields: &[Field], kind: SymbolKind, scope: &str, path: &[i32], tag: i32) {
        for (at, field) in fields.iter().enumerate() {
            self.add(scope, &field.name, kind, below(path, tag, at));
        }
    }

    /// Values are named beside their enum, not in it.
    fn enums(&mut self, enums: &[Enum], scope: &str, path: &[i32], tag: i32) {
        for (at, def) in enums.iter().enumerate() {
            let path = below(path, tag, at);
            self.add(scope, &def.name, SymbolKind::Enum, path.clone());
            for (at, value) in def.values.iter().enumerate() {
                self.add(scope, &value.name, SymbolKind::Value, below(&path, 2, at));
            }
        }
    }
}

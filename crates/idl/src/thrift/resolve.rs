//! Names: what every file defines, and what a name in a file means.

use crate::diagnostic::{Diagnostic, Sink};
use crate::source::{FileId, Span};
use crate::thrift::ast::{Definition, DefinitionKind, Name};
use crate::thrift::load::Program;
use dovetail_schema::{ConstantId, PackageId, Schema, ServiceId, Type, TypeId, TypeKind};
use std::collections::HashMap;

/// Stands for a type that could not be found, so that what depends on it is not reported as well.
/// No schema with such a type is ever handed out.
pub(crate) const POISON: Type = Type::Named(TypeId(u32::MAX));

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    Type(TypeId),
    Service(ServiceId),
}

/// The meaning of the name of a constant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ConstantSymbol {
    Constant(ConstantId),
    EnumValue(TypeId, i32),
}

#[derive(Debug, Default)]
struct Scope {
    symbols: HashMap<String, (Symbol, Span)>,
    constants: HashMap<String, (ConstantId, Span)>,
}

/// A definition and the file that it stands in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Defined<'a> {
    pub(crate) file: FileId,
    pub(crate) definition: &'a Definition,
}

/// All names of a program. The arenas have the order of those in the schema.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    pub(crate) program: &'a Program,
    pub(crate) types: Vec<Defined<'a>>,
    pub(crate) services: Vec<Defined<'a>>,
    pub(crate) constants: Vec<Defined<'a>>,
    /// One for each file.
    scopes: Vec<Scope>,
    packages: Vec<PackageId>,
}

impl<'a> Names<'a> {
    pub(crate) fn declare(program: &'a Program, sink: &mut Sink) -> Names<'a> {
        let mut names = Names {
            program,
            types: Vec::new(),
            services: Vec::new(),
            constants: Vec::new(),
            scopes: program.units.iter().map(|_| Scope::default()).collect(),
            packages: vec![PackageId(0); program.units.len()],
        };
        for (place, &file) in program.order.iter().enumerate() {
            names.packages[file.index()] = PackageId(place as u32);
            for definition in &program.unit(file).ast.definitions {
                names.define(Defined { file, definition }, sink);
            }
        }
        names
    }

    fn define(&mut self, defined: Defined<'a>, sink: &mut Sink) {
        let scope = &mut self.scopes[defined.file.index()];
        let name = &defined.definition.name;
        let first = match defined.definition.kind {
            DefinitionKind::Const { .. } => {
                let id = ConstantId(self.constants.len() as u32);
                self.constants.push(defined);
                let first = scope.constants.get(&name.text).map(|(_, span)| *span);
                scope
                    .constants
                    .entry(name.text.clone())
                    .or_insert((id, name.span));
                first
            }
            ref kind => {
                let symbol = match kind {
                    DefinitionKind::Service { .. } => {
                        self.services.push(defined);
                        Symbol::Service(ServiceId(self.services.len() as u32 - 1))
                    }
                    _ => {
                        self.types.push(defined);
                        Symbol::Type(TypeId(self.types.len() as u32 - 1))
                    }
                };
                let first = scope.symbols.get(&name.text).map(|(_, span)| *span);
                scope
                    .symbols
                    .entry(name.text.clone())
                    .or_insert((symbol, name.span));
                first
            }
        };
        if let Some(first) = first {
            let error = Diagnostic::error("E0306", format!("`{}` is defined twice", name.text))
                .at(defined.file, name.span, "the second definition")
                .also(defined.file, first, "the first definition")
                .help("rename or remove one of them");
            sink.push(error);
        }
    }

    pub(crate) fn package(&self, file: FileId) -> PackageId {
        self.packages[file.index()]
    }

    /// The place where a type is defined.
    pub(crate) fn type_span(&self, id: TypeId) -> (FileId, Span) {
        let defined = self.types[id.0 as usize];
        (defined.file, defined.definition.name.span)
    }

    pub(crate) fn find(&self, file: FileId, name: &str) -> Option<Symbol> {
        let (mut scopes, last) = self.scopes(file, name);
        let found = scopes.find_map(|scope| scope.symbols.get(last))?;
        Some(found.0)
    }

    /// The scopes in which the last part of a name is looked up, and that part. There are several
    /// where includes share a name; the last one goes first, as it does in Apache Thrift.
    fn scopes<'n>(&self, file: FileId, name: &'n str) -> (impl Iterator<Item = &Scope>, &'n str) {
        let (files, last) = match name.rsplit_once('.') {
            Some((prefix, last)) => (self.included(file, prefix), last),
            None => (vec![file], name),
        };
        (
            files.into_iter().map(|file| &self.scopes[file.index()]),
            last,
        )
    }

    fn included(&self, file: FileId, prefix: &str) -> Vec<FileId> {
        let includes = self.program.unit(file).includes.iter().rev();
        includes
            .filter(|include| include.prefix == prefix)
            .filter_map(|include| include.file)
            .collect()
    }

    /// `NAME`, `Enum.VALUE`, `file.NAME`, `file.Enum.VALUE`.
    pub(crate) fn find_constant(
        &self,
        schema: &Schema,
        file: FileId,
        name: &str,
    ) -> Option<ConstantSymbol> {
        let (mut scopes, last) = self.scopes(file, name);
        if let Some((id, _)) = scopes.find_map(|scope| scope.constants.get(last)) {
            return Some(ConstantSymbol::Constant(*id));
        }
        let (owner, value) = name.rsplit_once('.')?;
        let Symbol::Type(id) = self.find(file, owner)? else {
            return None;
        };
        let id = enum_of(schema, id)?;
        let TypeKind::Enum(def) = &schema[id].kind else {
            return None;
        };
        let value = def
            .values
            .iter()
            .find(|candidate| candidate.name == value)?;
        Some(ConstantSymbol::EnumValue(id, value.number))
    }

    /// Returns whether a missing name is no news: a definition that could have been it was refused.
    pub(crate) fn excused(&self, file: FileId, name: &str) -> bool {
        let unit = self.program.unit(file);
        let named = |prefix: &str| {
            let rest = name.strip_prefix(prefix);
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        let mut includes = unit
            .includes
            .iter()
            .filter(|include| named(&include.prefix))
            .peekable();
        match includes.peek() {
            Some(_) => includes.any(|include| match include.file {
                Some(file) => self.program.unit(file).damaged,
                None => !include.missing,
            }),
            None => unit.damaged,
        }
    }

    /// The type that a name stands for: defined here or in an include, or one of Dovetail's own.
    pub(crate) fn ty(&self, file: FileId, name: &Name, sink: &mut Sink) -> Type {
        match self.find(file, &name.text) {
            Some(Symbol::Type(id)) => Type::Named(id),
            Some(Symbol::Service(id)) => Type::Object(id),
            None => builtin(&name.text).unwrap_or_else(|| {
                self.unknown(file, name, "type", sink);
                POISON
            }),
        }
    }

    /// Reports a name that means nothing, and what it may have been meant to be.
    pub(crate) fn unknown(&self, file: FileId, name: &Name, what: &str, sink: &mut Sink) {
        if self.excused(file, &name.text) {
            return;
        }
        let code = if what == "constant" { "E0501" } else { "E0307" };
        let error = Diagnostic::error(code, format!("no {what} has the name `{}`", name.text));
        let help = self.suggestion(file, &name.text, what);
        sink.push(error.at(file, name.span, "unknown").maybe_help(help));
    }

    fn suggestion(&self, file: FileId, name: &str, what: &str) -> Option<String> {
        if what == "type"
            && let Some(known) = foreign_type(name)
        {
            return Some(format!("write `{known}`"));
        }
        if let Some((prefix, last)) = name.rsplit_once('.')
            && self.included(file, prefix).is_empty()
        {
            if what == "constant" && self.find(file, prefix).is_some() {
                return self.nearest_value(file, prefix, last);
            }
            let includes = &self.program.unit(file).includes;
            if includes.iter().any(|include| include.prefix == prefix) {
                return Some(format!("the include `{prefix}` was not found"));
            }
            let mut includes = includes.iter().map(|include| include.prefix.as_str());
            if let Some(near) = nearest(prefix, &mut includes) {
                return Some(format!("did you mean `{near}.{last}`?"));
            }
            if prefix == crate::source::stem(&self.program.sources[file.index()].name) {
                return Some(format!("within this file, write `{last}`"));
            }
            return Some(format!(
                "no include of this file has the name `{prefix}`: add `include \"{prefix}.thrift\"`"
            ));
        }
        let (mut scopes, last) = self.scopes(file, name);
        let scope = scopes.next()?;
        let prefix = name.strip_suffix(last).unwrap_or_default();
        let near = match what {
            "constant" => {
                // A bare value of an enum is the usual mistake.
                let owner = self.enum_with(file, last);
                if let Some(owner) = owner.filter(|_| prefix.is_empty()) {
                    return Some(format!(
                        "values of enums are written with the enum: `{owner}.{last}`"
                    ));
                }
                nearest(last, &mut scope.constants.keys().map(String::as_str))
            }
            _ => nearest(last, &mut scope.symbols.keys().map(String::as_str)),
        };
        if let Some(near) = near {
            return Some(format!("did you mean `{prefix}{near}`?"));
        }
        // Defined in a file at hand, but not named as such.
        let includes = self.program.unit(file).includes.iter();
        let mut found = includes.filter(|include| {
            let scope = include.file.map(|file| &self.scopes[file.index()]);
            scope.is_some_and(|scope| match what {
                "constant" => scope.constants.contains_key(last),
                _ => scope.symbols.contains_key(last),
            })
        });
        match found.next() {
            Some(include) => Some(format!(
                "it is defined in an include: write `{}.{last}`",
                include.prefix
            )),
            None => Some(format!(
                "define it, or include the file that defines it: `include \"…\"`, `file.{last}`"
            )),
        }
    }

    fn nearest_value(&self, file: FileId, owner: &str, value: &str) -> Option<String> {
        let Symbol::Type(id) = self.find(file, owner)? else {
            return None;
        };
        let DefinitionKind::Enum { values, .. } = &self.types[id.0 as usize].definition.kind else {
            return Some(format!("`{owner}` is no enum"));
        };
        let mut candidates = values.iter().map(|value| value.name.text.as_str());
        match nearest(value, &mut candidates) {
            Some(near) => Some(format!("did you mean `{owner}.{near}`?")),
            None => Some(format!("`{owner}` has no value `{value}`")),
        }
    }

    fn enum_with(&self, file: FileId, value: &str) -> Option<&'a str> {
        let mut definitions = self.program.unit(file).ast.definitions.iter();
        let owner = definitions.find(|definition| match &definition.kind {
            DefinitionKind::Enum { values, .. } => values.iter().any(|v| v.name.text == value),
            _ => false,
        });
        owner.map(|definition| definition.name.text.as_str())
    }
}

/// The enum that a type is, also by another name.
pub(crate) fn enum_of(schema: &Schema, id: TypeId) -> Option<TypeId> {
    match resolve(schema, &Type::Named(id))? {
        Type::Named(id) if matches!(schema[*id].kind, TypeKind::Enum(_)) => Some(*id),
        _ => None,
    }
}

/// Like [`Schema::resolve`], but `None` for what has been reported. Aliases must be free of cycles.
pub(crate) fn resolve<'t>(schema: &'t Schema, mut ty: &'t Type) -> Option<&'t Type> {
    while let Type::Named(id) = ty {
        match &schema.types.get(id.0 as usize)?.kind {
            TypeKind::Alias(target) => ty = target,
            _ => break,
        }
    }
    Some(ty)
}

/// The types that are named by words which Apache Thrift knows as plain identifiers. A definition
/// of that name goes before them.
fn builtin(name: &str) -> Option<Type> {
    Some(match name {
        "float" => Type::F32,
        "u8" => Type::U8,
        "u16" => Type::U16,
        "u32" => Type::U32,
        "u64" => Type::U64,
        "timestamp" => Type::Timestamp { offset: false },
        "timestamp_tz" => Type::Timestamp { offset: true },
        "date" => Type::Date,
        "duration" => Type::Duration,
        "decimal" => Type::Decimal,
        "any" => Type::Any,
        "dynamic" => Type::Dynamic,
        _ => return None,
    })
}

/// Returns our name for a type of another language.
fn foreign_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "int" | "int32" | "sint32" | "integer" | "Integer" | "Int" => "i32",
        "long" | "int64" | "sint64" | "Long" => "i64",
        "short" | "int16" => "i16",
        "char" | "int8" | "sbyte" => "i8",
        "uint8" | "ubyte" => "u8",
        "uint16" => "u16",
        "uint" | "uint32" => "u32",
        "uint64" | "ulong" => "u64",
        "f32" | "float32" => "float",
        "f64" | "float64" | "Double" => "double",
        "boolean" | "Boolean" | "Bool" => "bool",
        "str" | "String" | "text" => "string",
        "bytes" | "blob" | "buffer" => "binary",
        "guid" | "UUID" | "Uuid" => "uuid",
        "datetime" | "instant" | "Timestamp" => "timestamp",
        _ => return None,
    })
}

/// The candidate that differs by a slip of the keyboard.
pub(crate) fn nearest<'c>(
    name: &str,
    candidates: &mut dyn Iterator<Item = &'c str>,
) -> Option<&'c str> {
    if name.len() > 64 {
        return None;
    }
    let close = candidates
        .take(5000)
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= 2);
    let scored = close.map(|candidate| (distance(name, candidate), candidate));
    // Short names differ by a letter on purpose.
    let limit = (name.len() / 3).min(2);
    let near = |distance: usize, candidate: &str| {
        distance <= limit || candidate.eq_ignore_ascii_case(name)
    };
    scored
        .filter(|(distance, candidate)| near(*distance, candidate))
        .min()
        .map(|(_, candidate)| candidate)
}

/// Edits between two words, where case and a swap of neighbours count once.
fn distance(a: &str, b: &str) -> usize {
    if a.eq_ignore_ascii_case(b) {
        return 1;
    }
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let change = usize::from(a[i - 1] != b[j - 1]);
                let mut best = rows[i - 1][j - 1] + change;
                best = best.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

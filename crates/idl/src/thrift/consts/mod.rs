//! Constants, defaults and annotations: checked against their types, and converted to [`Value`]s.
//!
//! Constants may refer to each other in any order. What a reference brings in is counted, so that a
//! few lines cannot describe a value that fills the memory, and depth is bounded as it is for
//! literals.

mod convert;

use crate::diagnostic::{Diagnostic, Sink};
use crate::source::{FileId, Span};
use crate::thrift::ast::{ConstExpr, ConstKind, DefinitionKind, Name};
use crate::thrift::lower::{Pending, Place};
use crate::thrift::parser::MAX_DEPTH;
use crate::thrift::resolve::{ConstantSymbol, Names, nearest, resolve};
use dovetail_schema::{
    ConstantId, Dimension, Field, Presence, Schema, Struct, StructKind, Type, TypeId, TypeKind,
    Value,
};
use std::collections::{HashMap, HashSet};

pub(crate) struct Evaluated {
    /// One for each constant; `None` where an error has been reported.
    pub(crate) constants: Vec<Option<Value>>,
    /// One for each pending value.
    pub(crate) pending: Vec<Option<Value>>,
}

pub(crate) fn evaluate(
    names: &Names<'_>,
    schema: &Schema,
    pending: &[Pending<'_>],
    sink: &mut Sink,
) -> Evaluated {
    let states = schema
        .constants
        .iter()
        .map(|_| ConstState::Unknown)
        .collect();
    let mut evaluator = Evaluator {
        names,
        schema,
        sink,
        file: FileId(0),
        states,
        stack: Vec::new(),
        copied: 0,
        exhausted: false,
        annotation: false,
    };
    for index in 0..schema.constants.len() {
        evaluator.constant(ConstantId(index as u32), 0);
    }
    let pending = pending.iter().map(|pending| {
        evaluator.file = pending.file;
        evaluator.annotation = matches!(pending.place, Place::Annotation(..));
        evaluator.value(pending.expr, &pending.ty, 0)
    });
    let pending = pending.collect();
    let constants = evaluator.states.into_iter().map(|state| match state {
        ConstState::Known(value) => value,
        _ => None,
    });
    Evaluated {
        constants: constants.collect(),
        pending,
    }
}

enum ConstState {
    Unknown,
    Busy,
    Known(Option<Value>),
}

struct Evaluator<'a, 's> {
    names: &'a Names<'a>,
    schema: &'a Schema,
    sink: &'s mut Sink,
    file: FileId,
    states: Vec<ConstState>,
    /// The constants that are being evaluated, outermost first.
    stack: Vec<ConstantId>,
    /// How much has been copied by references.
    copied: usize,
    exhausted: bool,
    /// True while the fields of an annotation are evaluated.
    annotation: bool,
}

/// As much as references may copy in one program, in values or in 16 bytes of text.
const MAX_COPIED: usize = 1 << 20;

impl<'a> Evaluator<'a, '_> {
    fn constant(&mut self, id: ConstantId, depth: usize) -> Option<&Value> {
        if matches!(self.states[id.0 as usize], ConstState::Unknown) {
            self.states[id.0 as usize] = ConstState::Busy;
            self.stack.push(id);
            let defined = self.names.constants[id.0 as usize];
            let outer = std::mem::replace(&mut self.file, defined.file);
            let value = match &defined.definition.kind {
                DefinitionKind::Const { value, .. } => {
                    self.value(value, &self.schema[id].ty, depth)
                }
                _ => None,
            };
            self.file = outer;
            self.stack.pop();
            self.states[id.0 as usize] = ConstState::Known(value);
        }
        match &self.states[id.0 as usize] {
            ConstState::Known(value) => value.as_ref(),
            _ => None,
        }
    }

    fn error(&mut self, code: &'static str, message: impl Into<String>, span: Span, help: &str) {
        let error = Diagnostic::error(code, message)
            .at(self.file, span, "")
            .help(help);
        self.sink.push(error);
    }

    fn value(&mut self, expr: &ConstExpr, ty: &'a Type, depth: usize) -> Option<Value> {
        let ty = resolve(self.schema, ty)?;
        if depth > MAX_DEPTH {
            let message =
                format!("constants nest or refer to each other more than {MAX_DEPTH} deep");
            self.error(
                "E0502",
                message,
                expr.span,
                "define the inner ones first, or flatten the value",
            );
            return None;
        }
        match (&expr.kind, ty) {
            (ConstKind::Name(name), _) => self.reference(name, ty, expr.span, depth),
            (ConstKind::List(items), Type::List(item)) => {
                self.list(items, item, depth).map(Value::List)
            }
            (ConstKind::List(items), Type::Set(item)) => {
                let values = self.list(items, item, depth)?;
                Some(Value::List(self.distinct(values, items)))
            }
            (ConstKind::List(_), Type::Array(item, dimensions)) => {
                let mut extents = vec![None; dimensions.len()];
                self.array(expr, item, dimensions, &mut extents, depth)
            }
            (ConstKind::Map(entries), Type::Map(key, value)) => {
                self.map(entries, key, value, depth)
            }
            (ConstKind::Map(entries), Type::Named(id)) => match &self.schema[*id].kind {
                TypeKind::Struct(def) => self.structure(expr.span, entries, *id, def, depth),
                _ => self.mismatch(expr.span, "a map", ty),
            },
            (ConstKind::Map(entries), Type::List(_) | Type::Set(_)) if entries.is_empty() => {
                self.empty(expr.span, "[]", ty);
                Some(Value::List(Vec::new()))
            }
            (ConstKind::List(items), Type::Map(..)) if items.is_empty() => {
                self.empty(expr.span, "{}", ty);
                Some(Value::Map(Vec::new()))
            }
            (ConstKind::List(_), _) => self.mismatch(expr.span, "a list", ty),
            (ConstKind::Map(_), _) => self.mismatch(expr.span, "a map", ty),
            (ConstKind::Double(text), Type::Decimal) => self.convert(
                Value::String(text.trim_start_matches('+').to_owned()),
                ty,
                expr.span,
            ),
            (ConstKind::Double(text), _) => {
                let value = text.parse::<f64>().unwrap_or(f64::INFINITY);
                if value.is_infinite() {
                    let message = format!("`{text}` is too large for a double");
                    self.error(
                        "E0504",
                        message,
                        expr.span,
                        "the largest is 1.7976931348623157e308",
                    );
                    return None;
                }
                self.convert(Value::Double(value), ty, expr.span)
            }
            (ConstKind::Bool(value), _) => self.convert(Value::Bool(*value), ty, expr.span),
            (ConstKind::Int(value), _) => self.convert(Value::Int(*value), ty, expr.span),
            (ConstKind::Text(value), _) => {
                self.convert(Value::String(value.clone()), ty, expr.span)
            }
        }
    }

    fn list(&mut self, items: &[ConstExpr], item: &'a Type, depth: usize) -> Option<Vec<Value>> {
        // Not `collect`: an error in one element does not hide those in others.
        let values: Vec<_> = items
            .iter()
            .map(|expr| self.value(expr, item, depth + 1))
            .collect();
        values.into_iter().collect()
    }

    fn array(
        &mut self,
        expr: &ConstExpr,
        item: &'a Type,
        dimensions: &[Dimension],
        extents: &mut [Option<usize>],
        depth: usize,
    ) -> Option<Value> {
        let (Some((dimension, inner)), Some((extent, inner_extents))) =
            (dimensions.split_first(), extents.split_first_mut())
        else {
            return self.value(expr, item, depth);
        };
        let ConstKind::List(items) = &expr.kind else {
            self.error(
                "E0505",
                "this array has fewer dimensions than its type",
                expr.span,
                "put each row into `[…]`",
            );
            return None;
        };
        let wanted = match dimension {
            Dimension::Fixed(size) => *size as usize,
            // All rows are as long as the first one.
            Dimension::Dynamic => *extent.get_or_insert(items.len()),
        };
        if items.len() != wanted {
            let message = format!(
                "this array has {} elements where {wanted} are expected",
                items.len()
            );
            let help = match dimension {
                Dimension::Fixed(_) => "the extent is part of the type",
                Dimension::Dynamic => "all rows of an array have the same length",
            };
            self.error("E0506", message, expr.span, help);
            return None;
        }
        let values: Vec<_> = items
            .iter()
            .map(|expr| self.array(expr, item, inner, inner_extents, depth + 1))
            .collect();
        values
            .into_iter()
            .collect::<Option<Vec<_>>>()
            .map(Value::List)
    }

    fn map(
        &mut self,
        entries: &[(ConstExpr, ConstExpr)],
        key: &'a Type,
        value: &'a Type,
        depth: usize,
    ) -> Option<Value> {
        let mut seen: HashMap<String, Span> = HashMap::new();
        let mut found = Vec::with_capacity(entries.len());
        let mut complete = true;
        for (key_expr, value_expr) in entries {
            let key = self.value(key_expr, key, depth + 1);
            let value = self.value(value_expr, value, depth + 1);
            if let Some(key) = &key
                && let Some(first) = seen.insert(format!("{key:?}"), key_expr.span)
            {
                let error = Diagnostic::error("E0507", "this map contains a key twice")
                    .at(self.file, key_expr.span, "the second one")
                    .also(self.file, first, "the first one")
                    .help("remove one of the two entries");
                self.sink.push(error);
            }
            match (key, value) {
                (Some(key), Some(value)) => found.push((key, value)),
                _ => complete = false,
            }
        }
        complete.then_some(Value::Map(found))
    }

    /// The elements of a set. One that is there already changes nothing, but is hardly meant.
    fn distinct(&mut self, values: Vec<Value>, items: &[ConstExpr]) -> Vec<Value> {
        let mut seen: HashMap<String, Span> = HashMap::new();
        let mut distinct = Vec::with_capacity(values.len());
        for (value, item) in values.into_iter().zip(items) {
            if let Some(first) = seen.get(&format!("{value:?}")) {
                let warning = Diagnostic::warning("W0503", "this set contains an element twice")
                    .at(self.file, item.span, "the second one")
                    .also(self.file, *first, "the first one")
                    .help("remove one of them");
                self.sink.push(warning);
                continue;
            }
            seen.insert(format!("{value:?}"), item.span);
            distinct.push(value);
        }
        distinct
    }

    fn empty(&mut self, span: Span, wanted: &str, ty: &Type) {
        let message = format!("an empty {} is written `{wanted}`", self.describe(ty));
        let warning = Diagnostic::warning("W0501", message).at(self.file, span, "");
        self.sink.push(warning.help(format!("write `{wanted}`")));
    }

    fn structure(
        &mut self,
        span: Span,
        entries: &[(ConstExpr, ConstExpr)],
        id: TypeId,
        def: &'a Struct,
        depth: usize,
    ) -> Option<Value> {
        let name = &self.schema[id].name;
        let fields = self.fields_of(def);
        let defaults = self.defaults_of(id);
        let mut given: HashMap<&str, Span> = HashMap::new();
        let mut found = Vec::new();
        let mut complete = true;
        for (key, expr) in entries {
            let text = match &key.kind {
                ConstKind::Text(text) => text,
                ConstKind::Name(text) => {
                    let message = format!("the name of a field stands in quotes: \"{text}\"");
                    self.error(
                        "E0508",
                        message,
                        key.span,
                        &format!("write `\"{text}\": …`"),
                    );
                    complete = false;
                    continue;
                }
                _ => {
                    let message = format!("`{name}` is a struct: its keys are names of fields");
                    self.error("E0508", message, key.span, "write `\"field\": value`");
                    complete = false;
                    continue;
                }
            };
            let Some(field) = fields.get(text.as_str()) else {
                let near = nearest(text, &mut fields.keys().copied());
                let (file, place) = self.names.type_span(id);
                let error = Diagnostic::error("E0509", format!("`{name}` has no field `{text}`"))
                    .at(self.file, key.span, "")
                    .also(file, place, "defined here");
                let mut known: Vec<&str> = fields.keys().copied().collect();
                known.sort_unstable_by_key(|name| fields[name].id);
                let help = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if known.is_empty() => "it has no fields at all".to_owned(),
                    None => format!("its fields are {}", known[..known.len().min(8)].join(", ")),
                };
                self.sink.push(error.help(help));
                complete = false;
                continue;
            };
            if let Some(first) = given.insert(&field.name, key.span) {
                let error =
                    Diagnostic::error("E0510", format!("the field `{text}` is given twice"))
                        .at(self.file, key.span, "the second value")
                        .also(self.file, first, "the first value");
                self.sink.push(error.help("remove one of them"));
                complete = false;
                continue;
            }
            match self.value(expr, &field.ty, depth + 1) {
                Some(value) => found.push((text.clone(), value)),
                None => complete = false,
            }
        }
        if def.kind == StructKind::Union && entries.len() != 1 {
            let message = format!("`{name}` is a union: it has exactly one field");
            let help = format!(
                "write one of its fields, and no other; there are {} here",
                entries.len()
            );
            self.error("E0511", message, span, &help);
            return None;
        }
        let mut missing: Vec<&str> = fields
            .values()
            .filter(|field| {
                field.presence == Presence::Required && !defaults.contains(field.name.as_str())
            })
            .map(|field| field.name.as_str())
            .filter(|field| !given.contains_key(field))
            .collect();
        if complete && !missing.is_empty() {
            missing.sort_unstable();
            let (plural, list) = (
                if missing.len() == 1 { "" } else { "s" },
                missing.join("`, `"),
            );
            let message = format!("the required field{plural} `{list}` of `{name}` must be given");
            // Apache Thrift never looks. An annotation, though, is ours alone.
            let diagnostic = match self.annotation {
                true => Diagnostic::error("E0512", message),
                false => Diagnostic::warning("W0506", message)
                    .note("Apache Thrift takes zero, or what is empty, for what is missing"),
            };
            let help = format!("add a value for `{}`", missing[0]);
            self.sink
                .push(diagnostic.at(self.file, span, "").help(help));
        }
        complete.then_some(Value::Struct(id, found))
    }

    /// The fields with defaults. The schema has none yet, they are being evaluated: ask the syntax
    /// trees.
    fn defaults_of(&self, id: TypeId) -> HashSet<&'a str> {
        let mut names = HashSet::new();
        let mut next = Some(id);
        while let Some(id) = next {
            if let DefinitionKind::Struct(body) = &self.names.types[id.0 as usize].definition.kind {
                let with = body.fields.iter().filter(|field| field.default.is_some());
                names.extend(with.map(|field| field.name.text.as_str()));
            }
            next = match &self.schema[id].kind {
                TypeKind::Struct(def) => def.extends,
                _ => None,
            };
        }
        names
    }

    /// Own and inherited fields by name.
    fn fields_of(&self, def: &'a Struct) -> HashMap<&'a str, &'a Field> {
        let mut fields = HashMap::new();
        let mut next = Some(def);
        // Circles are refused, and broken, before values are looked at.
        while let Some(def) = next {
            for field in &def.fields {
                fields.entry(field.name.as_str()).or_insert(field);
            }
            next = def.extends.and_then(|base| match &self.schema[base].kind {
                TypeKind::Struct(def) => Some(def),
                _ => None,
            });
        }
        fields
    }

    fn reference(&mut self, name: &str, ty: &'a Type, span: Span, depth: usize) -> Option<Value> {
        let symbol = self.names.find_constant(self.schema, self.file, name);
        if !matches!(symbol, Some(ConstantSymbol::Constant(_)))
            && let Some(value) = self.by_last_part(symbol, name, ty, span)
        {
            return Some(value);
        }
        match symbol {
            Some(ConstantSymbol::EnumValue(id, number)) => {
                self.convert(Value::Enum(id, number), ty, span)
            }
            Some(ConstantSymbol::Constant(id)) => {
                if matches!(self.states[id.0 as usize], ConstState::Busy) {
                    return self.circle(id, span);
                }
                let value = self.constant(id, depth + 1)?.clone();
                let (size, inner) = measure(&value);
                self.copied = self.copied.saturating_add(size);
                if self.copied > MAX_COPIED {
                    if !self.exhausted {
                        let message = "constants that contain each other make an enormous value";
                        self.error(
                            "E0513",
                            message,
                            span,
                            "refer to large constants less often",
                        );
                    }
                    self.exhausted = true;
                    return None;
                }
                if depth + inner > MAX_DEPTH {
                    let message =
                        format!("with what it refers to, this nests more than {MAX_DEPTH} deep");
                    self.error("E0502", message, span, "flatten the value");
                    return None;
                }
                self.convert(value, ty, span)
            }
            None => {
                if let Type::Named(id) = ty
                    && let TypeKind::Enum(def) = &self.schema[*id].kind
                    && def.values.iter().any(|value| value.name == name)
                {
                    let owner = self.written_name(*id);
                    let message = format!("`{name}` needs the name of its enum");
                    self.error("E0514", message, span, &format!("write `{owner}.{name}`"));
                    return None;
                }
                let name = Name {
                    text: name.to_owned(),
                    span,
                };
                self.names.unknown(self.file, &name, "constant", self.sink);
                None
            }
        }
    }

    /// Finds the value of an enum. Apache Thrift only looks at the part behind the last dot, and so
    /// does this, with a warning unless the rest is right, too.
    fn by_last_part(
        &mut self,
        symbol: Option<ConstantSymbol>,
        name: &str,
        ty: &Type,
        span: Span,
    ) -> Option<Value> {
        let Type::Named(id) = ty else { return None };
        let TypeKind::Enum(def) = &self.schema[*id].kind else {
            return None;
        };
        let (_, last) = name.rsplit_once('.')?;
        let value = def.values.iter().find(|value| value.name == last)?;
        if !matches!(symbol, Some(ConstantSymbol::EnumValue(found, _)) if found == *id) {
            let message = format!(
                "`{name}` is taken for a value of `{}`",
                self.schema[*id].name
            );
            let warning = Diagnostic::warning("W0504", message).at(self.file, span, "");
            let owner = self.written_name(*id);
            self.sink
                .push(warning.help(format!("write `{owner}.{last}`")));
        }
        Some(Value::Enum(*id, value.number))
    }

    /// A type as this file calls it.
    fn written_name(&self, id: TypeId) -> String {
        let (file, _) = self.names.type_span(id);
        let name = &self.schema[id].name;
        let includes = &self.names.program.unit(self.file).includes;
        match includes.iter().find(|include| include.file == Some(file)) {
            Some(include) if file != self.file => format!("{}.{name}", include.prefix),
            _ => name.clone(),
        }
    }

    fn circle(&mut self, id: ConstantId, span: Span) -> Option<Value> {
        let start = self.stack.iter().position(|busy| *busy == id).unwrap_or(0);
        let circle = self.stack[start..].iter().chain([&id]);
        let path: Vec<&str> = circle.map(|id| self.schema[*id].name.as_str()).collect();
        let message = format!("constants go in a circle: {}", path.join(" → "));
        self.error(
            "E0515",
            message,
            span,
            "give one of them a value that does not depend on the others",
        );
        None
    }
}

/// How much there is of a value, and how deep it nests.
fn measure(value: &Value) -> (usize, usize) {
    let many = |values: &mut dyn Iterator<Item = &Value>| {
        let sum = values
            .map(measure)
            .fold((1usize, 0), |(size, depth), (more, deep)| {
                (size.saturating_add(more), usize::max(depth, deep))
            });
        (sum.0, sum.1 + 1)
    };
    match value {
        Value::String(text) => (1 + text.len() / 16, 0),
        Value::Bytes(bytes) => (1 + bytes.len() / 16, 0),
        Value::List(values) => many(&mut values.iter()),
        Value::Map(entries) => many(&mut entries.iter().flat_map(|(key, value)| [key, value])),
        Value::Struct(_, fields) => many(&mut fields.iter().map(|(_, value)| value)),
        _ => (1, 0),
    }
}

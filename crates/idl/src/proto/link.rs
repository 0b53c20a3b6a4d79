//! Names to what they stand for, file by file, imports first. Then each file's options are
//! interpreted, and it is checked.

use super::check::extension::Ranges;
use super::descriptor::{Field, File, Kind, Label, Message};
use super::load::Program;
use super::symbols::{Clash, SymbolKind, Symbols, Unresolved, View, join, prefixes};
use super::syntax::{Parsed, below};
use super::{check, options, walk};
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::{FileId, Span};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The state while files are linked. Those before the current one are finished.
pub(super) struct Linker<'a> {
    pub(super) files: Vec<Parsed>,
    pub(super) imports: &'a [Vec<Option<usize>>],
    pub(super) symbols: Symbols,
    /// The file that is being linked.
    pub(super) current: usize,
    /// The files that it sees.
    pub(super) view: View,
    /// The files whose names it has used.
    pub(super) used: HashSet<usize>,
    /// Extensions by message and number: file and path.
    pub(super) extensions: HashMap<(String, i32), (usize, Vec<i32>)>,
    /// Those of messages that have been extended.
    ranges: HashMap<String, Rc<Ranges>>,
    /// An unknown name proves nothing, since files are missing or broken.
    damaged: bool,
    pub(super) sink: &'a mut Sink,
}

/// Links all files; the result has them finished.
pub(super) fn link(program: &mut Program, sink: &mut Sink) {
    let files = std::mem::take(&mut program.files);
    let mut linker = Linker {
        damaged: files.iter().any(|file| file.damaged),
        files,
        imports: &program.imports,
        symbols: Symbols::default(),
        current: 0,
        view: View::default(),
        used: HashSet::new(),
        extensions: HashMap::new(),
        ranges: HashMap::new(),
        sink,
    };
    for &index in &program.order {
        linker.file(index);
    }
    program.files = linker.files;
}

/// The kind of definition that a name has to stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A message or an enum: the type of a field.
    Type,
    /// A message that is sent, or extended.
    Message,
    /// An extension that is an option.
    Extension,
}

impl Wanted {
    fn fits(self, kind: SymbolKind) -> bool {
        match self {
            Wanted::Type => kind.is_type(),
            Wanted::Message => kind == SymbolKind::Message,
            Wanted::Extension => kind == SymbolKind::Extension,
        }
    }

    /// Returns whether the search goes on behind a name of another kind. Protobuf's compiler passes
    /// over others for the types of fields alone.
    fn passes_over_others(self) -> bool {
        self == Wanted::Type
    }

    fn word(self) -> &'static str {
        match self {
            Wanted::Type => "a type",
            Wanted::Message => "a message",
            Wanted::Extension => "an extension",
        }
    }
}

impl Linker<'_> {
    fn file(&mut self, index: usize) {
        self.current = index;
        let plain = self.files[index].file.dependencies.len();
        self.view = self.view_of(index, plain);
        self.used.clear();
        let clashes = self.symbols.declare(index, &self.files[index].file);
        clashes.iter().for_each(|clash| self.clash(clash));
        let mut file = std::mem::take(&mut self.files[index].file);
        self.types(Rc::make_mut(&mut file));
        self.files[index].file = file;
        if self.imports[index].len() > plain {
            self.view = self.view_of(index, usize::MAX);
        }
        options::interpret(self);
        check::file(self);
        if index == 0 && self.sink.errors() == 0 {
            self.unused_imports();
            check::permission::all(self);
        }
    }

    /// The file itself, its first `imports` imports, and what those import publicly. Imports for
    /// options, which only options see, come last.
    fn view_of(&self, index: usize, imports: usize) -> View {
        let mut view = View::default();
        let direct = self.imports[index].iter().take(imports).flatten().copied();
        let mut open: Vec<usize> = direct.collect();
        view.files.insert(index);
        while let Some(next) = open.pop() {
            if view.files.insert(next) {
                let imports = &self.imports[next];
                let public = self.files[next].file.public.iter();
                open.extend(public.filter_map(|at| imports.get(*at as usize).copied().flatten()));
            }
        }
        for file in &view.files {
            let package = self.files[*file].file.package.as_str();
            view.packages.extend(prefixes(package).map(str::to_owned));
        }
        view
    }

    pub(super) fn parsed(&self) -> &Parsed {
        &self.files[self.current]
    }

    pub(super) fn span(&self, path: &[i32], part: i32) -> Span {
        self.parsed().positions.part(path, part)
    }

    /// Reports an error in the current file.
    pub(super) fn error(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        help: &str,
    ) {
        let error = Diagnostic::error(code, message).at(FileId(self.current as u32), span, "");
        self.sink.push(error.help(help));
    }

    pub(super) fn warning(&mut self, code: &'static str, span: Span, message: String, help: &str) {
        let warning = Diagnostic::warning(code, message).at(FileId(self.current as u32), span, "");
        self.sink.push(warning.help(help));
    }

    fn clash(&mut self, clash: &Clash) {
        let (name, symbol) = (&clash.name, &clash.symbol);
        let own = if symbol.path == [2] {
            Span::default()
        } else {
            self.span(&symbol.path, 1)
        };
        let span = match symbol.path.as_slice() {
            [2] => self.parsed().positions.span(&[2]),
            _ => own,
        };
        let error = Diagnostic::error("E1401", format!("`{name}` is defined twice"));
        let error = error.at(FileId(self.current as u32), span, "");
        let (file, other) = &clash.other;
        let error = match other {
            Some(other) => {
                let span = self.files[*file].positions.part(&other.path, 1);
                error.also(
                    FileId(*file as u32),
                    span,
                    format!("here it is {}", other.kind.word()),
                )
            }
            None => {
                let span = self.files[*file].positions.span(&[2]);
                error.also(FileId(*file as u32), span, "here it is a package")
            }
        };
        let both_values = symbol.kind == SymbolKind::Value
            || other
                .as_ref()
                .is_some_and(|other| other.kind == SymbolKind::Value);
        let error = match both_values {
            true => error.note("values of enums are named beside their enum, not in it"),
            false => error,
        };
        self.sink.push(error.help("rename one of them"));
    }

    fn types(&mut self, file: &mut File) {
        let package = file.package.clone();
        self.messages(&mut file.messages, &package, &[], 4);
        self.fields(&mut file.extensions, &package, &[], 7);
        for (at, service) in file.services.iter_mut().enumerate() {
            let path = below(&[], 6, at);
            let scope = join(&package, &service.name);
            for (at, method) in service.methods.iter_mut().enumerate() {
                let path = below(&path, 2, at);
                for (name, tag) in [(&mut method.input, 2), (&mut method.output, 3)] {
                    if let Some((full, _)) = self.find(&scope, name, &path, tag, Wanted::Message) {
                        *name = full;
                    }
                }
            }
        }
    }

    fn messages(&mut self, messages: &mut [Message], scope: &str, path: &[i32], tag: i32) {
        for (at, message) in messages.iter_mut().enumerate() {
            let path = below(path, tag, at);
            let scope = join(scope, &message.name);
            self.fields(&mut message.fields, &scope, &path, 2);
            self.fields(&mut message.extensions, &scope, &path, 6);
            self.messages(&mut message.messages, &scope, &path, 3);
        }
    }

    fn fields(&mut self, fields: &mut [Field], scope: &str, path: &[i32], tag: i32) {
        for (at, field) in fields.iter_mut().enumerate() {
            let path = below(path, tag, at);
            if !field.extendee.is_empty() {
                let found = self.find(scope, &field.extendee, &path, 2, Wanted::Message);
                match found {
                    Some((full, _)) => field.extendee = full,
                    None => field.extendee.clear(),
                }
            }
            if !field.type_name.is_empty() {
                self.field_type(field, scope, &path);
            }
            field
                .json_name
                .get_or_insert_with(|| json_name(&field.name));
        }
    }

    fn field_type(&mut self, field: &mut Field, scope: &str, path: &[i32]) {
        let found = self.find(scope, &field.type_name, path, 6, Wanted::Type);
        let Some((full, kind)) = found else {
            field.kind.get_or_insert(Kind::Message);
            return;
        };
        field.type_name = full;
        if kind == SymbolKind::Message {
            field.kind.get_or_insert(Kind::Message);
            if field.default.is_some() {
                let help = "only enums and scalars have default values";
                self.error(
                    "E1506",
                    self.span(path, 7),
                    "a message has no default value",
                    help,
                );
            }
            return;
        }
        field.kind = Some(Kind::Enum);
        if let Some(default) = &field.default {
            self.enum_default(&field.type_name, default, path);
        }
    }

    /// The default value of an enum field is one of the enum.
    fn enum_default(&mut self, type_name: &str, default: &str, path: &[i32]) {
        let name = type_name.trim_start_matches('.');
        let scope = name.rsplit_once('.').map_or("", |(scope, _)| scope);
        let def = self.symbols.get(name).map(|symbol| symbol.path.clone());
        let value = self.symbols.get(&join(scope, default));
        let own = value.zip(def).is_some_and(|(value, def)| {
            value.kind == SymbolKind::Value && value.path.starts_with(&def)
        });
        if !own {
            let message = format!("the enum `{name}` has no value `{default}`");
            self.error(
                "E1506",
                self.span(path, 7),
                message,
                "name one of its values",
            );
        }
    }

    /// Finds what a name in the file stands for, or reports that it cannot.
    pub(super) fn find(
        &mut self,
        scope: &str,
        name: &str,
        path: &[i32],
        part: i32,
        wanted: Wanted,
    ) -> Option<(String, SymbolKind)> {
        let span = self.span(path, part);
        self.find_at(scope, name, span, wanted)
    }

    pub(super) fn find_at(
        &mut self,
        scope: &str,
        name: &str,
        span: Span,
        wanted: Wanted,
    ) -> Option<(String, SymbolKind)> {
        let what = wanted.word();
        let candidate = |kind| wanted.fits(kind) || !wanted.passes_over_others();
        match self.symbols.resolve(scope, name, &self.view, candidate) {
            Ok((full, symbol)) if wanted.fits(symbol.kind) => {
                let kind = symbol.kind;
                self.used.insert(symbol.file);
                return Some((format!(".{full}"), kind));
            }
            Ok((full, symbol)) => {
                let message = format!("`{full}` is {}, not {what}", symbol.kind.word());
                self.error("E1403", span, message, &format!("name {what}"));
            }
            // Perhaps it is something else.
            Err(why) => match self.symbols.resolve(scope, name, &self.view, |_| true) {
                Ok((full, symbol)) if why == Unresolved::Unknown => {
                    let message = format!("`{full}` is {}, not {what}", symbol.kind.word());
                    self.error("E1403", span, message, &format!("name {what}"));
                }
                _ => self.unresolved(name, span, why, wanted),
            },
        }
        None
    }

    fn unresolved(&mut self, name: &str, span: Span, why: Unresolved, wanted: Wanted) {
        let what = wanted.word();
        match why {
            Unresolved::NotImported(file) => {
                let path = self.files[file].file.name.clone();
                let message = format!("`{name}` is in a file that this one does not import");
                self.error("E1402", span, message, &format!("add `import \"{path}\";`"));
            }
            // A file that is missing may have it.
            _ if self.damaged => {}
            Unresolved::Shadowed(first) => {
                let message = format!("cannot find {what} named `{name}`");
                let rest = name.split_once('.').map_or("", |(_, rest)| rest);
                let error = Diagnostic::error("E1402", message)
                    .at(FileId(self.current as u32), span, "")
                    .note(format!("the first part is `{first}`, the innermost of that name, and it has no `{rest}`"))
                    .help(format!("if another one is meant, write its full name: `.{name}`"));
                self.sink.push(error);
            }
            Unresolved::Unknown => {
                let close = match self.sink.errors() < 100 {
                    true => self
                        .symbols
                        .closest(name, &self.view, |kind| wanted.fits(kind)),
                    false => None,
                };
                let help = match (close, name) {
                    (Some(close), _) => format!("did you mean `{close}`?"),
                    (None, "int" | "long" | "i32" | "i64" | "short" | "integer") => {
                        "integers are int32, int64, uint32, uint64 and their fixed and zigzag forms"
                            .to_owned()
                    }
                    (None, "str" | "text" | "String") => "text is `string`".to_owned(),
                    (None, "boolean") => "the word is `bool`".to_owned(),
                    (None, "binary" | "blob" | "byte") => "the word is `bytes`".to_owned(),
                    (None, _) => "define it, or import the file that does".to_owned(),
                };
                self.error(
                    "E1402",
                    span,
                    format!("cannot find {what} named `{name}`"),
                    &help,
                );
            }
        }
    }

    /// The message with this absolute name.
    pub(super) fn message(&self, name: &str) -> Option<&Message> {
        let symbol = self.symbols.get(name.trim_start_matches('.'))?;
        walk::message(&self.files[symbol.file].file, &symbol.path)
    }

    /// The numbers that a message gives to extensions.
    pub(super) fn ranges_of(&mut self, name: &str, message: &Message) -> Rc<Ranges> {
        if let Some(known) = self.ranges.get(name) {
            return Rc::clone(known);
        }
        let ranges = Rc::new(Ranges::of(message));
        self.ranges.insert(name.to_owned(), Rc::clone(&ranges));
        ranges
    }

    fn unused_imports(&mut self) {
        let file = &self.parsed().file;
        let imports = &self.imports[self.current];
        let mut unused = Vec::new();
        for (at, path) in file.dependencies.iter().enumerate() {
            let Some(target) = imports.get(at).copied().flatten() else {
                continue;
            };
            let public = file.public.contains(&(at as i32));
            let mut open = vec![target];
            let mut seen = HashSet::new();
            let mut used = public;
            while let Some(next) = open.pop() {
                used |= self.used.contains(&next);
                if seen.insert(next) {
                    let others = self.files[next].file.public.iter();
                    open.extend(
                        others.filter_map(|at| {
                            self.imports[next].get(*at as usize).copied().flatten()
                        }),
                    );
                }
            }
            if !used {
                unused.push((path.clone(), self.parsed().positions.span(&[3, at as i32])));
            }
        }
        for (path, span) in unused {
            let message = format!("nothing of `{path}` is used");
            self.warning("W1301", span, message, "remove the import");
        }
    }
}

/// The name of a field in JSON: `fooBar` for `foo_bar`.
pub(super) fn json_name(name: &str) -> String {
    let mut out = String::new();
    let mut capital = false;
    for character in name.chars() {
        match character {
            '_' => capital = true,
            _ if capital => {
                out.push(character.to_ascii_uppercase());
                capital = false;
            }
            _ => out.push(character),
        }
    }
    out
}

/// True for a label of one value or none.
pub(super) fn is_singular(field: &Field) -> bool {
    field.label != Label::Repeated
}

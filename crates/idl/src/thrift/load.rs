//! From one path to all files that belong to it: lexes, parses, follows includes.

use crate::diagnostic::{Diagnostic, Sink};
use crate::graph::{self, Edges};
use crate::source::{FileId, LoadError, Loader, Source, Span, stem};
use crate::thrift::ast::{self, Header};
use crate::thrift::lexer::{self, Lexed, Token};
use crate::thrift::parser;
use std::collections::HashMap;

/// A file and what it includes.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) ast: ast::File,
    /// In the order written.
    pub(crate) includes: Vec<Include>,
    /// Definitions may be missing from `ast`, so that an unknown name proves nothing.
    pub(crate) damaged: bool,
}

#[derive(Debug)]
pub(crate) struct Include {
    /// The text before the dot of a name from there.
    pub(crate) prefix: String,
    pub(crate) span: Span,
    /// `None` where it could not be loaded; that has been reported.
    pub(crate) file: Option<FileId>,
    /// There is no such file, which is an error only where something of it is used.
    pub(crate) missing: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) sources: Vec<Source>,
    /// One for each source.
    pub(crate) units: Vec<Unit>,
    /// Includes before the files that include them. The root is last.
    pub(crate) order: Vec<FileId>,
}

/// More than enough for text, and places in it fit 32 bits.
const MAX_BYTES: usize = 64 << 20;

pub(crate) fn load(path: &str, loader: &dyn Loader, sink: &mut Sink) -> Option<Program> {
    let mut program = Program::default();
    let mut known = HashMap::new();
    match loader.load(None, path) {
        Ok(source) => program.add(source, &mut known, sink),
        Err(error) => {
            let error = Diagnostic::error("E0301", format!("cannot read `{path}`: {error}"));
            sink.push(error.help("check the path"));
            return None;
        }
    };
    let mut next = 0;
    while next < program.units.len() {
        program.include(next, loader, &mut known, sink);
        next += 1;
    }
    program.sort(sink);
    Some(program)
}

impl Program {
    pub(crate) fn unit(&self, file: FileId) -> &Unit {
        &self.units[file.index()]
    }

    fn add(
        &mut self,
        source: Source,
        known: &mut HashMap<String, FileId>,
        sink: &mut Sink,
    ) -> FileId {
        let file = FileId(self.sources.len() as u32);
        known.insert(source.name.clone(), file);
        let errors = sink.errors();
        let ast = if source.text.len() > MAX_BYTES {
            let message = format!("`{}` has more than {MAX_BYTES} bytes", source.name);
            sink.push(Diagnostic::error("E0302", message).help("split the file"));
            ast::File::default()
        } else {
            let lexed = lexer::lex(file, &source.text, sink);
            if source.replaced {
                report_replaced(file, &source.text, &lexed, sink);
            }
            parser::parse(file, &source.text, &lexed, sink)
        };
        self.sources.push(source);
        let damaged = sink.errors() > errors;
        self.units.push(Unit {
            ast,
            includes: Vec::new(),
            damaged,
        });
        file
    }

    fn include(
        &mut self,
        index: usize,
        loader: &dyn Loader,
        known: &mut HashMap<String, FileId>,
        sink: &mut Sink,
    ) {
        let file = FileId(index as u32);
        let from = self.sources[index].name.clone();
        let headers = &self.units[index].ast.headers;
        let includes = headers.iter().filter_map(|header| match header {
            Header::Include(path) => Some(path.clone()),
            _ => None,
        });
        let mut done: Vec<Include> = Vec::new();
        for path in includes.collect::<Vec<_>>() {
            let mut missing = false;
            let target = match loader.load(Some(&from), &path.text) {
                Ok(source) => match known.get(&source.name) {
                    Some(file) => Some(*file),
                    None => Some(self.add(source, known, sink)),
                },
                Err(error) => {
                    sink.push(not_loaded(file, &path, &error));
                    missing = matches!(error, LoadError::NotFound { .. });
                    None
                }
            };
            let prefix = stem(&path.text).to_owned();
            if target.is_some() && done.iter().any(|include| include.file == target) {
                let message = format!("`{}` is included twice", path.text);
                let warning = Diagnostic::warning("W0301", message).at(file, path.span, "");
                sink.push(warning.help("remove one of the two lines"));
                continue;
            }
            if let Some(other) = done.iter().find(|include| include.prefix == prefix) {
                let message = format!("two includes have the name `{prefix}`");
                let warning = Diagnostic::warning("W0303", message)
                    .at(file, path.span, "the second one")
                    .also(file, other.span, "the first one")
                    .note(format!(
                        "if both define `{prefix}.Name`, it comes from the second one"
                    ))
                    .help("rename one of the files");
                sink.push(warning);
            }
            done.push(Include {
                prefix,
                span: path.span,
                file: target,
                missing,
            });
        }
        self.units[index].includes = done;
    }

    /// Fills in `order`, and reports includes that go in a circle.
    fn sort(&mut self, sink: &mut Sink) {
        let files = |unit: &Unit| {
            let files = unit.includes.iter().filter_map(|include| include.file);
            files.map(FileId::index).collect()
        };
        let edges: Edges = self.units.iter().map(files).collect();
        let order = graph::components(&edges).concat();
        self.order = order
            .into_iter()
            .map(|index| FileId(index as u32))
            .collect();
        for cycle in graph::cycles(&edges) {
            let names = cycle.iter().chain(cycle.first());
            let path: Vec<&str> = names
                .map(|file| self.sources[*file].name.as_str())
                .collect();
            let message = format!("includes go in a circle: {}", path.join(" → "));
            let mut error = Diagnostic::error("E0304", message);
            for (at, &file) in cycle.iter().enumerate() {
                let target = cycle.get(at + 1).or(cycle.first()).copied();
                let mut includes = self.units[file].includes.iter();
                let include = includes.find(|include| include.file.map(FileId::index) == target);
                if let Some(include) = include {
                    let id = FileId(file as u32);
                    error = match at {
                        0 => error.at(id, include.span, "the circle begins here"),
                        _ => error.also(id, include.span, "and goes on here"),
                    };
                }
            }
            sink.push(error.help("move what both need into a file of its own"));
        }
    }
}

/// Reports bytes that are not UTF-8 outside of comments.
fn report_replaced(file: FileId, text: &str, lexed: &Lexed, sink: &mut Sink) {
    for Token { span, .. } in &lexed.tokens {
        let token = text.get(span.start as usize..span.end as usize);
        if token.is_some_and(|token| token.contains(char::REPLACEMENT_CHARACTER)) {
            let error = Diagnostic::error("E0303", "bytes that are not UTF-8");
            sink.push(error.at(file, *span, "").help("save the file as UTF-8"));
        }
    }
}

fn not_loaded(file: FileId, path: &ast::Text, error: &LoadError) -> Diagnostic {
    match error {
        LoadError::NotFound { tried } => {
            let message = format!("cannot find `{}`", path.text);
            let warning = Diagnostic::warning("W0305", message).at(file, path.span, "");
            let places = (!tried.is_empty()).then(|| format!("looked for {}", tried.join(", ")));
            let help = "paths are relative to this file, then to the include directories";
            places
                .into_iter()
                .fold(warning, Diagnostic::note)
                .help(help)
        }
        LoadError::Unreadable(why) => {
            let message = format!("cannot read `{}`: {why}", path.text);
            let error = Diagnostic::error("E0305", message).at(file, path.span, "");
            error.help("make it a file that can be read, or remove the line")
        }
    }
}

//! From one path to all files that belong to it: lexes, parses, follows imports.

use super::syntax::Parsed;
use super::{lexer, parser, well_known};
use crate::diagnostic::{Diagnostic, Sink};
use crate::graph::{self, Edges};
use crate::source::{FileId, LoadError, Loader, Source, Span};
use std::collections::HashMap;

#[derive(Debug, Default)]
pub(super) struct Program {
    /// The first is the one that was asked for.
    pub(super) sources: Vec<Source>,
    /// One for each source.
    pub(super) files: Vec<Parsed>,
    /// For each file, what its imports and then its option imports lead to.
    pub(super) imports: Vec<Vec<Option<usize>>>,
    /// Imports before the files that import them.
    pub(super) order: Vec<usize>,
    known: HashMap<String, usize>,
}

/// More than enough for text, and places in it fit 32 bits.
const MAX_BYTES: usize = 64 << 20;

pub(super) fn load(path: &str, loader: &dyn Loader, sink: &mut Sink) -> Option<Program> {
    let mut program = Program::default();
    match loader.load(None, path) {
        Ok(source) => program.add(path, source, sink),
        Err(error) => {
            let error = Diagnostic::error("E1300", format!("cannot read `{path}`: {error}"));
            sink.push(error.help("check the path"));
            return None;
        }
    };
    let mut next = 0;
    while next < program.files.len() {
        program.follow(next, loader, sink);
        next += 1;
    }
    if program.descriptor().is_none()
        && let Some(source) = well_known::source(well_known::DESCRIPTOR)
    {
        program.add(well_known::DESCRIPTOR, source, sink);
        program.imports.push(Vec::new());
    }
    program.sort(sink);
    Some(program)
}

impl Program {
    /// The file that defines options.
    pub(super) fn descriptor(&self) -> Option<usize> {
        let name = well_known::DESCRIPTOR;
        self.files
            .iter()
            .position(|parsed| parsed.file.name == name)
    }

    fn add(&mut self, name: &str, source: Source, sink: &mut Sink) -> usize {
        let index = self.files.len();
        let id = FileId(index as u32);
        self.known.insert(source.name.clone(), index);
        let text = match source.text.len() > MAX_BYTES {
            true => {
                let message = format!("`{}` has more than {MAX_BYTES} bytes", source.name);
                sink.push(Diagnostic::error("E1300", message).help("split the file"));
                ""
            }
            false => source.text.as_str(),
        };
        let errors = sink.errors();
        if source.replaced {
            let error = Diagnostic::error("E1300", format!("`{}` is not UTF-8", source.name));
            sink.push(error.help("save it as UTF-8"));
        }
        let lexed = lexer::lex(id, text, sink);
        let mut parsed = parser::parse(id, name, text, &lexed, sink);
        parsed.damaged |= sink.errors() > errors;
        self.files.push(parsed);
        self.sources.push(source);
        index
    }

    /// Loads what a file imports.
    fn follow(&mut self, index: usize, loader: &dyn Loader, sink: &mut Sink) {
        let file = &self.files[index].file;
        let plain = file
            .dependencies
            .iter()
            .enumerate()
            .map(|(at, path)| (3, at, path));
        let options = file.option_dependencies.iter().enumerate();
        let all = plain.chain(options.map(|(at, path)| (15, at, path)));
        let all: Vec<(i32, usize, String)> =
            all.map(|(tag, at, path)| (tag, at, path.clone())).collect();
        let mut targets = Vec::with_capacity(all.len());
        for (tag, at, path) in all {
            let found = match bad_path(&path) {
                Some(why) => Err(LoadError::Unreadable(why.to_owned())),
                None => self.find(&path, loader, sink),
            };
            targets.push(
                found
                    .map_err(|error| {
                        let id = FileId(index as u32);
                        let span = self.files[index].positions.span(&[tag, at as i32]);
                        sink.push(not_loaded(id, span, &path, &error));
                        self.files[index].damaged = true;
                    })
                    .ok(),
            );
        }
        self.imports.push(targets);
    }

    /// Imports are relative to the folder of the file that was asked for, and to the include
    /// folders; never to the importing file. What nobody brings is built in, perhaps.
    fn find(
        &mut self,
        path: &str,
        loader: &dyn Loader,
        sink: &mut Sink,
    ) -> Result<usize, LoadError> {
        let root = self.sources.first().map(|source| source.name.as_str());
        let source = match loader.load(root, path) {
            Err(error @ LoadError::NotFound { .. }) => well_known::source(path).ok_or(error),
            other => other,
        }?;
        match self.known.get(&source.name) {
            Some(index) => Ok(*index),
            None => Ok(self.add(path, source, sink)),
        }
    }

    /// Fills in `order`, and reports imports that go in a circle.
    fn sort(&mut self, sink: &mut Sink) {
        let edges: Edges = self
            .imports
            .iter()
            .map(|all| all.iter().flatten().copied().collect())
            .collect();
        self.order = graph::components(&edges).concat();
        // Options come before everything that has some.
        if let Some(descriptor) = self.descriptor() {
            self.order.retain(|index| *index != descriptor);
            self.order.insert(0, descriptor);
        }
        for cycle in graph::cycles(&edges) {
            let names = cycle.iter().chain(cycle.first());
            let path: Vec<&str> = names
                .map(|file| self.sources[*file].name.as_str())
                .collect();
            let mut error = Diagnostic::error(
                "E1304",
                format!("imports go in a circle: {}", path.join(" → ")),
            );
            for (at, &file) in cycle.iter().enumerate() {
                let target = cycle.get(at + 1).or(cycle.first()).copied();
                let place = self.imports[file]
                    .iter()
                    .position(|import| *import == target);
                let count = self.files[file].file.dependencies.len();
                let path = place.map(|place| match place < count {
                    true => [3, place as i32],
                    false => [15, (place - count) as i32],
                });
                let span = path.map_or(Span::default(), |path| {
                    self.files[file].positions.span(&path)
                });
                let id = FileId(file as u32);
                error = match at {
                    0 => error.at(id, span, "the circle begins here"),
                    _ => error.also(id, span, "and goes on here"),
                };
            }
            sink.push(error.help("move what both need into a file of its own"));
        }
    }
}

/// Why no file can have this path.
fn bad_path(path: &str) -> Option<&'static str> {
    let parts = || path.split('/');
    match () {
        () if path.contains('\\') => Some("paths of imports have `/`, not `\\`"),
        () if path.is_empty() => Some("the path is empty"),
        () if parts().any(|part| matches!(part, "" | "." | "..")) => Some(
            "paths of imports have no `.`, `..` or empty parts: they begin at an include folder",
        ),
        () => None,
    }
}

fn not_loaded(file: FileId, span: Span, path: &str, error: &LoadError) -> Diagnostic {
    let message = match error {
        LoadError::NotFound { .. } => format!("cannot find `{path}`"),
        LoadError::Unreadable(why) => format!("cannot import `{path}`: {why}"),
    };
    let diagnostic = Diagnostic::error("E1302", message).at(file, span, "");
    let help = "paths are relative to the folder of the file that was asked for, then to the include folders";
    match error {
        LoadError::NotFound { tried } if !tried.is_empty() => diagnostic
            .note(format!("looked for {}", tried.join(", ")))
            .help(help),
        _ => diagnostic.help(help),
    }
}

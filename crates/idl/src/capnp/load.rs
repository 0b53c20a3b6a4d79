//! From one path to all files that belong to it: lexes, parses, follows imports.

use super::syntax::{File, Name};
use super::{lexer, parser};
use crate::diagnostic::{Diagnostic, Sink};
use crate::graph::{self, Edges};
use crate::source::{BUILT_IN, FileId, LoadError, Loader, Source};
use dovetail_schema::capnp::TYPES_CAPNP;
use std::collections::HashMap;

/// The files that every compiler brings with it, in the words of this one.
const WELL_KNOWN: &[(&str, &str)] = &[
    ("/capnp/c++.capnp", include_str!("built_in/capnp/c++.capnp")),
    (
        "/capnp/stream.capnp",
        include_str!("built_in/capnp/stream.capnp"),
    ),
    (OPTIONS, include_str!("built_in/dovetail/options.capnp")),
    (LANGUAGE, include_str!("built_in/dovetail/capnp.capnp")),
    (TYPES, TYPES_CAPNP),
];

/// The file with types of other languages.
const TYPES: &str = "/dovetail/types.capnp";

/// The file with the types of the language that become structs.
const LANGUAGE: &str = "/dovetail/capnp.capnp";

/// The file with the annotations that Dovetail understands.
pub(super) const OPTIONS: &str = "/dovetail/options.capnp";

/// More than enough for text, and places in it fit 32 bits.
const MAX_BYTES: usize = 64 << 20;

#[derive(Debug, Default)]
pub(super) struct Program {
    /// The first is the one that was asked for.
    pub(super) sources: Vec<Source>,
    /// One for each source.
    pub(super) files: Vec<File>,
    /// For each file, the files that its imports lead to, by what is written.
    pub(super) imports: Vec<HashMap<String, usize>>,
    /// The file that defines `Void`.
    pub(super) language: usize,
    /// Imports before the files that import them, as far as they do not go in a circle.
    pub(super) order: Vec<usize>,
}

pub(super) fn load(path: &str, loader: &dyn Loader, sink: &mut Sink) -> Option<Program> {
    let mut program = Program::default();
    match loader.load(None, path) {
        Ok(source) => program.add(source, sink),
        Err(error) => {
            let error = Diagnostic::error("E2001", format!("cannot read `{path}`: {error}"));
            sink.push(error.help("check the path"));
            return None;
        }
    }
    let mut next = 0;
    while next < program.files.len() {
        program.follow(next, loader, sink);
        next += 1;
    }
    if let Some(source) = built_in(LANGUAGE) {
        program.language = program.files.len();
        program.add(source, sink);
    }
    let edges: Edges = program
        .imports
        .iter()
        .map(|imports| imports.values().copied().collect())
        .collect();
    program.order = graph::components(&edges).concat();
    // The file that was asked for is the last one, also where others import it.
    program.order.retain(|file| *file != 0);
    program.order.push(0);
    Some(program)
}

impl Program {
    fn add(&mut self, source: Source, sink: &mut Sink) {
        let id = FileId(self.files.len() as u32);
        let problem = match () {
            () if source.text.len() > MAX_BYTES => Some("has more than 64 MiB"),
            () if source.replaced => Some("is not UTF-8"),
            () => None,
        };
        let text = match problem {
            Some(problem) => {
                let error = Diagnostic::error("E2002", format!("`{}` {problem}", source.name));
                sink.push(error.help("save it as UTF-8, and split it where it is too large"));
                ""
            }
            None => source.text.as_str(),
        };
        let tokens = lexer::lex(id, text, sink);
        let mut file = parser::parse(id, text, &tokens, sink);
        file.damaged |= problem.is_some();
        self.files.push(file);
        self.sources.push(source);
        self.imports.push(HashMap::new());
    }

    fn follow(&mut self, index: usize, loader: &dyn Loader, sink: &mut Sink) {
        let from = self.sources[index].name.clone();
        let imports: Vec<Name> = self.files[index].imports.clone();
        for import in imports {
            if self.imports[index].contains_key(&import.text) {
                continue;
            }
            let found = match find(&from, &import.text, loader) {
                Ok(source) => source,
                Err(error) => {
                    let message = format!("cannot read `{}`: {error}", import.text);
                    let error = Diagnostic::error("E2301", message);
                    let error = error.at(FileId(index as u32), import.span, "");
                    let help = "a path that begins with `/` is looked for in the include folders \
                                (`-I`), any other one beside this file";
                    sink.push(error.help(help));
                    self.files[index].damaged = true;
                    continue;
                }
            };
            let known = self
                .sources
                .iter()
                .position(|source| source.name == found.name);
            let target = known.unwrap_or(self.files.len());
            if known.is_none() {
                self.add(found, sink);
            }
            self.imports[index].insert(import.text, target);
        }
    }
}

/// Finds an imported file. A file of the loader goes before one that is built in.
fn find(from: &str, path: &str, loader: &dyn Loader) -> Result<Source, LoadError> {
    match path.strip_prefix('/') {
        Some(below) => loader
            .load(None, below)
            .or_else(|error| built_in(path).ok_or(error)),
        None if from.starts_with(BUILT_IN) => loader.load(None, path),
        None => loader.load(Some(from), path),
    }
}

fn built_in(path: &str) -> Option<Source> {
    let (name, text) = WELL_KNOWN.iter().find(|(name, _)| *name == path)?;
    Some(Source::new(
        format!("{BUILT_IN}{}", name.strip_prefix('/')?),
        *text,
    ))
}

//! The language of `.proto` files: proto2, proto3, and editions 2023 and 2024; `docs/proto.md` describes what
//! becomes of them.
//!
//! Reading order: [`describe`] names the phases; each is a module.

mod check;
mod comments;
pub mod descriptor;
mod encode;
mod features;
mod lexer;
mod link;
mod literal;
mod load;
mod lower;
mod number;
mod options;
mod parser;
mod places;
mod symbols;
mod syntax;
mod walk;
mod well_known;

use crate::Compiled;
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::{Loader, Source};
use descriptor::{File, FileSet};
use load::Program;
use std::rc::Rc;

/// What became of a `.proto` file and all that it imports.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// Descriptors of the file and of what it imports; `None` if there is any error.
    pub files: Option<FileSet>,
    /// Errors and warnings, by file and place.
    pub diagnostics: Vec<Diagnostic>,
    /// All files that were read, as in [`Compiled`]; the first is the one that was asked for.
    pub sources: Vec<Source>,
}

/// Describes the `.proto` file that `loader` knows as `path`, with everything that it imports.
///
/// Imports are looked for beside this file and in the loader's include folders; the files of protobuf itself
/// (`google/protobuf/…`) are built in.
pub fn describe(path: &str, loader: &dyn Loader) -> Described {
    let mut sink = Sink::default();
    let Some(mut program) = load::load(path, loader, &mut sink) else {
        return Described {
            files: None,
            diagnostics: sink.finish(),
            sources: Vec::new(),
        };
    };
    link::link(&mut program, &mut sink);
    let files = (sink.errors() == 0).then(|| descriptors(&mut program));
    Described {
        files,
        diagnostics: sink.finish(),
        sources: program.sources,
    }
}

/// Compiles a `.proto` file with everything that it imports.
pub(crate) fn compile(path: &str, loader: &dyn Loader) -> Compiled {
    let described = describe(path, loader);
    Compiled {
        schema: described.files.as_ref().map(lower::lower),
        diagnostics: described.diagnostics,
        sources: described.sources,
    }
}

/// The descriptors of all files that belong to the first one, in order.
fn descriptors(program: &mut Program) -> FileSet {
    let mut wanted = vec![false; program.files.len()];
    let mut open = vec![0];
    while let Some(next) = open.pop() {
        if !std::mem::replace(&mut wanted[next], true) {
            open.extend(program.imports[next].iter().flatten());
        }
    }
    let order = program.order.iter().filter(|index| wanted[**index]);
    let file = |index: &usize| -> File {
        let parsed = &mut program.files[*index];
        let mut file = Rc::unwrap_or_clone(std::mem::take(&mut parsed.file));
        file.locations = places::locations(&parsed.places, &program.sources[*index].text);
        file
    };
    FileSet {
        files: order.map(file).collect(),
    }
}

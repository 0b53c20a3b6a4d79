//! The language of `.proto` files: proto2, proto3, and editions 2023 and 2024; `docs/proto.md`
//! describes what becomes of them.
//!
//! Reading order: [`describe`] names the phases; each is a module.

mod check;
mod comments;
mod decode;
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
pub mod plugin;
mod positions;
mod sound;
mod symbols;
mod syntax;
mod walk;
mod well_known;

use crate::diagnostic::{Diagnostic, Sink};
use crate::source::{Loader, Source};
use crate::{Compiled, graph};
pub use decode::DescriptorError;
use descriptor::{File, FileSet};
use dovetail_schema::Schema;
use load::Program;
use std::collections::HashMap;
use std::rc::Rc;

/// The result for a `.proto` file and all that it imports.
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
/// Imports are looked for beside this file and in the loader's include folders; the files of
/// protobuf itself (`google/protobuf/…`) are built in.
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
        schema: described.files.as_ref().map(lower::last),
        diagnostics: described.diagnostics,
        sources: described.sources,
    }
}

/// The contract that an encoded `google.protobuf.FileDescriptorSet` describes, as protobuf's
/// compiler writes it with `--descriptor_set_out`, or reflection gives it: the files with services,
/// and those whose types they use. Where no file has a service, the last one counts. Files may come
/// in any order; one that nothing is used of may be missing, and the files of protobuf itself that
/// have types of the schema, too.
///
/// ```
/// use dovetail_idl::{MemoryLoader, proto};
///
/// let text = "syntax = \"proto3\"; service Clock { rpc Now(Nothing) returns (Nothing); } message Nothing {}";
/// let files = MemoryLoader::from_iter([("clock.proto", text)]);
/// let bytes = proto::describe("clock.proto", &files).files.unwrap().encode();
/// assert_eq!(proto::from_descriptors(&bytes)?.services[0].name, "Clock");
/// # Ok::<(), proto::DescriptorError>(())
/// ```
///
/// # Errors
///
/// Never panics, whatever the bytes are. Beside what is no descriptor, those of the language are
/// found that would make a contract wrong: names that are none, types that are missing, numbers
/// that come twice.
pub fn from_descriptors(bytes: &[u8]) -> Result<Schema, DescriptorError> {
    let mut set = FileSet::decode(bytes)?;
    sound::check(&set)?;
    sort(&mut set);
    Ok(lower::all(&set))
}

/// Puts files behind those that they import.
fn sort(set: &mut FileSet) {
    let names = set.files.iter().enumerate();
    let names: HashMap<&str, usize> = names
        .map(|(index, file)| (file.name.as_str(), index))
        .collect();
    let imports = |file: &File| {
        let known = file.dependencies.iter().chain(&file.option_dependencies);
        let known = known.filter_map(|name| names.get(name.as_str()));
        known.copied().collect()
    };
    let edges = set.files.iter().map(imports).collect();
    let order = graph::components(&edges).concat();
    let mut files = std::mem::take(&mut set.files);
    let taken = order
        .into_iter()
        .filter_map(|index| files.get_mut(index).map(std::mem::take));
    set.files = taken.collect();
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
        file.locations = positions::locations(&parsed.positions, &program.sources[*index].text);
        file
    };
    FileSet {
        files: order.map(file).collect(),
    }
}

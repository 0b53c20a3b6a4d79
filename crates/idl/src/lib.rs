//! The front ends: from `.thrift`, `.proto` or `.capnp` text to a [`Schema`], or to messages that
//! say what to change.
//!
//! The whole grammar of Apache Thrift is accepted, and Dovetail's additions to it; `docs/idl.md`
//! describes both. Of protobuf's language all dialects are, see [`proto`] and `docs/proto.md`; of
//! Cap'n Proto's what the tools of its version 1 read, see `docs/capnproto.md`. The crate is pure:
//! it reads files only through the [`Loader`] that it is given.
//!
//! ```
//! let files = dovetail_idl::MemoryLoader::from_iter([("hello.thrift", "struct Hello { 1: string name }")]);
//! let compiled = dovetail_idl::compile("hello.thrift", &files);
//! assert_eq!(compiled.schema.unwrap().types[0].name, "Hello");
//! ```
//!
//! Reading order: what all languages share is here (places in files, diagnostics); each language is
//! a module.
#![forbid(unsafe_code)]

mod capnp;
mod diagnostic;
mod graph;
pub mod proto;
mod render;
mod source;
mod spelling;
mod thrift;

pub use diagnostic::{Diagnostic, Label, Severity};
pub use render::render;
pub use source::{FileId, LoadError, Loader, MemoryLoader, Source, Span, beside};
pub use spelling::spell;

use dovetail_schema::Schema;

/// The result for a file and all that it includes.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// The contract; `None` if there is any error.
    pub schema: Option<Schema>,
    /// Errors and warnings, by file and place.
    pub diagnostics: Vec<Diagnostic>,
    /// All files that were read, indexed by [`FileId`]; the first is the one that was asked for.
    pub sources: Vec<Source>,
}

impl Compiled {
    /// All diagnostics as people read them; empty if there are none.
    pub fn render(&self, color: bool) -> String {
        render(&self.diagnostics, &self.sources, color)
    }
}

/// Compiles the file that `loader` knows as `path`, with everything it includes. A name that ends
/// in `.proto` is read as protobuf's language, one that ends in `.capnp` as Cap'n Proto's, every
/// other one as Thrift's.
///
/// Never panics, whatever the files contain; time and memory grow with their size.
pub fn compile(path: &str, loader: &dyn Loader) -> Compiled {
    match path.rsplit_once('.') {
        Some((_, "proto")) => proto::compile(path, loader),
        Some((_, "capnp")) => capnp::compile(path, loader),
        _ => thrift::compile(path, loader),
    }
}

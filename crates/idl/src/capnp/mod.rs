//! The language of `.capnp` files; `docs/capnproto.md` describes what becomes of them.
//!
//! Reading order: [`compile`] names the phases; each is a module.

mod identity;
mod lexer;
mod load;
mod lower;
mod names;
mod parser;
mod syntax;

use crate::Compiled;
use crate::diagnostic::Sink;
use crate::source::Loader;

/// Compiles a `.capnp` file with everything that it imports.
pub(crate) fn compile(path: &str, loader: &dyn Loader) -> Compiled {
    let mut sink = Sink::default();
    let Some(program) = load::load(path, loader, &mut sink) else {
        return Compiled {
            schema: None,
            diagnostics: sink.finish(),
            sources: Vec::new(),
        };
    };
    let schema = lower::lower(&program, &mut sink);
    Compiled {
        schema: (sink.errors() == 0).then_some(schema),
        diagnostics: sink.finish(),
        sources: program.sources,
    }
}

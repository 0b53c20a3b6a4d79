//! The language of `.thrift` files, with Dovetail's additions; `docs/idl.md` describes it.
//!
//! Reading order: [`compile`] names the phases; each is a module.

mod ast;
mod consts;
mod lexer;
mod load;
mod lower;
mod parser;
mod resolve;
mod text_form;

use crate::Compiled;
use crate::diagnostic::Sink;
use crate::source::Loader;

/// Compiles a `.thrift` file with everything that it includes.
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
    let schema = (sink.errors() == 0).then_some(schema);
    Compiled {
        schema,
        diagnostics: sink.finish(),
        sources: program.sources,
    }
}

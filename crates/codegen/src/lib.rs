//! Code generators: a [`Schema`](dovetail_schema::Schema) in, source files out.
//!
//! ```text
//!   Schema ─ facts ──┐
//!            case ───┼── rust ──────────┬── Vec<File> | Vec<Unsupported>
//!            scope ──┤                  │
//!            export ─┴── thrift, proto, capnp ─┘
//! ```
//!
//! Pure: nothing here reads or writes a file, so a test needs no disk, and a build script, the
//! command line and an editor use the same function. What knows no target language (case
//! conversion, names that must not collide, what recurses, what serves as a key) stands at the top;
//! each language has a module.
#![forbid(unsafe_code)]

mod case;
mod export;
mod facts;
mod scope;

pub mod capnp;
pub mod openapi;
pub mod proto;
pub mod rust;
pub mod thrift;

use std::fmt;

/// A generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The place of the file, relative to the folder for generated code.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// Something in a contract that a generator cannot express. It says so instead of leaving it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The problem, and advice.
    pub what: String,
    /// The definition that contains it, as in `` `shared.Origin`, field `port` ``.
    pub at: String,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.what)
    }
}

impl std::error::Error for Unsupported {}

//! Generates Rust from a contract, in a build script.
//!
//! ```toml
//! [build-dependencies]
//! dovetail-build = "0.1"
//! ```
//!
//! ```no_run
//! // build.rs
//! fn main() -> Result<(), dovetail_build::Error> {
//!     dovetail_build::compile("idl/calculator.thrift")?;
//!     Ok(())
//! }
//! ```
//!
//! The result is `calculator.rs` in `OUT_DIR`. It has a module for each file of the contract, named by the
//! file's `namespace rs` or else by the file, and is included with
//!
//! ```ignore
//! dovetail::include_contract!("calculator");
//! ```
//!
//! or with `include!(concat!(env!("OUT_DIR"), "/calculator.rs"));`. Cargo runs the script again when one of
//! the contract's files changes.
#![forbid(unsafe_code)]

mod error;
mod loader;

pub use dovetail_codegen::rust::{Maps, Options, Strings};
pub use error::Error;
pub use loader::FileLoader;

use dovetail_idl::{Compiled, Diagnostic, Severity};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Compiles a contract with the default [`Config`]; returns the path of the generated file.
pub fn compile(contract: impl AsRef<Path>) -> Result<PathBuf, Error> {
    Config::new().compile(contract)
}

/// How to compile contracts.
#[derive(Clone, Debug, Default)]
pub struct Config {
    options: Options,
    loader: FileLoader,
    out_dir: Option<PathBuf>,
}

impl Config {
    /// Everything is generated, into `OUT_DIR`.
    pub fn new() -> Self {
        Config::default()
    }

    /// What to generate, and how.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Adds a folder in which included files are looked for, after the folder of the including file and the
    /// folders added before.
    #[must_use]
    pub fn include_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.loader = self.loader.include_dir(dir);
        self
    }

    /// Writes to this folder instead of `OUT_DIR`. It must exist.
    #[must_use]
    pub fn out_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(dir.into());
        self
    }

    /// Compiles a contract; returns the path of the generated file. Relative paths start at the package
    /// that is built, where Cargo runs build scripts.
    ///
    /// On standard output it tells Cargo which files to watch, and the warnings.
    pub fn compile(&self, contract: impl AsRef<Path>) -> Result<PathBuf, Error> {
        let contract = contract.as_ref().to_string_lossy();
        let compiled = dovetail_idl::compile(&contract, &self.loader);
        // The contract itself is the first of its sources, unless it could not be read.
        println!("cargo::rerun-if-changed={contract}");
        let files = compiled.sources.iter().skip(1);
        for source in files.filter(|source| !source.is_built_in()) {
            println!("cargo::rerun-if-changed={}", source.name);
        }
        let schema = match &compiled.schema {
            Some(schema) => schema,
            None => return Err(Error::contract(&compiled)),
        };
        for diagnostic in &compiled.diagnostics {
            println!("cargo::warning={}", one_line(diagnostic, &compiled));
        }
        let files = dovetail_codegen::rust::generate(schema, &self.options)
            .map_err(|all| Error::unsupported(&all))?;
        let out_dir = match &self.out_dir {
            Some(dir) => dir.clone(),
            None => env::var_os("OUT_DIR")
                .map(PathBuf::from)
                .ok_or_else(Error::no_out_dir)?,
        };
        let mut written = PathBuf::new();
        for file in files {
            written = out_dir.join(file.path);
            write_if_changed(&written, &file.text).map_err(|e| Error::write(&written, &e))?;
        }
        Ok(written)
    }
}

/// A file that stays as it is does not make Cargo compile again what includes it.
fn write_if_changed(path: &Path, text: &str) -> io::Result<()> {
    match fs::read(path) {
        Ok(old) if old == text.as_bytes() => Ok(()),
        _ => fs::write(path, text),
    }
}

/// A warning as Cargo can show it: in one line.
fn one_line(diagnostic: &Diagnostic, compiled: &Compiled) -> String {
    debug_assert!(diagnostic.severity == Severity::Warning);
    let place = diagnostic.labels.first().and_then(|label| {
        let source = compiled.sources.get(label.file.0 as usize)?;
        let before = source.text.get(..label.span.start as usize)?;
        Some(format!(
            "{}:{}: ",
            source.name,
            before.lines().count().max(1)
        ))
    });
    let message = diagnostic.message.replace('\n', " ");
    format!(
        "{}{message} [{}]",
        place.unwrap_or_default(),
        diagnostic.code
    )
}

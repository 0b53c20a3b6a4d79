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
//! The result is `calculator.rs` in `OUT_DIR`. It has a module for each file of the contract, named
//! by the file's `namespace rs` or else by the file, and is included with
//!
//! ```ignore
//! dovetail::include_contract!("calculator");
//! ```
//!
//! or with `include!(concat!(env!("OUT_DIR"), "/calculator.rs"));`. Cargo runs the script again
//! when one of the contract's files changes.
#![forbid(unsafe_code)]

mod error;
mod loader;

pub use dovetail_codegen::rust::{Maps, Options, Strings};
pub use error::Error;
pub use loader::FileLoader;

use dovetail_idl::proto::{self, Described};
use dovetail_idl::{Compiled, Diagnostic, MemoryLoader, Severity, Source};
use dovetail_schema::Schema;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Compiles a contract with the default [`Config`]; returns the path of the generated file.
pub fn compile(contract: impl AsRef<Path>) -> Result<PathBuf, Error> {
    Config::new().compile(contract)
}

/// Writes the descriptors of a contract and of all that it imports, a
/// `google.protobuf.FileDescriptorSet`, into `OUT_DIR`, under the name of the file with the ending
/// `.descriptors`: for `dovetail::reflection::Reflection`. Returns the path.
///
/// Those of a `.thrift` file are the descriptors of the `.proto` by which gRPC's libraries call it,
/// the one that `dovetail export --to proto` writes.
pub fn descriptors(contract: impl AsRef<Path>) -> Result<PathBuf, Error> {
    Config::new().descriptors(contract)
}

/// Writes the descriptors of a contract that has been read already; returns the bytes of the set.
///
/// # Errors
///
/// A contract that no `.proto` file can express.
pub fn descriptors_of(schema: &Schema) -> Result<Vec<u8>, Error> {
    let files = dovetail_codegen::proto::write(schema).map_err(|all| Error::unsupported(&all))?;
    let Some(root) = files.last().map(|file| file.path.clone()) else {
        return Ok(Vec::new());
    };
    let files = files.into_iter().map(|file| (file.path, file.text));
    encoded(proto::describe(&root, &files.collect::<MemoryLoader>()))
}

fn encoded(described: Described) -> Result<Vec<u8>, Error> {
    match described.files {
        Some(files) => Ok(files.encode()),
        None => Err(Error::contract(&Compiled {
            schema: None,
            diagnostics: described.diagnostics,
            sources: described.sources,
        })),
    }
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

    /// Sets the parts to generate, and their form.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Adds a folder in which included files are looked for, after the folder of the including file
    /// and the folders added before.
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

    /// Compiles a contract; returns the path of the generated file. Relative paths start at the
    /// package that is built, where Cargo runs build scripts.
    ///
    /// On standard output it tells Cargo which files to watch, and the warnings.
    pub fn compile(&self, contract: impl AsRef<Path>) -> Result<PathBuf, Error> {
        let schema = self.read(&contract.as_ref().to_string_lossy())?;
        let files = dovetail_codegen::rust::generate(&schema, &self.options)
            .map_err(|all| Error::unsupported(&all))?;
        let mut written = PathBuf::new();
        for file in files {
            written = self.write(file.path.as_ref(), file.text.as_bytes())?;
        }
        Ok(written)
    }

    /// Writes descriptors; see [`descriptors`].
    pub fn descriptors(&self, contract: impl AsRef<Path>) -> Result<PathBuf, Error> {
        let path = contract.as_ref();
        let contract = path.to_string_lossy();
        let bytes = match contract.ends_with(".proto") {
            true => {
                let described = proto::describe(&contract, &self.loader);
                watch(&contract, &described.sources);
                encoded(described)?
            }
            false => descriptors_of(&self.read(&contract)?)?,
        };
        let name = path.with_extension("descriptors");
        self.write(name.file_name().unwrap_or_default().as_ref(), &bytes)
    }

    /// Reads a contract, and tells Cargo which files to watch, and the warnings.
    fn read(&self, contract: &str) -> Result<Schema, Error> {
        let mut compiled = dovetail_idl::compile(contract, &self.loader);
        watch(contract, &compiled.sources);
        let Some(schema) = compiled.schema.take() else {
            return Err(Error::contract(&compiled));
        };
        for diagnostic in &compiled.diagnostics {
            println!("cargo::warning={}", one_line(diagnostic, &compiled));
        }
        Ok(schema)
    }

    /// Writes a file of this name; returns its path.
    fn write(&self, name: &Path, bytes: &[u8]) -> Result<PathBuf, Error> {
        let path = self.folder()?.join(name);
        write_if_changed(&path, bytes).map_err(|error| Error::write(&path, &error))?;
        Ok(path)
    }

    fn folder(&self) -> Result<PathBuf, Error> {
        match &self.out_dir {
            Some(dir) => Ok(dir.clone()),
            None => env::var_os("OUT_DIR")
                .map(PathBuf::from)
                .ok_or_else(Error::no_out_dir),
        }
    }
}

/// Tells Cargo which files to watch: the contract is the first of its sources, unless it could not
/// be read.
fn watch(contract: &str, sources: &[Source]) {
    println!("cargo::rerun-if-changed={contract}");
    let files = sources.iter().skip(1);
    for source in files.filter(|source| !source.is_built_in()) {
        println!("cargo::rerun-if-changed={}", source.name);
    }
}

/// A file that stays as it is does not make Cargo compile again what includes it.
fn write_if_changed(path: &Path, text: &[u8]) -> io::Result<()> {
    match fs::read(path) {
        Ok(old) if old == text => Ok(()),
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

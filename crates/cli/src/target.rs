//! The output of the generator for a contract.

use clap::{Args, ValueEnum};
use dovetail_codegen::{File, Unsupported, rust};
use dovetail_schema::Schema;

/// The options that the command and the plugin have in common.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// The language
    #[arg(long, value_enum, default_value_t = Lang::Rust)]
    lang: Lang,
    /// The parts to generate besides the types, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Side::Server, Side::Client, Side::Blocking])]
    sides: Vec<Side>,
    /// Let services be called over Cap'n Proto's protocol; those of .capnp files can be in any case
    #[arg(long)]
    capnp: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Lang {
    /// Rust, edition 2024
    Rust,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Side {
    /// The trait that a server implements
    Server,
    /// The async client
    Client,
    /// The client without an async runtime
    Blocking,
    /// Nothing: only the types
    None,
}

impl Target {
    pub(crate) fn generate(&self, schema: &Schema) -> Result<Vec<File>, Vec<Unsupported>> {
        match self.lang {
            Lang::Rust => rust::generate(schema, &self.rust_options()),
        }
    }

    fn rust_options(&self) -> rust::Options {
        rust::Options {
            server: self.sides.contains(&Side::Server),
            async_client: self.sides.contains(&Side::Client),
            blocking_client: self.sides.contains(&Side::Blocking),
            capnp: self.capnp,
            ..rust::Options::default()
        }
    }
}

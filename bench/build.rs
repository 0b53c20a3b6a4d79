//! Generates the types, servers and clients of the contracts.

use dovetail_build::{Config, Options, Strings};

fn main() -> Result<(), dovetail_build::Error> {
    // As in C++'s and pilota's types, short texts stay in the structs of what is measured.
    let compact = Options {
        strings: Strings::Compact,
        capnp: true,
        ..Options::default()
    };
    Config::new()
        .options(compact)
        .compile("contract/bench.thrift")?;
    dovetail_build::compile("contract/agent.thrift")?;
    Ok(())
}

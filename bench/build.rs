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
        .options(compact.clone())
        .compile("contract/bench.thrift")?;
    // Both contracts have the same name.
    let out = format!("{}/grpc", std::env::var("OUT_DIR").unwrap_or_default());
    // A failure shows, with its reason, as that of the compiler below.
    let _ = std::fs::create_dir_all(&out);
    Config::new()
        .options(compact)
        .out_dir(out)
        .compile("contract/bench.proto")?;
    dovetail_build::compile("contract/agent.thrift")?;
    Ok(())
}

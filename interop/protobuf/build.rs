//! Generates the messages of the suite, where `cargo xtask protobuf` has fetched it.

use std::path::Path;

/// The files that define them.
const FILES: [&str; 5] = [
    "test_messages_proto2",
    "test_messages_proto3",
    "test_messages_proto2_editions",
    "test_messages_proto3_editions",
    "test_messages_edition2023",
];

fn main() -> Result<(), dovetail_build::Error> {
    println!("cargo::rustc-check-cfg=cfg(suite)");
    dovetail_build::compile("conformance.proto")?;
    let suite = Path::new("../../target/peers/protobuf/package/include");
    println!("cargo::rerun-if-changed={}", suite.display());
    if suite.exists() {
        for file in FILES {
            dovetail_build::compile(suite.join(format!("google/protobuf/{file}.proto")))?;
        }
        println!("cargo::rustc-cfg=suite");
    }
    Ok(())
}

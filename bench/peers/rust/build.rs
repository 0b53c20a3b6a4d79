//! Generates what tonic and volo make of the contract.

use std::error::Error;

const CONTRACT: &str = "../../contract";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={CONTRACT}");
    tonic_prost_build::configure()
        .bytes(".")
        .compile_protos(&[format!("{CONTRACT}/bench.proto")], &[CONTRACT.to_owned()])?;
    volo_build::Builder::thrift()
        .add_service(format!("{CONTRACT}/bench.thrift"))
        .filename("thrift.rs".into())
        .write()?;
    Ok(())
}

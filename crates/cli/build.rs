//! Generates the types and the service of the demo from its contract.

fn main() -> Result<(), dovetail_build::Error> {
    dovetail_build::compile("demo/demo.thrift")?;
    Ok(())
}

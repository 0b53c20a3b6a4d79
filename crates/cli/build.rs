//! Generates the types and the service of the demo from its contract, and what its reflection says.

fn main() -> Result<(), dovetail_build::Error> {
    dovetail_build::compile("demo/demo.thrift")?;
    dovetail_build::descriptors("demo/demo.thrift")?;
    Ok(())
}

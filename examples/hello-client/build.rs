//! Generates the client from its contract.

fn main() -> Result<(), dovetail_build::Error> {
    dovetail_build::compile("hello.thrift").map(drop)
}

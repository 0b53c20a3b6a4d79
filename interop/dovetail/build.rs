//! Generates the contract's types, server and clients.

fn main() -> Result<(), dovetail_build::Error> {
    dovetail_build::compile("../contract/interop.thrift").map(drop)
}

//! Generates the types, the server and the client from the contract.

fn main() -> Result<(), dovetail_build::Error> {
    dovetail_build::compile("filter.thrift").map(drop)
}

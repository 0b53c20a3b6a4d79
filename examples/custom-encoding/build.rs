//! Generates the types, the server and the clients from the contract.

fn main() -> Result<(), dovetail_build::Error> {
    dovetail_build::compile("library.thrift").map(drop)
}

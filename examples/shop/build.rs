//! Generates the types, the server and the clients from the contract, and what reflection tells of
//! it.

fn main() -> Result<(), dovetail_build::Error> {
    dovetail_build::compile("shop.thrift")?;
    dovetail_build::descriptors("shop.thrift").map(drop)
}

//! Generates the types, servers and clients of the contracts.

fn main() -> Result<(), dovetail_build::Error> {
    for contract in ["contract/bench.thrift", "contract/agent.thrift"] {
        dovetail_build::compile(contract)?;
    }
    Ok(())
}

//! Generates the contracts' types, servers and clients.

fn main() -> Result<(), dovetail_build::Error> {
    dovetail_build::compile("../contract/calls.proto")?;
    dovetail_build::descriptors("../contract/calls.proto")?;
    dovetail_build::compile("../contract/conformance.proto")?;
    dovetail_build::compile("../contract/hostile.thrift")?;
    dovetail_build::compile("../contract/interop.thrift")?;
    dovetail_build::compile("../contract/mapped.thrift")?;
    dovetail_build::compile("../contract/neovim.thrift")?;
    dovetail_build::compile("../contract/objects.thrift")?;
    dovetail_build::compile("../contract/places.capnp")?;
    dovetail_build::compile("../contract/streams.thrift")?;
    dovetail_build::compile("../contract/testing.proto")?;
    dovetail_build::compile("../contract/uuid.thrift").map(drop)
}

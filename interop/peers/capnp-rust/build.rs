fn main() {
    capnpc::CompilerCommand::new()
        .src_prefix("contract")
        .file("contract/places.capnp")
        .run()
        .expect("capnp compiles the contract");
}

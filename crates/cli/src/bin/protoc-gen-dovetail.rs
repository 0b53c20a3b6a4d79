//! The plugin of protobuf's compiler: `protoc --dovetail_out=DIR`.

fn main() -> std::process::ExitCode {
    dovetail_cli::plugin()
}

//! The program in Go: Apache Thrift and gRPC.

use crate::stage;
use crate::steps::{clear, copy, execute};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds it in a copy of its folder, since the generated code belongs into the module.
pub(super) fn build(folder: &Path) -> Result<PathBuf, String> {
    let (build, bench) = (folder.join("go"), stage::root().join("bench"));
    clear(&build)?;
    copy(&bench.join("peers/go"), &build)?;
    thrift(&build, &bench.join("contract/bench.thrift"))?;
    protoc(&build, &bench.join("contract"))?;
    go(&build, &["build", "-mod=readonly", "-o", "bench-peer", "."])?;
    Ok(build.join("bench-peer"))
}

fn thrift(build: &Path, contract: &Path) -> Result<(), String> {
    execute(
        Command::new("thrift")
            .args(["-nowarn", "--gen", "go:package_prefix=dovetail/bench/"])
            .args(["-out".as_ref(), build, contract]),
    )
}

/// Generates with the plugins that go.mod names.
fn protoc(build: &Path, contract: &Path) -> Result<(), String> {
    go(build, &["install", "tool"])?;
    let plugin = |name| format!("--plugin={}", build.join("bin").join(name).display());
    execute(
        Command::new("protoc")
            .args([plugin("protoc-gen-go"), plugin("protoc-gen-go-grpc")])
            .args(["--go_opt", "module=dovetail/bench", "--go_out", "."])
            .args([
                "--go-grpc_opt",
                "module=dovetail/bench",
                "--go-grpc_out",
                ".",
            ])
            .arg("--proto_path")
            .arg(contract)
            .arg("bench.proto")
            .current_dir(build),
    )
}

fn go(build: &Path, arguments: &[&str]) -> Result<(), String> {
    execute(
        Command::new("go")
            .args(arguments)
            .env("GOBIN", build.join("bin"))
            .current_dir(build),
    )
}

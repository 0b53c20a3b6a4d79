//! `cargo xtask tracing`: one trace through stock peers and two servers of Dovetail.

use crate::peers::{self, Status};
use crate::stage::{self, Outcome};
use crate::tools::{self, PYTHON};

/// The peer whose Python has gRPC, OpenTelemetry and Thrift.
const PEER: &str = "grpc";

pub(crate) fn run() -> Result<(), String> {
    stage().into_result()
}

/// The stage of the tests.
pub(crate) fn stage() -> Outcome {
    if let Err(missing) = tools::install(&[PYTHON]) {
        return Outcome::Skipped(missing);
    }
    for peer in peers::prepare(&[PEER]) {
        if let Status::Missing { reason } = peer.status {
            return Outcome::Skipped(reason);
        }
    }
    let built = ["cargo", "build", "--quiet", "--package", "example-tracing"];
    if let Err(why) = stage::command(&built).into_result() {
        return Outcome::Failed(why);
    }
    let target = stage::target();
    let program = target.join("debug/example-tracing");
    let python = target
        .join("peers")
        .join(PEER)
        .join("build/venv/bin/python");
    stage::command(&[
        &python.to_string_lossy(),
        "interop/tracing",
        &program.to_string_lossy(),
    ])
}

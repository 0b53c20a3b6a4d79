//! Examples beside peers that are written in Python: `cargo xtask tracing`,
//! `cargo xtask balancing`.

use crate::peers::{self, Status};
use crate::stage::{self, Outcome};
use crate::tools::{self, PYTHON};

/// The peer whose Python has gRPC, OpenTelemetry and Thrift.
const PEER: &str = "grpc";

/// One trace through stock peers and two servers of Dovetail.
pub(crate) fn tracing() -> Outcome {
    beside("interop/tracing", "example-tracing")
}

/// A channel to several stock servers that come and go.
pub(crate) fn balancing() -> Outcome {
    beside("interop/balancing", "example-balancing")
}

/// Runs a script, which runs an example.
fn beside(script: &str, example: &str) -> Outcome {
    if let Err(missing) = tools::install(&[PYTHON]) {
        return Outcome::Skipped(missing);
    }
    for peer in peers::prepare(&[PEER]) {
        if let Status::Missing { reason } = peer.status {
            return Outcome::Skipped(reason);
        }
    }
    let built = ["cargo", "build", "--quiet", "--package", example];
    if let Err(why) = stage::command(&built).into_result() {
        return Outcome::Failed(why);
    }
    let target = stage::target();
    let program = target.join("debug").join(example);
    let python = target
        .join("peers")
        .join(PEER)
        .join("build/venv/bin/python");
    stage::command(&[
        &python.to_string_lossy(),
        script,
        &program.to_string_lossy(),
    ])
}

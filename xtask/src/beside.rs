//! Examples beside peers that are written in Python: `cargo xtask tracing`,
//! `cargo xtask balancing`, `cargo xtask channelz`.

use crate::peers;
use crate::stage::{self, Outcome};
use crate::tools::{self, PYTHON};

/// The peer whose Python has gRPC, OpenTelemetry and Thrift.
const PEER: &str = "grpc";

/// One trace through stock peers and two servers of Dovetail.
pub(crate) fn tracing() -> Outcome {
    beside("interop/tracing", "example-tracing", &[])
}

/// A channel to several stock servers that come and go.
pub(crate) fn balancing() -> Outcome {
    beside("interop/balancing", "example-balancing", &["grpc-go"])
}

/// The connections of a server, for a tool of gRPC.
pub(crate) fn channelz() -> Outcome {
    beside("interop/channelz", "example-shop", &[])
}

/// Runs a script, which runs an example, and the programs of these peers.
fn beside(script: &str, example: &str, programs: &[&str]) -> Outcome {
    if let Err(missing) = tools::install(&[PYTHON]) {
        return Outcome::Skipped(missing);
    }
    let peers = match peers::built(&[&[PEER], programs].concat()) {
        Ok(peers) => peers,
        Err(missing) => return Outcome::Skipped(missing),
    };
    let programs = peers.iter().filter(|peer| programs.contains(&peer.name));
    let programs = programs.flat_map(|peer| &peer.command).map(String::as_str);
    let program = match stage::built_program(example) {
        Ok(program) => program,
        Err(why) => return Outcome::Failed(why),
    };
    let built = stage::target().join("peers").join(PEER).join("build");
    let python = built.join("venv/bin/python");
    let (python, program) = (python.to_string_lossy(), program.to_string_lossy());
    let words = [&*python, script, &program].into_iter().chain(programs);
    stage::command(&words.collect::<Vec<_>>())
}

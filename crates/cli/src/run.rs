//! Servers of this program: from their start to Ctrl-C.

use crate::failure::{Exit, Failure, Result};
use dovetail::Running;
use std::io;
use std::time::Duration;

/// How long calls may take to finish after Ctrl-C.
const DRAIN: Duration = Duration::from_secs(10);

/// Waits for Ctrl-C or SIGTERM, then lets the calls that have arrived finish.
pub(crate) fn until_interrupted(running: Running) -> Result {
    let waited = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(interrupted()));
    eprintln!("\nstopping: calls that have arrived are still answered");
    let drained = running.shutdown(DRAIN);
    match (waited, drained) {
        (Err(problem), _) => Err(Failure::new(
            Exit::Failed,
            format!("cannot wait for Ctrl-C: {problem}"),
        )),
        (Ok(()), false) => Err(Failure::new(
            Exit::Failed,
            format!("some calls did not finish within {DRAIN:?} and were cut off"),
        )),
        (Ok(()), true) => Ok(()),
    }
}

async fn interrupted() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

/// Why a server cannot listen, with the option that chooses another place.
pub(crate) fn cannot_listen(problem: &io::Error, option: &str) -> Failure {
    Failure::new(Exit::Failed, problem).help(match problem.kind() {
        io::ErrorKind::AddrInUse => format!("choose another one with {option}"),
        io::ErrorKind::PermissionDenied => {
            format!("choose a port above 1023, or a path that you may write to, with {option}")
        }
        _ => format!("choose another address with {option}"),
    })
}

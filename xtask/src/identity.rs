//! `cargo xtask identity`: stock clients call the example shop, which asks who they are.

use crate::peers;
use crate::stage::{self, Outcome};
use crate::tools::{self, CURL, NEOVIM, PYTHON};

/// The peers whose libraries call.
const PEERS: &[&str] = &["python", "grpc", "websocket"];

pub(crate) fn run() -> Result<(), String> {
    stage().into_result()
}

/// The stage of the tests: every wire, in every model.
pub(crate) fn stage() -> Outcome {
    if let Err(missing) = tools::install(&[PYTHON, CURL, NEOVIM]) {
        return Outcome::Skipped(missing);
    }
    if let Err(missing) = peers::built(PEERS) {
        return Outcome::Skipped(missing);
    }
    let shop = match stage::built_program("example-shop") {
        Ok(shop) => shop,
        Err(why) => return Outcome::Failed(why),
    };
    let built = stage::target().join("peers");
    stage::command(&[
        "python3",
        "interop/identity",
        &shop.to_string_lossy(),
        &built.to_string_lossy(),
    ])
}

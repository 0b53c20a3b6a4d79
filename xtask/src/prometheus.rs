//! `cargo xtask prometheus`: the example shop, watched by a Prometheus server.

use crate::stage::{self, Outcome};
use crate::tools::{self, PROMETHEUS, PYTHON};

pub(crate) fn run() -> Result<(), String> {
    stage().into_result()
}

/// The stage of the tests.
pub(crate) fn stage() -> Outcome {
    if let Err(missing) = tools::install(&[PYTHON, PROMETHEUS]) {
        return Outcome::Skipped(missing);
    }
    let shop = match stage::built_program("example-shop") {
        Ok(shop) => shop,
        Err(why) => return Outcome::Failed(why),
    };
    stage::command(&["python3", "interop/prometheus", &shop.to_string_lossy()])
}

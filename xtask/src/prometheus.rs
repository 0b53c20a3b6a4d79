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
    let built = ["cargo", "build", "--quiet", "--package", "example-shop"];
    if let Err(why) = stage::command(&built).into_result() {
        return Outcome::Failed(why);
    }
    let shop = stage::target().join("debug/example-shop");
    stage::command(&["python3", "interop/prometheus", &shop.to_string_lossy()])
}

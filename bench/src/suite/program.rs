use super::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program under the contract of `bench/README.md`.
pub(crate) struct Program {
    path: PathBuf,
    /// What goes before its options.
    arguments: &'static [&'static str],
    pub(crate) systems: BTreeMap<String, About>,
}

/// What a program says of one of its systems.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) version: String,
    pub(crate) configuration: String,
}

#[derive(Deserialize)]
struct Description {
    systems: BTreeMap<String, About>,
}

impl Program {
    /// Asks a program what it has.
    pub(crate) fn describe(path: &Path, arguments: &'static [&'static str]) -> Result<Self> {
        let output = Command::new(path)
            .args(arguments)
            .arg("--describe")
            .output();
        let output = output.map_err(|error| format!("cannot run {}: {error}", path.display()))?;
        let description: Description = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("{} --describe: {error}", path.display()))?;
        Ok(Program {
            path: path.to_owned(),
            arguments,
            systems: description.systems,
        })
    }

    /// A command line of the program, for one of its systems.
    pub(crate) fn command(&self, mode: &str, system: &str) -> Command {
        let mut command = Command::new(&self.path);
        command
            .args(self.arguments)
            .args(["--mode", mode, "--system", system]);
        command
    }
}

use super::Result;
use crate::agent::contract::{Load, System};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program under the contract of `bench/README.md`.
pub(crate) struct Program {
    path: PathBuf,
    /// The arguments in front of its options.
    arguments: &'static [&'static str],
    pub(crate) systems: BTreeMap<String, About>,
}

/// A program's description of one of its systems.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) version: String,
    pub(crate) configuration: String,
}

impl About {
    /// The pair of this system's client and another one's server.
    pub(super) fn at(&self, server: &About) -> About {
        let version = match self.version == server.version {
            true => self.version.clone(),
            false => format!("{} at {}", self.version, server.version),
        };
        About {
            version,
            configuration: "each end as its system has it".to_owned(),
        }
    }
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

    pub(crate) fn server(&self, system: &str) -> Command {
        self.command("server", system)
    }

    /// A client of servers, or one that is its own server.
    pub(crate) fn client(&self, system: &str, load: &Load) -> Command {
        let mode = if load.servers.is_empty() {
            "both"
        } else {
            "client"
        };
        let mut command = self.command(mode, system);
        command.args(["--workload", &load.workload, "--case", &load.variant]);
        let numbers = [
            ("--clients", load.clients),
            ("--connections", load.connections),
            ("--calls", load.calls),
            ("--warmup", load.warmup),
        ];
        for (option, number) in numbers {
            command.args([option, &number.to_string()]);
        }
        if let Some(rate) = load.rate {
            command.args(["--rate", &rate.to_string()]);
        }
        if let Some(limit) = load.limit_ms {
            command.args(["--limit-ms", &limit.to_string()]);
        }
        if !load.servers.is_empty() {
            command.args(["--address", &load.servers.join(",")]);
        }
        command
    }

    fn command(&self, mode: &str, system: &str) -> Command {
        let mut command = Command::new(&self.path);
        command
            .args(self.arguments)
            .args(["--mode", mode, "--system", system]);
        command
    }
}

impl From<&System> for About {
    fn from(system: &System) -> Self {
        About {
            version: system.version.clone(),
            configuration: system.configuration.clone(),
        }
    }
}

impl From<&About> for System {
    fn from(about: &About) -> Self {
        System {
            version: about.version.clone(),
            configuration: about.configuration.clone(),
            ..System::default()
        }
    }
}

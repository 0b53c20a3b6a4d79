use crate::failure::{Exit, Failure, Result};
use crate::output;
use crate::paint::Stream;
use clap::{Args, Subcommand};
use dovetail::config::{self, ConfigError};
use std::path::PathBuf;

/// Check and show the configuration of a process
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail config check shop.toml                       all errors, each with its line
  dovetail config show shop.toml                        all keys: those of the file, and the defaults of the others
  dovetail config schema > dovetail.schema.json         a JSON Schema, for completion in editors

docs/configuration.md has all keys.")]
pub(crate) struct Config {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show everything that is wrong with a configuration, and with the files that it names
    Check {
        /// The configuration
        file: PathBuf,
    },
    /// Print all keys: those of the file, and the defaults of the others as comments
    Show {
        /// The configuration
        file: PathBuf,
    },
    /// Print a JSON Schema of configurations
    Schema,
}

impl Config {
    pub(crate) fn run(self) -> Result {
        match self.action {
            Action::Check { file } => {
                load(&file)?;
                output::write(&format!("{}: no errors\n", file.display()))
            }
            Action::Show { file } => output::write(&load(&file)?.show()),
            Action::Schema => {
                let schema = serde_json::to_string_pretty(&config::schema());
                let schema = schema.map_err(|problem| Failure::new(Exit::Failed, problem))?;
                output::write(&(schema + "\n"))
            }
        }
    }
}

fn load(file: &PathBuf) -> Result<config::Config> {
    config::Config::load(file).map_err(|error| refused(&error))
}

fn refused(error: &ConfigError) -> Failure {
    output::tell(&error.render(Stream::Stderr.paint().colours));
    let problems = output::count(error.problems().count(), "error");
    Failure::new(Exit::Failed, format!("the configuration has {problems}"))
}

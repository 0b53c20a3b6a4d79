use crate::arguments::Arguments;
use crate::failure::{Exit, Failure, Result};
use clap::{Args, CommandFactory as _};
use std::fs;
use std::path::PathBuf;

/// Write the manual pages
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail man ~/.local/share/man/man1     then `man dovetail-call`
  dovetail man . && man -l dovetail.1")]
pub(crate) struct Man {
    /// The folder, which is made if it is missing: a page for each command
    folder: PathBuf,
}

impl Man {
    pub(crate) fn run(self) -> Result {
        let command = Arguments::command().disable_help_subcommand(true);
        let written = fs::create_dir_all(&self.folder)
            .and_then(|()| clap_mangen::generate_to(command, &self.folder));
        written.map_err(|error| {
            let what = format!("{}: {error}", self.folder.display());
            Failure::new(Exit::Failed, what)
        })
    }
}

use crate::failure::Result;
use clap::Args;
mod probe;
mod show;
mod workshop;

/// Show every wire on one port, with the time of a call
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// The port on 127.0.0.1
    #[arg(long, default_value_t = 9090)]
    port: u16,
    /// End after the table, with exit code 1 if a row failed
    #[arg(long)]
    once: bool,
}

impl Demo {
    pub(crate) fn run(self) -> Result {
        let _ = (self.port, self.once);
        Ok(())
    }
}

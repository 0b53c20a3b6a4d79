use crate::arguments::Arguments;
use crate::failure::Result;
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

/// Print the completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail completions bash > ~/.local/share/bash-completion/completions/dovetail
  dovetail completions zsh  > ~/.zfunc/_dovetail
  dovetail completions fish > ~/.config/fish/completions/dovetail.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Result {
        let mut script = Vec::new();
        clap_complete::generate(
            self.shell,
            &mut Arguments::command(),
            "dovetail",
            &mut script,
        );
        crate::output::document(&String::from_utf8_lossy(&script))
    }
}

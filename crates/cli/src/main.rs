//! The `dovetail` command. Each subcommand has a file in `commands/`; `docs/cli.md` describes them.

mod address;
mod arguments;
mod commands;
mod failure;
mod idl;
mod link;
mod output;
mod paint;
mod run;
mod sample;
mod table;
mod values;

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = arguments::Arguments::parse();
    match commands::run(arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.exit as u8)
        }
    }
}

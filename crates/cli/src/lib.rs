//! The programs of Dovetail, which the files in `src/bin` name: [`dovetail()`] with its commands,
//! each of which has a file in `commands/`, and the [`plugin()`] of protobuf's compiler.
//! `docs/cli.md` describes them. A library only because they share their parts: no other program is
//! meant to use it.

mod address;
mod administration;
mod against;
mod arguments;
mod caller;
mod captured;
mod commands;
mod failure;
mod forward;
mod headers;
mod idl;
mod journal;
mod link;
mod output;
mod paint;
mod plugin;
mod remote;
mod run;
mod sample;
mod source;
mod stranger;
mod streams;
mod table;
mod tables;
mod target;
mod tls;
mod values;

pub use plugin::plugin;

use clap::Parser as _;
use std::process::ExitCode;

/// The `dovetail` command.
pub fn dovetail() -> ExitCode {
    let arguments = arguments::Arguments::parse();
    match commands::run(arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.exit as u8)
        }
    }
}

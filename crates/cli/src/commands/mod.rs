//! One file for each command.

pub(crate) mod admin;
pub(crate) mod call;
pub(crate) mod capture;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod describe;
pub(crate) mod export;
pub(crate) mod gateway;
pub(crate) mod generate;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod replay;
pub(crate) mod resolve;
pub(crate) mod serve;
pub(crate) mod top;

use crate::arguments::Command;
use crate::failure::Result;

/// Runs a command to its end.
pub(crate) fn run(command: Command) -> Result {
    match command {
        Command::Check(command) => command.run(),
        Command::Generate(command) => command.run(),
        Command::Export(command) => command.run(),
        Command::Describe(command) => command.run(),
        Command::List(command) => command.run(),
        Command::Call(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Gateway(command) => command.run(),
        Command::Demo(command) => command.run(),
        Command::Admin(command) => command.run(),
        Command::Top(command) => command.run(),
        Command::Capture(command) => command.run(),
        Command::Replay(command) => command.run(),
        Command::Resolve(command) => command.run(),
        Command::Config(command) => command.run(),
        Command::Completions(command) => command.run(),
        Command::Man(command) => command.run(),
    }
}

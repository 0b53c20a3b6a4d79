//! The command line: every command with its options, and examples that work.

use crate::commands::{
    admin, call, capture, check, completions, config, demo, describe, export, gateway, generate,
    list, man, replay, resolve, serve, top,
};
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// One contract, one handler, one port, every wire.
#[derive(Debug, Parser)]
#[command(
    name = "dovetail",
    version,
    styles = STYLES,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "\
Start here:
  dovetail demo                                  every wire on one port, with times
  dovetail check api.thrift                      errors and warnings of a contract
  dovetail serve api.thrift                      a server with sample data
  dovetail list 127.0.0.1:9090                   what a server has, as it says itself
  dovetail call 127.0.0.1:9090 Users.getUser '{\"id\": 7}'

`dovetail COMMAND --help` shows examples. Exit codes and details: docs/cli.md"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommand.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check contracts and show all errors and warnings
    Check(check::Check),
    /// Generate code from a contract
    Generate(generate::Generate),
    /// Write a contract in another language
    Export(export::Export),
    /// Show the services, methods and types of a contract
    Describe(describe::Describe),
    /// List the services of a server or a contract
    List(list::List),
    /// Call a method of a running server
    Call(call::Call),
    /// Answer a contract with sample data
    Serve(serve::Serve),
    /// Serve an existing server to all other wires
    Gateway(gateway::Gateway),
    /// Show every wire on one port, with the time of a call
    Demo(demo::Demo),
    /// See and control a running server
    Admin(admin::Admin),
    /// Watch the methods of a running server
    Top(top::Top),
    /// Capture calls of a running server, and show them
    Capture(capture::Capture),
    /// Make the calls of a capture again, and compare the answers
    Replay(replay::Replay),
    /// Show the servers that a name stands for
    Resolve(resolve::Resolve),
    /// Check and show the configuration of a process
    Config(config::Config),
    /// Print the completions for a shell
    Completions(completions::Completions),
    /// Write the manual pages
    Man(man::Man),
}

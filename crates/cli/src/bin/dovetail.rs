//! The `dovetail` command.

fn main() -> std::process::ExitCode {
    dovetail_cli::dovetail()
}

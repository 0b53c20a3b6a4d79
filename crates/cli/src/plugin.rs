//! The plugin of protobuf's compiler: what `generate` writes, of descriptors instead of text.

use crate::target::Target;
use clap::{CommandFactory as _, Parser};
use dovetail_codegen::Unsupported;
use dovetail_idl::proto::plugin::{Request, response};
use std::error::Error;
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::process::ExitCode;

/// Generate code from contracts that protobuf's compiler has read
#[derive(Debug, Parser)]
#[command(
    name = "protoc-gen-dovetail",
    version,
    after_help = "\
The compiler runs it, and needs to find it on the PATH, or to be reported with --plugin where it is:
  protoc --dovetail_out=src/generated api.proto
  protoc --dovetail_out=src/generated --dovetail_opt=sides=client,blocking api.proto

Options are those of `dovetail generate`: lang, sides. Details: docs/proto.md"
)]
struct Program {}

/// The value of `--dovetail_opt`.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Parameter {
    #[command(flatten)]
    target: Target,
}

/// Runs the plugin: a request on standard input, the response on standard output.
///
/// Problems of contracts and options are in the response. The exit code is 1 for problems of the
/// request, or of the streams.
pub fn plugin() -> ExitCode {
    Program::parse();
    if std::io::stdin().is_terminal() {
        eprint!("{}", Program::command().render_long_help());
        return ExitCode::FAILURE;
    }
    match answer() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("protoc-gen-dovetail: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn answer() -> Result<(), Box<dyn Error>> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    let request = Request::decode(&bytes)?;
    let mut out = std::io::stdout().lock();
    out.write_all(&response(&generate(&request)))?;
    Ok(out.flush()?)
}

/// The names and texts of files.
fn generate(request: &Request) -> Result<Vec<(String, String)>, String> {
    let parameter = Parameter::try_parse_from(options(&request.parameter));
    let target = parameter.map_err(|error| error.to_string())?.target;
    let contracts = request.contracts().map_err(|error| error.to_string())?;
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    for contract in &contracts {
        match target.generate(contract) {
            Ok(new) => files.extend(new.into_iter().map(|file| (file.path, file.text))),
            Err(places) => problems.extend(places.iter().map(Unsupported::to_string)),
        }
    }
    match problems.is_empty() {
        true => Ok(files),
        false => Err(problems.join("\n")),
    }
}

/// A parameter as options of a command line: `a=1,2,b` is `--a=1,2,b`.
fn options(parameter: &str) -> Vec<String> {
    let mut options: Vec<String> = Vec::new();
    for part in parameter.split(',').filter(|part| !part.is_empty()) {
        match options.last_mut().filter(|_| !part.contains('=')) {
            Some(last) => *last += &format!(",{part}"),
            None => options.push(format!("--{part}")),
        }
    }
    options
}

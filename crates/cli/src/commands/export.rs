use crate::failure::{Exit, Failure, Result};
use crate::idl::{self, Includes};
use crate::output::{self, count, save};
use clap::{Args, ValueEnum};
use dovetail_codegen::{File, capnp, openapi, proto, thrift};
use dovetail_idl::MemoryLoader;
use std::path::PathBuf;

/// Write a contract in another language
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail export api.proto                       as .thrift, on standard output
  dovetail export api.thrift --to proto -o idl    as .proto with all that it includes, into a folder
  dovetail export api.thrift --to proto --style buf -o idl    the same with names as `buf lint` wants them
  dovetail export api.thrift --to capnp -o idl    as .capnp
  dovetail export api.proto --to openapi          for tools that call it with JSON over HTTP

A program whose contract is in Rust writes it out itself: docs/code-first.md")]
pub(crate) struct Export {
    /// The contract
    file: PathBuf,
    /// The language
    #[arg(long, value_enum, default_value_t = To::Thrift)]
    to: To,
    /// How names are written in a `.proto`; servers of the contract answer to both
    #[arg(long, value_enum, default_value_t = Style::Contract)]
    style: Style,
    /// The folder for the files; made if it does not exist. Without it, a single file goes to
    /// standard output
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    includes: Includes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum To {
    /// `.thrift`, with what Dovetail adds to Apache's language
    Thrift,
    /// `.proto`, with which gRPC's libraries call services of any contract
    Proto,
    /// `.capnp`, with which Cap'n Proto's tools read and write values of any contract
    Capnp,
    /// An OpenAPI 3.1 document of what can be called with JSON over HTTP
    Openapi,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Style {
    /// As the contract has them
    Contract,
    /// As the default rules of `buf lint` want them
    Buf,
}

impl From<Style> for proto::Style {
    fn from(style: Style) -> Self {
        match style {
            Style::Contract => proto::Style::Contract,
            Style::Buf => proto::Style::Buf,
        }
    }
}

impl Export {
    pub(crate) fn run(self) -> Result {
        if self.style != Style::Contract && self.to != To::Proto {
            return Err(
                Failure::new(Exit::Usage, "only a `.proto` has a style").help("say --to proto")
            );
        }
        let schema = idl::load(&self.file, &self.includes)?;
        let files = match self.to {
            To::Thrift => thrift::write(&schema),
            To::Proto => proto::write_in(&schema, self.style.into()),
            To::Capnp => capnp::write(&schema),
            To::Openapi => openapi::write(&schema).map(|file| vec![file]),
        };
        let files =
            files.map_err(|places| Failure::unsupported(&places, "be written in this language"))?;
        if matches!(self.to, To::Thrift | To::Capnp) {
            check(&files)?;
        }
        match (&self.output, files.as_slice()) {
            (None, [file]) => output::document(&file.text),
            (None, _) => Err(Failure::new(
                Exit::Usage,
                format!("the contract has {}", count(files.len(), "file")),
            )
            .help("say with --output where they go")),
            (Some(folder), files) => files.iter().try_for_each(|file| {
                let path = folder.join(&file.path);
                save(&path, &file.text)?;
                eprintln!(
                    "{}: {}",
                    path.display(),
                    count(file.text.lines().count(), "line")
                );
                Ok(())
            }),
        }
    }
}

/// Reads the written files again.
fn check(files: &[File]) -> Result {
    let Some(root) = files.last() else {
        return Ok(());
    };
    let loader: MemoryLoader = files
        .iter()
        .map(|file| (file.path.clone(), file.text.clone()))
        .collect();
    let compiled = dovetail_idl::compile(&root.path, &loader);
    match compiled.schema.is_some() {
        true => Ok(()),
        false => {
            eprint!("{}", compiled.render(false));
            Err(Failure::new(
                Exit::Failed,
                "names of the contract mean something else in this language",
            )
            .help("rename them"))
        }
    }
}

use crate::failure::{Exit, Failure, Result};
use crate::idl::{self, Includes};
use crate::output::{self, count, save};
use clap::{Args, ValueEnum};
use dovetail_codegen::{File, openapi, proto, thrift};
use dovetail_idl::MemoryLoader;
use std::path::PathBuf;

/// Write a contract in another language
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail export api.proto                       as .thrift, on standard output
  dovetail export api.thrift --to proto -o idl    as .proto with all that it includes, into a folder
  dovetail export api.proto --to openapi          for tools that call it with JSON over HTTP

A program whose contract is in Rust writes it out itself: docs/code-first.md")]
pub(crate) struct Export {
    /// The contract
    file: PathBuf,
    /// The language
    #[arg(long, value_enum, default_value_t = To::Thrift)]
    to: To,
    /// Where the files go; made if it does not exist. Without it, a single file goes to standard output
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
    /// An OpenAPI 3.1 document of what can be called with JSON over HTTP
    Openapi,
}

impl Export {
    pub(crate) fn run(self) -> Result {
        let schema = idl::load(&self.file, &self.includes)?;
        let files = match self.to {
            To::Thrift => thrift::write(&schema),
            To::Proto => proto::write(&schema),
            To::Openapi => openapi::write(&schema).map(|file| vec![file]),
        };
        let files =
            files.map_err(|places| Failure::unsupported(&places, "be written in this language"))?;
        if self.to == To::Thrift {
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

/// What has been written can be read.
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

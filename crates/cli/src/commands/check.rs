use crate::against::Against;
use crate::failure::{Exit, Failure, Result};
use crate::idl::{self, Findings, Includes};
use crate::output::count;
use crate::paint::{Stream, Style};
use clap::Args;
use std::path::{Path, PathBuf};

/// Check contracts and show all errors and warnings
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail check api.thrift
  dovetail check api.proto                    protobuf's language, by the ending
  dovetail check api.capnp                    Cap'n Proto's
  dovetail check contracts/                   all contracts of a folder
  dovetail check -I shared api.thrift         included files are in shared/
  dovetail check --deny-warnings api.thrift   for CI
  dovetail check api.thrift --against 10.0.0.7:9090
                                              can a client with this contract call that server?

Exit code: 0 without errors, 1 with errors or contradictions, 4 where the server cannot be asked.")]
pub(crate) struct Check {
    /// The contracts; a folder stands for all .thrift, .proto and .capnp files in it
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    includes: Includes,
    /// Warnings count as errors
    #[arg(long)]
    deny_warnings: bool,
    #[command(flatten)]
    against: Against,
}

impl Check {
    pub(crate) fn run(self) -> Result {
        let mut files = Vec::new();
        for file in &self.files {
            add(file, &mut files)?;
        }
        // Imports of protobuf, and absolute ones of Cap'n Proto, begin at a folder of all
        // contracts, which a named one is.
        let folders = self.files.iter().filter(|path| path.is_dir());
        let with_folders = self.includes.and(folders);
        let mut findings = Findings::default();
        let mut schemas = Vec::new();
        for file in &files {
            let includes = match file.extension() {
                Some(extension) if extension == "proto" || extension == "capnp" => &with_folders,
                _ => &self.includes,
            };
            let compiled = idl::compile(file, includes);
            findings.show(&compiled);
            schemas.extend(compiled.schema);
        }
        let paint = Stream::Stderr.paint();
        let checked = match files.as_slice() {
            [file] => file.display().to_string(),
            _ => count(files.len(), "file"),
        };
        let failed = findings.errors > 0 || (self.deny_warnings && findings.warnings > 0);
        let verdict = match findings.summary(paint) {
            text if text.is_empty() => paint.text(Style::Good, "no errors, no warnings"),
            text => text,
        };
        eprintln!("{checked}: {verdict}");
        match failed {
            true => Err(Failure::silent(Exit::Failed)),
            false => self.against.run(&schemas),
        }
    }
}

/// The endings of contracts.
const CONTRACTS: &[&str] = &["thrift", "proto", "capnp"];

/// Adds a file, or all contracts of a folder in the order of their names.
fn add(path: &Path, files: &mut Vec<PathBuf>) -> Result {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let before = files.len();
    walk(path, files).map_err(|problem| {
        Failure::new(
            Exit::Failed,
            format!("cannot read `{}`: {problem}", path.display()),
        )
    })?;
    files[before..].sort();
    match files.len() > before {
        true => Ok(()),
        false => Err(Failure::new(
            Exit::Failed,
            format!("no .thrift, .proto or .capnp file in `{}`", path.display()),
        )
        .help("name the folder that has the contracts")),
    }
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let path = entry.path();
        // The kind of the entry itself: links to folders could lead in circles.
        if entry.file_type()?.is_dir() {
            walk(&path, files)?;
        } else if path
            .extension()
            .is_some_and(|extension| CONTRACTS.iter().any(|known| extension == *known))
        {
            files.push(path);
        }
    }
    Ok(())
}

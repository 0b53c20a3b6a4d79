use crate::failure::{Exit, Failure, Result};
use crate::idl::{self, Includes};
use crate::output::{count, save};
use crate::paint::{Stream, Style};
use crate::target::Target;
use clap::Args;
use dovetail_codegen::File;
use std::path::{Path, PathBuf};

/// Generate code from a contract
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail generate --lang rust api.thrift -o src/generated
  dovetail generate api.thrift -o src/generated --sides blocking    only the blocking client
  dovetail generate api.thrift -o src/generated --check             for CI: exit 1 if out of date

A Rust project can do without this command: the crate dovetail-build generates from build.rs.")]
pub(crate) struct Generate {
    /// The contract
    file: PathBuf,
    /// The folder for the code; made if it does not exist
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    target: Target,
    /// Write nothing; exit 1 if the code on disk is not what would be generated
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    includes: Includes,
}

/// The file on disk in the place of a generated one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnDisk {
    Same,
    Different,
    Missing,
}

impl Generate {
    pub(crate) fn run(self) -> Result {
        let schema = idl::load(&self.file, &self.includes)?;
        let files = self.target.generate(&schema).map_err(|places| {
            Failure::unsupported(&places, "be generated")
                .help("`dovetail call` and `dovetail serve` may still be able to use it")
        })?;
        match self.check {
            true => self.compare(&files),
            false => self.write(&files),
        }
    }

    fn compare(&self, files: &[File]) -> Result {
        let mut stale = 0;
        for file in files {
            let path = self.output.join(&file.path);
            let what = match on_disk(&path, &file.text)? {
                OnDisk::Same => continue,
                OnDisk::Different => "is out of date",
                OnDisk::Missing => "does not exist",
            };
            eprintln!("{} {what}", path.display());
            stale += 1;
        }
        match stale {
            0 => {
                eprintln!("{}: up to date", count(files.len(), "file"));
                Ok(())
            }
            _ => Err(Failure::new(
                Exit::Failed,
                format!("{} to generate again", count(stale, "file")),
            )
            .help("run the same command without --check")),
        }
    }

    fn write(&self, files: &[File]) -> Result {
        let paint = Stream::Stderr.paint();
        for file in files {
            let path = self.output.join(&file.path);
            // An unchanged file keeps its time stamp, so that nothing is built again because of it.
            let what = match on_disk(&path, &file.text)? {
                OnDisk::Same => paint.text(Style::Faint, "unchanged"),
                _ => {
                    save(&path, &file.text)?;
                    paint.text(Style::Good, "written")
                }
            };
            let lines = count(file.text.lines().count(), "line");
            eprintln!("{}: {lines}, {what}", path.display());
        }
        Ok(())
    }
}

fn on_disk(path: &Path, text: &str) -> Result<OnDisk> {
    match std::fs::read(path) {
        Ok(found) if found == text.as_bytes() => Ok(OnDisk::Same),
        Ok(_) => Ok(OnDisk::Different),
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => Ok(OnDisk::Missing),
        Err(problem) => Err(Failure::new(
            Exit::Failed,
            format!("cannot read `{}`: {problem}", path.display()),
        )
        .help("choose another folder with --output")),
    }
}

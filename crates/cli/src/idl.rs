//! Contracts from files.

use crate::failure::{Exit, Failure, Result};
use crate::output::count;
use crate::paint::{Stream, Style};
use dovetail_build::FileLoader;
use dovetail_dynamic::closest;
use dovetail_idl::{Compiled, Severity};
use dovetail_schema::{Schema, ServiceId};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The folders for included files, besides the folder of the file that includes them.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Includes {
    /// Look for included files here too; can be repeated
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    dirs: Vec<PathBuf>,
}

impl Includes {
    /// Adds folders at the end.
    pub(crate) fn and<'a>(&'a self, folders: impl Iterator<Item = &'a PathBuf>) -> Includes {
        Includes {
            dirs: self.dirs.iter().chain(folders).cloned().collect(),
        }
    }
}

/// The problems found, and shown, so far. A file that several others include is shown once.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    shown: HashSet<String>,
}

impl Findings {
    /// Shows the diagnostics of a file that have not been shown yet.
    pub(crate) fn show(&mut self, compiled: &Compiled) {
        let colours = Stream::Stderr.paint().colours;
        for diagnostic in &compiled.diagnostics {
            let one = std::slice::from_ref(diagnostic);
            let text = dovetail_idl::render(one, &compiled.sources, colours);
            if !self.shown.insert(text.clone()) {
                continue;
            }
            match diagnostic.severity {
                Severity::Error => self.errors += 1,
                Severity::Warning => self.warnings += 1,
            }
            eprint!("{text}");
        }
    }

    /// `2 errors, 1 warning`, without what there is none of; empty where all is well.
    pub(crate) fn summary(&self, paint: crate::paint::Paint) -> String {
        let parts = [
            (self.errors, "error", Style::Error),
            (self.warnings, "warning", Style::Warning),
        ];
        let some = parts.into_iter().filter(|(number, ..)| *number > 0);
        let text = some.map(|(number, what, style)| paint.text(style, &count(number, what)));
        text.collect::<Vec<_>>().join(", ")
    }
}

/// Reads a file and all that it includes.
pub(crate) fn compile(path: &Path, includes: &Includes) -> Compiled {
    let mut loader = FileLoader::new();
    for dir in &includes.dirs {
        loader = loader.include_dir(dir);
    }
    dovetail_idl::compile(&path.to_string_lossy(), &loader)
}

/// The schema of a file. Errors are shown; warnings are `check`'s business.
pub(crate) fn load(path: &Path, includes: &Includes) -> Result<Schema> {
    let mut compiled = compile(path, includes);
    if let Some(schema) = compiled.schema.take() {
        return Ok(schema);
    }
    let mut findings = Findings::default();
    findings.show(&compiled);
    let (file, errors) = (path.display(), count(findings.errors, "error"));
    Err(Failure::new(Exit::Failed, format!("`{file}` has {errors}"))
        .help("correct the file; without a valid contract there is nothing to do"))
}

/// A service by its name; the root file's services need no prefix.
pub(crate) fn service(schema: &Schema, name: &str) -> Result<ServiceId> {
    if let Some(id) = schema.find_service(name) {
        return Ok(id);
    }
    // A name that only one of the included files has needs no prefix either.
    let mut named = (0..schema.services.len()).filter(|at| schema.services[*at].name == name);
    if let (Some(at), None) = (named.next(), named.next()) {
        return Ok(ServiceId(at as u32));
    }
    let known = || schema.services.iter().map(|service| service.name.as_str());
    let failure = Failure::new(Exit::Usage, format!("the contract has no service `{name}`"));
    Err(match closest(name, known()) {
        Some(close) => failure.help(format!("did you mean `{close}`?")),
        None if schema.services.is_empty() => failure.help("it defines no service at all"),
        None => failure.help(format!("it has {}", known().collect::<Vec<_>>().join(", "))),
    })
}

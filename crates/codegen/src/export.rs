//! The common part of the writers of contracts: a file for each package, and the list of things
//! that its language lacks.

use crate::{File, Unsupported};
use dovetail_schema::{Package, PackageId, Schema};
use std::cell::RefCell;

/// The list in which a writer notes the things that it cannot write.
#[derive(Debug, Default)]
pub(crate) struct Problems(RefCell<Vec<Unsupported>>);

impl Problems {
    pub(crate) fn refuse(&self, what: &str, at: &str) {
        let problem = Unsupported {
            what: what.to_owned(),
            at: format!("`{at}`"),
        };
        let mut known = self.0.borrow_mut();
        if !known.contains(&problem) {
            known.push(problem);
        }
    }
}

/// The files of a contract, in the order of its packages, all for one folder. Packages for which
/// `write` has nothing get none.
pub(crate) fn files(
    schema: &Schema,
    problems: Problems,
    write: impl Fn(PackageId, &Problems) -> Option<File>,
) -> Result<Vec<File>, Vec<Unsupported>> {
    let mut files: Vec<File> = Vec::new();
    let ids = (0..schema.packages.len()).map(|index| PackageId(index as u32));
    for file in ids.filter_map(|id| write(id, &problems)) {
        if files.iter().any(|other| other.path == file.path) {
            let what = "another file of the contract has the same name; rename one";
            problems.refuse(what, &file.path);
        }
        files.push(file);
    }
    let problems = problems.0.into_inner();
    match problems.is_empty() {
        true => Ok(files),
        false => Err(problems),
    }
}

/// Returns the name of a file, without its ending. A dot would lead to an include.
pub(crate) fn file_name(package: &Package) -> String {
    let stem = package.path.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let name = if stem.is_empty() { &package.name } else { stem };
    match name {
        "" => "contract".to_owned(),
        name => name.replace('.', "_"),
    }
}

/// Text as a literal.
pub(crate) fn quoted(text: &str) -> String {
    let mut literal = String::from('"');
    for c in text.chars() {
        match c {
            '\n' => literal += "\\n",
            '\r' => literal += "\\r",
            '\t' => literal += "\\t",
            '"' | '\\' => literal.extend(['\\', c]),
            c => literal.push(c),
        }
    }
    literal + "\""
}

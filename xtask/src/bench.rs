//! `cargo xtask bench`: builds what is measured, in release mode, and lets `dovetail-bench` measure it.

use crate::stage;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What `cargo xtask bench` takes.
#[derive(Args)]
pub(crate) struct Options {
    /// A cut of less than three minutes; the default.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Every case.
    #[arg(long)]
    full: bool,
    /// Only systems and workloads for which `WORKLOAD CASE SYSTEM` matches this regular expression.
    #[arg(long)]
    only: Option<String>,
    /// Where the report goes.
    #[arg(long, default_value = "target/bench/report")]
    out: PathBuf,
}

/// A program of another project, and how it is built into a folder.
struct Recipe {
    name: &'static str,
    /// The packages of Debian that it takes, beside `cmake`, `g++` and `pkg-config`.
    needs: &'static str,
    build: fn(&Path) -> Result<PathBuf, String>,
}

const PEERS: &[Recipe] = &[
    Recipe {
        name: "Apache Thrift C++",
        needs: "thrift-compiler libthrift-dev libboost-dev libevent-dev",
        build: |folder| cmake(folder, "thrift"),
    },
    Recipe {
        name: "gRPC C++",
        needs: "libgrpc++-dev protobuf-compiler-grpc protobuf-compiler libprotobuf-dev",
        build: |folder| cmake(folder, "grpc"),
    },
    Recipe {
        name: "Cap'n Proto C++",
        needs: "capnproto libcapnp-dev",
        build: |folder| cmake(folder, "capnp"),
    },
];

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let root = stage::root();
    execute(
        Command::new("cargo")
            .args([
                "build",
                "--release",
                "--quiet",
                "--package",
                "dovetail-bench",
            ])
            .current_dir(&root),
    )?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let mut suite = Command::new(target.join("release/dovetail-bench"));
    suite.arg("suite").arg("--out").arg(&options.out);
    if options.full {
        suite.arg("--full");
    }
    if let Some(only) = &options.only {
        suite.args(["--only", only]);
    }
    for peer in PEERS {
        println!("building {}", peer.name);
        match (peer.build)(&target.join("bench")) {
            Ok(program) => suite.arg("--program").arg(program),
            Err(why) => {
                let why = format!(
                    "{}: {why}; it needs `apt-get install cmake g++ pkg-config {}`",
                    peer.name, peer.needs
                );
                println!("left out: {why}");
                suite.arg("--missing").arg(why)
            }
        };
    }
    execute(&mut suite)
}

/// One of the C++ programs. CMake leaves out those whose libraries are not there.
fn cmake(folder: &Path, program: &str) -> Result<PathBuf, String> {
    let (source, build) = (stage::root().join("bench/peers/cpp"), folder.join("cpp"));
    let quiet = |command: &mut Command| execute(command.stdout(Stdio::null()));
    quiet(
        Command::new("cmake")
            .arg("-S")
            .arg(source)
            .arg("-B")
            .arg(&build),
    )?;
    quiet(
        Command::new("cmake")
            .arg("--build")
            .arg(&build)
            .args(["--target", program, "-j2"]),
    )?;
    Ok(build.join(program))
}

fn execute(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{name}` ended with {status}")),
        Err(error) => Err(format!("cannot run `{name}`: {error}")),
    }
}

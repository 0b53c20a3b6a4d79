//! `cargo xtask bench`: builds what is measured, in release mode, and lets `dovetail-bench` measure
//! it.

mod against;
mod apart;
mod go;
mod java;

use crate::stage;
use crate::tools::{
    self, BOOST, CAPNP, CARGO, CMAKE, CXX, GO, GRPC_PLUGIN, IPERF3, JAVAC, LIBCAPNP, LIBEVENT,
    LIBGRPC, LIBPROTOBUF, LIBTHRIFT, MAVEN, PKG_CONFIG, PROTOC, THRIFT, Tool,
};
use apart::Apart;
use clap::Args;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The options of `cargo xtask bench`.
#[derive(Args)]
pub(crate) struct Options {
    /// A cut of ten minutes; the default.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Every case.
    #[arg(long)]
    full: bool,
    /// Only systems and workloads for which `WORKLOAD CASE SYSTEM` matches this regular expression.
    #[arg(long)]
    only: Option<String>,
    /// The folder for the report.
    #[arg(long, default_value = "target/bench/report")]
    out: PathBuf,
    /// Seconds after which a system that hangs on a case is killed, and named.
    #[arg(long)]
    timeout: Option<u64>,
    /// Show what has changed since this report.json.
    #[arg(long)]
    compare: Option<PathBuf>,
    /// Judge the ratios of a file such as bench/ratios.toml; fails if one falls short.
    #[arg(long)]
    assert: Option<PathBuf>,
    /// Write the tables and sentences about this run into docs/benchmarks.md, or with --full into
    /// docs/benchmarks-full.md, and its plots.
    #[arg(long, conflicts_with_all = ["only", "profile", "neighbours", "overload", "picks", "against"])]
    publish: bool,
    /// Let so many threads compute beside every case. Without it, a run has small calls
    /// beside one and two.
    #[arg(long, value_name = "THREADS", conflicts_with_all = ["overload", "picks", "against"])]
    neighbours: Option<u64>,
    /// Measure a load that changes over time, instead of the cases: ramp, saturation, burst, mixed,
    /// fan-out; can be repeated.
    #[arg(long)]
    profile: Vec<String>,
    /// Seconds of each step of a profile.
    #[arg(long)]
    step: Option<f64>,
    /// Measure nothing but servers that get more calls than they can do, for so many seconds at
    /// each load.
    #[arg(long, value_name = "SECONDS", conflicts_with_all = ["profile", "full"])]
    overload: Option<u64>,
    /// Measure nothing but how long the choice of one of several servers takes, beside balancers of
    /// peers.
    #[arg(long, conflicts_with_all = ["profile", "full", "overload"])]
    picks: bool,
    /// Measure nothing but our own systems, beside their build of this revision, in rounds that
    /// alternate: ten of each, and the interval of the median ratio.
    #[arg(long, value_name = "REVISION", conflicts_with_all = ["profile", "full", "overload", "picks"])]
    against: Option<String>,
    #[command(flatten)]
    apart: Apart,
}

/// The pages of published runs: of quick ones, and of full ones.
const PAGE: &str = "docs/benchmarks.md";
const FULL_PAGE: &str = "docs/benchmarks-full.md";

/// The peers that have a balancer.
const BALANCERS: &[&str] = &["tonic, volo and tarpc", "Apache Thrift Go and gRPC Go"];

/// A program of another project, and how it is built into a folder.
struct Recipe {
    name: &'static str,
    /// The tools that it needs.
    tools: &'static [Tool],
    build: fn(&Path) -> Result<PathBuf, String>,
}

const PEERS: &[Recipe] = &[
    Recipe {
        name: "Apache Thrift C++",
        tools: &[CMAKE, CXX, PKG_CONFIG, THRIFT, LIBTHRIFT, BOOST, LIBEVENT],
        build: |folder| cmake(folder, "thrift"),
    },
    Recipe {
        name: "gRPC C++",
        tools: &[
            CMAKE,
            CXX,
            PKG_CONFIG,
            PROTOC,
            LIBPROTOBUF,
            GRPC_PLUGIN,
            LIBGRPC,
        ],
        build: |folder| cmake(folder, "grpc"),
    },
    Recipe {
        name: "Cap'n Proto C++",
        tools: &[CMAKE, CXX, PKG_CONFIG, CAPNP, LIBCAPNP],
        build: |folder| cmake(folder, "capnp"),
    },
    Recipe {
        name: "tonic, volo and tarpc",
        tools: &[CARGO, PROTOC],
        build: rust,
    },
    Recipe {
        name: "Apache Thrift Go and gRPC Go",
        tools: &[GO, THRIFT, PROTOC],
        build: go::build,
    },
    Recipe {
        name: "gRPC Java",
        tools: &[JAVAC, MAVEN],
        build: java::build,
    },
];

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let root = stage::root();
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let base = options.against.as_ref();
    let base = base.map(|revision| against::build(revision, &target));
    let base = base.transpose()?;
    let mut program = Command::new(own(&root, &target)?);
    if let Some(base) = base {
        program.arg("against").arg(base);
        if let Some(only) = &options.only {
            program.args(["--only", only]);
        }
        return execute(&mut program);
    }
    if options.picks {
        program.arg("picks");
        for peer in PEERS.iter().filter(|peer| BALANCERS.contains(&peer.name)) {
            if let Ok(built) = build(peer, &target.join("bench")) {
                program.arg("--program").arg(built);
            }
        }
        return execute(&mut program);
    }
    match options.apart.is_agent() {
        true => _ = program.arg("agent"),
        false => options.suite(program.arg("suite"), &target.join("bench")),
    }
    options.apart.pass_on(&mut program);
    if !options.apart.is_coordinator() {
        peers(&mut program, &target.join("bench"));
    }
    execute(&mut program)
}

/// Builds our own program of the sources in a folder.
fn own(sources: &Path, target: &Path) -> Result<PathBuf, String> {
    let arguments = ["--release", "--quiet", "--package", "dovetail-bench"];
    execute(
        Command::new("cargo")
            .arg("build")
            .args(arguments)
            .arg("--target-dir")
            .arg(target)
            .current_dir(sources),
    )?;
    Ok(target.join("release/dovetail-bench"))
}

impl Options {
    /// Adds the arguments for the suite.
    fn suite(&self, suite: &mut Command, builds: &Path) {
        suite
            .arg("--out")
            .arg(&self.out)
            .arg("--builds")
            .arg(builds);
        if self.full {
            suite.arg("--full");
        }
        if let Some(only) = &self.only {
            suite.args(["--only", only]);
        }
        let numbers = [
            ("--timeout", self.timeout.map(|seconds| seconds.to_string())),
            (
                "--overload",
                self.overload.map(|seconds| seconds.to_string()),
            ),
            (
                "--neighbours",
                self.neighbours.map(|threads| threads.to_string()),
            ),
            ("--step", self.step.map(|seconds| seconds.to_string())),
        ];
        for (option, number) in numbers {
            suite.args(number.iter().flat_map(|number| [option, number]));
        }
        for profile in &self.profile {
            suite.args(["--profile", profile]);
        }
        if self.publish {
            let page = if self.full { FULL_PAGE } else { PAGE };
            let [page, claims] = [page, "bench/ratios.toml"].map(|path| stage::root().join(path));
            suite.arg("--publish").arg(page).arg("--claims").arg(claims);
        }
        let files = [("--compare", &self.compare), ("--assert", &self.assert)];
        for (option, file) in files {
            suite.args(
                file.iter()
                    .flat_map(|file| [OsStr::new(option), file.as_os_str()]),
            );
        }
    }
}

/// Builds what is there to be measured beside us, and names it. Installs what that takes where it
/// can, without asking.
fn peers(command: &mut Command, builds: &Path) {
    if let Err(why) = tools::install(&[IPERF3]) {
        println!("left out: iperf3: {why}");
    }
    for peer in PEERS {
        match build(peer, builds) {
            Ok(program) => command.arg("--program").arg(program),
            Err(why) => command.arg("--missing").arg(why),
        };
    }
}

/// Builds a peer; an error says why it is left out.
fn build(peer: &Recipe, builds: &Path) -> Result<PathBuf, String> {
    println!("building {}", peer.name);
    let built = tools::install(peer.tools).and_then(|()| (peer.build)(builds));
    built.map_err(|why| {
        let why = format!("{}: {why}", peer.name);
        println!("left out: {why}");
        why
    })
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

/// The program in Rust, a workspace of its own.
fn rust(folder: &Path) -> Result<PathBuf, String> {
    let build = folder.join("rust");
    execute(
        Command::new("cargo")
            .args(["build", "--release", "--quiet", "--locked"])
            .arg("--manifest-path")
            .arg(stage::root().join("bench/peers/rust/Cargo.toml"))
            .arg("--target-dir")
            .arg(&build),
    )?;
    Ok(build.join("release/bench-peer"))
}

fn execute(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{name}` ended with {status}")),
        Err(error) => Err(format!("cannot run `{name}`: {error}")),
    }
}

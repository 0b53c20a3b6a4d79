//! The tools that a peer needs before it can be built, and how to get them.

use crate::stage;
use crate::steps::execute;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Something that has to be on the machine.
pub(crate) struct Tool {
    /// A program on the path, or the absolute path of a file.
    name: &'static str,
    /// Debian packages that bring it; none where Debian's are too old.
    packages: &'static [&'static str],
    /// Advice where Debian cannot help.
    fix: &'static str,
}

impl Tool {
    fn is_here(&self) -> bool {
        if self.name.starts_with('/') {
            return Path::new(self.name).exists();
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(self.name).is_file())
    }
}

/// Something that Debian has.
const fn debian(name: &'static str, packages: &'static [&'static str]) -> Tool {
    Tool {
        name,
        packages,
        fix: "",
    }
}

/// Something of which Debian has none that is new enough.
const fn elsewhere(name: &'static str, fix: &'static str) -> Tool {
    Tool {
        name,
        packages: &[],
        fix,
    }
}

pub(crate) const PROMETHEUS: Tool = debian("prometheus", &["prometheus"]);
pub(crate) const VALGRIND: Tool = debian("valgrind", &["valgrind"]);
pub(crate) const THRIFT: Tool = debian("thrift", &["thrift-compiler"]);
pub(crate) const GO: Tool = elsewhere(
    "go",
    "install Go 1.26 or later from https://go.dev/dl (Debian's is too old)",
);
pub(crate) const NPM: Tool = debian("npm", &["npm"]);
pub(crate) const CARGO: Tool = elsewhere("cargo", "install Rust from https://rustup.rs");
pub(crate) const CXX: Tool = debian("g++", &["g++"]);
pub(crate) const LIBTHRIFT: Tool = debian("/usr/include/thrift/TProcessor.h", &["libthrift-dev"]);
pub(crate) const BOOST: Tool = debian("/usr/include/boost/version.hpp", &["libboost-dev"]);
pub(crate) const LIBEVENT: Tool = debian("/usr/include/event2/event.h", &["libevent-dev"]);
pub(crate) const JAVAC: Tool = debian("javac", &["default-jdk-headless"]);
pub(crate) const MAVEN: Tool = debian("mvn", &["maven"]);
pub(crate) const PYTHON: Tool = debian("python3", &["python3", "python3-venv"]);
pub(crate) const CURL: Tool = debian("curl", &["curl"]);
pub(crate) const NEOVIM: Tool = debian("nvim", &["neovim"]);
pub(crate) const CHROMIUM: Tool = debian("chromium", &["chromium"]);
pub(crate) const CMAKE: Tool = debian("cmake", &["cmake"]);
pub(crate) const PKG_CONFIG: Tool = debian("pkg-config", &["pkg-config"]);
pub(crate) const PROTOC: Tool = debian("protoc", &["protobuf-compiler"]);
pub(crate) const LIBPROTOBUF: Tool = debian(
    "/usr/include/google/protobuf/message.h",
    &["libprotobuf-dev"],
);
pub(crate) const GRPC_PLUGIN: Tool = debian("grpc_cpp_plugin", &["protobuf-compiler-grpc"]);
pub(crate) const LIBGRPC: Tool = debian("/usr/include/grpcpp/grpcpp.h", &["libgrpc++-dev"]);
pub(crate) const CAPNP: Tool = debian("capnp", &["capnproto"]);
pub(crate) const IPERF3: Tool = debian("iperf3", &["iperf3"]);
pub(crate) const LIBCAPNP: Tool = debian("/usr/include/capnp/rpc-twoparty.h", &["libcapnp-dev"]);

/// A program of the registry of crates.
pub(crate) struct CargoTool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// Options of `cargo install`.
    pub(crate) options: &'static [&'static str],
}

impl CargoTool {
    /// Returns the program, which is built on the first use.
    pub(crate) fn program(&self) -> Result<PathBuf, String> {
        let root = stage::target().join("tools");
        let program = root.join("bin").join(self.name);
        if !program.exists() {
            let package = format!("{}@{}", self.name, self.version);
            println!("  cargo install {package}");
            let mut install = Command::new("cargo");
            install
                .args(["install", "--quiet", "--locked", "--debug", &package])
                .args(self.options)
                .arg("--root")
                .arg(&root)
                .env("CARGO_TARGET_DIR", root.join("build"));
            execute(&mut install)?;
        }
        Ok(program)
    }
}

/// Makes sure that the tools are there, through apt where that is possible. One at a time, as apt
/// would have it.
pub(crate) fn install(tools: &[Tool]) -> Result<(), String> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    let missing: Vec<&Tool> = tools.iter().filter(|tool| !tool.is_here()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|tool| tool.name).collect();
    let names = names.join(", ");
    if let Some(tool) = missing.iter().find(|tool| tool.packages.is_empty()) {
        return Err(format!("needs {names}: {}", tool.fix));
    }
    let packages: Vec<&str> = missing
        .iter()
        .flat_map(|tool| tool.packages)
        .copied()
        .collect();
    let line = format!("apt-get install {}", packages.join(" "));
    if !is_root() {
        return Err(format!("needs {names}: run `sudo {line}`"));
    }
    println!("  {line}");
    let apt = |words: &[&str]| {
        execute(
            Command::new("apt-get")
                .args(words)
                .env("DEBIAN_FRONTEND", "noninteractive"),
        )
    };
    let mut words = vec!["install", "--yes", "--quiet", "--no-install-recommends"];
    words.extend(&packages);
    // Once is enough, unless it fails.
    static UPDATED: AtomicBool = AtomicBool::new(false);
    let update = || match UPDATED.load(Ordering::Relaxed) {
        true => Ok(()),
        false => apt(&["update", "--quiet"]).map(|()| UPDATED.store(true, Ordering::Relaxed)),
    };
    update()
        .and_then(|()| apt(&words))
        .map_err(|error| format!("needs {names}, and `{line}` failed: {error}"))
}

fn is_root() -> bool {
    Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

//! Fetches the `.thrift`, `.proto` and `.capnp` files that other projects ship, and the compilers
//! of protobuf and of Cap'n Proto, for the tests `shipped`, `proto_oracle` and `capnp_oracle` of
//! `dovetail-idl`, and `plugin` of `dovetail-cli`; and buf's linter, for `export` of
//! `dovetail-codegen`.
//!
//! They are other people's files: they stay below `target/` and are never committed. Each comes
//! from the package's own registry, through that registry's own client.

use crate::stage::{self, Outcome};
use crate::steps::output;
use crate::tools::{self, CAPNP, LIBCAPNP};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package with contracts in it.
struct Package {
    name: &'static str,
    version: &'static str,
    registry: Registry,
}

enum Registry {
    Go,
    PyPi,
    CratesIo,
    Maven,
    /// Installed by the system's package manager.
    Debian,
}

const PACKAGES: &[Package] = &[
    // The compiler that we are compared with, and the newest grammar.
    Package {
        name: "github.com/apache/thrift",
        version: "v0.17.0",
        registry: Registry::Go,
    },
    Package {
        name: "github.com/apache/thrift",
        version: "v0.25.0",
        registry: Registry::Go,
    },
    // Files for every corner of protobuf's language, editions among them; services of two projects.
    Package {
        name: "google.golang.org/protobuf",
        version: "v1.36.11",
        registry: Registry::Go,
    },
    Package {
        name: "google.golang.org/grpc",
        version: "v1.78.0",
        registry: Registry::Go,
    },
    Package {
        name: "connectrpc.com/conformance",
        version: "v1.0.6",
        registry: Registry::Go,
    },
    Package {
        name: "github.com/envoyproxy/protoc-gen-validate",
        version: "v1.3.3",
        registry: Registry::Go,
    },
    // Protobuf's own files, as its library for Java brings them.
    Package {
        name: "com.google.protobuf:protobuf-java",
        version: "4.36.2",
        registry: Registry::Maven,
    },
    // The contracts of Envoy and of OpenTelemetry: go-control-plane and PyPI's opentelemetry-proto
    // only have what was generated of them.
    Package {
        name: "envoy-types",
        version: "0.7.7",
        registry: Registry::CratesIo,
    },
    Package {
        name: "opentelemetry-proto",
        version: "0.33.1",
        registry: Registry::CratesIo,
    },
    Package {
        name: "thriftpy2",
        version: "0.7.1",
        registry: Registry::PyPi,
    },
    Package {
        name: "pilota-build",
        version: "0.13.12",
        registry: Registry::CratesIo,
    },
    Package {
        name: "thrift-compiler",
        version: "",
        registry: Registry::Debian,
    },
    // The contracts that Cap'n Proto brings, and those of its libraries for Go and Python.
    Package {
        name: "libcapnp-dev",
        version: "",
        registry: Registry::Debian,
    },
    Package {
        name: "capnproto.org/go/capnp/v3",
        version: "v3.1.0-alpha.1",
        registry: Registry::Go,
    },
    Package {
        name: "pycapnp",
        version: "2.2.4",
        registry: Registry::PyPi,
    },
];

/// The endings of contracts.
const CONTRACTS: &[&str] = &["thrift", "proto", "capnp"];

/// Protobuf's own compiler, as a Python package, and files of Google's services.
const COMPILER: &[&str] = &["grpcio-tools==1.85.1", "googleapis-common-protos==1.76.0"];

/// The linter of exported files, of npm.
const LINTER: &str = "@bufbuild/buf@1.75.0";

/// Fetches all packages into `target/peer-idl`.
pub(crate) fn run() -> Result<(), String> {
    fetch(&stage::root().join("target/peer-idl"))
}

/// The stage of the tests: every file that could be fetched compiles, the compiler takes our
/// plugin, and the linter what we export in its style.
pub(crate) fn stage() -> Outcome {
    let fetched = run();
    let tests = [
        "shipped",
        "proto_oracle",
        "capnp_oracle",
        "capnp",
        "plugin",
        "export",
    ]
    .map(|test| ["--test", test]);
    match (stage::built_tests(tests.as_flattened()), fetched) {
        (Outcome::Passed, Err(missing)) => Outcome::Skipped(missing),
        (outcome, _) => outcome,
    }
}

/// Fetches all packages, each into a directory of its own below `dir`. What cannot be fetched is
/// named, and does not keep the rest from being there.
fn fetch(dir: &Path) -> Result<(), String> {
    let scratch = dir.join("scratch");
    fs::create_dir_all(&scratch).map_err(|problem| format!("{}: {problem}", scratch.display()))?;
    let mut problems = Vec::new();
    if let Err(problem) = tools::install(&[CAPNP, LIBCAPNP]) {
        problems.push(format!("Cap'n Proto's compiler: {problem}"));
    }
    for package in PACKAGES {
        let label = format!("{} {}", package.name, package.version);
        let target = dir.join(label.trim().replace(['/', ' ', ':'], "-"));
        match source(package, &scratch).and_then(|source| copy(&source, &target)) {
            Ok(0) => problems.push(format!("{label}: no contracts in it")),
            Ok(count) => println!("{label}: {count} files"),
            Err(problem) => problems.push(format!("{label}: {problem}")),
        }
    }
    let _ = fs::remove_dir_all(&scratch);
    if let Err(problem) = compiler(&dir.join("protoc")) {
        problems.push(format!("protobuf's compiler: {problem}"));
    }
    if let Err(problem) = linter(&stage::root().join("target/peers/buf")) {
        problems.push(format!("the linter: {problem}"));
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems.join("\n")),
    }
}

/// Installs the linter, unless it is there.
fn linter(folder: &Path) -> Result<(), String> {
    if folder.join("node_modules/@bufbuild/buf").exists() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(|problem| format!("{}: {problem}", folder.display()))?;
    let install = ["install", "--silent", "--no-save", "--prefix", ".", LINTER];
    output(Command::new("npm").args(install), folder).map(drop)
}

/// Makes a Python environment with the compiler, unless it is there.
fn compiler(environment: &Path) -> Result<(), String> {
    let here = stage::root();
    if !environment.join("bin/pip").exists() {
        output(
            Command::new("python3")
                .args(["-m", "venv"])
                .arg(environment),
            &here,
        )?;
    }
    let pip = environment.join("bin/pip");
    let install = ["install", "--quiet", "--disable-pip-version-check"];
    output(Command::new(pip).args(install).args(COMPILER), &here)?;
    Ok(())
}

/// A directory with the contents of a package.
fn source(package: &Package, scratch: &Path) -> Result<PathBuf, String> {
    match package.registry {
        Registry::Go => {
            let module = format!("{}@{}", package.name, package.version);
            let said = output(
                Command::new("go").args(["mod", "download", "-json", &module]),
                scratch,
            )?;
            let line = said
                .lines()
                .find_map(|line| line.trim().strip_prefix("\"Dir\": \""));
            let directory = line.and_then(|line| line.split('"').next());
            directory
                .map(PathBuf::from)
                .ok_or_else(|| format!("`go mod download` said {said}"))
        }
        Registry::PyPi => {
            let requirement = format!("{}=={}", package.name, package.version);
            // Only this one as its source: what it is built with may come built.
            let arguments = ["download", "--quiet", "--no-deps", "--no-binary"];
            let wanted = [package.name, &requirement];
            output(Command::new("pip").args(arguments).args(wanted), scratch)?;
            let archive = format!("{}-{}.tar.gz", package.name, package.version);
            output(Command::new("tar").args(["xzf", &archive]), scratch)?;
            Ok(scratch.join(format!("{}-{}", package.name, package.version)))
        }
        Registry::Maven => {
            let artifact = format!("-Dartifact={}:{}", package.name, package.version);
            let arguments = [
                "-q",
                "-B",
                "dependency:copy",
                "-DoutputDirectory=.",
                &artifact,
            ];
            output(Command::new("mvn").args(arguments), scratch)?;
            let name = package.name.rsplit(':').next().unwrap_or_default();
            let jar = format!("{name}-{}.jar", package.version);
            let folder = scratch.join(name);
            fs::create_dir_all(&folder).map_err(|problem| problem.to_string())?;
            let jar = scratch.join(jar);
            output(Command::new("jar").arg("xf").arg(jar), &folder)?;
            Ok(folder)
        }
        Registry::CratesIo => {
            let name = package.name;
            let manifest = format!(
                "[package]\nname = \"scratch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
                 [lib]\npath = \"lib.rs\"\n[dependencies]\n{name} = \"={}\"\n[workspace]\n",
                package.version
            );
            let write = |file: &str, text: &str| {
                fs::write(scratch.join(file), text).map_err(|problem| problem.to_string())
            };
            write("Cargo.toml", &manifest)?;
            write("lib.rs", "")?;
            output(Command::new("cargo").args(["fetch", "--quiet"]), scratch)?;
            let said = output(
                Command::new("cargo").args(["metadata", "--format-version", "1"]),
                scratch,
            )?;
            let crate_manifest = format!("/{name}-{}/Cargo.toml\"", package.version);
            let end = said
                .find(&crate_manifest)
                .ok_or("`cargo metadata` does not name it")?;
            let before = said.get(..end + crate_manifest.len() - "/Cargo.toml\"".len());
            let path = before.and_then(|before| before.rsplit('"').next());
            path.map(PathBuf::from)
                .ok_or_else(|| "`cargo metadata` gives no path".to_owned())
        }
        Registry::Debian => {
            let said = output(Command::new("dpkg").args(["-L", package.name]), scratch)?;
            let file = said.lines().find(|line| is_contract(Path::new(line)));
            let directory = file.and_then(|file| Path::new(file).parent());
            directory
                .map(Path::to_owned)
                .ok_or_else(|| "no contracts in it".to_owned())
        }
    }
}

/// Copies the contracts below one directory to another one, keeping their places.
fn copy(source: &Path, target: &Path) -> Result<usize, String> {
    let mut count = 0;
    let mut directories = vec![source.to_owned()];
    while let Some(directory) = directories.pop() {
        let entries = fs::read_dir(&directory);
        let entries = entries.map_err(|problem| format!("{}: {problem}", directory.display()))?;
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                directories.push(path);
            } else if is_contract(&path) {
                let place = target.join(path.strip_prefix(source).unwrap_or(&path));
                let parent = place.parent().unwrap_or(target);
                // Bytes, not a copy: files of the Go cache cannot be overwritten.
                let copied = fs::create_dir_all(parent)
                    .and_then(|()| fs::read(&path))
                    .and_then(|bytes| fs::write(&place, bytes));
                copied.map_err(|problem| format!("{}: {problem}", place.display()))?;
                count += 1;
            }
        }
    }
    Ok(count)
}

fn is_contract(path: &Path) -> bool {
    let extension = path.extension();
    extension.is_some_and(|extension| CONTRACTS.iter().any(|known| extension == *known))
}

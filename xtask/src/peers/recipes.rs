//! How each peer is built. Generated code and libraries stay below `target/peers`.

use super::{Contract, Recipe, Site};
use crate::steps::{
    copy, cores, execute, fetch_grpc_java, fetch_with_maven, files, generate_grpc_java, javac,
    script, side_by_side,
};
use crate::tools::{
    BOOST, CAPNP, CARGO, CURL, CXX, GO, JAVAC, LIBCAPNP, LIBEVENT, LIBTHRIFT, MAVEN, NEOVIM,
    PYTHON, THRIFT,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const THRIFT_LIBRARY: &str = "Apache Thrift";

/// All peers.
pub(super) const ALL: &[Recipe] = &[
    Recipe {
        name: "cpp",
        title: "C++",
        library: THRIFT_LIBRARY,
        version: "0.17.0",
        contract: Contract::Interop,
        tools: &[THRIFT, CXX, LIBTHRIFT, BOOST, LIBEVENT],
        build: cpp,
    },
    Recipe {
        name: "go",
        title: "Go",
        library: THRIFT_LIBRARY,
        version: "0.17.0",
        contract: Contract::Interop,
        tools: &[THRIFT, GO],
        build: go,
    },
    Recipe {
        name: "java",
        title: "Java",
        library: THRIFT_LIBRARY,
        version: "0.17.0",
        contract: Contract::Interop,
        tools: &[THRIFT, JAVAC, MAVEN],
        build: java,
    },
    Recipe {
        name: "python",
        title: "Python",
        library: THRIFT_LIBRARY,
        version: "0.25.0",
        contract: Contract::Interop,
        tools: &[THRIFT, PYTHON],
        build: python,
    },
    Recipe {
        name: "rust",
        title: "Rust",
        library: THRIFT_LIBRARY,
        version: "0.17.0",
        contract: Contract::Interop,
        tools: &[THRIFT, CARGO],
        build: rust,
    },
    Recipe {
        name: "go-uuid",
        title: "Go (uuid)",
        library: THRIFT_LIBRARY,
        version: "0.25.0",
        contract: Contract::Uuid,
        tools: &[GO],
        build: go_alone,
    },
    Recipe {
        name: "rust-uuid",
        title: "Rust (uuid)",
        library: THRIFT_LIBRARY,
        version: "0.25.0",
        contract: Contract::Uuid,
        tools: &[CARGO],
        build: rust_uuid,
    },
    Recipe {
        name: "neovim",
        title: "Neovim",
        library: "Neovim",
        version: "of Debian",
        contract: Contract::Neovim,
        tools: &[NEOVIM],
        build: neovim,
    },
    Recipe {
        name: "grpc",
        title: "gRPC in Python",
        library: "grpcio",
        version: "1.85.1",
        contract: Contract::Grpc,
        tools: &[PYTHON],
        build: grpc,
    },
    Recipe {
        name: "connect",
        title: "Connect in Go",
        library: "connect-go",
        version: "1.21.1",
        contract: Contract::Http,
        tools: &[GO],
        build: connect,
    },
    Recipe {
        name: "http",
        title: "HTTP in Python",
        library: "http.client and curl",
        version: "of Debian",
        contract: Contract::Http,
        tools: &[PYTHON, CURL],
        build: http,
    },
    Recipe {
        name: "grpc-go",
        title: "gRPC in Go, gRPC's own cases",
        library: "grpc-go",
        version: "1.85.0",
        contract: Contract::Testing,
        tools: &[GO],
        build: go_alone,
    },
    Recipe {
        name: "h2spec",
        title: "h2spec",
        library: "h2spec",
        version: "2.2.1",
        contract: Contract::Http2,
        tools: &[GO],
        build: go_alone,
    },
    Recipe {
        name: "grpcurl",
        title: "grpcurl",
        library: "grpcurl",
        version: "1.9.4",
        contract: Contract::Grpc,
        tools: &[GO],
        build: grpcurl,
    },
    Recipe {
        name: "grpc-java",
        title: "gRPC in Java",
        library: "grpc-java",
        version: "1.85.1",
        contract: Contract::Grpc,
        tools: &[JAVAC, MAVEN],
        build: grpc_java,
    },
    Recipe {
        name: "grpc-java-testing",
        title: "gRPC in Java, gRPC's own cases",
        library: "grpc-java",
        version: "1.79.0",
        contract: Contract::Testing,
        tools: &[JAVAC, MAVEN],
        build: grpc_java_testing,
    },
    Recipe {
        name: "websocket",
        title: "WebSocket in Python",
        library: "websockets and aiohttp",
        version: "17.4 and 3.14.5",
        contract: Contract::Http,
        tools: &[PYTHON],
        build: script_in_environment,
    },
    Recipe {
        name: "capnp-cpp",
        title: "Cap'n Proto in C++",
        library: "libcapnp",
        version: "of Debian",
        contract: Contract::Capnp,
        tools: &[CXX, CAPNP, LIBCAPNP],
        build: capnp_cpp,
    },
    Recipe {
        name: "capnp-rust",
        title: "Cap'n Proto in Rust",
        library: "capnp-rpc",
        version: "0.27.3",
        contract: Contract::Capnp,
        tools: &[CARGO, CAPNP],
        build: capnp_rust,
    },
    Recipe {
        name: "capnp-python",
        title: "Cap'n Proto in Python",
        library: "pycapnp",
        version: "2.2.4",
        contract: Contract::Capnp,
        tools: &[PYTHON],
        build: script_in_environment,
    },
];

/// Lets the stock compiler generate the contract.
fn generate(site: &Site, generator: &str, out: &Path) -> Result<(), String> {
    let version = Command::new("thrift")
        .arg("--version")
        .output()
        .map_err(|error| format!("cannot run `thrift`: {error}"))?;
    let version = String::from_utf8_lossy(&version.stdout);
    if !version.contains(" 0.17.") {
        return Err(format!(
            "needs the compiler of Thrift 0.17, which Debian 12 has, and not `{}`",
            version.trim()
        ));
    }
    fs::create_dir_all(out).map_err(|error| error.to_string())?;
    let contract = site.contract.join("interop.thrift");
    execute(
        Command::new("thrift")
            .args(["-nowarn", "-r", "--gen", generator, "-out"])
            .args([out, &contract]),
    )
}

fn cpp(site: &Site) -> Result<(), String> {
    let generated = site.build.join("gen");
    generate(site, "cpp:no_skeleton", &generated)?;
    let mut sources = files(&site.source, ".cpp")?;
    sources.extend(files(&generated, ".cpp")?);
    let objects: Vec<PathBuf> = sources
        .iter()
        .filter_map(|source| source.file_name())
        .map(|name| site.build.join(name).with_extension("o"))
        .collect();
    let work: Vec<_> = sources.iter().zip(&objects).collect();
    let compiled = side_by_side(cores(), &work, |(source, object)| {
        execute(
            Command::new("nice")
                .args(["g++", "-std=c++17", "-O1", "-w", "-I"])
                .arg(&generated)
                .arg("-I")
                .arg(&site.source)
                .arg("-c")
                .arg(source)
                .arg("-o")
                .arg(object),
        )
    });
    compiled.into_iter().collect::<Result<(), String>>()?;
    execute(
        Command::new("g++")
            .args(&objects)
            .args(["-lthrift", "-lthriftnb", "-lthriftz", "-levent", "-lz"])
            .args(["-pthread", "-o"])
            .arg(&site.peer),
    )
}

fn capnp_cpp(site: &Site) -> Result<(), String> {
    let prefix = format!("--src-prefix={}", site.contract.display());
    execute(
        Command::new("capnp")
            .arg("compile")
            .arg(format!("-oc++:{}", site.build.display()))
            .arg(prefix)
            .arg(site.contract.join("places.capnp")),
    )?;
    execute(
        Command::new("nice")
            .args(["g++", "-std=c++17", "-O1", "-w", "-I"])
            .arg(&site.build)
            .arg(site.source.join("main.cpp"))
            .arg(site.build.join("places.capnp.c++"))
            .args(["-lcapnp-rpc", "-lcapnp", "-lkj-async", "-lkj", "-pthread"])
            .arg("-o")
            .arg(&site.peer),
    )
}

fn go(site: &Site) -> Result<(), String> {
    let generated = site.build.join("gen");
    copy(&site.source, &site.build)?;
    generate(
        site,
        "go:package_prefix=dovetail.test/peer/gen/",
        &generated,
    )?;
    // Command line clients that the generator adds.
    for file in files(&generated, "-remote.go")? {
        fs::remove_file(&file).map_err(|error| error.to_string())?;
    }
    go_build(site)
}

/// It needs nothing generated, and no contract.
fn go_alone(site: &Site) -> Result<(), String> {
    copy(&site.source, &site.build)?;
    go_build(site)
}

/// The contracts are compiled by the program, when it starts.
fn connect(site: &Site) -> Result<(), String> {
    go_with(site, &["calls.proto", "mapped.proto", "second.proto"])
}

/// It reads contracts itself.
fn grpcurl(site: &Site) -> Result<(), String> {
    go_with(site, &["mapped.proto"])
}

/// A program beside whose sources these contracts lie.
fn go_with(site: &Site, contracts: &[&str]) -> Result<(), String> {
    copy(&site.source, &site.build)?;
    for name in contracts {
        fs::copy(site.contract.join(name), site.build.join(name))
            .map_err(|error| format!("cannot copy {name}: {error}"))?;
    }
    go_build(site)
}

/// Python is installed; what it runs needs nothing else.
fn http(site: &Site) -> Result<(), String> {
    python_script(site, Path::new("python3"), None)
}

/// A Python program with its own libraries.
fn script_in_environment(site: &Site) -> Result<(), String> {
    let python = virtual_environment(site)?;
    python_script(site, &python, None)
}

/// `go.mod` looks for the shared package beside the program's folder.
fn go_build(site: &Site) -> Result<(), String> {
    copy(&site.line, &site.build.with_file_name("line"))?;
    execute(
        Command::new("nice")
            .args(["go", "build", "-mod=readonly", "-o"])
            .arg(&site.peer)
            .arg(".")
            .current_dir(&site.build),
    )
}

fn java(site: &Site) -> Result<(), String> {
    let (generated, libraries) = (site.build.join("gen"), site.build.join("lib"));
    generate(site, "java:generated_annotations=suppress", &generated)?;
    fetch_with_maven(&site.source.join("pom.xml"), &libraries, &[])?;
    java_program(site, &[&generated, &site.source], &libraries)
}

fn grpc_java(site: &Site) -> Result<(), String> {
    let (generated, libraries) = (site.build.join("gen"), site.build.join("lib"));
    fetch_grpc_java(&site.source.join("pom.xml"), &libraries)?;
    generate_grpc_java(
        &libraries,
        &site.contract,
        &["calls.proto", "demo.proto", "mapped.proto"],
        &generated,
    )?;
    java_program(site, &[&generated, &site.source], &libraries)
}

/// The contract is in the library with the cases.
fn grpc_java_testing(site: &Site) -> Result<(), String> {
    let libraries = site.build.join("lib");
    fetch_with_maven(&site.source.join("pom.xml"), &libraries, &[])?;
    java_program(site, &[&site.source], &libraries)
}

/// A program in Java of these sources.
fn java_program(site: &Site, sources: &[&Path], libraries: &Path) -> Result<(), String> {
    let classes = site.build.join("classes");
    javac(libraries, sources, &classes)?;
    // Starting quickly matters more here than running fast.
    script(
        &site.peer,
        &format!(
            "exec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx512m -Dfile.encoding=UTF-8 \
             -cp '{}:{}/*' Peer",
            classes.display(),
            libraries.display()
        ),
    )
}

fn python(site: &Site) -> Result<(), String> {
    let generated = site.build.join("gen");
    generate(site, "py", &generated)?;
    let python = virtual_environment(site)?;
    python_script(site, &python, Some(&generated))
}

fn grpc(site: &Site) -> Result<(), String> {
    let generated = site.build.join("gen");
    fs::create_dir_all(&generated).map_err(|error| error.to_string())?;
    let python = virtual_environment(site)?;
    let option = |name: &str, value: &Path| format!("--{name}={}", value.display());
    execute(
        Command::new(&python)
            .args(["-m", "grpc_tools.protoc"])
            .args(["calls.proto", "derived.proto", "mapped.proto"])
            .args([
                option("proto_path", &site.contract),
                option("python_out", &generated),
                option("grpc_python_out", &generated),
            ]),
    )?;
    python_script(site, &python, Some(&generated))
}

/// Installs the peer's requirements in an environment of its own; returns the interpreter.
fn virtual_environment(site: &Site) -> Result<PathBuf, String> {
    let venv = site.build.join("venv");
    execute(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    execute(
        Command::new(venv.join("bin/pip"))
            .args(["install", "--quiet", "--disable-pip-version-check", "-r"])
            .arg(site.source.join("requirements.txt")),
    )?;
    Ok(venv.join("bin/python"))
}

/// Starts `peer.py`, which finds what has been generated there.
fn python_script(site: &Site, python: &Path, generated: Option<&Path>) -> Result<(), String> {
    let path = generated.map(|folder| format!("PYTHONPATH='{}' ", folder.display()));
    script(
        &site.peer,
        &format!(
            "PYTHONDONTWRITEBYTECODE=1 {}exec '{}' '{}'",
            path.unwrap_or_default(),
            python.display(),
            site.source.join("peer.py").display()
        ),
    )
}

/// Neovim is installed; what it runs is a script.
fn neovim(site: &Site) -> Result<(), String> {
    let lua = site.source.join("peer.lua");
    script(
        &site.peer,
        &format!(
            "exec nvim --clean --headless -n -c 'luafile {}' --",
            lua.display()
        ),
    )
}

fn rust(site: &Site) -> Result<(), String> {
    let source = site.build.join("src");
    copy(&site.source, &site.build)?;
    generate(site, "rs", &source)?;
    // The generated code looks for the included file in crate::shared::shared.
    fs::create_dir_all(source.join("shared"))
        .and_then(|()| fs::rename(source.join("shared.rs"), source.join("shared/shared.rs")))
        .map_err(|error| format!("cannot place the generated code: {error}"))?;
    cargo_build(site, "rust-peer")
}

fn rust_uuid(site: &Site) -> Result<(), String> {
    copy(&site.source, &site.build)?;
    cargo_build(site, "rust-uuid-peer")
}

fn capnp_rust(site: &Site) -> Result<(), String> {
    let (name, folder) = ("places.capnp", site.build.join("contract"));
    copy(&site.source, &site.build)?;
    fs::create_dir_all(&folder)
        .and_then(|()| fs::copy(site.contract.join(name), folder.join(name)))
        .map_err(|error| format!("cannot copy the contract: {error}"))?;
    cargo_build(site, "capnp-rust-peer")
}

fn cargo_build(site: &Site, program: &str) -> Result<(), String> {
    let target = site.build.join("target");
    execute(
        Command::new("nice")
            .args(["cargo", "build", "--quiet", "--locked", "--target-dir"])
            .arg(&target)
            .current_dir(&site.build),
    )?;
    fs::copy(target.join("debug").join(program), &site.peer)
        .map(drop)
        .map_err(|error| format!("cannot copy the program: {error}"))
}

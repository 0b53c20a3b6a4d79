//! How each peer is built. Generated code and libraries stay below `target/peers`.

use super::{BuildPaths, Contract, Recipe};
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
fn generate(paths: &BuildPaths, generator: &str, out: &Path) -> Result<(), String> {
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
    let contract = paths.contract.join("interop.thrift");
    execute(
        Command::new("thrift")
            .args(["-nowarn", "-r", "--gen", generator, "-out"])
            .args([out, &contract]),
    )
}

fn cpp(paths: &BuildPaths) -> Result<(), String> {
    let generated = paths.build.join("gen");
    generate(paths, "cpp:no_skeleton", &generated)?;
    let mut sources = files(&paths.source, ".cpp")?;
    sources.extend(files(&generated, ".cpp")?);
    let objects: Vec<PathBuf> = sources
        .iter()
        .filter_map(|source| source.file_name())
        .map(|name| paths.build.join(name).with_extension("o"))
        .collect();
    let work: Vec<_> = sources.iter().zip(&objects).collect();
    let compiled = side_by_side(cores(), &work, |(source, object)| {
        execute(
            Command::new("nice")
                .args(["g++", "-std=c++17", "-O1", "-w", "-I"])
                .arg(&generated)
                .arg("-I")
                .arg(&paths.source)
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
            .arg(&paths.peer),
    )
}

fn capnp_cpp(paths: &BuildPaths) -> Result<(), String> {
    let prefix = format!("--src-prefix={}", paths.contract.display());
    execute(
        Command::new("capnp")
            .arg("compile")
            .arg(format!("-oc++:{}", paths.build.display()))
            .arg(prefix)
            .arg(paths.contract.join("places.capnp")),
    )?;
    execute(
        Command::new("nice")
            .args(["g++", "-std=c++17", "-O1", "-w", "-I"])
            .arg(&paths.build)
            .arg(paths.source.join("main.cpp"))
            .arg(paths.build.join("places.capnp.c++"))
            .args(["-lcapnp-rpc", "-lcapnp", "-lkj-async", "-lkj", "-pthread"])
            .arg("-o")
            .arg(&paths.peer),
    )
}

fn go(paths: &BuildPaths) -> Result<(), String> {
    let generated = paths.build.join("gen");
    copy(&paths.source, &paths.build)?;
    generate(
        paths,
        "go:package_prefix=dovetail.test/peer/gen/",
        &generated,
    )?;
    // Command line clients that the generator adds.
    for file in files(&generated, "-remote.go")? {
        fs::remove_file(&file).map_err(|error| error.to_string())?;
    }
    go_build(paths)
}

/// It needs nothing generated, and no contract.
fn go_alone(paths: &BuildPaths) -> Result<(), String> {
    copy(&paths.source, &paths.build)?;
    go_build(paths)
}

/// The contracts are compiled by the program, when it starts.
fn connect(paths: &BuildPaths) -> Result<(), String> {
    go_with(paths, &["calls.proto", "mapped.proto", "second.proto"])
}

/// It reads contracts itself.
fn grpcurl(paths: &BuildPaths) -> Result<(), String> {
    go_with(paths, &["mapped.proto"])
}

/// A program beside whose sources these contracts lie.
fn go_with(paths: &BuildPaths, contracts: &[&str]) -> Result<(), String> {
    copy(&paths.source, &paths.build)?;
    for name in contracts {
        fs::copy(paths.contract.join(name), paths.build.join(name))
            .map_err(|error| format!("cannot copy {name}: {error}"))?;
    }
    go_build(paths)
}

/// Python is installed; what it runs needs nothing else.
fn http(paths: &BuildPaths) -> Result<(), String> {
    python_script(paths, Path::new("python3"), None)
}

/// A Python program with its own libraries.
fn script_in_environment(paths: &BuildPaths) -> Result<(), String> {
    let python = virtual_environment(paths)?;
    python_script(paths, &python, None)
}

/// `go.mod` looks for the shared package beside the program's folder.
fn go_build(paths: &BuildPaths) -> Result<(), String> {
    copy(&paths.line, &paths.build.with_file_name("line"))?;
    execute(
        Command::new("nice")
            .args(["go", "build", "-mod=readonly", "-o"])
            .arg(&paths.peer)
            .arg(".")
            .current_dir(&paths.build),
    )
}

fn java(paths: &BuildPaths) -> Result<(), String> {
    let (generated, libraries) = (paths.build.join("gen"), paths.build.join("lib"));
    generate(paths, "java:generated_annotations=suppress", &generated)?;
    fetch_with_maven(&paths.source.join("pom.xml"), &libraries, &[])?;
    java_program(paths, &[&generated, &paths.source], &libraries)
}

fn grpc_java(paths: &BuildPaths) -> Result<(), String> {
    let (generated, libraries) = (paths.build.join("gen"), paths.build.join("lib"));
    fetch_grpc_java(&paths.source.join("pom.xml"), &libraries)?;
    generate_grpc_java(
        &libraries,
        &paths.contract,
        &["calls.proto", "demo.proto", "mapped.proto"],
        &generated,
    )?;
    java_program(paths, &[&generated, &paths.source], &libraries)
}

/// The contract is in the library with the cases.
fn grpc_java_testing(paths: &BuildPaths) -> Result<(), String> {
    let libraries = paths.build.join("lib");
    fetch_with_maven(&paths.source.join("pom.xml"), &libraries, &[])?;
    java_program(paths, &[&paths.source], &libraries)
}

/// A program in Java of these sources.
fn java_program(paths: &BuildPaths, sources: &[&Path], libraries: &Path) -> Result<(), String> {
    let classes = paths.build.join("classes");
    javac(libraries, sources, &classes)?;
    // Starting quickly matters more here than running fast.
    script(
        &paths.peer,
        &format!(
            "exec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx512m -Dfile.encoding=UTF-8 \
             -cp '{}:{}/*' Peer",
            classes.display(),
            libraries.display()
        ),
    )
}

fn python(paths: &BuildPaths) -> Result<(), String> {
    let generated = paths.build.join("gen");
    generate(paths, "py", &generated)?;
    let python = virtual_environment(paths)?;
    python_script(paths, &python, Some(&generated))
}

fn grpc(paths: &BuildPaths) -> Result<(), String> {
    let generated = paths.build.join("gen");
    fs::create_dir_all(&generated).map_err(|error| error.to_string())?;
    let python = virtual_environment(paths)?;
    let option = |name: &str, value: &Path| format!("--{name}={}", value.display());
    execute(
        Command::new(&python)
            .args(["-m", "grpc_tools.protoc"])
            .args(["calls.proto", "derived.proto", "mapped.proto"])
            .args([
                option("proto_path", &paths.contract),
                option("python_out", &generated),
                option("grpc_python_out", &generated),
            ]),
    )?;
    python_script(paths, &python, Some(&generated))
}

/// Installs the peer's requirements in an environment of its own; returns the interpreter.
fn virtual_environment(paths: &BuildPaths) -> Result<PathBuf, String> {
    let venv = paths.build.join("venv");
    execute(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    execute(
        Command::new(venv.join("bin/pip"))
            .args(["install", "--quiet", "--disable-pip-version-check", "-r"])
            .arg(paths.source.join("requirements.txt")),
    )?;
    Ok(venv.join("bin/python"))
}

/// Starts `peer.py`, which finds what has been generated there.
fn python_script(
    paths: &BuildPaths,
    python: &Path,
    generated: Option<&Path>,
) -> Result<(), String> {
    let path = generated.map(|folder| format!("PYTHONPATH='{}' ", folder.display()));
    script(
        &paths.peer,
        &format!(
            "PYTHONDONTWRITEBYTECODE=1 {}exec '{}' '{}'",
            path.unwrap_or_default(),
            python.display(),
            paths.source.join("peer.py").display()
        ),
    )
}

/// Neovim is installed; what it runs is a script.
fn neovim(paths: &BuildPaths) -> Result<(), String> {
    let lua = paths.source.join("peer.lua");
    script(
        &paths.peer,
        &format!(
            "exec nvim --clean --headless -n -c 'luafile {}' --",
            lua.display()
        ),
    )
}

fn rust(paths: &BuildPaths) -> Result<(), String> {
    let source = paths.build.join("src");
    copy(&paths.source, &paths.build)?;
    generate(paths, "rs", &source)?;
    // The generated code looks for the included file in crate::shared::shared.
    fs::create_dir_all(source.join("shared"))
        .and_then(|()| fs::rename(source.join("shared.rs"), source.join("shared/shared.rs")))
        .map_err(|error| format!("cannot place the generated code: {error}"))?;
    cargo_build(paths, "rust-peer")
}

fn rust_uuid(paths: &BuildPaths) -> Result<(), String> {
    copy(&paths.source, &paths.build)?;
    cargo_build(paths, "rust-uuid-peer")
}

fn capnp_rust(paths: &BuildPaths) -> Result<(), String> {
    let (name, folder) = ("places.capnp", paths.build.join("contract"));
    copy(&paths.source, &paths.build)?;
    fs::create_dir_all(&folder)
        .and_then(|()| fs::copy(paths.contract.join(name), folder.join(name)))
        .map_err(|error| format!("cannot copy the contract: {error}"))?;
    cargo_build(paths, "capnp-rust-peer")
}

fn cargo_build(paths: &BuildPaths, program: &str) -> Result<(), String> {
    let target = paths.build.join("target");
    execute(
        Command::new("nice")
            .args(["cargo", "build", "--quiet", "--locked", "--target-dir"])
            .arg(&target)
            .current_dir(&paths.build),
    )?;
    fs::copy(target.join("debug").join(program), &paths.peer)
        .map(drop)
        .map_err(|error| format!("cannot copy the program: {error}"))
}

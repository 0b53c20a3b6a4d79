//! The program in Java: gRPC.

use crate::stage;
use crate::steps::{clear, execute, fetch_with_maven, javac, script};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) fn build(folder: &Path) -> Result<PathBuf, String> {
    let (build, bench) = (folder.join("java"), stage::root().join("bench"));
    let (source, program) = (bench.join("peers/java"), build.join("bench-peer"));
    let [libraries, generated, classes] = ["lib", "gen", "classes"].map(|name| build.join(name));
    clear(&build)?;
    // Maven knows the generators by platform.
    let platform = match std::env::consts::ARCH {
        "aarch64" => "linux-aarch_64",
        _ => "linux-x86_64",
    };
    let options = [
        "-Dmdep.stripVersion=true",
        &format!("-Dplatform={platform}"),
    ];
    fetch_with_maven(&source.join("pom.xml"), &libraries, &options)?;
    let generator = |name: &str| executable(libraries.join(format!("{name}-{platform}.exe")));
    generate(
        &generator("protoc")?,
        &generator("protoc-gen-grpc-java")?,
        &bench.join("contract"),
        &generated,
    )?;
    javac(&libraries, &[&generated, &source], &classes)?;
    script(&program, &start(&classes, &libraries))?;
    Ok(program)
}

fn executable(file: PathBuf) -> Result<PathBuf, String> {
    fs::set_permissions(&file, Permissions::from_mode(0o755))
        .map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file)
}

fn generate(protoc: &Path, plugin: &Path, contract: &Path, out: &Path) -> Result<(), String> {
    clear(out)?;
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
            .arg(contract)
            .arg("bench.proto"),
    )
}

/// How the program is started. With the timer slack that processes have by default, a caller that sleeps until a call is
/// due wakes up 50 µs late. When calls wait for the compiler, it is their number that warms up, not the time.
fn start(classes: &Path, libraries: &Path) -> String {
    format!(
        "echo 1 > /proc/self/timerslack_ns\n\
         exec java -XX:+UseParallelGC -Xms1g -Xmx1g -Xmn700m -XX:-BackgroundCompilation \
         -cp '{}:{}/*' dev.dovetail.bench.Bench",
        classes.display(),
        libraries.display()
    )
}

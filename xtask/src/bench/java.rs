//! The program in Java: gRPC.

use crate::stage;
use crate::steps::{clear, fetch_grpc_java, generate_grpc_java, javac, script};
use std::path::{Path, PathBuf};

pub(super) fn build(folder: &Path) -> Result<PathBuf, String> {
    let (build, bench) = (folder.join("java"), stage::root().join("bench"));
    let (source, program) = (bench.join("peers/java"), build.join("bench-peer"));
    let [libraries, generated, classes] = ["lib", "gen", "classes"].map(|name| build.join(name));
    clear(&build)?;
    fetch_grpc_java(&source.join("pom.xml"), &libraries)?;
    let contract = bench.join("contract");
    generate_grpc_java(&libraries, &contract, &["bench.proto"], &generated)?;
    javac(&libraries, &[&generated, &source], &classes)?;
    script(&program, &start(&classes, &libraries))?;
    Ok(program)
}

/// How the program is started. With the timer slack that processes have by default, a caller that
/// sleeps until a call is due wakes up 50 µs late. When calls wait for the compiler, it is their
/// number that warms up, not the time.
fn start(classes: &Path, libraries: &Path) -> String {
    format!(
        "echo 1 > /proc/self/timerslack_ns\n\
         exec java -XX:+UseParallelGC -Xms1g -Xmx1g -Xmn700m -XX:-BackgroundCompilation \
         -cp '{}:{}/*' dev.dovetail.bench.Bench",
        classes.display(),
        libraries.display()
    )
}

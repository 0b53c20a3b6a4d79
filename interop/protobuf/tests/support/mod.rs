//! Programs that have protobuf's own libraries.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A message in both encodings, or why there is none.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Line {
    #[serde(default)]
    pub(crate) r#type: String,
    #[serde(default)]
    pub(crate) binary: String,
    #[serde(default)]
    pub(crate) json: String,
    #[serde(default, skip_serializing)]
    pub(crate) error: Option<String>,
}

impl Line {
    pub(crate) fn new(name: &str, binary: &[u8], json: &str) -> Self {
        Line {
            r#type: name.to_owned(),
            binary: BASE64_STANDARD.encode(binary),
            json: json.to_owned(),
            error: None,
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        BASE64_STANDARD.decode(&self.binary).unwrap()
    }
}

pub(crate) const LANGUAGES: [&str; 3] = ["python", "go", "javascript"];

/// The folder of the files that `cargo xtask protobuf` fetches.
fn fetched() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/protobuf");
    root.canonicalize().expect("run `cargo xtask protobuf`")
}

pub(crate) fn include() -> PathBuf {
    fetched().join("package/include")
}

pub(crate) fn scratch() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

fn program(language: &str) -> Command {
    let folder = fetched().join("oracles");
    let (program, script) = match language {
        "python" => ("environment/bin/python", Some("oracle.py")),
        "go" => ("oracle", None),
        _ => ("node", Some("oracle.mjs")),
    };
    let mut command = match program {
        "node" => Command::new(program),
        program => Command::new(folder.join(program)),
    };
    command.args(script.map(|script| folder.join(script)));
    command
}

/// Random messages of these types.
pub(crate) fn make(descriptors: &Path, seed: &str, count: &str, types: &[&str]) -> Vec<Line> {
    let mut python = program("python");
    let command = python
        .arg(descriptors)
        .args(["make", seed, count])
        .args(types);
    lines(command, "")
}

/// The messages as the library of a language reads them and writes them again.
pub(crate) fn ask(language: &str, descriptors: &Path, messages: &[Line]) -> Vec<Line> {
    let text = |line: &Line| serde_json::to_string(line).unwrap() + "\n";
    let input: String = messages.iter().map(text).collect();
    lines(program(language).arg(descriptors).arg("check"), &input)
}

fn lines(command: &mut Command, input: &str) -> Vec<Line> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("run `cargo xtask protobuf`, which installs the libraries");
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        // It may stop, and then says why.
        scope.spawn(move || drop(stdin.write_all(input.as_bytes())));
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "{command:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator('\n')
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

//! The reference decoder of Dovetail's own wire, in Python, on conversations of the real thing.

use crate::stage::{self, Outcome};
use crate::steps::{cores, files, side_by_side};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The contracts whose cases are held on the own wire.
const CONTRACTS: [&str; 4] = ["interop", "uuid", "streams", "objects"];

/// Features that the conversations must have had: parts of one line that the decoder prints.
const FEATURES: [&[&str]; 41] = [
    &[r#""kind": "BIND""#, r#""contract": "equal""#],
    &[r#""kind": "BOUND""#, r#""verdict": "compatible""#],
    &[r#""kind": "BOUND""#, r#""verdict": "unknown""#],
    &[r#""kind": "DESCRIBE""#],
    &[r#""kind": "CALL""#, TAGLESS],
    &[r#""kind": "CALL""#, TAGGED],
    &[r#""kind": "CALL""#, r#""frames": 2"#],
    &[r#""kind": "CALL""#, r#""deadline_us""#],
    &[r#""kind": "CALL""#, r#""headers""#, r#""number": 0"#],
    &[SERVER, r#""kind": "BIND""#],
    &[SERVER, r#""kind": "CALL""#, TAGLESS],
    &[r#""kind": "REPLY""#, TAGLESS],
    &[r#""kind": "REPLY""#, TAGGED],
    &[r#""kind": "REPLY""#, r#""frames": 2"#],
    &[r#""kind": "REPLY""#, r#""method": "lz4""#, r#""body": {"#],
    &[r#""kind": "STATUS""#, r#""code": "CANCELLED""#],
    &[r#""kind": "CANCEL""#],
    &[CLIENT, ITEM, TAGLESS],
    &[CLIENT, ITEM, TAGGED],
    &[CLIENT, ITEM, r#""frames": 2"#],
    &[CLIENT, r#""kind": "END""#, r#""body": {"stopped""#],
    &[CLIENT, r#""kind": "CREDIT""#, r#""id": 0"#],
    &[SERVER, ITEM, TAGLESS],
    &[SERVER, ITEM, TAGGED],
    &[SERVER, ITEM, r#""frames": 2"#],
    &[SERVER, r#""kind": "END""#, r#""body": {"stopped""#],
    &[SERVER, r#""kind": "CREDIT""#, r#""id": 0"#],
    &[SERVER, r#""kind": "CREDIT""#, r#""id": 1"#],
    &[CLIENT, r#""target": {"object""#],
    &[SERVER, r#""target": {"object""#],
    &[CLIENT, r#""target": {"answer_of""#, r#""promise": true"#],
    &[SERVER, r#""target": {"answer_of""#],
    &[CLIENT, r#""results": [1, 3]"#, r#"{"answer_of": 1}"#],
    &[CLIENT, ITEM, r#""service": "Counter""#],
    &[SERVER, ITEM, r#""service": "Counter""#],
    &[CLIENT, r#""kind": "CANCEL""#, r#""forgets": true"#],
    &[CLIENT, r#""kind": "CALL""#, r#""of": "receiver""#],
    &[SERVER, r#""kind": "REPLY""#, r#""of": "receiver""#],
    &[CLIENT, r#""kind": "RELEASE""#, r#""left": 0"#],
    &[SERVER, r#""kind": "RELEASE""#, r#""left": 0"#],
    &[
        r#""kind": "STATUS""#,
        r#""code": "FAILED_PRECONDITION""#,
        r#""not started""#,
    ],
];

const CLIENT: &str = r#""from": "client""#;
const SERVER: &str = r#""from": "server""#;
const ITEM: &str = r#""kind": "ITEM""#;
const TAGLESS: &str = r#""encoding": "tagless""#;
const TAGGED: &str = r#""encoding": "tagged""#;

pub(crate) fn stage() -> Outcome {
    if Command::new("python3").arg("--version").output().is_err() {
        return Outcome::Skipped("python3 is missing; apt-get install python3".to_owned());
    }
    let tests = [
        "python3",
        "-m",
        "unittest",
        "discover",
        "-q",
        "-s",
        "interop/wire",
    ];
    match stage::command(&tests) {
        Outcome::Passed => {}
        other => return other,
    }
    let decoded = stage::built_program("dovetail-peer").and_then(|peer| {
        let decoded = CONTRACTS.iter().map(|contract| decode(&peer, contract));
        decoded.collect()
    });
    decoded.map_or_else(Outcome::Failed, found)
}

/// Lets our program hold the conversations of a contract, and decodes them.
fn decode(peer: &Path, contract: &str) -> Result<String, String> {
    let folder = stage::root().join("target/wire").join(contract);
    // It is there only after an earlier run.
    let _ = fs::remove_dir_all(&folder);
    let place = folder.display().to_string();
    match stage::command(&[&peer.to_string_lossy(), contract, "capture", &place]) {
        Outcome::Passed => {}
        _ => return Err("the conversations could not be held".to_owned()),
    }
    let captures = files(&folder, ".txt")?;
    let decoded = side_by_side(cores(), &captures, |capture| decode_one(&folder, capture));
    decoded.into_iter().collect()
}

fn decode_one(folder: &Path, capture: &Path) -> Result<String, String> {
    let output = Command::new("python3")
        .arg("interop/wire/decoder.py")
        .arg("--contract")
        .arg(folder.join("descriptions.hex"))
        .arg(capture)
        .current_dir(stage::root())
        .output()
        .map_err(|problem| format!("cannot run python3: {problem}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => {
            let wrong = text.lines().find(|line| line.contains("\"error\""));
            let wrong = wrong.map_or_else(
                || String::from_utf8_lossy(&output.stderr).into_owned(),
                str::to_owned,
            );
            Err(format!("{}: {wrong}", capture.display()))
        }
    }
}

/// Says how much has been decoded, and complains about what has not been met.
fn found(decoded: Vec<String>) -> Outcome {
    let decoded = decoded.concat();
    let is_missing = |feature: &&&[&str]| {
        let has = |line: &str| feature.iter().all(|part| line.contains(part));
        !decoded.lines().any(has)
    };
    match FEATURES.iter().find(is_missing) {
        Some(feature) => Outcome::Failed(format!("no message has {}", feature.join(" and "))),
        None => {
            println!("{} messages decoded", decoded.lines().count());
            Outcome::Passed
        }
    }
}

//! Inputs that once failed: `fuzz/findings/<target>/<what was wrong>.hex`.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

#[test]
fn findings() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("findings");
    let mut count = 0;
    for target in fs::read_dir(folder).unwrap() {
        let target = target.unwrap();
        let function = dovetail_fuzz::find(target.file_name().to_str().unwrap());
        let function = function.expect("a folder is named for its target");
        for finding in fs::read_dir(target.path()).unwrap() {
            function(&from_hex(
                &fs::read_to_string(finding.unwrap().path()).unwrap(),
            ));
            count += 1;
        }
    }
    assert!(count > 0);
}

/// Conversations of stock clients and of the own wire, `fuzz/conversations`, leave the server
/// running.
#[test]
fn conversations() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conversations");
    let target = dovetail_fuzz::find("conversation").unwrap();
    for file in fs::read_dir(folder).unwrap() {
        let bytes = from_hex(&fs::read_to_string(file.unwrap().path()).unwrap());
        // Every prefix is a connection that was cut; the last one is the whole conversation.
        (0..=bytes.len()).for_each(|end| target(&bytes[..end]));
    }
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    let byte = |pair: &[u32]| (pair[0] * 16 + pair[1]) as u8;
    digits.chunks_exact(2).map(byte).collect()
}

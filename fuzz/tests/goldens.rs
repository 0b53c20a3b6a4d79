//! Every target takes every golden file, and each of them cut and broken.
#![allow(clippy::unwrap_used)]

use dovetail_fuzz::Target;
use std::path::Path;
use std::sync::Mutex;
use std::thread::available_parallelism;

fn golden_files(dir: &Path, found: &mut Vec<Vec<u8>>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            golden_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "hex") {
            let text = std::fs::read_to_string(&path).unwrap();
            let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
            found.push(
                digits
                    .chunks(2)
                    .map(|pair| (pair[0] * 16 + pair[1]) as u8)
                    .collect(),
            );
        }
    }
}

#[test]
fn goldens() {
    let mut files = Vec::new();
    golden_files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../interop/golden"),
        &mut files,
    );
    assert!(files.len() > 100);
    let waiting = Mutex::new(dovetail_fuzz::TARGETS.iter());
    let next = || waiting.lock().unwrap().next();
    let worker = || std::iter::from_fn(next).for_each(|target| take_all(target, &files));
    std::thread::scope(|scope| {
        for _ in 0..available_parallelism().unwrap().get() {
            scope.spawn(worker);
        }
    });
}

fn take_all((name, target): &Target, files: &[Vec<u8>]) {
    // Targets that read text choose nothing by the first byte.
    let firsts = if name.ends_with("-idl") { 1 } else { 20 };
    for (index, file) in files.iter().enumerate() {
        for first in 0..firsts {
            let mut input = vec![first];
            input.extend_from_slice(file);
            target(&input);
            // Protobuf's zero is empty.
            let at = index * 7 % input.len();
            input[at] ^= 1 << (index % 8);
            target(&input);
            target(&input[..at]);
        }
    }
}

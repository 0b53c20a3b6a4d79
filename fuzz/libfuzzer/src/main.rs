//! libFuzzer around one target, which `FUZZ_TARGET` names; `list` prints all names.
//! `xtask/src/fuzz.rs` builds and runs it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

static TARGET: OnceLock<fn(&[u8])> = OnceLock::new();

fn target() -> fn(&[u8]) {
    *TARGET.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        let names = || dovetail_fuzz::TARGETS.iter().map(|(name, _)| *name);
        if name == "list" {
            names().for_each(|name| println!("{name}"));
            std::process::exit(0);
        }
        dovetail_fuzz::find(&name).unwrap_or_else(|| {
            let names: Vec<&str> = names().collect();
            eprintln!("FUZZ_TARGET must be one of: {}", names.join(", "));
            std::process::exit(2);
        })
    })
}

fuzz_target!(init: { target(); }, |input: &[u8]| target()(input));

//! The rules of the house that a compiler does not check. CONTRIBUTING.md explains each of them.

use crate::modules;
use crate::stage::{self, Outcome};
use std::fs;
use std::path::{Path, PathBuf};

/// Which crates a crate may use: arrows point downward only.
const MAY_USE: &[(&str, &[&str])] = &[
    ("schema", &[]),
    ("wire", &[]),
    ("idl", &["schema"]),
    ("codegen", &["schema"]),
    ("dynamic", &["schema", "wire"]),
    ("protocol", &["wire"]),
    ("macros", &[]),
    ("balance", &[]),
    (
        "rpc",
        &[
            "balance", "wire", "protocol", "macros", "schema", "codegen", "dynamic", "shm",
        ],
    ),
    ("shm", &[]),
    ("build", &["schema", "idl", "codegen"]),
    (
        "cli",
        &[
            "schema", "wire", "idl", "codegen", "dynamic", "protocol", "rpc", "build",
        ],
    ),
];

/// Crates that turn bytes and text into values and back, and touch nothing else of the machine.
/// `macros` is none of them: Cargo tells a macro by the environment which package it expands in.
const PURE: &[&str] = &[
    "balance", "schema", "wire", "idl", "codegen", "dynamic", "protocol",
];

/// Modules that a pure crate must not use.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::thread",
    "std::process",
    "std::env",
    "std::io",
    "Instant::now",
    "SystemTime",
    "tokio::",
    "println!",
    "eprintln!",
];

/// The files that may contain `unsafe`, each block with its `SAFETY:` comment.
const UNSAFE: &[&str] = &[
    "bench/src/peer/floor/ring.rs",
    "crates/rpc/src/server/event_loop/slice.rs",
    "crates/rpc/src/transport/spare.rs",
    "crates/shm/src/place.rs",
    "crates/shm/src/segment.rs",
    "crates/shm/src/volatile.rs",
    "crates/wire/src/text.rs",
];

/// The one module of each wire that maps its codes to `Code`.
const CODE_MAPS: &[&str] = &[
    "crates/protocol/src/connect/status.rs",
    "crates/protocol/src/dovetail/status.rs",
    "crates/protocol/src/grpc/status.rs",
    "crates/protocol/src/msgpack_rpc/status.rs",
    "crates/protocol/src/thrift/application_exception.rs",
    "crates/protocol/src/websocket/error.rs",
];

/// The modules of `protocol` that are no call protocol: several stand on each.
const BELOW_PROTOCOLS: &[&str] = &["http"];

/// The most lines that one can read in a sitting; tests and tables are exempt.
const MAX_LINES: usize = 800;

/// The words that no line of a comment begins with: a noun or a verb stands there instead.
const VAGUE: &[&str] = &[
    "The same",
    "What",
    "Who",
    "Whom",
    "Whose",
    "Where",
    "Of",
    "True where",
    "False where",
    "So many",
];

/// The most columns of a comment. Tables, drawings and code are exempt: they cannot be wrapped.
const MAX_COLUMNS: usize = 100;

/// Names that were replaced by the field's words, and the words. No code uses them any longer.
const REPLACED: &[(&str, &str)] = &[
    ("AnswerHeaders", "ResponseHeaders"),
    ("Door", "ListenerKind"),
    ("Experience", "SpinPolicy"),
    ("Flight", "InFlight"),
    ("Guest", "ConnectionGuard"),
    ("Moving", "LocalUpgrade"),
    ("Patience", "SpinWait"),
    ("Places", "ConnectionPool or ByScope"),
    ("Seat", "LoopClaim"),
    ("Site", "LoopContext"),
    ("Standing", "Admission"),
    ("Woken", "WakeList"),
    ("call_back", "client_channel"),
    ("guest", "guard"),
    ("patience", "read_timeout"),
    ("shake", "handshake"),
    ("told", "phase"),
];

/// Words of comments that were replaced, and the words.
const REPLACED_WORDS: &[(&str, &str)] = &[("for people", "for display"), ("dear", "expensive")];

/// A prefix of constants that was replaced by `MAX_`.
const REPLACED_PREFIX: &str = "MOST_";

/// A file whose comments are those of a contract.
const CONTRACTS: &[&str] = &["crates/codegen/tests/code_first.rs"];

/// The stage of the tests.
pub(crate) fn stage() -> Outcome {
    run().map_or_else(Outcome::Failed, |()| Outcome::Passed)
}

/// Runs all rules; the error lists every breach.
pub(crate) fn run() -> Result<(), String> {
    let files = tracked_files()?;
    let mut breaches = Vec::new();
    for file in &files {
        if let Ok(text) = fs::read_to_string(stage::root().join(file)) {
            check_file(file, &text, &mut breaches);
        }
    }
    check_crates(&mut breaches)?;
    breaches.extend(modules::breaches()?);
    match breaches.len() {
        0 => {
            println!("{} files, no breach of the house rules", files.len());
            Ok(())
        }
        count => Err(format!(
            "{}\n{count} breaches of the house rules",
            breaches.join("\n")
        )),
    }
}

fn tracked_files() -> Result<Vec<String>, String> {
    let output = std::process::Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(stage::root())
        .output()
        .map_err(|problem| format!("cannot run git: {problem}"))?;
    Ok(String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(str::to_owned)
        .collect())
}

fn check_file(file: &str, text: &str, breaches: &mut Vec<String>) {
    let mut breach = |line: usize, what: &str| breaches.push(format!("{file}:{line}: {what}"));
    if file.ends_with(".md") {
        for (line, target) in links(text) {
            let beside = Path::new(file)
                .parent()
                .unwrap_or(Path::new(""))
                .join(target);
            if !stage::root().join(&beside).exists() {
                breach(line, &format!("the link to `{target}` leads nowhere"));
            }
        }
    }
    if !file.ends_with(".rs") || is_golden(file) {
        return;
    }
    let code = without_tests(text);
    if code.lines().count() > MAX_LINES && !is_test(file) {
        breach(
            1,
            &format!("more than {MAX_LINES} lines: split it by what it does"),
        );
    }
    for (index, line) in text.lines().enumerate() {
        if line.ends_with([' ', '\t']) {
            breach(index + 1, "white space at the end of the line");
        }
        let unfinished = ["TO", "DO"].concat();
        if line.contains(&unfinished) || line.contains(&["FIX", "ME"].concat()) {
            breach(index + 1, "unfinished work belongs into an issue");
        }
        if let Some((old, new)) = replaced(file, line) {
            breach(index + 1, &format!("`{old}` is called {new} here"));
        }
        if let Some(words) = vague(file, line) {
            let what = format!("a comment begins with `{words}`: begin with a noun or a verb");
            breach(index + 1, &what);
        }
    }
    for line in wide(file, text) {
        let what = format!("a comment of more than {MAX_COLUMNS} columns: wrap it");
        breach(line, &what);
    }
    if is_test(file) {
        return;
    }
    for (index, line) in code.lines().enumerate() {
        let line = line.split("//").next().unwrap_or("");
        let in_crate = file
            .strip_prefix("crates/")
            .and_then(|rest| rest.split('/').next());
        if in_crate.is_some_and(|name| PURE.contains(&name)) {
            for word in IMPURE.iter().filter(|word| line.contains(**word)) {
                breach(
                    index + 1,
                    &format!("`{word}` in a pure crate: move it to a driver"),
                );
            }
        }
        if has_word(line, "unsafe") && !line.contains("unsafe_code") && !UNSAFE.contains(&file) {
            breach(
                index + 1,
                "`unsafe` outside the files that tidy lists for it",
            );
        }
        let maps_codes = file.starts_with("crates/protocol/src/") && file.matches('/').count() > 3;
        if maps_codes && line.contains("Code::") && !CODE_MAPS.contains(&file) {
            breach(
                index + 1,
                "codes of a wire are mapped in one module of that wire",
            );
        }
        if let Some(other) = foreign_protocol(file, line) {
            breach(
                index + 1,
                &format!("a protocol module imports another: `{other}`"),
            );
        }
    }
}

/// The dependency arrows between our crates, and what every crate declares.
fn check_crates(breaches: &mut Vec<String>) -> Result<(), String> {
    for dir in subdirectories(&stage::root().join("crates"))? {
        let name = dir
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap_or_default();
        let manifest: toml::Table = manifest
            .parse()
            .map_err(|problem| format!("crates/{name}/Cargo.toml: {problem}"))?;
        let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == name) else {
            breaches.push(format!(
                "crates/{name}: a new crate: say in tidy's MAY_USE what it may use"
            ));
            continue;
        };
        let tables = ["dependencies", "build-dependencies"];
        for dependency in tables
            .iter()
            .filter_map(|t| manifest.get(*t)?.as_table())
            .flatten()
        {
            let used = match dependency.0.as_str() {
                "dovetail" => "rpc",
                other => other.strip_prefix("dovetail-").unwrap_or(""),
            };
            if !used.is_empty() && !allowed.contains(&used) {
                breaches.push(format!("crates/{name}: must not depend on `{used}`"));
            }
        }
        let inherits = |table: &str| {
            manifest
                .get(table)
                .and_then(|t| t.get("workspace"))
                .is_some_and(|w| w.as_bool() == Some(true))
        };
        if !inherits("lints") {
            breaches.push(format!(
                "crates/{name}/Cargo.toml: `[lints] workspace = true` is missing"
            ));
        }
    }
    Ok(())
}

fn subdirectories(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(dir).map_err(|problem| format!("{}: {problem}", dir.display()))?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    Ok(found)
}

fn is_test(file: &str) -> bool {
    ["/tests/", "/benches/", "/examples/", "/tests.rs"]
        .iter()
        .any(|part| file.contains(part))
        || file.starts_with("interop/")
        || file.starts_with("fuzz/")
        || file.starts_with("examples/")
        || file.starts_with("xtask/")
        || file.ends_with("_test.rs")
        || file.ends_with("build.rs")
}

/// The numbers of the lines whose comment is too wide.
fn wide(file: &str, text: &str) -> Vec<usize> {
    let (mut found, mut in_code) = (Vec::new(), false);
    if CONTRACTS.contains(&file) {
        return found;
    }
    for (index, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            in_code = false;
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']).trim();
        in_code ^= comment.starts_with("```");
        let fixed = in_code || comment.starts_with('|') || comment.contains(['─', '│']);
        if !fixed && line.chars().count() > MAX_COLUMNS {
            found.push(index + 1);
        }
    }
    found
}

/// The name in a line of code that has a new one, which is the second.
fn replaced(file: &str, line: &str) -> Option<(&'static str, &'static str)> {
    if file == "xtask/src/tidy.rs" || file.starts_with("examples/") {
        return None;
    }
    let mut parts = line.splitn(2, "//");
    let (code, comment) = (parts.next()?, parts.next().unwrap_or_default());
    let worded = |word: &str| match word.contains(' ') {
        true => comment.contains(word),
        false => has_word(comment, word),
    };
    if let Some(found) = REPLACED_WORDS.iter().find(|(word, _)| worded(word)) {
        return Some(*found);
    }
    // Texts between quotes are no names.
    let code: String = code.split('"').step_by(2).collect();
    let names = || code.split(|c: char| !c.is_alphanumeric() && c != '_');
    if names().any(|name| name.starts_with(REPLACED_PREFIX)) {
        return Some((REPLACED_PREFIX, "MAX_"));
    }
    let known = REPLACED.iter().copied();
    // A service of the interop contract has that name.
    let is_contract = |old: &str| old == "Places" && file.starts_with("interop/");
    known
        .into_iter()
        .find(|(old, _)| names().any(|name| name == *old) && !is_contract(old))
}

/// The words that a comment begins with and must not.
fn vague(file: &str, line: &str) -> Option<&'static str> {
    if CONTRACTS.contains(&file) {
        return None;
    }
    let comment = line.trim_start().strip_prefix("//")?;
    let comment = comment.trim_start_matches(['/', '!']).trim_start();
    VAGUE.iter().copied().find(|words| {
        let rest = comment.strip_prefix(words);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

fn is_golden(file: &str) -> bool {
    file.contains("/golden/")
}

/// The part of a source file before its test module.
fn without_tests(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod ").next().unwrap_or(text)
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|found| found == word)
}

/// The other protocol module that a line in `crates/protocol/src/<module>/` names.
fn foreign_protocol<'a>(file: &str, line: &'a str) -> Option<&'a str> {
    let own = file
        .strip_prefix("crates/protocol/src/")?
        .split_once('/')?
        .0;
    let path = line.split("crate::").nth(1)?;
    let module = path
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()?;
    let folder = stage::root().join("crates/protocol/src").join(module);
    let is_protocol = folder.is_dir() && !BELOW_PROTOCOLS.contains(&module);
    (module != own && is_protocol && !module.is_empty()).then_some(module)
}

/// The relative links of a Markdown text, with their lines.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for part in line.split("](").skip(1) {
            let target = part.split([')', '#', ' ']).next().unwrap_or("");
            if !target.is_empty() && !target.contains(':') && !target.starts_with('<') {
                found.push((index + 1, target));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaches_are_found() {
        let wide = &format!("/// {}\n", "word ".repeat(20));
        let rows = [
            ("crates/wire/src/a.rs", "use std::fs;\n", "in a pure crate"),
            (
                "crates/rpc/src/a.rs",
                "fn f() { unsafe { g() } }\n",
                "`unsafe` outside",
            ),
            ("crates/rpc/src/a.rs", "let a = 1; \n", "white space"),
            (
                "crates/protocol/src/thrift/a.rs",
                "Code::Internal\n",
                "one module of that wire",
            ),
            (
                "crates/wire/src/a.rs",
                "/// What it is.\n",
                "begin with a noun",
            ),
            ("fuzz/src/a.rs", "//! The same.\n", "begin with a noun"),
            ("bench/src/a.rs", "struct Guest;\n", "ConnectionGuard"),
            ("bench/src/a.rs", "const MOST_ROWS: u8 = 1;\n", "MAX_"),
            ("bench/src/a.rs", wide, "more than 100 columns"),
            ("bench/src/a.rs", "/// Texts for people.\n", "for display"),
            (
                "README.md",
                "see [this](no/such/file.md)\n",
                "leads nowhere",
            ),
        ];
        for (file, text, expected) in rows {
            let mut breaches = Vec::new();
            check_file(file, text, &mut breaches);
            assert!(
                breaches.iter().any(|b| b.contains(expected)),
                "{file}: {breaches:?}"
            );
        }
    }

    #[test]
    fn tests_and_comments_are_exempt() {
        let table = &format!("/// | {} |\n", "word ".repeat(20));
        let rows = [
            ("crates/wire/tests/a.rs", "use std::fs;\n"),
            (
                "crates/wire/src/a.rs",
                "// unlike std::fs\n\n#[cfg(test)]\nmod tests { use std::fs; }\n",
            ),
            (
                "README.md",
                "see [this](https://example.org) and [that](#here)\n",
            ),
            ("bench/src/a.rs", "let moved = \"Moving\"; // the Guest\n"),
            ("bench/src/a.rs", table),
        ];
        for (file, text) in rows {
            let mut breaches = Vec::new();
            check_file(file, text, &mut breaches);
            assert!(breaches.is_empty(), "{file}: {breaches:?}");
        }
    }
}

//! Good files: `corpus/pure` is what Apache Thrift accepts, too; `corpus/dovetail` uses what we
//! add. Beside each file is what it means, one line for each definition. `UPDATE_GOLDEN=1` rewrites
//! those.
#![allow(clippy::unwrap_used)]

mod support;

use dovetail_idl::{Severity, compile};
use support::{Below, golden, report, schema_lines, tests, thrift_files};

fn check(directory: &str) {
    let loader = Below::new(tests("corpus"));
    let mut failures = Vec::new();
    for name in thrift_files(&tests("corpus").join(directory)) {
        let compiled = compile(&format!("{directory}/{name}"), &loader);
        let Some(schema) = &compiled.schema else {
            failures.push(format!("{name}\n{}", compiled.render(false)));
            continue;
        };
        let errors = compiled
            .diagnostics
            .iter()
            .filter(|d| d.severity == Severity::Error);
        assert_eq!(errors.count(), 0, "{name}");
        let path = tests("corpus")
            .join(directory)
            .join(name.replace(".thrift", ".jsonl"));
        failures.extend(golden(&path, &schema_lines(schema)).err());
    }
    report(failures);
}

#[test]
fn pure() {
    check("pure");
    check("pure/include");
}

#[test]
fn dovetail() {
    check("dovetail");
}

/// The examples of `docs/idl.md` are contracts.
#[test]
fn examples_of_the_page() {
    let page = std::fs::read_to_string(tests("../../../docs/idl.md")).unwrap();
    let blocks: Vec<&str> = page
        .split("```thrift\n")
        .skip(1)
        .filter_map(|b| b.split("```").next())
        .collect();
    assert!(blocks.len() > 5);
    for block in blocks {
        let files = [
            ("page.thrift", block),
            ("shared.thrift", "service Root { void root() }"),
        ];
        let compiled = compile("page.thrift", &dovetail_idl::MemoryLoader::from_iter(files));
        assert_eq!(compiled.render(false), "", "{block}");
    }
}

/// Every contract of this repository compiles, whoever wrote it; one with `broken` in its name is
/// meant not to.
#[test]
fn contracts_of_the_repository() {
    let mut directories = vec![tests("../../..")];
    let mut count = 0;
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !["target", ".git", "idl", "node_modules"].contains(&name) {
                directories.push(path);
            } else if name.ends_with(".thrift") && !name.contains("broken") {
                let compiled = compile(name, &Below::new(&directory));
                assert!(compiled.schema.is_some(), "{}", compiled.render(false));
                count += 1;
            }
        }
    }
    println!("{count} contracts");
}

/// Whatever a file says twice, it says the same.
#[test]
fn deterministic() {
    let loader = Below::new(tests("corpus"));
    let twice = || compile("dovetail/mixed.thrift", &loader);
    assert_eq!(twice(), twice());
}

/// Our corpus of pure Thrift is what we say it is: the real compiler takes it. A file that it does
/// not take says so in its first line, with the reason.
#[test]
fn apache_accepts_the_pure_corpus() {
    let compiler = std::process::Command::new("thrift")
        .arg("-version")
        .output();
    if compiler.is_err() {
        println!("skipped: no `thrift` compiler is installed");
        return;
    }
    let target = tempfile::tempdir().unwrap();
    let mut failures = Vec::new();
    let directory = tests("corpus/pure");
    for name in thrift_files(&directory) {
        let text = std::fs::read(directory.join(&name)).unwrap();
        let text = String::from_utf8_lossy(&text);
        if let Some(reason) = text
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("# apache: "))
        {
            println!("skipped: {name}: {reason}");
            continue;
        }
        let output = std::process::Command::new("thrift")
            .args(["--gen", "json", "-o"])
            .arg(target.path())
            .arg(directory.join(&name))
            .output()
            .unwrap();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            failures.push(format!(
                "{name}: {said}{}",
                String::from_utf8_lossy(&output.stdout)
            ));
        }
    }
    report(failures);
}

//! Good files: `corpus/pure` is what Apache Thrift accepts, too; `corpus/dovetail` uses what we add. Beside
//! each file is what it means, one line for each definition. `UPDATE_GOLDEN=1` rewrites those.
#![allow(clippy::unwrap_used)]

mod support;

use dovetail_idl::{Severity, compile};
use dovetail_schema::Schema;
use serde::Serialize;
use support::{Below, golden, report, tests, thrift_files};

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
        failures.extend(golden(&path, &lines(schema)).err());
    }
    report(failures);
}

/// The schema as lines of JSON: short enough to read, and to compare.
fn lines(schema: &Schema) -> String {
    fn all<T: Serialize>(what: &str, items: &[T], out: &mut String) {
        for item in items {
            let mut json = serde_json::to_value(item).unwrap();
            shorten(&mut json);
            out.push_str(&format!("{what} {json}\n"));
        }
    }
    let mut out = String::new();
    all("package", &schema.packages, &mut out);
    all("type", &schema.types, &mut out);
    all("service", &schema.services, &mut out);
    all("constant", &schema.constants, &mut out);
    out
}

/// Leaves out what is the way it is nearly everywhere.
fn shorten(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Object(fields) => {
            fields.values_mut().for_each(shorten);
            fields.retain(|key, value| match value {
                serde_json::Value::Null => false,
                serde_json::Value::Array(items) => !items.is_empty(),
                serde_json::Value::Object(fields) => !fields.is_empty() || key == "value",
                serde_json::Value::String(text) => !matches!(
                    text.as_str(),
                    "Default" | "Value" | "Unknown" | "Unspecified"
                ),
                serde_json::Value::Bool(value) => *value || key != "oneway",
                _ => true,
            });
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(shorten),
        _ => {}
    }
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

/// Whatever a file says twice, it says the same.
#[test]
fn deterministic() {
    let loader = Below::new(tests("corpus"));
    let twice = || compile("dovetail/mixed.thrift", &loader);
    assert_eq!(twice(), twice());
}

/// Our corpus of pure Thrift is what we say it is: the real compiler takes it. A file that it does not take
/// says so in its first line, with the reason.
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
        let text = std::fs::read_to_string(directory.join(&name)).unwrap();
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

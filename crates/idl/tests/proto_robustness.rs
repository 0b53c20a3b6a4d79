//! Nothing that a `.proto` file contains makes the front end panic, hang, or use up the stack or
//! the memory. The fuzz target of the repository calls the same function with the same promise.
#![allow(clippy::unwrap_used)]

mod support;

use dovetail_idl::MemoryLoader;
use dovetail_idl::proto::{Described, describe};
use proptest::prelude::*;
use std::time::{Duration, Instant};
use support::mutation::mutated;
use support::{files, tests};

/// Describes a text that may be anything, and looks at all that comes out.
fn check(text: &str) -> Described {
    let files = [
        ("a.proto", text),
        (
            "b.proto",
            "syntax = \"proto2\"; package b; message B { extensions 1 to max; } enum C { D = 1; }",
        ),
    ];
    let described = describe("a.proto", &MemoryLoader::from_iter(files));
    let rendered = dovetail_idl::render(&described.diagnostics, &described.sources, false);
    assert_eq!(
        described.files.is_some(),
        !rendered.contains("error["),
        "{rendered}"
    );
    for label in described
        .diagnostics
        .iter()
        .flat_map(|diagnostic| &diagnostic.labels)
    {
        let text = &described.sources[label.file.0 as usize].text;
        let range = label.span.start as usize..label.span.end as usize;
        assert!(text.get(range).is_some());
    }
    if let Some(files) = &described.files {
        assert!(!files.encode().is_empty());
    }
    described
}

/// Pieces from which nearly valid files can be made.
const WORDS: &[&str] = &[
    "syntax = \"proto2\";",
    "syntax = \"proto3\";",
    "edition = \"2023\";",
    "edition = \"2024\";",
    "package",
    "import",
    "public",
    "option",
    "\"b.proto\"",
    "message",
    "enum",
    "service",
    "rpc",
    "returns",
    "stream",
    "oneof",
    "extend",
    "extensions",
    "reserved",
    "to",
    "max",
    "group",
    "map<",
    "optional",
    "required",
    "repeated",
    "int32",
    "string",
    "bytes",
    "bool",
    "double",
    "b.B",
    "b.C",
    ".b.B",
    "A",
    "B",
    "a",
    "b",
    "0",
    "1",
    "2",
    "-",
    "0x7f",
    "1.5",
    "inf",
    "'s'",
    "\"\\x00\"",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ",",
    ";",
    ":",
    "=",
    ".",
    "/",
    "default",
    "json_name",
    "packed",
    "deprecated",
    "features",
    "field_presence",
    "true",
    "export",
    "local",
    "\n",
    "// c\n",
    "/* c */",
    "(x)",
    "(x).y",
    "google.protobuf.FieldOptions",
    "import \"google/protobuf/descriptor.proto\";",
    "allow_alias",
    "declaration",
    "[a.b/c]",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(WORDS), 0..80).prop_map(|words| words.join(" "))
}

fn corpus() -> Vec<String> {
    let directories = ["proto/good", "proto/errors", "proto/warnings"];
    let all = directories.into_iter().flat_map(|directory| {
        let directory = tests(directory);
        let names = files(&directory, ".proto");
        names
            .into_iter()
            .map(move |name| std::fs::read_to_string(directory.join(name)).unwrap())
    });
    all.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn any_text(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn any_words(text in soup()) {
        check(&text);
    }

    #[test]
    fn any_mutation(text in mutated(corpus(), WORDS)) {
        check(&text);
    }
}

/// Compiles on the usual stack, and within a time that only something quadratic would take.
fn quickly(what: &str, text: String) {
    let start = Instant::now();
    check(&text);
    let took = start.elapsed();
    println!("{what}: {took:?}");
    assert!(took < Duration::from_secs(30), "{what}: {took:?}");
}

#[test]
fn deep() {
    let many = 20_000;
    let note = "import \"google/protobuf/descriptor.proto\"; message N { optional N n = 1; } \
                extend google.protobuf.FileOptions { optional N note = 50000; }";
    quickly("messages", "message M {".repeat(many));
    quickly(
        "closed messages",
        format!("{}{}", "message M {".repeat(many), "}".repeat(many)),
    );
    quickly(
        "groups",
        format!("message M {{ {}", "optional group G = 1 {".repeat(many)),
    );
    quickly(
        "values",
        format!("{note} option (note) = {}", "{ n ".repeat(many)),
    );
    quickly(
        "angles",
        format!("{note} option (note) = {{ n {}", "<n".repeat(many)),
    );
    quickly(
        "lists",
        format!("{note} option (note) = {{ n: {}", "[".repeat(many)),
    );
    quickly(
        "maps",
        format!("message M {{ {}", "map<int32, ".repeat(many)),
    );
    quickly(
        "dots",
        format!("message M {{ optional {}x a = 1; }}", "a.".repeat(many)),
    );
    quickly("package", format!("package {}x;", "a.".repeat(many)));
    quickly(
        "option names",
        format!("{note} option (note){} = 1;", ".n".repeat(many)),
    );
    quickly("parentheses", "(".repeat(many));
    quickly("comments", "/*".repeat(many));
}

#[test]
fn large() {
    let many = 8_000;
    let lines = |line: &dyn Fn(usize) -> String| (0..many).map(line).collect::<String>();
    let extensions = "import \"google/protobuf/descriptor.proto\"; message R { repeated int32 r = 1; } \
                      extend google.protobuf.FileOptions { repeated int32 r = 50000; optional R m = 50001; }";
    quickly(
        "fields",
        format!(
            "message M {{ {} }}",
            lines(&|n| format!("optional int32 f{n} = {};\n", n + 20_000))
        ),
    );
    quickly(
        "one line",
        format!(
            "message M {{ {} }}",
            lines(&|n| format!("optional int32 f{n} = {};", n + 20_000))
        ),
    );
    quickly(
        "the same field",
        format!(
            "message M {{ {} }}",
            lines(&|_| "optional int32 f = 1;\n".to_owned())
        ),
    );
    quickly(
        "unknown types",
        format!(
            "message M {{ {} }}",
            lines(&|n| format!("optional T{n} f{n} = {n};\n"))
        ),
    );
    quickly(
        "messages",
        lines(&|n| {
            format!(
                "message M{n} {{ optional M{} next = 1; }}\n",
                (n + 1) % many
            )
        }),
    );
    quickly(
        "values",
        format!(
            "enum E {{ option allow_alias = true; {} }}",
            lines(&|n| format!("V{n} = {};\n", n / 2))
        ),
    );
    quickly(
        "ranges",
        format!(
            "message M {{ {} }}",
            lines(&|n| format!("reserved {};\n", 2 * n + 1))
        ),
    );
    quickly(
        "same range",
        format!(
            "message M {{ {} }}",
            lines(&|_| "reserved 1 to 5;\n".to_owned())
        ),
    );
    quickly(
        "repeated options",
        format!(
            "{extensions} {}",
            lines(&|n| format!("option (r) = {n};\n"))
        ),
    );
    quickly(
        "inner options",
        format!(
            "{extensions} {}",
            lines(&|n| format!("option (m).r = {n};\n"))
        ),
    );
    quickly(
        "list",
        format!(
            "{extensions} option (m) = {{ r: [{} 1] }};",
            lines(&|n| format!("{n},"))
        ),
    );
    quickly(
        "range options",
        format!(
            "message M {{ extensions {} 99999 [{} verification = UNVERIFIED]; }}",
            lines(&|n| format!("{},", 2 * n + 1)),
            lines(&|n| format!("declaration = {{ number: {n} }},")),
        ),
    );
    quickly(
        "comments",
        lines(&|_| "// c\n\n/* d */\n".to_owned()) + "message M {}",
    );
    quickly("errors", lines(&|_| "message { ; } }\n".to_owned()));
    quickly("imports", lines(&|n| format!("import \"f{n}.proto\";\n")));
    quickly(
        "strings",
        format!("option java_package = {};", "\"a\\n\"".repeat(many)),
    );
    quickly(
        "extensions",
        format!(
            "message M {{ {} }} extend M {{ {} }}",
            lines(&|n| format!("extensions {};\n", 2 * n + 1)),
            lines(&|n| format!(
                "optional int32 e{n} = {};\n",
                if n % 2 == 0 {
                    15_999 - 2 * n % 100
                } else {
                    2 * n + 1
                }
            )),
        ),
    );
    quickly(
        "methods",
        format!(
            "message M {{}} service S {{ {} }}",
            lines(&|n| format!("rpc A{n}(M) returns (M);\n"))
        ),
    );
}

//! Nothing that a file contains makes the front end panic, hang, or use up the stack or the memory.
//! The fuzz target of the repository calls the same function with the same promise.
#![allow(clippy::unwrap_used)]

mod support;

use dovetail_idl::{Compiled, MemoryLoader, compile};
use proptest::prelude::*;
use std::time::{Duration, Instant};
use support::mutation::mutated;
use support::{tests, thrift_files};

/// Compiles a text that may be anything, and looks at all that comes out.
fn check(text: &str) -> Compiled {
    let mut files = MemoryLoader::new();
    files.insert("a.thrift", text);
    files.insert(
        "b.thrift",
        "const i32 X = 1\nstruct B { 1: i32 b }\nenum C { D }\nservice E {}\n",
    );
    let compiled = compile("a.thrift", &files);
    let rendered = compiled.render(false);
    assert_eq!(
        compiled.schema.is_some(),
        !rendered.contains("error["),
        "{rendered}"
    );
    for label in compiled
        .diagnostics
        .iter()
        .flat_map(|diagnostic| &diagnostic.labels)
    {
        let text = &compiled.sources[label.file.0 as usize].text;
        assert!(
            text.get(label.span.start as usize..label.span.end as usize)
                .is_some()
        );
    }
    if let Some(schema) = &compiled.schema {
        serde_json::to_string(schema).unwrap();
    }
    compiled
}

/// Pieces from which nearly valid files can be made.
const WORDS: &[&str] = &[
    "struct",
    "union",
    "exception",
    "enum",
    "service",
    "typedef",
    "const",
    "include",
    "namespace",
    "\"b.thrift\"",
    "A",
    "B",
    "b.B",
    "b.C.D",
    "b.X",
    "X",
    "1",
    "2",
    "-1",
    "0x7f",
    "1.5",
    "\"s\"",
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
    "*",
    "&",
    "@",
    "list",
    "map",
    "set",
    "array",
    "i32",
    "string",
    "bool",
    "double",
    "uuid",
    "date",
    "void",
    "oneway",
    "async",
    "throws",
    "extends",
    "required",
    "optional",
    "ref",
    "reserved",
    "to",
    "stream",
    "sink",
    "safe",
    "idempotent",
    "true",
    "\n",
    "\n",
    "/** doc */",
    "/**< after */",
    "// line\n",
    "xsd_attrs",
    "cpp_type",
    "senum",
    "slist",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(WORDS), 0..80).prop_map(|words| words.join(" "))
}

fn corpus() -> Vec<String> {
    let directories = ["corpus/pure", "corpus/dovetail", "errors", "warnings"];
    let files = directories.into_iter().flat_map(|directory| {
        let directory = tests(directory);
        let names = thrift_files(&directory);
        names
            .into_iter()
            .map(move |name| std::fs::read(directory.join(name)).unwrap())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    });
    files.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn any_text(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&String::from_utf8_lossy(&bytes));
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
    assert!(took < Duration::from_secs(60), "{what}: {took:?}");
}

#[test]
fn deep() {
    let many = 100_000;
    let nested =
        |open: &str, close: &str| format!("{}i32{}", open.repeat(many), close.repeat(many));
    quickly("types", format!("typedef {} T", nested("list<", ">")));
    quickly(
        "maps",
        format!("struct S {{ 1: {} a }}", nested("map<i32,", ">")),
    );
    quickly("arrays", format!("typedef {} T", nested("array<", ", 3>")));
    quickly("lists", format!("const i32 A = {}", nested("[", "]")));
    quickly(
        "structs",
        format!("const i32 A = {}", nested("{\"a\":", "}")),
    );
    quickly("open brackets", "(".repeat(many));
    quickly("open braces", "struct S {".repeat(many));
    quickly("attributes", "struct S { 1: i32 a xsd_attrs {".repeat(many));
    quickly("annotations", "@A{a = ".repeat(many));
    quickly("comments", "/*".repeat(many));
    quickly(
        "throws",
        format!("service S {{ {}", "stream<i32 throws (1: ".repeat(many)),
    );
}

#[test]
fn long_chains() {
    let many = 20_000;
    let chain = |line: &dyn Fn(usize) -> String| (0..many).map(line).collect::<String>();
    let next = |n: usize| n + 1;
    quickly(
        "typedefs",
        chain(&|n| format!("typedef T{} T{n}\n", next(n))) + &format!("typedef i32 T{many}"),
    );
    quickly(
        "typedefs of lists",
        chain(&|n| format!("typedef list<T{}> T{n}\n", next(n))),
    );
    quickly(
        "constants",
        chain(&|n| format!("const i32 C{n} = C{}\n", next(n))) + &format!("const i32 C{many} = 1"),
    );
    quickly(
        "backwards",
        "const i32 C0 = 1\n".to_owned() + &chain(&|n| format!("const i32 C{} = C{n}\n", next(n))),
    );
    quickly(
        "nested constants",
        "typedef list<i32> L\nconst list<i32> C0 = []\n".to_owned()
            + &chain(&|n| format!("const list<L> C{} = [C{n}]\n", next(n))),
    );
    quickly(
        "required structs",
        chain(&|n| format!("struct S{n} {{ 1: required S{} a }}\n", next(n) % many)),
    );
    let optional = chain(&|n| format!("struct S{n} {{ 1: optional S{} a }}\n", next(n) % many));
    quickly("optional structs", optional);
    quickly(
        "inheritance",
        chain(&|n| format!("struct S{n} extends S{} {{}}\n", next(n))),
    );
    quickly(
        "services",
        chain(&|n| format!("service S{n} extends S{} {{ void f{n}() }}\n", next(n))),
    );
    quickly(
        "annotations",
        format!(
            "struct S {{ {} }}",
            chain(&|n| format!("{n}: i32 f{n} (a = 'b')\n"))
        ),
    );
    quickly(
        "fields without ids",
        format!("struct S {{ {} }}", chain(&|n| format!("i32 f{n}\n"))),
    );
}

#[test]
fn large() {
    let megabytes = |piece: &str| piece.repeat((10 << 20) / piece.len());
    quickly("one name", megabytes("a"));
    quickly("one number", format!("const i32 A = {}", megabytes("1")));
    quickly("points", megabytes("."));
    quickly("garbage", megabytes("$%"));
    quickly("spread garbage", megabytes("$ a "));
    quickly(
        "a string",
        format!("const string A = \"{}\"", megabytes("x")),
    );
    quickly(
        "backslashes",
        format!("const string A = \"{}", megabytes("\\")),
    );
    quickly("a comment", format!("/** {} */", megabytes("* \n")));
    quickly("comments", megabytes("/// a\n"));
    quickly("separators", megabytes(";"));
    quickly(
        "a list",
        format!("const list<i32> A = [{}]", "1,".repeat(1 << 20)),
    );
    quickly(
        "a set",
        format!("const set<i32> A = [{}]", "1,".repeat(1 << 19)),
    );
}

#[test]
fn references_do_not_multiply() {
    let mut text =
        "const list<string> C0 = [\"0123456789012345678901234567890123456789\"]\n".to_owned();
    text.push_str("typedef list<string> T0\n");
    for n in 0..30 {
        let items = format!("C{n},").repeat(20);
        text.push_str(&format!(
            "typedef list<T{n}> T{}\nconst T{0} C{0} = [{items}]\n",
            n + 1
        ));
    }
    quickly("references", text);
}

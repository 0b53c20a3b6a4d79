//! Input that is refused: the words to which the error points, and the advice that it gives.
#![allow(clippy::unwrap_used)]

use crate::{exceptions, headers, message, service};
use proc_macro2::TokenStream;
use syn::Result;

/// The errors of some source text, each with the text that it points to.
fn errors(expanded: Result<TokenStream>) -> Vec<(String, String)> {
    let errors = expanded.err().into_iter().flatten();
    let located = errors.map(|error| {
        let text = error.span().source_text().unwrap_or_default();
        (text, error.to_string())
    });
    located.collect()
}

fn check(rows: &[(&str, &str, &str)], expand: fn(&str) -> Result<TokenStream>) {
    for (source, at, why) in rows {
        let found = errors(expand(source));
        let [(text, message)] = found.as_slice() else {
            panic!("{source}: {found:?}");
        };
        assert!(message.contains(why), "{source}: {message}");
        assert_eq!(text, at, "{source}: {message}");
    }
}

#[test]
fn messages() {
    let rows = [
        ("struct A(i32);", "A", "struct Point { x: i32, y: i32 }"),
        (
            "#[dovetail(package = \"a-b\")] struct A { a: i32 }",
            "\"a-b\"",
            "a package is a name, or several with dots between them",
        ),
        (
            "#[dovetail(package = \"a\")] enum A { B, Unknown(i32) }",
            "\"a\"",
            "an enum has no package",
        ),
        (
            "struct A<T> { a: T }",
            "<T>",
            "a type of a contract has no parameters",
        ),
        (
            "struct A { #[dovetail(id = 0)] a: i32 }",
            "0",
            "ids begin with 1",
        ),
        (
            "struct A { #[dovetail(id = 5000000000)] a: i32 }",
            "5000000000",
            "a number of 32 bits",
        ),
        (
            "struct A { a: i32, #[dovetail(id = 1)] b: i32 }",
            "1",
            "`a` has the number 1 already",
        ),
        (
            "struct A { #[dovetail(id = 2)] a: i32, #[dovetail(id = 1)] b: i32, c: i32 }",
            "c",
            "`a` has the number 2",
        ),
        (
            "struct A { #[dovetail(base)] b: B }",
            "#[dovetail(base)] b: B",
            "is its field `base`",
        ),
        (
            "struct A { #[dovetail(base)] base: B, c: i32 }",
            "c",
            "`#[dovetail(id = 4)]`",
        ),
        (
            "struct A { #[dovetail(base)] base: B, u: UnknownFields }",
            "u: UnknownFields",
            "keeps what the contract does not know",
        ),
        (
            "struct A { #[dovetail(nmae = \"a\")] a: i32 }",
            "nmae",
            "no such word here; there are `id`, `name`",
        ),
        (
            "struct A { #[dovetail(name = \"1st\")] a: i32 }",
            "\"1st\"",
            "begins with none of the digits",
        ),
        (
            "struct A { #[dovetail(required)] a: Option<i32> }",
            "Option<i32>",
            "a required field is never absent",
        ),
        ("enum A { B, C }", "A", "add a last variant `Unknown(i32)`"),
        (
            "enum A { B(i32), C }",
            "A",
            "add a last variant `Unknown(UnknownFields)`",
        ),
        (
            "enum A { B(i32), C, Unknown(UnknownFields) }",
            "C",
            "a variant of a union has one value",
        ),
        (
            "enum A { B = 3, Unknown(i32) }",
            "3",
            "is said as `#[dovetail(id = …)]`",
        ),
        (
            "#[dovetail(exception)] enum A { Unknown(i32) }",
            "A",
            "an exception is a struct",
        ),
        (
            "#[dovetail(debug)] enum A { B, Unknown(i32) }",
            "A",
            "there is nothing to hide",
        ),
        ("union A { a: i32 }", "A", "is an enum in Rust"),
    ];
    check(&rows, |source| message::derive(&syn::parse_str(source)?));
}

#[test]
fn structs_of_headers() {
    let rows = [
        (
            "enum A { B }",
            "A",
            "headers are a struct with named fields",
        ),
        (
            "struct A(String);",
            "A",
            "headers are a struct with named fields",
        ),
        ("struct A<T> { a: T }", "<T>", "takes no parameters"),
        (
            "struct A { #[dovetail(header = \"X-Debug\")] a: bool }",
            "\"X-Debug\"",
            "a header consists of small letters",
        ),
        (
            "struct A { a_b: bool, #[dovetail(header = \"a-b\")] c: bool }",
            "\"a-b\"",
            "another field has this header",
        ),
        (
            "struct A { #[dovetail(name = \"b\")] a: bool }",
            "name",
            "no such word here; there are `header`",
        ),
    ];
    check(&rows, |source| headers::derive(&syn::parse_str(source)?));
}

#[test]
fn exceptions_of_methods() {
    let rows = [
        ("struct A;", "A", "the error of a method is an enum"),
        (
            "enum A { B(B) }",
            "A",
            "add a last variant `Status(Status)`",
        ),
        (
            "enum A { B, Status(Status) }",
            "B",
            "a variant holds one exception",
        ),
    ];
    check(&rows, |source| exceptions::derive(&syn::parse_str(source)?));
}

#[test]
fn services() {
    let rows = [
        ("trait A<T> {}", "<T>", "a service has no parameters"),
        (
            "trait A: B + C {}",
            "C",
            "a service extends one other service",
        ),
        (
            "trait A { type B; }",
            "type B;",
            "a service has methods only",
        ),
        (
            "trait A { fn f(&self) -> Result<(), Status>; }",
            "fn",
            "write `async fn`",
        ),
        (
            "trait A { async fn f() -> Result<(), Status>; }",
            "f",
            "the first parameter is `&self`",
        ),
        (
            "trait A { async fn f(&mut self) -> Result<(), Status>; }",
            "f",
            "the first parameter is `&self`",
        ),
        (
            "trait A { async fn f(&self); }",
            "f",
            "return `Result<T, Status>`",
        ),
        (
            "trait A { async fn f(&self) -> i32; }",
            "i32",
            "return `Result<T, Status>`",
        ),
        (
            "trait A { async fn f(&self, a: &str) -> Result<(), Status>; }",
            "&str",
            "a handler owns its parameters",
        ),
        (
            "trait A { async fn f(&self) -> Result<(i32, i32), Status>; }",
            "(i32, i32)",
            "put several into a struct",
        ),
        (
            "trait A { async fn f(&self, (a, b): C) -> Result<(), Status>; }",
            "(a, b)",
            "a parameter has a name",
        ),
        (
            "trait A { async fn f(&self, r: Receiver<i32>, a: i32) -> Result<(), Status>; }",
            "Receiver<i32>",
            "comes last",
        ),
        (
            "trait A { #[dovetail(oneway)] async fn f(&self) -> Result<i32, Status>; }",
            "Result<i32, Status>",
            "nothing comes back",
        ),
        (
            "trait A { #[dovetail(oneway, passes(B))] async fn f(&self) -> Result<(), Status>; }",
            "B",
            "pass no objects",
        ),
        (
            "trait A { async fn f<T>(&self) -> Result<(), Status>; }",
            "<T>",
            "a method has no type parameters",
        ),
        (
            "trait A { async fn f(&self) -> Result<(), Status> {} }",
            "{}",
            "where the trait is implemented",
        ),
    ];
    check(&rows, |source| {
        service::expand(TokenStream::new(), syn::parse_str(source)?)
    });
}

#[test]
fn a_service_has_all_its_errors_at_once() {
    let source =
        "trait A { fn f(&self); async fn g(&self, a: &str) -> Result<(), Status>; const C: i32; }";
    let found = errors(service::expand(
        TokenStream::new(),
        syn::parse_str(source).unwrap(),
    ));
    let texts: Vec<&str> = found.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(texts, ["fn", "&str", "const C: i32;"]);
}

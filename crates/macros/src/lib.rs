//! Contracts in Rust instead of an IDL. Use them through the crate `dovetail`, which has them under
//! its feature `macros`; `docs/code-first.md` is their manual.
//!
//! ```text
//!   derive(Message) ────► message! | union! | variants!  ┐
//!   derive(Exceptions) ─► exceptions!                    ├─ the tables from which code generated from IDL is made, too
//!   service ────────────► descriptor!, trait, clients    ┘
//! ```
//!
//! The macros turn what a program says into the tables that the generator makes of a contract, so
//! both have the same implementations, and there is no second one to keep in step.
#![forbid(unsafe_code)]

mod attributes;
#[cfg(test)]
mod errors_test;
mod exceptions;
mod extend;
mod headers;
mod message;
mod names;
mod numbers;
mod service;

use proc_macro::TokenStream;
use syn::{DeriveInput, ItemTrait, parse_macro_input};

/// Makes a struct or enum a type of a contract.
///
/// | Rust | contract |
/// |---|---|
/// | a struct with named fields | a struct, or, with `#[dovetail(exception)]`, an exception |
/// | an enum of variants with one value each, and a last one `Unknown(UnknownFields)` | a union |
/// | an enum of variants without values, and a last one `Unknown(i32)` | an enum |
///
/// `#[dovetail(…)]` takes, on fields and variants, `id = 7` and `name = "type"`; on fields of
/// structs also `required`, `zigzag`, `fixed`, `zigzag_key`, `fixed_key`, and `base` on that of the
/// struct that is extended; on types `name`, `exception`, `extended` where others extend it,
/// `package = "shop"`, which an `Any` names beside the type (the package of Cargo without it), and
/// `crate = path`. A field or variant without an `id` has that of the one before it plus one; the
/// first has 1, in an enum 0.
#[proc_macro_derive(Message, attributes(dovetail))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    finish(message::derive(&input))
}

/// Makes an enum the error type of methods: each variant but the last holds an exception that they
/// declare, the last one is `Status(Status)`. `#[dovetail(…)]` takes `id = 7` and `name = "why"` on
/// variants and `crate = path` on the enum.
#[proc_macro_derive(Exceptions, attributes(dovetail))]
pub fn derive_exceptions(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    finish(exceptions::derive(&input))
}

/// Makes a struct of its fields' headers, each under the name of its field with `-` in place of
/// `_`, or under that of `#[dovetail(header = "x-debug")]`. A field is a value, or an `Option` of
/// one where a call may be without the header. `#[dovetail(crate = path)]` on the struct says where
/// the trait is.
#[proc_macro_derive(Headers, attributes(dovetail))]
pub fn derive_headers(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    finish(headers::derive(&input))
}

/// Makes a trait a service: beside the trait come its server, its clients and its table.
///
/// `#[dovetail(…)]` takes, on methods, `name = "getAll"`, `oneway`, `idempotent`,
/// `permission = "shop.read"`, and `passes(Counter)`, the services of the objects that it takes or
/// returns; on parameters `id = 7`, `name = "type"`, `required` and `default = 10`. The macro
/// itself takes `name = "Shop"`, `permission = "shop.read"` for methods that name none, `object`,
/// which makes the type of references to its objects, and `crate = path`.
#[proc_macro_attribute]
pub fn service(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as ItemTrait);
    finish(service::expand(arguments.into(), item))
}

fn finish(expanded: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    expanded
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

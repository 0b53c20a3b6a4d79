//! Names in the style of buf's linter. Servers know a contract by these, too: `spelling` of
//! `dovetail-wire` has the same rules.

use super::built_in;
use crate::export::{Problems, file_name};
use dovetail_schema::{Enum, Reserved, Schema, TypeKind};
use std::collections::HashSet;

/// The end of the name of a value that is zero.
const ZERO: &str = "_UNSPECIFIED";

/// A contract with the names of the style, but for those of fields, which JSON has.
pub(super) fn restyled(schema: &Schema, problems: &Problems) -> Schema {
    let mut styled = schema.clone();
    for package in &mut styled.packages {
        if package.messages && built_in(package).is_none() {
            problems.refuse("a `.proto` has a style of its own", &package.name);
        }
        let name = in_package(&package.name);
        let file = snake(&file_name(package));
        package.path = format!("{}/{file}.proto", name.replace('.', "/"));
        package.name = name;
    }
    for def in &mut styled.types {
        def.name = pascal(&def.name);
        if let TypeKind::Enum(values) = &mut def.kind {
            restyle(&def.name, values);
        }
    }
    for service in &mut styled.services {
        service.name = in_service(&service.name);
        for method in &mut service.methods {
            method.name = pascal(&method.name);
        }
    }
    distinct(&styled, problems);
    styled
}

/// Names that were different are, in the style.
fn distinct(schema: &Schema, problems: &Problems) {
    let mut known = HashSet::new();
    let services = schema.services.iter();
    let types = schema.types.iter().map(|def| (def.package, &def.name));
    let names = services
        .clone()
        .map(|service| (service.package, &service.name));
    for name in types.chain(names) {
        if !known.insert(name) {
            problems.refuse(SAME, name.1);
        }
    }
    for service in services {
        let mut known = HashSet::new();
        let mut methods = service.methods.iter();
        if let Some(twice) = methods.find(|method| !known.insert(&method.name)) {
            problems.refuse(SAME, &twice.name);
        }
    }
}

pub(super) const SAME: &str = "two names are the same in this style; rename one";

/// Values have the name of their enum in front. Of several with one number the first one stays.
fn restyle(name: &str, def: &mut Enum) {
    let mut numbers = HashSet::new();
    def.values.retain(|value| numbers.insert(value.number));
    for value in &mut def.values {
        value.name = in_enum(name, &value.name, value.number);
    }
    let Reserved { names, .. } = &mut def.reserved;
    for reserved in names {
        *reserved = in_enum(name, reserved, -1);
    }
}

fn in_enum(around: &str, name: &str, number: i32) -> String {
    let prefix = format!("{}_", snake(around)).to_uppercase();
    let name = snake(name).to_uppercase();
    let name = match name.starts_with(&prefix) {
        true => name,
        false => prefix + &name,
    };
    match number == 0 && !name.ends_with(ZERO) {
        true => name + ZERO,
        false => name,
    }
}

fn in_package(name: &str) -> String {
    let last = name.rsplit('.').next().unwrap_or_default();
    let version = last.strip_prefix('v').unwrap_or_default();
    let parts: Vec<String> = name.split('.').map(snake).collect();
    let name = parts.join(".");
    match version.parse::<u32>() {
        Ok(1..) => name,
        _ => format!("{name}.v1"),
    }
}

fn in_service(name: &str) -> String {
    let name = pascal(name);
    match name.ends_with("Service") {
        true => name,
        false => name + "Service",
    }
}

/// `FooBar`.
fn pascal(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    name.split('_').map(word).collect()
}

/// `foo_bar`: a word begins with each capital beside a small letter.
pub(super) fn snake(name: &str) -> String {
    let words = name.split('_').filter(|word| !word.is_empty());
    words.map(lower).collect::<Vec<_>>().join("_")
}

fn lower(word: &str) -> String {
    let mut text = String::new();
    let mut letters = word.chars().peekable();
    let mut before = None::<char>;
    while let Some(letter) = letters.next() {
        let small = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_lowercase());
        let begins = before.is_some() && (small(before) || small(letters.peek().copied()));
        if letter.is_ascii_uppercase() && begins {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
        before = Some(letter);
    }
    text
}

//! Cap'n Proto's text form of values, as `capnp convert` writes it, to JSON. Bytes of data become
//! characters.

use serde_json::{Map, Value};
use std::iter::Peekable;
use std::str::Chars;

/// Reads a value; panics where the text is none.
pub fn parse(text: &str) -> Value {
    value(&mut text.chars().peekable())
}

fn value(text: &mut Peekable<Chars<'_>>) -> Value {
    space(text);
    match text.peek() {
        Some('(') => {
            let mut fields = Map::new();
            listed(text, ')', |text| {
                let name = word(text);
                space(text);
                assert_eq!(text.next(), Some('='), "{name}");
                fields.insert(name, value(text));
            });
            Value::Object(fields)
        }
        Some('[') => {
            let mut items = Vec::new();
            listed(text, ']', |text| items.push(value(text)));
            Value::Array(items)
        }
        Some('"') => Value::String(quoted(text)),
        Some('<') => {
            text.by_ref().find(|c| *c == '>');
            Value::Null
        }
        _ => {
            let word = word(text);
            serde_json::from_str(&word).unwrap_or(Value::String(word))
        }
    }
}

fn listed(
    text: &mut Peekable<Chars<'_>>,
    close: char,
    mut item: impl FnMut(&mut Peekable<Chars<'_>>),
) {
    text.next();
    loop {
        space(text);
        match text.peek() {
            Some(c) if *c == close => {
                text.next();
                return;
            }
            Some(',') => _ = text.next(),
            Some(_) => item(text),
            None => panic!("no `{close}`"),
        }
    }
}

fn space(text: &mut Peekable<Chars<'_>>) {
    while text.next_if(|c| c.is_whitespace()).is_some() {}
}

fn word(text: &mut Peekable<Chars<'_>>) -> String {
    space(text);
    let mut word = String::new();
    while let Some(c) = text.next_if(|c| c.is_alphanumeric() || "_.+-".contains(*c)) {
        word.push(c);
    }
    assert!(!word.is_empty(), "unexpected {:?}", text.peek());
    word
}

fn quoted(text: &mut Peekable<Chars<'_>>) -> String {
    text.next();
    let mut out = String::new();
    loop {
        match text.next().unwrap() {
            '"' => return out,
            '\\' => out.push(escaped(text)),
            c => out.push(c),
        }
    }
}

fn escaped(text: &mut Peekable<Chars<'_>>) -> char {
    match text.next().unwrap() {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        'x' => {
            let digits: String = text.take(2).collect();
            char::from(u8::from_str_radix(&digits, 16).unwrap())
        }
        first @ '0'..='7' => {
            let mut digits = String::from(first);
            while digits.len() < 3
                && let Some(digit) = text.next_if(|c| ('0'..='7').contains(c))
            {
                digits.push(digit);
            }
            char::from(u8::from_str_radix(&digits, 8).unwrap())
        }
        other => other,
    }
}

//! Advice on what to write instead: the second half of a syntax error.

use super::{Parser, is_keyword};
use crate::thrift::lexer::Tok;

impl Parser<'_> {
    /// Advice for a token that stands where `what` was expected.
    pub(super) fn hint(&self, what: &str) -> String {
        let word = self.word(0);
        let start = |prefix: &str| what.starts_with(prefix);
        let advice = match self.tok() {
            Tok::OpenBracket if what.contains("name") => "a list is written `list<i32>`",
            Tok::Colon if start("the name of the field") => {
                "the id comes first, then the type: `1: string name`"
            }
            Tok::Colon if start("`,`") => "numbers follow `=`: `NAME = 1`",
            Tok::Double if start("an integer") => "values of enums are integers",
            tok if is_keyword(tok) && what.contains("name") && !self.starts_line() => {
                return format!("`{word}` is a keyword of Thrift: choose another name");
            }
            _ if start("the name of the field") || start("the type of a field") => {
                "a field is written `1: i32 name`"
            }
            _ if start("`:` after the id") => "a field is written `1: i32 name`",
            _ if start("`:` and the value") => "an entry is written `key: value`",
            _ if start("`=` and the value of this field") => {
                "annotations are written `@Name{field = value}`"
            }
            _ if start("`=` and the value of the constant") => {
                "a constant is written `const i32 NAME = 1`"
            }
            _ if start("an integer") => "a value is written `NAME = 1`, or just `NAME`",
            _ if start("the name of a value") => "a value is written `NAME` or `NAME = 1`",
            _ if start("the path") => "the path stands in quotes: `include \"shared.thrift\"`",
            _ if start("the name of a language") || start("the namespace") => {
                "a namespace is written `namespace py company.product`"
            }
            _ if start("the value of the annotation") => {
                "the value stands in quotes: `(key = \"5\")`"
            }
            _ if start("the name of an annotation") || start("`,` or `)`") => {
                "annotations are written `(key = \"value\", other = \"value\")`"
            }
            _ if start("`<` and the type of the elements") => {
                "the elements have a type: `list<i32>`"
            }
            _ if start("`<` and the type of the keys")
                || start("`,` and the type of the values") =>
            {
                "keys and values have types: `map<string, i32>`"
            }
            _ if start("`>`") => "every `<` needs its `>`",
            _ if start("the result of a method") => {
                "a method is written `i32 name(1: i32 parameter)`, or `void name()`"
            }
            _ if start("the name of the method") || start("`(` and the parameters") => {
                "a method is written `i32 name(1: i32 parameter)`"
            }
            _ if start("`(` and the exceptions") => {
                "exceptions are declared by `throws (1: Problem problem)`"
            }
            _ if start("`,` or `]`") => "a list is written `[1, 2]`",
            _ if start("`,` or `}`") => "a map or struct is written `{key: value, key: value}`",
            _ if start("a value") => {
                "a value is a number, a string, `true`, `false`, a name, `[…]` or `{…}`"
            }
            _ if start("a type") => {
                "a type is a name such as i32 or string, or list<…>, set<…>, map<…, …>"
            }
            _ if start("`{`") => "the body stands in braces: `{ … }`",
            _ if start("a definition") => {
                "a definition begins with struct, union, exception, enum, typedef, const or service"
            }
            _ if start("`,`") => {
                "one item is complete here; the next one follows a separator or a line break"
            }
            _ => "something is missing before this, or this is too much",
        };
        advice.to_owned()
    }
}

//! Names as the style of buf's linter has them, in which a contract can be exported: callers may
//! use them, too.

use crate::Names;

/// The end of the name of a value that is zero.
const ZERO: &str = "_UNSPECIFIED";

/// `foo_bar` for `fooBar`, `FooBar`, `FOO_BAR`: a word begins with each capital beside a small
/// letter.
pub fn snake(name: &str) -> impl Iterator<Item = char> {
    let words = name.split('_').filter(|word| !word.is_empty());
    words.enumerate().flat_map(|(before, word)| {
        let underscore = (before > 0).then_some('_');
        underscore.into_iter().chain(lower(word))
    })
}

fn lower(word: &str) -> impl Iterator<Item = char> {
    let small = |letter: Option<&u8>| letter.is_some_and(u8::is_ascii_lowercase);
    word.char_indices().flat_map(move |(at, letter)| {
        let beside = |at: Option<usize>| small(at.and_then(|at| word.as_bytes().get(at)));
        let begins = at > 0 && (beside(at.checked_sub(1)) || beside(Some(at + 1)));
        let underscore = (letter.is_ascii_uppercase() && begins).then_some('_');
        underscore.into_iter().chain([letter.to_ascii_lowercase()])
    })
}

/// `FooBar` for `foo_bar` and `fooBar`.
pub fn pascal(name: &str) -> String {
    let words = name.split('_');
    let word = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    words.map(word).collect()
}

/// A package with its version, which is 1 where it has none: `calculator.v1`.
pub fn package(name: &str) -> String {
    let last = name.rsplit('.').next().unwrap_or_default();
    let version = last.strip_prefix('v').unwrap_or_default();
    let parts: Vec<String> = name.split('.').map(|part| snake(part).collect()).collect();
    let name = parts.join(".");
    match version.parse::<u32>() {
        Ok(1..) => name,
        _ => format!("{name}.v1"),
    }
}

/// `CalculatorService` for `Calculator`.
pub fn service(name: &str) -> String {
    let name = pascal(name);
    match name.ends_with("Service") {
        true => name,
        false => name + "Service",
    }
}

/// The number of an enum that has this name in the style: `COLOUR_RED` for `Red`,
/// `COLOUR_NONE_UNSPECIFIED` for a `None` that is zero, `COLOUR_UNSPECIFIED` for a zero that the
/// contract does not have.
pub(crate) fn number(names: &dyn Names, name: &str) -> Option<i32> {
    let type_name = names.type_name().rsplit('.').next()?;
    if type_name.is_empty() {
        return None;
    }
    let prefix: String = screaming(&pascal(type_name)).chain(['_']).collect();
    let own = name.strip_prefix(&prefix)?;
    let mut values = (0..).map_while(|index| names.value(index));
    let fits = |&(number, value): &(i32, &str)| {
        let spellings = [name, own];
        let zero = spellings.map(|name| name.strip_suffix(ZERO).filter(|_| number == 0));
        let spellings = spellings.map(Some).into_iter().chain(zero).flatten();
        let mut spellings = spellings.into_iter();
        spellings.any(|spelling| screaming(value).eq(spelling.chars()))
    };
    let found = values.find(fits).map(|(number, _)| number);
    found.or_else(|| {
        let none = names.name(0).is_none() && own == &ZERO[1..];
        none.then_some(0)
    })
}

fn screaming(name: &str) -> impl Iterator<Item = char> {
    snake(name).map(|letter| letter.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EnumNames;

    #[test]
    fn names_become_those_of_the_style() {
        for (name, snaked, pascaled) in [
            ("foo", "foo", "Foo"),
            ("fooBar", "foo_bar", "FooBar"),
            ("FooBar", "foo_bar", "FooBar"),
            ("foo_bar", "foo_bar", "FooBar"),
            ("FOO_BAR", "foo_bar", "FOOBAR"),
            ("HTTPServer", "http_server", "HTTPServer"),
            ("_foo__bar_", "foo_bar", "FooBar"),
            ("X9Y", "x9y", "X9Y"),
            ("num1", "num1", "Num1"),
            ("num1Max", "num1_max", "Num1Max"),
        ] {
            assert_eq!(snake(name).collect::<String>(), snaked, "{name}");
            assert_eq!(pascal(name), pascaled, "{name}");
        }
        for (name, packaged) in [
            ("calculator", "calculator.v1"),
            ("calculator.v2", "calculator.v2"),
            ("fooBar", "foo_bar.v1"),
            ("Foo.barFoo", "foo.bar_foo.v1"),
            ("v", "v.v1"),
            ("", ".v1"),
        ] {
            assert_eq!(package(name), packaged, "{name}");
        }
    }

    #[test]
    fn values_have_two_names() {
        let colour = EnumNames {
            type_name: "Light.Colour_of",
            values: &[
                (0, "Red"),
                (1, "darkRed"),
                (2, "COLOUR_OF_SKY"),
                (3, "COLOUR_OF"),
            ],
        };
        let state = EnumNames {
            type_name: "State",
            values: &[(1, "ON"), (2, "UNSPECIFIED")],
        };
        let level = EnumNames {
            type_name: "level",
            values: &[(3, "High")],
        };
        for (names, name, expected) in [
            (colour, "COLOUR_OF_RED_UNSPECIFIED", Some(0)),
            (colour, "COLOUR_OF_RED", Some(0)),
            (colour, "COLOUR_OF_DARK_RED", Some(1)),
            (colour, "COLOUR_OF_SKY", Some(2)),
            (colour, "COLOUR_OF_COLOUR_OF", Some(3)),
            (colour, "COLOUR_OF_UNSPECIFIED", None),
            (colour, "COLOUR_OF_DARK_RED_UNSPECIFIED", None),
            (colour, "DARK_RED", None),
            (colour, "COLOUR_OF_VERY_DARK_RED", None),
            (colour, "colour_of_dark_red", None),
            (state, "STATE_ON", Some(1)),
            (state, "STATE_UNSPECIFIED", Some(2)),
            (level, "LEVEL_UNSPECIFIED", Some(0)),
            (level, "LEVEL_HIGH", Some(3)),
            (level, "HIGH", None),
            (level, "", None),
        ] {
            assert_eq!(number(&names, name), expected, "{name}");
        }
    }
}

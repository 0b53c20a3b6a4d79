//! From one language's way of writing names to another's.

/// The words of a name, in lower case: `fooBar`, `FooBar` and `foo_bar` are all `foo`, `bar`.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    for part in name.split(|c: char| !c.is_alphanumeric()) {
        let chars: Vec<char> = part.chars().collect();
        let mut start = 0;
        for at in 1..chars.len() {
            let upper = chars[at].is_uppercase();
            let after_lower = upper && !chars[at - 1].is_uppercase();
            // The last capital of a run begins the next word: `HTTPServer` is `http`, `server`.
            let ends_run = upper && chars.get(at + 1).is_some_and(|next| next.is_lowercase());
            if after_lower || ends_run {
                words.push(lower(&chars[start..at]));
                start = at;
            }
        }
        if start < chars.len() {
            words.push(lower(&chars[start..]));
        }
    }
    words
}

fn lower(chars: &[char]) -> String {
    chars.iter().flat_map(|c| c.to_lowercase()).collect()
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// Words joined so that the result is an identifier: it does not begin with a digit, nor is it
/// empty.
fn joined(words: &[String], separator: &str) -> String {
    let name = words.join(separator);
    match name.chars().next() {
        None => "unnamed".to_owned(),
        Some(first) if first.is_numeric() => format!("_{name}"),
        Some(_) => name,
    }
}

/// `foo_bar`.
pub(crate) fn snake(name: &str) -> String {
    joined(&words(name), "_")
}

/// `FOO_BAR`.
pub(crate) fn screaming(name: &str) -> String {
    snake(name).to_uppercase()
}

/// `FooBar`. A name that is written like this already stays as it is, acronyms included.
pub(crate) fn camel(name: &str) -> String {
    if name.starts_with(char::is_uppercase) && name.chars().all(char::is_alphanumeric) {
        return name.to_owned();
    }
    let words: Vec<String> = words(name).iter().map(|word| capitalized(word)).collect();
    capitalized(&joined(&words, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_writing_a_name_becomes_the_one_asked_for() {
        for (name, snake_case, camel_case) in [
            ("foo", "foo", "Foo"),
            ("fooBar", "foo_bar", "FooBar"),
            ("FooBar", "foo_bar", "FooBar"),
            ("foo_bar", "foo_bar", "FooBar"),
            ("FOO_BAR", "foo_bar", "FooBar"),
            ("HTTPServer", "http_server", "HTTPServer"),
            ("getURL", "get_url", "GetUrl"),
            ("f300", "f300", "F300"),
            ("echo_i32", "echo_i32", "EchoI32"),
            ("utf8Name", "utf8_name", "Utf8Name"),
            ("_leading", "leading", "Leading"),
            ("_1st", "_1st", "_1st"),
            ("__", "unnamed", "Unnamed"),
            ("my-file", "my_file", "MyFile"),
        ] {
            assert_eq!(snake(name), snake_case, "{name}");
            assert_eq!(camel(name), camel_case, "{name}");
            assert_eq!(screaming(name), snake_case.to_uppercase(), "{name}");
        }
    }
}

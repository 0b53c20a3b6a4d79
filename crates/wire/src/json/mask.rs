//! Paths of a `google.protobuf.FieldMask`: `foo_bar.baz` in a message, `fooBar.baz` in JSON.

/// The path that JSON's form stands for; `None` where it has a `_`.
pub(super) fn to_path(text: &str) -> Option<String> {
    let mut path = String::with_capacity(text.len() + 4);
    for letter in text.chars() {
        match letter {
            '_' => return None,
            'A'..='Z' => {
                path.push('_');
                path.push(letter.to_ascii_lowercase());
            }
            _ => path.push(letter),
        }
    }
    Some(path)
}

/// JSON's form of a path; `None` for one that JSON would give back as another one.
pub(super) fn from_path(path: &str) -> Option<String> {
    let text: String = super::camel_case(path).collect();
    (to_path(&text).as_deref() == Some(path)).then_some(text)
}

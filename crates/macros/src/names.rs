//! From Rust's way of writing names to that of contracts, and what types are called.

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::{GenericArgument, PathArguments, PathSegment, Type};

/// `foo_bar` for `FooBar`; `http_server` for `HTTPServer`.
pub(crate) fn snake(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (at, c) in chars.iter().enumerate() {
        let after_lower = at > 0 && !chars[at - 1].is_uppercase() && chars[at - 1] != '_';
        let ends_run = at > 0
            && chars[at - 1] != '_'
            && chars.get(at + 1).is_some_and(|next| next.is_lowercase());
        if c.is_uppercase() && (after_lower || ends_run) {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

/// `FOO_BAR`.
pub(crate) fn screaming(name: &str) -> String {
    snake(name).to_uppercase()
}

/// An identifier without `r#`, which no contract knows.
pub(crate) fn plain(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// The last part of a type's path: `Vec<T>` of `std::vec::Vec<T>`. Macros see no more of a type
/// than how it is written.
pub(crate) fn last(ty: &Type) -> Option<&PathSegment> {
    match ty {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        Type::Group(group) => last(&group.elem),
        Type::Paren(inner) => last(&inner.elem),
        _ => None,
    }
}

/// Whether this is how a type is called.
pub(crate) fn is_called(ty: &Type, name: &str) -> bool {
    last(ty).is_some_and(|segment| segment.ident == name)
}

/// The types between the angle brackets of one.
pub(crate) fn arguments(ty: &Type) -> Vec<&Type> {
    let Some(PathArguments::AngleBracketed(list)) = last(ty).map(|segment| &segment.arguments)
    else {
        return Vec::new();
    };
    let types = list.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_contracts() {
        for (name, expected) in [
            ("Foo", "foo"),
            ("FooBar", "foo_bar"),
            ("foo_bar", "foo_bar"),
            ("HTTPServer", "http_server"),
            ("GetURL", "get_url"),
            ("Utf8Name", "utf8_name"),
        ] {
            assert_eq!(snake(name), expected);
            assert_eq!(screaming(name), expected.to_uppercase());
        }
    }
}

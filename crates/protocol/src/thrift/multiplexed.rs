//! Several services on one connection: the name of a call is `service:method`, that of its reply
//! `method`.

use crate::Name;

const SEPARATOR: char = ':';

/// The service, if the name has one, and the method.
pub(crate) fn split(name: Name) -> (Option<Name>, Name) {
    match name.as_str().split_once(SEPARATOR) {
        Some((service, method)) => (Some(Name::new(service)), Name::new(method)),
        None => (None, name),
    }
}

/// The name of a call.
pub(crate) fn join(service: &str, method: &str) -> Name {
    Name::new(&format!("{service}{SEPARATOR}{method}"))
}

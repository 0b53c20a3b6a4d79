/// The position of the reader: the token that it expects before the next value or field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing: the whole value, a field's value, or an element of which the comma is read.
    Alone,
    /// In a list, before the first element, or after another.
    FirstElement,
    Element,
    /// In a map that is an object, before the first entry, or after another.
    FirstEntry,
    Entry,
    /// Before a key of which the comma is read.
    Key,
    /// Before the value behind a key.
    Value,
    /// In a map that is a list of pairs, before the first pair, or after the value of another.
    FirstPair,
    Pair,
    /// Before a key of which the bracket is read.
    First,
    /// Before the value behind it.
    Second,
    /// In a struct, before the first field, or after a field's value.
    FirstField,
    Field,
    /// In a struct that is the value of its one field, before and after that.
    Bare,
    BareEnd,
    /// In a field mask, before its one field, and among the paths in it.
    Mask,
    Paths,
}

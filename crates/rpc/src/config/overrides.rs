//! Values that administrators set while a program runs, above those of its file. They are gone with
//! the program.

use super::keys::join;
use crate::{Code, Status};
use std::collections::BTreeMap;
use toml_edit::{DocumentMut, InlineTable, Item, Key, TableLike, Value};

/// Tables that only the file changes: they say who may do what, also with this.
const GUARDED: [&str; 3] = ["admin", "authentication", "permissions"];

/// The most names on the way to a key.
const MAX_NAMES: usize = 8;

/// The values, by the paths of their keys.
#[derive(Clone, Default)]
pub(super) struct Overrides(BTreeMap<String, Override>);

#[derive(Clone)]
struct Override {
    /// The names on the way to the key.
    names: Vec<String>,
    value: Value,
    by: String,
}

impl Overrides {
    /// Sets a key, or takes its value back. A value that TOML does not know is a text.
    pub(super) fn set(&mut self, key: &str, value: Option<&str>, by: &str) -> Result<(), Status> {
        let none = |why: &str| Status::invalid_argument(format!("`{key}` is no key: {why}"));
        let names = Key::parse(key).map_err(|error| none(error.message()))?;
        if names.len() > MAX_NAMES {
            return Err(none("it has too many names"));
        }
        let names: Vec<_> = names.iter().map(|name| name.get().to_owned()).collect();
        if names
            .first()
            .is_some_and(|name| GUARDED.contains(&name.as_str()))
        {
            let what = format!("`{key}` says who may do what: change it in the file");
            return Err(Status::new(Code::FailedPrecondition, what));
        }
        let path = names
            .iter()
            .fold(String::new(), |path, name| join(&path, name));
        let Some(value) = value else {
            let missing = || Status::invalid_argument(format!("no value of `{key}` was set"));
            return self.0.remove(&path).map(drop).ok_or_else(missing);
        };
        let begins = |one: &[String], other: &[String]| one != other && one.starts_with(other);
        let mut others = self.0.iter();
        let other =
            others.find(|(_, set)| begins(&set.names, &names) || begins(&names, &set.names));
        if let Some((other, _)) = other {
            let what = format!("`{other}` was set: take its value back first");
            return Err(Status::new(Code::FailedPrecondition, what));
        }
        let value = value.parse().unwrap_or_else(|_| Value::from(value));
        let by = by.to_owned();
        self.0.insert(path, Override { names, value, by });
        Ok(())
    }

    /// Returns the name of the administrator who has set a key.
    pub(super) fn by(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(|set| set.by.as_str())
    }

    /// Returns a text with these values in it, and whether it has any.
    pub(super) fn over(&self, text: &str) -> (String, bool) {
        // A text that is no TOML is refused by those who read it.
        let document = text.parse::<DocumentMut>().ok();
        let document = document.filter(|_| !self.0.is_empty());
        let Some(mut document) = document else {
            return (text.to_owned(), false);
        };
        for set in self.0.values() {
            put(document.as_table_mut(), &set.names, &set.value);
        }
        (document.to_string(), true)
    }
}

/// Puts a value into a table, or a table within it. A name on the way that is no table becomes one:
/// those who read the text refuse it.
fn put(table: &mut dyn TableLike, names: &[String], value: &Value) {
    let [name, inner @ ..] = names else {
        return;
    };
    if inner.is_empty() {
        table.insert(name, Item::Value(value.clone()));
        return;
    }
    let item = table.entry(name).or_insert(Item::None);
    if !item.is_table_like() {
        *item = Item::Value(Value::InlineTable(InlineTable::new()));
    }
    if let Some(table) = item.as_table_like_mut() {
        put(table, inner, value);
    }
}

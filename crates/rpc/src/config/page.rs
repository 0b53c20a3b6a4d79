//! The keys, for readers and for editors.

use super::Read;
use super::keys::{Key, Section, Set, join};
use super::overrides::Overrides;
use super::{channels, quotas, sessions, settings};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Returns the reference of all keys in Markdown.
pub fn reference() -> String {
    let mut text = String::new();
    for section in settings::SECTIONS {
        tabulate(&mut text, section, section.path);
    }
    for section in quotas::SECTIONS {
        tabulate(&mut text, section, "quotas.NAME");
    }
    for section in sessions::SECTIONS {
        tabulate(&mut text, section, "sessions.NAME");
    }
    for section in channels::SECTIONS {
        tabulate(&mut text, section, "channels.NAME");
    }
    text
}

fn tabulate<D>(text: &mut String, section: &Section<D>, path: &str) {
    let _ = write!(
        text,
        "### `[{path}]`\n\n{}\n\n| key | value | default | |\n|---|---|---|---|\n",
        section.doc
    );
    for key in section.keys {
        let live = match key.live {
            true => " ⟳",
            false => "",
        };
        let default = match key.default.starts_with(['"', '[', '{', 't', 'f']) || is_number(key) {
            true => format!("`{}`", key.default),
            false => key.default.to_owned(),
        };
        let _ = writeln!(
            text,
            "| `{}`{live} | {} | {default} | {} |",
            key.name,
            key.set.kind(),
            key.doc
        );
    }
    text.push('\n');
}

fn is_number<D>(key: &Key<D>) -> bool {
    key.default.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns a JSON Schema (draft 2020-12) of configurations, for editors.
pub fn schema() -> Value {
    let mut root = object("The configuration of a process with Dovetail.");
    for section in settings::SECTIONS {
        let mut place = &mut root;
        for name in section.path.split('.') {
            place = property(place, name);
        }
        fill(place, section);
    }
    name(
        &mut root,
        "quotas",
        "Calls that are let through, by name.",
        quotas::SECTIONS,
    );
    name(
        &mut root,
        "sessions",
        "Sessions of services, by name.",
        sessions::SECTIONS,
    );
    name(
        &mut root,
        "channels",
        "Channels to other servers by name.",
        channels::SECTIONS,
    );
    if let Some(root) = root.as_object_mut() {
        let draft = json!("https://json-schema.org/draft/2020-12/schema");
        root.insert("$schema".to_owned(), draft);
    }
    root
}

/// Adds a table of tables with names of the user's.
fn name<D>(root: &mut Value, table: &str, description: &str, sections: &[Section<D>]) {
    let mut each = object("");
    for section in sections {
        fill(&mut each, section);
    }
    root["properties"][table] = json!({
        "type": "object",
        "description": description,
        "additionalProperties": each,
    });
}

fn object(description: &str) -> Value {
    json!({
        "type": "object",
        "description": description,
        "properties": {},
        "additionalProperties": false,
    })
}

/// The property of this name, which is made where it is not there.
fn property<'a>(of: &'a mut Value, name: &str) -> &'a mut Value {
    let properties = &mut of["properties"];
    if properties.get(name).is_none() {
        properties[name] = object("");
    }
    &mut properties[name]
}

fn fill<D>(place: &mut Value, section: &Section<D>) {
    place["description"] = json!(section.doc);
    for key in section.keys {
        let mut value = kind(&key.set);
        value.insert("description".to_owned(), json!(key.doc));
        place["properties"][key.name] = Value::Object(value);
    }
}

fn kind<D>(set: &Set<D>) -> Map<String, Value> {
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let value = match set {
        Set::Count(_) => json!({ "type": "integer", "minimum": 0 }),
        Set::Bytes(_) => json!({ "type": ["integer", "string"] }),
        Set::Flag(_) => json!({ "type": "boolean" }),
        Set::Time(_) => json!({ "type": "string", "pattern": "^[0-9.]+ *(us|ms|s|m|h|d)$" }),
        Set::Text(_) | Set::File(_) => json!({ "type": "string" }),
        Set::Texts(_) => texts,
        Set::Word(words, _) => json!({ "enum": words }),
        Set::Map(_) => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        Set::Lists(_) => json!({ "type": "object", "additionalProperties": texts }),
    };
    match value {
        Value::Object(value) => value,
        _ => Map::new(),
    }
}

/// Returns all keys with their values: those of the file, those that administrators have set, and
/// the defaults of the others as comments.
pub(super) fn show(read: &Read, set: &Overrides) -> String {
    let mut text = String::new();
    let page = &mut Shown {
        text: &mut text,
        read,
        set,
    };
    for section in settings::SECTIONS {
        page.section(section, section.path);
    }
    for name in read.quotas.keys() {
        for section in quotas::SECTIONS {
            page.section(section, &format!("quotas.{name}"));
        }
    }
    for name in read.sessions.keys() {
        for section in sessions::SECTIONS {
            page.section(section, &format!("sessions.{name}"));
        }
    }
    for name in read.channels.keys() {
        for section in channels::SECTIONS {
            page.section(section, &format!("channels.{name}"));
        }
    }
    text
}

/// The page that is written.
struct Shown<'a> {
    text: &'a mut String,
    read: &'a Read,
    set: &'a Overrides,
}

impl Shown<'_> {
    fn section<D>(&mut self, section: &Section<D>, path: &str) {
        let is_there = self.read.places.contains_key(path);
        let mark = if is_there { "" } else { "# " };
        let _ = writeln!(self.text, "{mark}[{path}]");
        for key in section.keys {
            let place = join(path, key.name);
            let _ = match (self.read.value(&place), self.set.by(&place)) {
                (Some(value), Some(by)) => {
                    writeln!(
                        self.text,
                        "{} = {value} # set at runtime by {by:?}",
                        key.name
                    )
                }
                (Some(value), None) => writeln!(self.text, "{} = {value}", key.name),
                (None, _) => writeln!(self.text, "# {} = {}", key.name, key.default),
            };
        }
        self.text.push('\n');
    }
}

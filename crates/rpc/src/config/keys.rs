//! Keys as data: one table says how a value is read, documented, and checked by editors.

use super::document::{Problem, Span};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A table of a configuration. Its values go into a `D`.
pub(super) struct Section<D: 'static> {
    /// The path: `server.limits`.
    pub(super) path: &'static str,
    pub(super) doc: &'static str,
    pub(super) keys: &'static [Key<D>],
}

/// A key of a section.
pub(super) struct Key<D: 'static> {
    pub(super) name: &'static str,
    /// The default value as a file would have it, or words if no value stands for it.
    pub(super) default: &'static str,
    pub(super) doc: &'static str,
    /// True if a reload changes it.
    pub(super) live: bool,
    pub(super) set: Set<D>,
}

impl<D> Key<D> {
    /// Makes a key whose change takes a restart.
    pub(super) const fn new(
        name: &'static str,
        default: &'static str,
        doc: &'static str,
        set: Set<D>,
    ) -> Self {
        Key {
            name,
            default,
            doc,
            live: false,
            set,
        }
    }

    /// Makes a key that a reload changes.
    pub(super) const fn live(
        name: &'static str,
        default: &'static str,
        doc: &'static str,
        set: Set<D>,
    ) -> Self {
        let key = Self::new(name, default, doc, set);
        Key { live: true, ..key }
    }
}

/// The kind of a value, with the function that takes one. An error is about the value.
pub(super) enum Set<D> {
    /// A number.
    Count(fn(&mut D, usize)),
    /// A number of bytes: `4096`, `"64 MiB"`.
    Bytes(fn(&mut D, usize)),
    /// A time: `"30s"`.
    Time(fn(&mut D, Duration)),
    Flag(fn(&mut D, bool)),
    Text(fn(&mut D, String) -> Result<(), String>),
    Texts(fn(&mut D, Vec<String>) -> Result<(), String>),
    /// A path, from the folder of the configuration on.
    File(fn(&mut D, PathBuf)),
    /// One of some words.
    Word(&'static [&'static str], fn(&mut D, &'static str)),
    /// Texts by name.
    Map(fn(&mut D, BTreeMap<String, String>) -> Result<(), String>),
    /// Lists of texts by name.
    Lists(fn(&mut D, Lists) -> Result<(), String>),
}

/// Lists of texts by name.
pub(super) type Lists = BTreeMap<String, Vec<String>>;

impl<D> Set<D> {
    /// Returns the kind in words.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Set::Count(_) => "a number",
            Set::Bytes(_) => "a number of bytes, or a text such as \"64 MiB\"",
            Set::Time(_) => "a time such as \"30s\", \"5m\" or \"250ms\"",
            Set::Flag(_) => "true or false",
            Set::Text(_) => "a text",
            Set::Texts(_) => "a list of texts",
            Set::File(_) => "a path",
            Set::Word(..) => "a word",
            Set::Map(_) => "a table of texts",
            Set::Lists(_) => "a table of lists of texts",
        }
    }
}

/// Reads tables, and collects all problems.
pub(super) struct Reader<'a> {
    /// Paths of files begin here.
    pub(super) folder: &'a Path,
    pub(super) problems: Vec<Problem>,
    /// Places of the keys that were read, by path.
    pub(super) places: BTreeMap<String, Span>,
    /// The values of these keys, each on one line.
    pub(super) values: BTreeMap<String, String>,
}

impl Reader<'_> {
    fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Reads a table and the tables in it. `path` is relative to `base`, as in `sections`.
    pub(super) fn table<D>(
        &mut self,
        into: &mut D,
        sections: &[Section<D>],
        base: &str,
        path: &str,
        table: &DeTable<'_>,
    ) {
        let section = sections.iter().find(|section| section.path == path);
        let keys = section.map_or(&[][..], |section| section.keys);
        for (name, value) in table {
            let inner = join(path, name.get_ref());
            let place = join(base, &inner);
            self.places.insert(place.clone(), value.span());
            let begins = |section: &Section<D>| {
                let behind = section.path.strip_prefix(inner.as_str());
                behind.is_some_and(|behind| behind.is_empty() || behind.starts_with('.'))
            };
            let key = keys.iter().find(|key| key.name == name.get_ref());
            match (key, value.get_ref()) {
                (Some(key), _) => {
                    self.values.insert(place, line(value.get_ref()));
                    self.value(into, key, value);
                }
                (None, DeValue::Table(table)) if sections.iter().any(begins) => {
                    self.table(into, sections, base, &inner, table);
                }
                (None, _) if sections.iter().any(begins) => {
                    let what = format!("`{}` is a table", name.get_ref());
                    self.problem(Problem::new(value.span(), what));
                }
                (None, _) => {
                    let known = keys.iter().map(|key| key.name);
                    let tables = sections
                        .iter()
                        .filter_map(|section| child(section.path, path));
                    self.unknown(name, &join(base, path), known.chain(tables).collect());
                }
            }
        }
    }

    /// Notes an unknown key.
    pub(super) fn unknown(
        &mut self,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        path: &str,
        mut known: Vec<&str>,
    ) {
        known.sort_unstable();
        known.dedup();
        let likeness = |known| (strsim::jaro_winkler(known, name.get_ref()), known);
        let closest = known.iter().copied().map(likeness);
        let closest = closest.max_by(|(a, _), (b, _)| a.total_cmp(b));
        let place = match path {
            "" => "the file".to_owned(),
            path => format!("[{path}]"),
        };
        let problem = Problem::new(name.span(), format!("{place} has no `{}`", name.get_ref()));
        self.problem(match closest.filter(|(likeness, _)| *likeness > 0.8) {
            Some((_, close)) => problem.help(format!("did you mean `{close}`?")),
            None => problem.help(format!("there are: {}", known.join(", "))),
        });
    }

    fn value<D>(&mut self, into: &mut D, key: &Key<D>, value: &Spanned<DeValue<'_>>) {
        let wrong = || {
            let what = format!("`{}` is {}", key.name, key.set.kind());
            Problem::new(value.span(), what)
        };
        let problem = |why: String| Problem::new(value.span(), why);
        let (text, whole) = (value.get_ref().as_str(), number(value.get_ref()));
        let read = match &key.set {
            Set::Count(set) => whole.map(|count| set(into, count)).ok_or_else(wrong),
            Set::Bytes(set) => {
                let bytes = whole.or_else(|| bytes(text?));
                bytes.map(|bytes| set(into, bytes)).ok_or_else(wrong)
            }
            Set::Time(set) => {
                let time = text.and_then(time);
                time.map(|time| set(into, time)).ok_or_else(wrong)
            }
            Set::Flag(set) => {
                let flag = value.get_ref().as_bool();
                flag.map(|flag| set(into, flag)).ok_or_else(wrong)
            }
            Set::Text(set) => text
                .ok_or_else(wrong)
                .and_then(|text| set(into, text.to_owned()).map_err(problem)),
            Set::Texts(set) => texts(value.get_ref())
                .ok_or_else(wrong)
                .and_then(|texts| set(into, texts).map_err(problem)),
            Set::File(set) => text
                .map(|text| set(into, self.folder.join(text)))
                .ok_or_else(wrong),
            Set::Word(words, set) => {
                let word = words.iter().find(|word| Some(**word) == text);
                word.map(|word| set(into, word)).ok_or_else(|| {
                    let words = words.join("`, `");
                    wrong().help(format!("one of: `{words}`"))
                })
            }
            Set::Map(set) => map(value.get_ref(), |value| Some(value.as_str()?.to_owned()))
                .ok_or_else(wrong)
                .and_then(|map| set(into, map).map_err(problem)),
            Set::Lists(set) => map(value.get_ref(), texts)
                .ok_or_else(wrong)
                .and_then(|map| set(into, map).map_err(problem)),
        };
        if let Err(problem) = read {
            self.problem(problem);
        }
    }
}

pub(super) fn join(path: &str, name: &str) -> String {
    match (path, name) {
        ("", name) => name.to_owned(),
        (path, "") => path.to_owned(),
        (path, name) => format!("{path}.{name}"),
    }
}

/// Returns the name of the next table on the way to a path.
fn child<'a>(path: &'a str, of: &str) -> Option<&'a str> {
    let behind = match of {
        "" => path,
        of => path.strip_prefix(of)?.strip_prefix('.')?,
    };
    behind.split('.').next().filter(|name| !name.is_empty())
}

/// Writes a value on one line.
fn line(value: &DeValue<'_>) -> String {
    let text = |text: &str| toml::Value::from(text).to_string();
    match value {
        DeValue::String(value) => text(value),
        DeValue::Integer(value) => {
            let number = i64::from_str_radix(value.as_str(), value.radix());
            number.map_or_else(|_| value.as_str().to_owned(), |number| number.to_string())
        }
        DeValue::Float(value) => value.as_str().to_owned(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(value) => value.to_string(),
        DeValue::Array(items) => {
            let items = items.iter().map(|item| line(item.get_ref()));
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        DeValue::Table(entries) => {
            let entries = entries.iter().map(|(name, value)| {
                format!("{} = {}", text(name.get_ref()), line(value.get_ref()))
            });
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

fn number(value: &DeValue<'_>) -> Option<usize> {
    let number = value.as_integer()?;
    usize::from_str_radix(number.as_str(), number.radix()).ok()
}

fn texts(value: &DeValue<'_>) -> Option<Vec<String>> {
    let items = value.as_array()?.iter();
    items
        .map(|item| Some(item.get_ref().as_str()?.to_owned()))
        .collect()
}

fn map<T>(
    value: &DeValue<'_>,
    read: impl Fn(&DeValue<'_>) -> Option<T>,
) -> Option<BTreeMap<String, T>> {
    let entries = value.as_table()?.iter();
    entries
        .map(|(name, value)| Some((name.get_ref().to_string(), read(value.get_ref())?)))
        .collect()
}

/// Splits `64 MiB` into its number and its unit.
fn quantity(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    Some((number.parse().ok()?, unit.trim()))
}

fn bytes(text: &str) -> Option<usize> {
    let (number, unit) = quantity(text)?;
    let unit: u32 = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return None,
    };
    let bytes = number * f64::from(unit);
    // Beyond this a number is not exact any more.
    (bytes < (1_u64 << 53) as f64).then_some(bytes as usize)
}

fn time(text: &str) -> Option<Duration> {
    let (number, unit) = quantity(text)?;
    let seconds = number
        * match unit {
            "us" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return None,
        };
    Duration::try_from_secs_f64(seconds).ok()
}

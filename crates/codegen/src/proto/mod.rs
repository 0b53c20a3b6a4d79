//! A contract in protobuf's language: what
//! [`docs/proto.md`](https://github.com/dovetail-rpc/dovetail) calls a `.proto` file.
//!
//! A contract that came from such a file is the same one once it is written and read again. One in
//! another language becomes the file with which gRPC's own libraries call its services: its numbers
//! are what is on the wire. Constants and annotations, which are not, are left out, but for
//! permissions, which are options.

mod buf;
mod dialect;
mod enums;
mod fields;
mod messages;
mod names;
mod services;
mod types;

use crate::export::{Problems, file_name, files};
use crate::scope::Scope;
use crate::{File, Unsupported};
use dialect::Dialect;
use dovetail_schema::{Package, PackageId, Schema, ServiceId, TypeDef, TypeId};
use names::Names;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// How the names of a contract are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// As they are.
    #[default]
    Contract,
    /// As the default rules of `buf lint` want them, with version 1 of the package: servers of the
    /// contract answer to both. In JSON fields have the names of the contract. A contract of
    /// protobuf's cannot be written so.
    Buf,
}

impl Style {
    fn field(self, name: &str) -> Cow<'_, str> {
        match self {
            Style::Contract => name.into(),
            Style::Buf => buf::snake(name).into(),
        }
    }
}

/// Writes a contract: one file for each package, in the order of the schema, all for one folder.
/// Files that every compiler of the language brings, those of `google/protobuf`, are not among
/// them.
///
/// # Errors
///
/// Everything in it that a `.proto` file cannot say.
pub fn write(schema: &Schema) -> Result<Vec<File>, Vec<Unsupported>> {
    write_in(schema, Style::Contract)
}

/// Writes a contract with names in a style. In [`Style::Buf`] the files lie in folders that are
/// called as their packages.
///
/// # Errors
///
/// Everything in it that a `.proto` file cannot say.
pub fn write_in(schema: &Schema, style: Style) -> Result<Vec<File>, Vec<Unsupported>> {
    let problems = Problems::default();
    let schema = match style {
        Style::Contract => Cow::Borrowed(schema),
        Style::Buf => Cow::Owned(buf::restyled(schema, &problems)),
    };
    let mut files = files(&schema, problems, |id, problems| {
        let included = schema.root() != Some(id);
        if included && built_in(&schema[id]).is_some() {
            return None;
        }
        Some(Writer::new(&schema, id, problems, style).file())
    })?;
    let import = format!("import \"{OPTIONS}\";\n");
    if files.iter().any(|file| file.text.contains(&import)) {
        // Other compilers do not know it.
        let text = dovetail_schema::OPTIONS_PROTO.to_owned();
        let path = OPTIONS.to_owned();
        files.insert(0, File { path, text });
    }
    Ok(files)
}

/// The path of the file that declares Dovetail's options.
const OPTIONS: &str = "dovetail/v1/options.proto";

/// The path of a file that comes with the compiler, or of the one with Dovetail's options.
fn built_in(package: &Package) -> Option<&str> {
    let built_in = ["google/protobuf/", OPTIONS];
    let start = built_in.iter().find_map(|path| package.path.find(path))?;
    package.path.get(start..).filter(|_| package.messages)
}

/// A file in the making.
struct Writer<'a> {
    schema: &'a Schema,
    id: PackageId,
    package: &'a Package,
    problems: &'a Problems,
    dialect: Dialect,
    style: Style,
    names: Names<'a>,
    /// Enums that stand in a message of their own.
    enclosed: BTreeSet<TypeId>,
    /// Structs that others extend, and these.
    extended: BTreeSet<TypeId>,
    /// The names of the file's own definitions.
    scope: RefCell<Scope>,
    imports: RefCell<BTreeSet<String>>,
    /// Messages that the contract does not have, for what a field cannot be: what is in them, and
    /// their names.
    wrappers: RefCell<Vec<(String, String)>>,
    /// Messages of methods that have been written: service, method, and how their names end.
    calls: RefCell<BTreeMap<(ServiceId, String, &'static str), String>>,
}

impl<'a> Writer<'a> {
    fn new(schema: &'a Schema, id: PackageId, problems: &'a Problems, style: Style) -> Self {
        Writer {
            schema,
            id,
            package: &schema[id],
            problems,
            dialect: Dialect::of(schema, id),
            style,
            names: Names::new(schema, id),
            enclosed: enums::enclosed(schema),
            extended: schema.families().into_values().flatten().collect(),
            scope: RefCell::default(),
            imports: RefCell::default(),
            wrappers: RefCell::default(),
            calls: RefCell::default(),
        }
    }

    /// The path by which others import the file of a package.
    fn path(&self, package: &Package) -> String {
        let own = || match self.style {
            Style::Contract => format!("{}.proto", file_name(package)),
            Style::Buf => package.path.clone(),
        };
        built_in(package).map_or_else(own, str::to_owned)
    }

    fn refuse(&self, what: &str, at: &str) {
        self.problems.refuse(what, at);
    }

    fn file(&self) -> File {
        self.claim_names();
        let mut parts = self.definitions("", "");
        for (index, service) in self.schema.services.iter().enumerate() {
            if service.package == self.id {
                parts.extend(self.service(ServiceId(index as u32)));
            }
        }
        let wrappers = self.wrappers.borrow();
        let wrapper = |(body, name): &(String, String)| block("message", name, body, "");
        parts.extend(wrappers.iter().map(wrapper));
        // Only now it is known what is imported.
        parts.insert(0, self.header());
        File {
            path: self.path(self.package),
            text: parts.join("\n"),
        }
    }

    /// Names on the wire stay: services, messages, by which gRPC tells exceptions apart, and values
    /// of enums, which JSON names.
    fn claim_names(&self) {
        let services = self.schema.services.iter();
        let services = services.filter(|service| service.package == self.id);
        let names = services.map(|service| service.name.as_str());
        for name in names.chain(self.names.at("").map(|(name, _)| name)) {
            if self.scope.borrow().contains(name) {
                self.refuse("types and services have different names in protobuf", name);
            }
            self.scope.borrow_mut().claim(name);
        }
        for name in self.open_values() {
            self.scope.borrow_mut().claim(&name);
        }
    }

    fn header(&self) -> String {
        let doc = comment(self.package.doc.as_deref(), &[], "");
        let name = self.package.name.as_str();
        let statement = self.dialect.statement();
        let mut text = match name {
            "" => format!("{doc}{statement}\n"),
            _ => {
                name.split('.').for_each(|part| self.identifier(part));
                format!("{statement}\n\n{doc}package {name};\n")
            }
        };
        let includes = self
            .package
            .includes
            .iter()
            .map(|id| self.path(&self.schema[*id]));
        let includes: Vec<String> = includes.collect();
        let used = self.imports.borrow();
        // Those of another language may be there for constants alone, or for nothing.
        let written = includes
            .iter()
            .filter(|path| self.package.messages || used.contains(*path));
        let more = used.iter().filter(|path| !includes.contains(path));
        let lines: String = written
            .chain(more)
            .map(|path| format!("import \"{path}\";\n"))
            .collect();
        if !lines.is_empty() {
            text += &format!("\n{lines}");
        }
        text
    }

    /// Refuses what protobuf takes for no name.
    fn identifier(&self, name: &str) {
        let mut chars = name.chars();
        let first = chars
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        if !first || !chars.all(|c| c.is_ascii_alphanumeric() || c == '_') {
            self.refuse(
                "a name is of ASCII letters, digits and underscores in protobuf",
                name,
            );
        }
    }
}

/// `message Point { … }`, with what is in it on lines of their own.
fn block(word: &str, name: &str, body: &str, indent: &str) -> String {
    match body {
        "" => format!("{indent}{word} {name} {{}}\n"),
        _ => format!("{indent}{word} {name} {{\n{body}{indent}}}\n"),
    }
}

/// A comment that documents what follows, and what else is to be known of it.
fn comment(doc: Option<&str>, notes: &[String], indent: &str) -> String {
    let lines = doc
        .into_iter()
        .flat_map(str::lines)
        .chain(notes.iter().map(String::as_str));
    let line = |line| format!("{}\n", format!("{indent}// {line}").trim_end());
    lines.map(line).collect()
}

const DEPRECATED: &str = "option deprecated = true;\n";

/// The option of a type that is deprecated.
fn deprecated(def: &TypeDef, indent: &str) -> String {
    match def.deprecated {
        Some(_) => format!("{indent}{DEPRECATED}"),
        None => String::new(),
    }
}

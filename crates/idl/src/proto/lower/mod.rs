//! Descriptors to a [`Schema`]. It reads nothing else, so that descriptors from elsewhere (a plugin
//! of protobuf's compiler, reflection) can be lowered as well. `docs/proto.md` has the mapping.

mod field;
mod service;
pub(super) mod well_known;

pub(super) use service::{METHOD_PERMISSION, SERVICE_PERMISSION};

use super::descriptor::{self, File, FileSet, Message, OptionValue, Options};
use super::features::Features;
use super::symbols::join;
use super::syntax::below;
use dovetail_schema::{
    Annotations, EnumValue, Package, PackageId, Reserved, Schema, Struct, StructKind, Type,
    TypeDef, TypeId, TypeKind,
};
use std::collections::{BTreeSet, HashMap};

/// The schema of the last file and of all others whose types it uses.
pub(super) fn last(set: &FileSet) -> Schema {
    lower(set, set.files.len().checked_sub(1).into_iter().collect())
}

/// Returns the schema of all files with services; of the last one where there are none.
pub(super) fn all(set: &FileSet) -> Schema {
    let serves = |index: &usize| !set.files[*index].services.is_empty();
    let wanted: Vec<usize> = (0..set.files.len()).filter(serves).collect();
    match wanted.is_empty() {
        true => last(set),
        false => lower(set, wanted),
    }
}

/// Returns the schema of the files with these names.
pub(super) fn named(set: &FileSet, names: &[&str]) -> Schema {
    let files = set.files.iter().enumerate();
    let wanted = files.filter(|(_, file)| names.contains(&file.name.as_str()));
    lower(set, wanted.map(|(index, _)| index).collect())
}

/// The module of what a file defines: its package, else its name.
pub(super) fn module(file: &File) -> &str {
    match file.package.as_str() {
        "" => crate::source::stem(&file.name),
        package => package,
    }
}

fn lower(set: &FileSet, wanted: Vec<usize>) -> Schema {
    let used = used_files(set, wanted);
    let mut lowering = Lowering::default();
    let files: Vec<&File> = used
        .iter()
        .filter_map(|index| set.files.get(*index))
        .collect();
    for (index, file) in files.iter().enumerate() {
        lowering
            .packages
            .insert(&file.name, PackageId(index as u32));
        let scope = lowering.scope(file);
        lowering.collect(&file.messages, &scope);
        file.enums
            .iter()
            .for_each(|def| lowering.add(join("", &def.name), &scope));
    }
    for file in &files {
        lowering.file(file);
    }
    for file in &files {
        let scope = lowering.scope(file);
        lowering.extensions(&file.extensions, &file.messages, &scope);
    }
    lowering.schema
}

fn features_of(file: &File) -> Features {
    Features::of(file.edition).with(&file.options)
}

/// The surroundings of a definition.
#[derive(Clone, Copy)]
struct Scope<'a> {
    file: &'a File,
    package: PackageId,
    /// The name inside the package; empty for the file itself.
    name: &'a str,
    path: &'a [i32],
    features: Features,
}

#[derive(Default)]
struct Lowering<'a> {
    schema: Schema,
    packages: HashMap<&'a str, PackageId>,
    /// By absolute name, without the dot in front.
    types: HashMap<String, TypeId>,
    /// The entries of maps: key and value. They are no types of their own.
    entries: HashMap<String, &'a Message>,
    /// Their extensions have a form of their own on the wire, and stay unknown fields.
    message_sets: BTreeSet<TypeId>,
    /// The documentation of the current file, by path.
    comments: HashMap<Vec<i32>, String>,
}

impl<'a> Lowering<'a> {
    /// A whole file.
    fn scope<'f>(&self, file: &'f File) -> Scope<'f> {
        let package = self.packages.get(file.name.as_str()).copied();
        Scope {
            file,
            package: package.unwrap_or(PackageId(0)),
            name: "",
            path: &[],
            features: features_of(file),
        }
    }

    /// Gives every type its id, so that types can name each other in any order.
    fn collect(&mut self, messages: &'a [Message], scope: &Scope<'_>) {
        for message in messages {
            let name = join(scope.name, &message.name);
            let full = join(&scope.file.package, &name);
            if message.options.flag("map_entry") {
                self.entries.insert(full, message);
                continue;
            }
            if well_known::of(&full).is_some() {
                continue;
            }
            self.add(name.clone(), scope);
            let inner = Scope {
                name: &name,
                ..*scope
            };
            self.collect(&message.messages, &inner);
            message
                .enums
                .iter()
                .for_each(|def| self.add(join(&name, &def.name), &inner));
        }
    }

    fn add(&mut self, name: String, scope: &Scope<'_>) {
        let id = TypeId(self.schema.types.len() as u32);
        self.types.insert(join(&scope.file.package, &name), id);
        self.schema.types.push(TypeDef {
            package: scope.package,
            name,
            doc: None,
            annotations: Annotations::default(),
            deprecated: None,
            kind: TypeKind::Alias(Type::Bool),
        });
    }

    fn file(&mut self, file: &'a File) {
        self.comments = comments(file);
        let scope = self.scope(file);
        let includes = file
            .dependencies
            .iter()
            .filter_map(|name| self.packages.get(name.as_str()));
        let includes: Vec<PackageId> = includes.copied().collect();
        self.schema.packages.push(Package {
            name: file.package.clone(),
            path: file.name.clone(),
            doc: self
                .comments
                .get([12].as_slice())
                .or(self.comments.get([2].as_slice()))
                .cloned(),
            namespaces: [("rs".to_owned(), module(file).to_owned())].into(),
            includes,
            annotations: Annotations::default(),
            messages: true,
        });
        // Defaults name values of enums.
        self.enums(&file.enums, &scope, 5);
        self.inner_enums(&file.messages, &scope, 4);
        self.messages(&file.messages, &scope, 4);
        self.services(file, scope.package);
    }

    fn messages(&mut self, messages: &'a [Message], scope: &Scope<'_>, tag: i32) {
        for (at, message) in messages.iter().enumerate() {
            let name = join(scope.name, &message.name);
            let Some(id) = self.types.get(&join(&scope.file.package, &name)).copied() else {
                continue;
            };
            if message.options.flag("message_set_wire_format") {
                self.message_sets.insert(id);
            }
            let path = below(scope.path, tag, at);
            let features = scope.features.with(&message.options);
            let inner = Scope {
                name: &name,
                path: &path,
                features,
                ..*scope
            };
            let fields = self.fields(message, &inner);
            let kind = TypeKind::Struct(Struct {
                kind: StructKind::Struct,
                extends: None,
                fields,
                reserved: Reserved {
                    ids: message
                        .reserved_ranges
                        .iter()
                        .map(|(start, end)| (*start, end - 1))
                        .collect(),
                    names: message.reserved_names.clone(),
                },
            });
            self.define(id, kind, &path, &message.options);
            self.messages(&message.messages, &inner, 3);
        }
    }

    fn inner_enums(&mut self, messages: &[Message], scope: &Scope<'_>, tag: i32) {
        for (at, message) in messages.iter().enumerate() {
            let inner = Scope {
                name: &join(scope.name, &message.name),
                path: &below(scope.path, tag, at),
                features: scope.features.with(&message.options),
                ..*scope
            };
            self.enums(&message.enums, &inner, 4);
            self.inner_enums(&message.messages, &inner, 3);
        }
    }

    fn enums(&mut self, enums: &[descriptor::Enum], scope: &Scope<'_>, tag: i32) {
        for (at, def) in enums.iter().enumerate() {
            let full = join(&scope.file.package, &join(scope.name, &def.name));
            let Some(id) = self.types.get(&full).copied() else {
                continue;
            };
            let path = below(scope.path, tag, at);
            let value = |(at, value): (usize, &descriptor::EnumValue)| EnumValue {
                name: value.name.clone(),
                number: value.number,
                doc: self.comments.get(&below(&path, 2, at)).cloned(),
                annotations: Annotations::default(),
                deprecated: deprecated(&value.options),
            };
            let kind = TypeKind::Enum(dovetail_schema::Enum {
                values: def.values.iter().enumerate().map(value).collect(),
                closed: scope.features.with(&def.options).closed_enums,
                reserved: Reserved {
                    ids: def.reserved_ranges.clone(),
                    names: def.reserved_names.clone(),
                },
            });
            self.define(id, kind, &path, &def.options);
        }
    }

    fn define(&mut self, id: TypeId, kind: TypeKind, path: &[i32], options: &Options) {
        if let Some(def) = self.schema.types.get_mut(id.0 as usize) {
            def.kind = kind;
            def.doc = self.comments.get(path).cloned();
            def.deprecated = deprecated(options);
        }
    }
}

fn deprecated(options: &Options) -> Option<String> {
    is_set(options, "deprecated").then(String::new)
}

fn is_set(options: &Options, name: &str) -> bool {
    options.get(name).and_then(OptionValue::int) == Some(1)
}

/// The documentation of everything that has some, by path.
fn comments(file: &File) -> HashMap<Vec<i32>, String> {
    let documented = file.locations.iter().filter_map(|location| {
        let text = location.leading.as_ref().or(location.trailing.as_ref())?;
        Some((location.path.clone(), clean(text)))
    });
    documented.filter(|(_, text)| !text.is_empty()).collect()
}

/// A comment without the space that stands behind its marks.
fn clean(comment: &str) -> String {
    // `/**` and `///` leave one of their marks.
    let text = comment.strip_prefix(['*', '/']).unwrap_or(comment);
    let lines = text.lines().map(|line| {
        let line = line.strip_prefix('/').unwrap_or(line);
        line.strip_prefix(' ').unwrap_or(line).trim_end()
    });
    lines
        .collect::<Vec<_>>()
        .join("\n")
        .trim_matches('\n')
        .trim_end_matches(['*', ' ', '\n'])
        .to_owned()
}

/// The files whose types these use, directly or not, and these, in order.
fn used_files(set: &FileSet, wanted: Vec<usize>) -> BTreeSet<usize> {
    let mut home: HashMap<String, usize> = HashMap::new();
    for (index, file) in set.files.iter().enumerate() {
        let scope = file.package.as_str();
        file.enums.iter().for_each(|def| {
            home.insert(join(scope, &def.name), index);
        });
        homes(&file.messages, scope, index, &mut home);
    }
    let mut used = BTreeSet::new();
    let mut open = wanted;
    while let Some(index) = open.pop() {
        let Some(file) = set.files.get(index).filter(|_| used.insert(index)) else {
            continue;
        };
        let methods = file.services.iter().flat_map(|service| &service.methods);
        let mut names: Vec<&str> = methods
            .flat_map(|method| [method.input.as_str(), &method.output])
            .collect();
        field_types(&file.messages, &mut names);
        names.extend(extension_types(&file.extensions));
        let plain = names.into_iter().map(|name| name.trim_start_matches('.'));
        open.extend(
            plain
                .filter(|name| well_known::of(name).is_none())
                .filter_map(|name| home.get(name)),
        );
    }
    used
}

fn homes(messages: &[Message], scope: &str, index: usize, home: &mut HashMap<String, usize>) {
    for message in messages {
        let name = join(scope, &message.name);
        message.enums.iter().for_each(|def| {
            home.insert(join(&name, &def.name), index);
        });
        homes(&message.messages, &name, index, home);
        home.insert(name, index);
    }
}

/// Those of extensions of options are not needed: these are no messages of calls.
fn extension_types(extensions: &[descriptor::Field]) -> impl Iterator<Item = &str> {
    let options = |field: &&descriptor::Field| field.extendee.starts_with(".google.protobuf.");
    let extensions = extensions.iter().filter(move |field| !options(field));
    extensions.map(|field| field.type_name.as_str())
}

fn field_types<'a>(messages: &'a [Message], names: &mut Vec<&'a str>) {
    for message in messages {
        names.extend(message.fields.iter().map(|field| field.type_name.as_str()));
        names.extend(extension_types(&message.extensions));
        field_types(&message.messages, names);
    }
}

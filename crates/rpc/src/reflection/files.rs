//! Descriptors of files, found by what they say. Of `google/protobuf/descriptor.proto` only that is
//! read.

use dovetail_wire::{Bytes, DecodeError, message, protobuf};
use std::collections::BTreeMap;

/// Files, and where everything is.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    files: Vec<Bytes>,
    names: BTreeMap<String, usize>,
    symbols: BTreeMap<String, usize>,
    /// By the type that is extended, and the number.
    extensions: BTreeMap<(String, i32), usize>,
    services: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FileSet {
    pub(super) file: Vec<Bytes>,
}

message!(FileSet { 1 file: Vec<Bytes>, });

#[derive(Clone, Debug, Default, PartialEq)]
struct File {
    name: String,
    package: String,
    messages: Vec<MessageType>,
    enums: Vec<Named>,
    services: Vec<ServiceType>,
    extensions: Vec<Extension>,
}

message!(File {
    1 name: String,
    2 package: String,
    4 messages: Vec<MessageType>,
    5 enums: Vec<Named>,
    6 services: Vec<ServiceType>,
    7 extensions: Vec<Extension>,
});

#[derive(Clone, Debug, Default, PartialEq)]
struct MessageType {
    name: String,
    fields: Vec<Named>,
    nested: Vec<MessageType>,
    enums: Vec<Named>,
    extensions: Vec<Extension>,
}

message!(MessageType {
    1 name: String,
    2 fields: Vec<Named>,
    3 nested: Vec<MessageType>,
    4 enums: Vec<Named>,
    6 extensions: Vec<Extension>,
});

#[derive(Clone, Debug, Default, PartialEq)]
struct ServiceType {
    name: String,
    methods: Vec<Named>,
}

message!(ServiceType {
    1 name: String,
    2 methods: Vec<Named>,
});

#[derive(Clone, Debug, Default, PartialEq)]
struct Named {
    name: String,
}

message!(Named { 1 name: String, });

#[derive(Clone, Debug, Default, PartialEq)]
struct Extension {
    name: String,
    extendee: String,
    number: i32,
}

message!(Extension {
    1 name: String,
    2 extendee: String,
    3 number: i32,
});

impl Files {
    /// Adds the files of a set that are not there yet.
    pub(super) fn add(&mut self, set: &[u8]) -> Result<(), DecodeError> {
        let set: FileSet = protobuf::from_bytes(set)?;
        for bytes in set.file {
            let file: File = protobuf::from_bytes(&bytes)?;
            let number = self.files.len();
            if self.names.contains_key(&file.name) {
                continue;
            }
            self.files.push(bytes);
            self.index(&file, number);
            self.names.insert(file.name, number);
        }
        Ok(())
    }

    fn index(&mut self, file: &File, number: usize) {
        let scope = &file.package;
        self.messages(scope, &file.messages, number);
        self.named(scope, &file.enums, number);
        self.extensions(scope, &file.extensions, number);
        for service in &file.services {
            let name = self.symbol(scope, &service.name, number);
            self.named(&name, &service.methods, number);
            self.services.push(name);
        }
    }

    fn messages(&mut self, scope: &str, messages: &[MessageType], number: usize) {
        for message in messages {
            let name = self.symbol(scope, &message.name, number);
            self.named(&name, &message.fields, number);
            self.named(&name, &message.enums, number);
            self.extensions(&name, &message.extensions, number);
            self.messages(&name, &message.nested, number);
        }
    }

    fn extensions(&mut self, scope: &str, extensions: &[Extension], number: usize) {
        for extension in extensions {
            self.symbol(scope, &extension.name, number);
            let extendee = extension.extendee.trim_start_matches('.').to_owned();
            self.extensions.insert((extendee, extension.number), number);
        }
    }

    fn named(&mut self, scope: &str, all: &[Named], number: usize) {
        for named in all {
            self.symbol(scope, &named.name, number);
        }
    }

    /// Notes a name, and gives it in full.
    fn symbol(&mut self, scope: &str, name: &str, number: usize) -> String {
        let full = match scope {
            "" => name.to_owned(),
            scope => format!("{scope}.{name}"),
        };
        self.symbols.entry(full.clone()).or_insert(number);
        full
    }

    pub(super) fn by_name(&self, name: &str) -> Option<Bytes> {
        self.file(self.names.get(name))
    }

    /// The file that has this service, method, message, field, enum or extension.
    pub(super) fn with_symbol(&self, name: &str) -> Option<Bytes> {
        self.file(self.symbols.get(name))
    }

    pub(super) fn with_extension(&self, extendee: &str, number: i32) -> Option<Bytes> {
        let key = (extendee.to_owned(), number);
        self.file(self.extensions.get(&key))
    }

    fn file(&self, number: Option<&usize>) -> Option<Bytes> {
        self.files.get(*number?).cloned()
    }

    /// The numbers of the extensions of a message; `None` where that is not known.
    pub(super) fn extensions_of(&self, message: &str) -> Option<Vec<i32>> {
        self.symbols.get(message)?;
        let all = (message.to_owned(), i32::MIN)..=(message.to_owned(), i32::MAX);
        let numbers = self.extensions.range(all);
        Some(numbers.map(|((_, number), _)| *number).collect())
    }

    pub(super) fn services(&self) -> impl Iterator<Item = &str> {
        self.services.iter().map(String::as_str)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn named(name: &str) -> Named {
        let name = name.to_owned();
        Named { name }
    }

    fn extension(name: &str, number: i32) -> Extension {
        Extension {
            name: name.to_owned(),
            extendee: ".shop.Order".to_owned(),
            number,
        }
    }

    fn file(name: &str, package: &str) -> File {
        let line = MessageType {
            name: "Line".to_owned(),
            enums: vec![named("Kind")],
            extensions: vec![extension("inner", 7)],
            ..MessageType::default()
        };
        let order = MessageType {
            name: "Order".to_owned(),
            fields: vec![named("number")],
            nested: vec![line],
            ..MessageType::default()
        };
        File {
            name: name.to_owned(),
            package: package.to_owned(),
            messages: vec![order],
            enums: vec![named("Colour")],
            services: vec![ServiceType {
                name: "Orders".to_owned(),
                methods: vec![named("Place")],
            }],
            extensions: vec![extension("outer", 3)],
        }
    }

    fn files() -> Files {
        let all = [file("shop.proto", "shop"), file("bare.proto", "")];
        let file = all
            .iter()
            .map(|file| protobuf::to_bytes(file).unwrap().into());
        let set = FileSet {
            file: file.collect(),
        };
        let mut files = Files::default();
        files.add(&protobuf::to_bytes(&set).unwrap()).unwrap();
        files
    }

    #[test]
    fn everything_is_found_by_its_full_name() {
        let files = files();
        for (symbol, file) in [
            ("shop.Order", Some(0)),
            ("shop.Order.number", Some(0)),
            ("shop.Order.Line", Some(0)),
            ("shop.Order.Line.Kind", Some(0)),
            ("shop.Order.Line.inner", Some(0)),
            ("shop.Colour", Some(0)),
            ("shop.Orders", Some(0)),
            ("shop.Orders.Place", Some(0)),
            ("shop.outer", Some(0)),
            ("Order", Some(1)),
            ("Orders.Place", Some(1)),
            ("shop", None),
            ("Line", None),
            ("", None),
        ] {
            let found = file.map(|number: usize| files.files[number].clone());
            assert_eq!(files.with_symbol(symbol), found, "{symbol}");
        }
        assert!(files.by_name("bare.proto").is_some());
        assert!(files.by_name("shop").is_none());
        assert!(files.services().eq(["shop.Orders", "Orders"]));
        assert_eq!(files.extensions_of("shop.Order"), Some(vec![3, 7]));
        assert_eq!(files.extensions_of("shop.Order.Line"), Some(vec![]));
        assert_eq!(files.extensions_of("nobody"), None);
        assert!(files.with_extension("shop.Order", 7).is_some());
        assert!(files.with_extension("shop.Order", 8).is_none());
    }

    #[test]
    fn what_is_no_descriptor_is_refused() {
        for bytes in [&b"\x0a"[..], b"\x0a\x02\x0a\x09", b"\xff"] {
            assert!(Files::default().add(bytes).is_err(), "{bytes:?}");
        }
    }
}

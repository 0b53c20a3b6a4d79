//! Features: what an edition decides for a file, and options for parts of it. Older languages are
//! fixed choices of the same features.

use super::descriptor::{Edition, Field, File, Kind, Label, Options};
use super::walk;

/// The features of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Features {
    pub(super) presence: FieldPresence,
    pub(super) closed_enums: bool,
    pub(super) packed: bool,
    pub(super) utf8: bool,
    pub(super) delimited: bool,
    /// Names have to be distinct in JSON.
    pub(super) json: bool,
    /// Names have to follow the style guide.
    pub(super) style: bool,
    pub(super) exports: Exports,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldPresence {
    Explicit,
    Implicit,
    Required,
}

/// The definitions that other files may use, unless they say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exports {
    All,
    TopLevel,
    None,
    /// Nothing, and nested types cannot be exported at all.
    Strict,
}

impl Features {
    pub(super) fn of(edition: Edition) -> Features {
        let proto2 = edition == Edition::Proto2;
        let new = edition >= Edition::E2024;
        Features {
            presence: match edition {
                Edition::Proto3 => FieldPresence::Implicit,
                _ => FieldPresence::Explicit,
            },
            closed_enums: proto2,
            packed: !proto2,
            utf8: !proto2,
            delimited: false,
            json: !proto2,
            style: new,
            exports: if new { Exports::TopLevel } else { Exports::All },
        }
    }

    /// Applies these options to the features.
    pub(super) fn with(mut self, options: &Options) -> Features {
        let Some(features) = options.message("features") else {
            return self;
        };
        let number = |name| features.get(name).and_then(|value| value.int());
        match number("field_presence") {
            Some(1) => self.presence = FieldPresence::Explicit,
            Some(2) => self.presence = FieldPresence::Implicit,
            Some(3) => self.presence = FieldPresence::Required,
            _ => {}
        }
        // The number that a flag stands for, and its other one.
        let flag = |flag: &mut bool, name, yes, no| match number(name) {
            Some(value) if value == yes => *flag = true,
            Some(value) if value == no => *flag = false,
            _ => {}
        };
        flag(&mut self.closed_enums, "enum_type", 2, 1);
        flag(&mut self.packed, "repeated_field_encoding", 1, 2);
        flag(&mut self.utf8, "utf8_validation", 2, 3);
        flag(&mut self.delimited, "message_encoding", 2, 1);
        flag(&mut self.json, "json_format", 1, 2);
        flag(&mut self.style, "enforce_naming_style", 1, 2);
        match number("default_symbol_visibility") {
            Some(1) => self.exports = Exports::All,
            Some(2) => self.exports = Exports::TopLevel,
            Some(3) => self.exports = Exports::None,
            Some(4) => self.exports = Exports::Strict,
            _ => {}
        }
        self
    }

    /// The features in the scope around the element that `path` leads to.
    pub(super) fn around(file: &File, path: &[i32]) -> Features {
        let features = Features::of(file.edition).with(&file.options);
        let scopes = (2..path.len()).step_by(2);
        let messages = scopes.filter_map(|end| walk::message(file, path.get(..end)?));
        messages.fold(features, |features, message| {
            features.with(&message.options)
        })
    }

    /// Those of a field in this scope, with what older languages say by other means.
    pub(super) fn of_field(self, edition: Edition, field: &Field) -> Features {
        let mut features = self.with(&field.options);
        match field.label {
            Label::Required => features.presence = FieldPresence::Required,
            Label::Optional if field.proto3_optional => features.presence = FieldPresence::Explicit,
            _ => {}
        }
        if field.kind == Some(Kind::Group) {
            features.delimited = true;
        }
        if edition < Edition::E2023
            && let Some(packed) = field.options.get("packed").and_then(|value| value.int())
        {
            features.packed = packed == 1;
        }
        features
    }
}

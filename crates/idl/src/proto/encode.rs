//! Descriptors as bytes in protobuf's binary encoding, with the field numbers of
//! `google/protobuf/descriptor.proto`.

use super::descriptor::*;

impl FileSet {
    /// The bytes of a `google.protobuf.FileDescriptorSet`.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Out::default();
        out.messages(1, &self.files, file);
        out.bytes
    }
}

/// A message that is being written.
#[derive(Default)]
pub(super) struct Out {
    pub(super) bytes: Vec<u8>,
}

impl Out {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn tag(&mut self, number: i32, wire: u64) {
        self.varint((number as u64) << 3 | wire);
    }

    pub(super) fn int(&mut self, number: i32, value: i32) {
        self.tag(number, 0);
        self.varint(i64::from(value) as u64);
    }

    fn ints(&mut self, number: i32, values: &[i32]) {
        values.iter().for_each(|value| self.int(number, *value));
    }

    /// Nothing where it is false.
    fn flag(&mut self, number: i32, value: bool) {
        if value {
            self.int(number, 1);
        }
    }

    pub(super) fn bytes(&mut self, number: i32, value: &[u8]) {
        self.tag(number, 2);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
    }

    /// Nothing where it is empty.
    pub(super) fn text(&mut self, number: i32, value: &str) {
        if !value.is_empty() {
            self.bytes(number, value.as_bytes());
        }
    }

    fn texts(&mut self, number: i32, values: &[String]) {
        values
            .iter()
            .for_each(|value| self.bytes(number, value.as_bytes()));
    }

    fn maybe(&mut self, number: i32, value: &Option<String>) {
        if let Some(value) = value {
            self.bytes(number, value.as_bytes());
        }
    }

    fn message(&mut self, number: i32, write: impl FnOnce(&mut Out)) {
        let mut inner = Out::default();
        write(&mut inner);
        self.bytes(number, &inner.bytes);
    }

    pub(super) fn messages<T>(&mut self, number: i32, items: &[T], write: fn(&mut Out, &T)) {
        for item in items {
            self.message(number, |out| write(out, item));
        }
    }

    /// Nothing where none is set.
    fn options(&mut self, number: i32, value: &Options) {
        if !value.fields.is_empty() {
            self.message(number, |out| options(out, value));
        }
    }
}

fn file(out: &mut Out, file: &File) {
    out.text(1, &file.name);
    out.text(2, &file.package);
    out.texts(3, &file.dependencies);
    out.messages(4, &file.messages, message);
    out.messages(5, &file.enums, enumeration);
    out.messages(6, &file.services, service);
    out.messages(7, &file.extensions, field);
    out.options(8, &file.options);
    if !file.locations.is_empty() {
        out.message(9, |out| out.messages(1, &file.locations, location));
    }
    out.ints(10, &file.public);
    out.ints(11, &file.weak);
    match file.edition {
        Edition::Proto2 => {}
        Edition::Proto3 => out.text(12, "proto3"),
        edition => {
            out.text(12, "editions");
            out.int(14, edition as i32);
        }
    }
    out.texts(15, &file.option_dependencies);
}

fn message(out: &mut Out, message: &Message) {
    out.text(1, &message.name);
    out.messages(2, &message.fields, field);
    out.messages(3, &message.messages, self::message);
    out.messages(4, &message.enums, enumeration);
    out.messages(5, &message.extension_ranges, |out, range| {
        out.int(1, range.start);
        out.int(2, range.end);
        out.options(3, &range.options);
    });
    out.messages(6, &message.extensions, field);
    out.options(7, &message.options);
    out.messages(8, &message.oneofs, |out, oneof| {
        out.text(1, &oneof.name);
        out.options(2, &oneof.options);
    });
    out.messages(9, &message.reserved_ranges, range);
    out.texts(10, &message.reserved_names);
    if message.visibility != Visibility::Unset {
        out.int(11, message.visibility as i32);
    }
}

fn range(out: &mut Out, (start, end): &(i32, i32)) {
    out.int(1, *start);
    out.int(2, *end);
}

fn field(out: &mut Out, field: &Field) {
    out.text(1, &field.name);
    out.text(2, &field.extendee);
    out.int(3, field.number);
    out.int(4, field.label as i32);
    if let Some(kind) = field.kind {
        out.int(5, kind as i32);
    }
    out.text(6, &field.type_name);
    out.maybe(7, &field.default);
    out.options(8, &field.options);
    if let Some(oneof) = field.oneof {
        out.int(9, oneof);
    }
    out.maybe(10, &field.json_name);
    out.flag(17, field.proto3_optional);
}

fn enumeration(out: &mut Out, def: &Enum) {
    out.text(1, &def.name);
    out.messages(2, &def.values, |out, value| {
        out.text(1, &value.name);
        out.int(2, value.number);
        out.options(3, &value.options);
    });
    out.options(3, &def.options);
    out.messages(4, &def.reserved_ranges, range);
    out.texts(5, &def.reserved_names);
    if def.visibility != Visibility::Unset {
        out.int(6, def.visibility as i32);
    }
}

fn service(out: &mut Out, service: &Service) {
    out.text(1, &service.name);
    out.messages(2, &service.methods, |out, method| {
        out.text(1, &method.name);
        out.text(2, &method.input);
        out.text(3, &method.output);
        if method.has_block {
            out.message(4, |out| options(out, &method.options));
        }
        out.flag(5, method.client_streaming);
        out.flag(6, method.server_streaming);
    });
    out.options(3, &service.options);
}

fn location(out: &mut Out, location: &Location) {
    let packed = |out: &mut Out, number, values: &[i32]| {
        out.message(number, |out| {
            values.iter().for_each(|value| out.varint(*value as u64));
        });
    };
    if !location.path.is_empty() {
        packed(out, 1, &location.path);
    }
    packed(out, 2, &location.span);
    out.maybe(3, &location.leading);
    out.maybe(4, &location.trailing);
    out.texts(6, &location.detached);
}

fn options(out: &mut Out, value: &Options) {
    for OptionField { number, value, .. } in &value.fields {
        match value {
            OptionValue::Int(kind, value) => integer(out, *number, *kind, *value),
            OptionValue::Float(value) => {
                out.tag(*number, 5);
                out.bytes.extend(value.to_le_bytes());
            }
            OptionValue::Double(value) => {
                out.tag(*number, 1);
                out.bytes.extend(value.to_le_bytes());
            }
            OptionValue::Bytes(value) => out.bytes(*number, value),
            OptionValue::Message(value) => out.message(*number, |out| options(out, value)),
            OptionValue::Group(value) => {
                out.tag(*number, 3);
                options(out, value);
                out.tag(*number, 4);
            }
        }
    }
}

fn integer(out: &mut Out, number: i32, kind: Kind, value: i128) {
    match kind {
        Kind::Fixed32 | Kind::Sfixed32 => {
            out.tag(number, 5);
            out.bytes.extend((value as u32).to_le_bytes());
        }
        Kind::Fixed64 | Kind::Sfixed64 => {
            out.tag(number, 1);
            out.bytes.extend((value as u64).to_le_bytes());
        }
        Kind::Sint32 | Kind::Sint64 => {
            out.tag(number, 0);
            let value = value as i64;
            out.varint((value << 1 ^ value >> 63) as u64);
        }
        _ => {
            out.tag(number, 0);
            out.varint(value as u64);
        }
    }
}

/// The bytes of a message of options.
pub(super) fn encode_options(value: &Options) -> Vec<u8> {
    let mut out = Out::default();
    options(&mut out, value);
    out.bytes
}

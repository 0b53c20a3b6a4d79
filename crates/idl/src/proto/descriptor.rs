//! The definitions of a `.proto` file as plain data: the messages of
//! `google/protobuf/descriptor.proto`, field by field. [`FileSet::encode`] makes the bytes that
//! protobuf's own tools read.

/// Files with everything that they import, imports first: `google.protobuf.FileDescriptorSet`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileSet {
    /// The files; the one that was asked for is the last.
    pub files: Vec<File>,
}

/// One file: `FileDescriptorProto`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// The path by which others import it.
    pub name: String,
    /// The package; empty without one.
    pub package: String,
    /// The imported paths, in the order written.
    pub dependencies: Vec<String>,
    /// Which of them are `import public`, by index.
    pub public: Vec<i32>,
    /// Which of them are `import weak`, by index.
    pub weak: Vec<i32>,
    /// Files that only options need: `import option`.
    pub option_dependencies: Vec<String>,
    /// Messages, in the order written.
    pub messages: Vec<Message>,
    /// Enums, in the order written.
    pub enums: Vec<Enum>,
    /// Services, in the order written.
    pub services: Vec<Service>,
    /// Extensions, in the order written.
    pub extensions: Vec<Field>,
    /// `FileOptions`.
    pub options: Options,
    /// Which language the file is written in.
    pub edition: Edition,
    /// The places of all definitions, with the comments.
    pub locations: Vec<Location>,
}

/// The dialect of a file, in order of age. The numbers are those of `google.protobuf.Edition`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edition {
    /// `syntax = "proto2"`, or nothing.
    #[default]
    Proto2 = 998,
    /// `syntax = "proto3"`.
    Proto3 = 999,
    /// `edition = "2023"`.
    E2023 = 1000,
    /// `edition = "2024"`.
    E2024 = 1001,
}

/// A message: `DescriptorProto`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// The name, without scope.
    pub name: String,
    /// Fields, in the order written.
    pub fields: Vec<Field>,
    /// Extensions that are declared in its scope.
    pub extensions: Vec<Field>,
    /// Messages in its scope, among them those of its maps and groups.
    pub messages: Vec<Message>,
    /// Enums in its scope.
    pub enums: Vec<Enum>,
    /// Numbers that extensions may have.
    pub extension_ranges: Vec<ExtensionRange>,
    /// Its oneofs; those of `optional` fields in proto3 are the last.
    pub oneofs: Vec<Oneof>,
    /// `MessageOptions`.
    pub options: Options,
    /// Numbers that no field may have: first, and one past the last.
    pub reserved_ranges: Vec<(i32, i32)>,
    /// Names that no field may have.
    pub reserved_names: Vec<String>,
    /// Whether other files may use it.
    pub visibility: Visibility,
}

/// `export` or `local`, from edition 2024 on. The numbers are those of `SymbolVisibility`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// As the file's features have it.
    #[default]
    Unset = 0,
    /// `local`: only this file.
    Local = 1,
    /// `export`: every file that imports this one.
    Export = 2,
}

/// Numbers for extensions: `ExtensionRange`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtensionRange {
    /// The first number.
    pub start: i32,
    /// One past the last number.
    pub end: i32,
    /// `ExtensionRangeOptions`.
    pub options: Options,
}

/// A field or an extension: `FieldDescriptorProto`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Field {
    /// The name, without scope.
    pub name: String,
    /// The number on the wire.
    pub number: i32,
    /// How many values it has.
    pub label: Label,
    /// The kind of value; `None` only before names are resolved.
    pub kind: Option<Kind>,
    /// The message or enum, for such kinds: absolute, with a dot in front, once names are resolved.
    pub type_name: String,
    /// The message that it extends; empty for a field.
    pub extendee: String,
    /// The default value in text form.
    pub default: Option<String>,
    /// The oneof that it is part of, by index.
    pub oneof: Option<i32>,
    /// The name in JSON.
    pub json_name: Option<String>,
    /// True for a field that proto3 calls `optional`.
    pub proto3_optional: bool,
    /// `FieldOptions`.
    pub options: Options,
}

/// How many values a field has. The numbers are those of `FieldDescriptorProto.Label`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Label {
    /// One or none.
    #[default]
    Optional = 1,
    /// Exactly one.
    Required = 2,
    /// Any number.
    Repeated = 3,
}

/// The kind of a value. The numbers are those of `FieldDescriptorProto.Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names of the language
pub enum Kind {
    Double = 1,
    Float = 2,
    Int64 = 3,
    Uint64 = 4,
    Int32 = 5,
    Fixed64 = 6,
    Fixed32 = 7,
    Bool = 8,
    String = 9,
    Group = 10,
    Message = 11,
    Bytes = 12,
    Uint32 = 13,
    Enum = 14,
    Sfixed32 = 15,
    Sfixed64 = 16,
    Sint32 = 17,
    Sint64 = 18,
}

/// A oneof: `OneofDescriptorProto`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Oneof {
    /// The name, without scope.
    pub name: String,
    /// `OneofOptions`.
    pub options: Options,
}

/// An enum: `EnumDescriptorProto`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Enum {
    /// The name, without scope.
    pub name: String,
    /// Values, in the order written.
    pub values: Vec<EnumValue>,
    /// `EnumOptions`.
    pub options: Options,
    /// Numbers that no value may have: first and last.
    pub reserved_ranges: Vec<(i32, i32)>,
    /// Names that no value may have.
    pub reserved_names: Vec<String>,
    /// Whether other files may use it.
    pub visibility: Visibility,
}

/// A value of an enum: `EnumValueDescriptorProto`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EnumValue {
    /// The name; its scope is that of the enum.
    pub name: String,
    /// The number.
    pub number: i32,
    /// `EnumValueOptions`.
    pub options: Options,
}

/// A service: `ServiceDescriptorProto`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Service {
    /// The name, without package.
    pub name: String,
    /// Methods, in the order written.
    pub methods: Vec<Method>,
    /// `ServiceOptions`.
    pub options: Options,
}

/// A method: `MethodDescriptorProto`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Method {
    /// The name.
    pub name: String,
    /// The message that the caller sends.
    pub input: String,
    /// The message that the server sends.
    pub output: String,
    /// The caller sends any number of them.
    pub client_streaming: bool,
    /// The server sends any number of them.
    pub server_streaming: bool,
    /// True for a method with a block, also where that sets no option.
    pub has_block: bool,
    /// `MethodOptions`.
    pub options: Options,
}

/// A message of options, whose type the contract itself can extend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The fields that are set, in order; one that repeats has an entry for each value.
    pub fields: Vec<OptionField>,
}

/// A field of [`Options`].
#[derive(Clone, Debug, PartialEq)]
pub struct OptionField {
    /// The field's number.
    pub number: i32,
    /// The field's name; absolute (with a dot in front) for an extension.
    pub name: String,
    /// The value.
    pub value: OptionValue,
}

/// A value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// A number, boolean or enum value of this kind, within its range.
    Int(Kind, i128),
    /// A `float`.
    Float(f32),
    /// A `double`.
    Double(f64),
    /// A `string`, or `bytes`.
    Bytes(Vec<u8>),
    /// A message.
    Message(Options),
    /// A message that travels as a group.
    Group(Options),
}

/// The place of a definition: `SourceCodeInfo.Location`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Location {
    /// Field numbers and indexes that lead to it from the file's descriptor.
    pub path: Vec<i32>,
    /// Line and column of its start, then of its end; the second line is left out where it is the
    /// first.
    pub span: Vec<i32>,
    /// The comment right before it.
    pub leading: Option<String>,
    /// The comment right behind it.
    pub trailing: Option<String>,
    /// Comments before that, which belong to nothing.
    pub detached: Vec<String>,
}

impl File {
    /// The location of what a path of field numbers and indexes leads to.
    pub fn location(&self, path: &[i32]) -> Option<&Location> {
        self.locations.iter().find(|location| location.path == path)
    }
}

impl Options {
    /// The value of a field; for one that repeats, the last.
    pub fn get(&self, name: &str) -> Option<&OptionValue> {
        let field = self.fields.iter().rev().find(|field| field.name == name)?;
        Some(&field.value)
    }

    /// The value of a boolean field; false where it is not set.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(OptionValue::int) == Some(1)
    }

    /// The value of a message field.
    pub fn message(&self, name: &str) -> Option<&Options> {
        match self.get(name)? {
            OptionValue::Message(options) | OptionValue::Group(options) => Some(options),
            _ => None,
        }
    }
}

impl OptionValue {
    /// A number, boolean or enum value.
    pub fn int(&self) -> Option<i128> {
        match self {
            OptionValue::Int(_, value) => Some(*value),
            _ => None,
        }
    }

    /// A string.
    pub fn text(&self) -> Option<&str> {
        match self {
            OptionValue::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }
}

impl Kind {
    /// The kind that a word of the language names; `None` for the name of a message or enum.
    pub(crate) fn of_word(word: &str) -> Option<Kind> {
        Kind::WORDS
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, kind)| *kind)
    }

    /// The word of the language, or what a message or enum is called in a sentence.
    pub(crate) fn word(self) -> &'static str {
        let known = Kind::WORDS.iter().find(|(_, kind)| *kind == self);
        known.map_or("message", |(word, _)| word)
    }

    const WORDS: [(&'static str, Kind); 15] = [
        ("double", Kind::Double),
        ("float", Kind::Float),
        ("int64", Kind::Int64),
        ("uint64", Kind::Uint64),
        ("int32", Kind::Int32),
        ("fixed64", Kind::Fixed64),
        ("fixed32", Kind::Fixed32),
        ("bool", Kind::Bool),
        ("string", Kind::String),
        ("bytes", Kind::Bytes),
        ("uint32", Kind::Uint32),
        ("sfixed32", Kind::Sfixed32),
        ("sfixed64", Kind::Sfixed64),
        ("sint32", Kind::Sint32),
        ("sint64", Kind::Sint64),
    ];

    /// The kind with this number.
    pub(crate) fn of_number(number: i32) -> Option<Kind> {
        let words = Kind::WORDS.iter().map(|(_, kind)| *kind);
        let mut all = words.chain([Kind::Group, Kind::Message, Kind::Enum]);
        all.find(|kind| *kind as i32 == number)
    }

    /// True for what has a type name.
    pub(crate) fn is_message(self) -> bool {
        matches!(self, Kind::Message | Kind::Group)
    }

    /// True for what can be packed.
    pub(crate) fn is_packable(self) -> bool {
        !self.is_message() && !matches!(self, Kind::String | Kind::Bytes)
    }

    /// The numbers that an integer kind has.
    pub(crate) fn range(self) -> Option<std::ops::RangeInclusive<i128>> {
        match self {
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Some(i32::MIN.into()..=i32::MAX.into()),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Some(i64::MIN.into()..=i64::MAX.into()),
            Kind::Uint32 | Kind::Fixed32 => Some(0..=u32::MAX.into()),
            Kind::Uint64 | Kind::Fixed64 => Some(0..=u64::MAX.into()),
            _ => None,
        }
    }
}

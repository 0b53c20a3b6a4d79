//! Types of fields, and the messages around what can be none.

use super::Writer;
use crate::case::camel;
use dovetail_schema::{ArrayForm, Dimension, IntFormat, Type, TypeKind};

/// A type as it stands in a field.
pub(super) struct FieldType {
    pub(super) form: Form,
    /// Without `repeated`.
    pub(super) name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One scalar or enum.
    Scalar,
    Message,
    /// `repeated`, and whether its elements can be packed.
    Repeated(bool),
    Map,
}

impl FieldType {
    /// With `repeated` in front, where it is.
    fn written(&self) -> String {
        match self.form {
            Form::Repeated(_) => format!("repeated {}", self.name),
            _ => self.name.clone(),
        }
    }
}

const SCALAR: fn(&str) -> FieldType = |name| FieldType {
    form: Form::Scalar,
    name: name.to_owned(),
};

const MESSAGE: fn(String) -> FieldType = |name| FieldType {
    form: Form::Message,
    name,
};

impl Writer<'_> {
    /// The type of a field whose integers are written like this.
    pub(super) fn field_type(&self, ty: &Type, format: IntFormat) -> FieldType {
        self.map_type(ty, IntFormat::Varint, format)
    }

    /// Like `field_type`, with a format for the keys of a map.
    pub(super) fn map_type(
        &self,
        ty: &Type,
        key_format: IntFormat,
        format: IntFormat,
    ) -> FieldType {
        let integer = |names: [&str; 3]| {
            let [varint, zigzag, fixed] = names;
            SCALAR(match format {
                IntFormat::Varint => varint,
                IntFormat::ZigZag => zigzag,
                IntFormat::Fixed => fixed,
            })
        };
        match self.schema.resolve(ty) {
            Type::Bool => SCALAR("bool"),
            Type::I8 | Type::I16 | Type::I32 => integer(["int32", "sint32", "sfixed32"]),
            Type::I64 => integer(["int64", "sint64", "sfixed64"]),
            Type::U8 | Type::U16 | Type::U32 => integer(["uint32", "uint32", "fixed32"]),
            Type::U64 => integer(["uint64", "uint64", "fixed64"]),
            Type::Date => SCALAR("int32"),
            Type::F32 => SCALAR("float"),
            Type::F64 => SCALAR("double"),
            Type::String | Type::Decimal => SCALAR("string"),
            Type::Bytes | Type::Uuid => SCALAR("bytes"),
            Type::Timestamp { offset: false } => self.well_known("Timestamp", "timestamp"),
            Type::Timestamp { offset: true } => MESSAGE(self.wrapper("TimestampTz", INSTANT)),
            Type::Duration => self.well_known("Duration", "duration"),
            Type::Any => self.well_known("Any", "any"),
            Type::Dynamic => self.well_known("Value", "struct"),
            Type::List(item) | Type::Set(item) => self.repeated(item, format),
            Type::Map(key, value) => self.map((key, key_format), (value, format)),
            Type::Array(item, dimensions) => self.array(item, dimensions, format),
            Type::Named(id) => {
                let def = &self.schema[*id];
                let package = &self.schema[def.package];
                if def.package != self.id {
                    self.imports.borrow_mut().insert(self.path(package));
                }
                let form = match def.kind {
                    TypeKind::Struct(_) => Form::Message,
                    _ => Form::Scalar,
                };
                FieldType {
                    form,
                    name: self.names.used(&package.name, &self.written_name(*id)),
                }
            }
            Type::Object(id) => {
                self.refuse(
                    "a reference to an object cannot be passed over gRPC",
                    &self.schema[*id].name,
                );
                SCALAR("bytes")
            }
        }
    }

    fn well_known(&self, name: &str, file: &str) -> FieldType {
        let path = format!("google/protobuf/{file}.proto");
        self.imports.borrow_mut().insert(path);
        MESSAGE(self.names.used("google.protobuf", name))
    }

    fn repeated(&self, item: &Type, format: IntFormat) -> FieldType {
        let (form, name) = self.element(item, format);
        let texts = ["string", "bytes"];
        FieldType {
            form: Form::Repeated(form == Form::Scalar && !texts.contains(&name.as_str())),
            name,
        }
    }

    /// Returns the form of an element: a container has a message around it.
    fn element(&self, ty: &Type, format: IntFormat) -> (Form, String) {
        let field = self.field_type(ty, format);
        match field.form {
            Form::Scalar | Form::Message => (field.form, field.name),
            Form::Repeated(_) | Form::Map => {
                let field = self.field_type(ty, IntFormat::Varint);
                let body = format!("  {} items = 1;\n", field.written());
                (Form::Message, self.wrapper(&self.word(ty), &body))
            }
        }
    }

    fn map(
        &self,
        (key, key_format): (&Type, IntFormat),
        (value, format): (&Type, IntFormat),
    ) -> FieldType {
        let (key_form, key_name) = self.element(key, key_format);
        let (_, value_name) = self.element(value, format);
        let is_enum = matches!(self.schema.resolve(key), Type::Named(_));
        let unfit = ["float", "double", "bytes"].contains(&key_name.as_str());
        if key_form == Form::Scalar && !is_enum && !unfit {
            return FieldType {
                form: Form::Map,
                name: format!("map<{key_name}, {value_name}>"),
            };
        }
        // Its entries, with a key that protobuf's maps do not have.
        let wanted = format!("{}To{}Entry", self.word(key), self.word(value));
        let body = format!("  {key_name} key = 1;\n  {value_name} value = 2;\n");
        FieldType {
            form: Form::Repeated(false),
            name: self.wrapper(&wanted, &body),
        }
    }

    fn array(&self, item: &Type, dimensions: &[Dimension], format: IntFormat) -> FieldType {
        match ArrayForm::of(dimensions) {
            None => self.field_type(item, format),
            Some(ArrayForm::Fixed(_, inside) | ArrayForm::List(inside)) => {
                self.repeated(&array(item, inside), format)
            }
            Some(ArrayForm::Free(_, inside)) => {
                let elements = self.repeated(&array(item, inside), IntFormat::Varint);
                let body = format!(
                    "  repeated uint32 extents = 1;\n  {} elements = 2;\n",
                    elements.written()
                );
                let wanted = format!("{}Array", self.word(&array(item, inside)));
                MESSAGE(self.wrapper(&wanted, &body))
            }
        }
    }

    /// The message of this content, with a name like this one.
    pub(super) fn wrapper(&self, wanted: &str, body: &str) -> String {
        let mut wrappers = self.wrappers.borrow_mut();
        if let Some((_, name)) = wrappers.iter().find(|(known, _)| known == body) {
            return name.clone();
        }
        let name = self.scope.borrow_mut().claim(wanted);
        wrappers.push((body.to_owned(), name.clone()));
        name
    }

    /// A type as a word of a message's name.
    pub(super) fn word(&self, ty: &Type) -> String {
        match self.schema.resolve(ty) {
            Type::List(item) | Type::Set(item) => format!("{}List", self.word(item)),
            Type::Map(key, value) => format!("{}To{}Map", self.word(key), self.word(value)),
            Type::Array(item, dimensions) => match ArrayForm::of(dimensions) {
                None => self.word(item),
                Some(ArrayForm::Fixed(_, inside) | ArrayForm::List(inside)) => {
                    format!("{}List", self.word(&array(item, inside)))
                }
                Some(ArrayForm::Free(_, inside)) => {
                    format!("{}Array", self.word(&array(item, inside)))
                }
            },
            Type::Named(id) => camel(&self.schema[*id].name),
            Type::Uuid => "Uuid".to_owned(),
            ty => camel(
                &self
                    .field_type(ty, IntFormat::Varint)
                    .name
                    .replace("google.protobuf.", ""),
            ),
        }
    }
}

/// An array of these dimensions; without any, its element.
fn array(item: &Type, dimensions: &[Dimension]) -> Type {
    match dimensions {
        [] => item.clone(),
        _ => Type::Array(Box::new(item.clone()), dimensions.to_vec()),
    }
}

/// A timestamp with its offset.
const INSTANT: &str = "  int64 seconds = 1;\n  int32 nanos = 2;\n  int32 offset = 3;\n";

//! Fields: types, presence, defaults.

use super::super::descriptor::{Field, Kind, Label, Message};
use super::super::features::{Features, FieldPresence};
use super::super::link::json_name;
use super::super::literal;
use super::super::symbols::join;
use super::super::syntax::below;
use super::{Lowering, Scope, deprecated, is_set, well_known};
use dovetail_schema::{
    self as schema, Annotations, IntFormat, Presence, Protobuf, Sharing, Type, TypeDef, TypeKind,
    Value,
};

impl Lowering<'_> {
    pub(super) fn fields(&self, message: &Message, scope: &Scope<'_>) -> Vec<schema::Field> {
        let all = message.fields.iter().enumerate();
        all.map(|(at, field)| {
            let oneof = field.oneof.filter(|_| !field.proto3_optional);
            let oneof = oneof.and_then(|oneof| message.oneofs.get(oneof as usize));
            let around = oneof.map_or(scope.features, |oneof| scope.features.with(&oneof.options));
            let mut lowered = self.field(field, around.of_field(scope.file.edition, field));
            lowered.protobuf.oneof = oneof.map(|oneof| oneof.name.clone());
            lowered.doc = self.comments.get(&below(scope.path, 2, at)).cloned();
            lowered
        })
        .collect()
    }

    fn field(&self, field: &Field, features: Features) -> schema::Field {
        let ty = self.field_type(field);
        let presence = presence(field, features);
        let (key_format, format) = self.formats(field);
        let protobuf = Protobuf {
            format,
            key_format,
            expanded: field.label == Label::Repeated
                && field.kind.is_some_and(Kind::is_packable)
                && !features.packed,
            delimited: features.delimited
                && field.kind.is_some_and(Kind::is_message)
                && !matches!(ty, Type::Map(..)),
            oneof: None,
            json_name: field
                .json_name
                .clone()
                .filter(|name| *name != json_name(&field.name)),
        };
        let mut lowered = schema::Field {
            id: field.number,
            name: field.name.clone(),
            presence,
            default: self.default(field, presence),
            ty,
            sharing: Sharing::Value,
            protobuf,
            doc: None,
            annotations: Annotations::default(),
            deprecated: deprecated(&field.options),
        };
        if is_set(&field.options, "debug_redact") {
            lowered.set_sensitive();
        }
        lowered
    }

    /// Adds the extensions of a file or message, and of the messages in it, to the messages that
    /// they extend.
    pub(super) fn extensions(
        &mut self,
        extensions: &[Field],
        messages: &[Message],
        scope: &Scope<'_>,
    ) {
        for field in extensions {
            if !self.has_type(field) {
                continue;
            }
            // An extension has presence, whatever the file says.
            let features = Features {
                presence: FieldPresence::Explicit,
                ..scope.features.of_field(scope.file.edition, field)
            };
            let mut lowered = self.field(field, features);
            let name = join(&scope.file.package, &join(scope.name, &field.name));
            lowered.name = format!("[{name}]");
            let extendee = self.types.get(field.extendee.trim_start_matches('.'));
            let extendee = extendee.filter(|id| !self.message_sets.contains(id));
            let def = extendee.and_then(|id| self.schema.types.get_mut(id.0 as usize));
            if let Some(TypeDef {
                kind: TypeKind::Struct(def),
                ..
            }) = def
                && (1..1 << 29).contains(&lowered.id)
                && !def
                    .fields
                    .iter()
                    .any(|f| f.id == lowered.id || f.name == lowered.name)
            {
                def.fields.push(lowered);
            }
        }
        for message in messages {
            let inner = Scope {
                name: &join(scope.name, &message.name),
                features: scope.features.with(&message.options),
                ..*scope
            };
            self.extensions(&message.extensions, &message.messages, &inner);
        }
    }

    /// Whether the type of an extension is known, and is what the extension says.
    fn has_type(&self, field: &Field) -> bool {
        let name = field.type_name.trim_start_matches('.');
        match field.kind {
            Some(Kind::Message | Kind::Group | Kind::Enum) => {
                let known = self
                    .types
                    .get(name)
                    .and_then(|id| self.schema.types.get(id.0 as usize));
                let is_enum = known.map(|def| matches!(def.kind, TypeKind::Enum(_)));
                let is_enum = is_enum.or(well_known::of(name).map(|_| false));
                is_enum == Some(field.kind == Some(Kind::Enum))
            }
            kind => kind.is_some(),
        }
    }

    fn field_type(&self, field: &Field) -> Type {
        let name = field.type_name.trim_start_matches('.');
        if let Some([key, value]) = self.entries.get(name).map(|entry| entry.fields.as_slice()) {
            return Type::Map(Box::new(self.one_type(key)), Box::new(self.one_type(value)));
        }
        match field.label {
            Label::Repeated => Type::List(Box::new(self.one_type(field))),
            _ => self.one_type(field),
        }
    }

    /// How the keys of a map, and its values or the integers of another field, are written.
    fn formats(&self, field: &Field) -> (IntFormat, IntFormat) {
        let entry = self.entries.get(field.type_name.trim_start_matches('.'));
        match entry.map(|entry| entry.fields.as_slice()) {
            Some([key, value]) => (format_of(key.kind), format_of(value.kind)),
            _ => (IntFormat::Varint, format_of(field.kind)),
        }
    }

    fn one_type(&self, field: &Field) -> Type {
        match field.kind {
            None | Some(Kind::Message | Kind::Group | Kind::Enum) => self.named(&field.type_name),
            Some(Kind::Bool) => Type::Bool,
            Some(Kind::String) => Type::String,
            Some(Kind::Bytes) => Type::Bytes,
            Some(Kind::Float) => Type::F32,
            Some(Kind::Double) => Type::F64,
            Some(Kind::Int32 | Kind::Sint32 | Kind::Sfixed32) => Type::I32,
            Some(Kind::Int64 | Kind::Sint64 | Kind::Sfixed64) => Type::I64,
            Some(Kind::Uint32 | Kind::Fixed32) => Type::U32,
            Some(Kind::Uint64 | Kind::Fixed64) => Type::U64,
        }
    }

    /// The type of a message or enum.
    pub(super) fn named(&self, name: &str) -> Type {
        let name = name.trim_start_matches('.');
        match (well_known::of(name), self.types.get(name)) {
            (Some(ty), _) => ty,
            (None, Some(id)) => Type::Named(*id),
            // Only descriptors that nobody has checked lead here.
            (None, None) => Type::Bytes,
        }
    }

    fn default(&self, field: &Field, presence: Presence) -> Option<Value> {
        let Some(text) = field.default.as_deref() else {
            let fresh = presence != Presence::Optional && field.kind == Some(Kind::Enum);
            return self.first_value(field).filter(|_| fresh);
        };
        Some(match field.kind? {
            Kind::Bool => Value::Bool(text == "true"),
            Kind::String => Value::String(text.to_owned()),
            Kind::Bytes => Value::Bytes(literal::unescape(&format!("\"{text}\"")).ok()?),
            Kind::Float | Kind::Double => Value::Double(text.parse().ok()?),
            Kind::Enum => {
                let Type::Named(id) = self.named(&field.type_name) else {
                    return None;
                };
                return self.enum_default(id, text);
            }
            Kind::Message | Kind::Group => return None,
            _ => Value::Int(text.parse().ok()?),
        })
    }

    /// Returns the value of a field of an enum that nobody has set, if that is not zero.
    fn first_value(&self, field: &Field) -> Option<Value> {
        let Type::Named(id) = self.one_type(field) else {
            return None;
        };
        let TypeKind::Enum(def) = &self.schema[id].kind else {
            return None;
        };
        let first = def
            .values
            .first()
            .filter(|_| field.label != Label::Repeated)?;
        (first.number != 0).then_some(Value::Enum(id, first.number))
    }

    fn enum_default(&self, id: schema::TypeId, name: &str) -> Option<Value> {
        let number = match &self.schema[id].kind {
            TypeKind::Enum(def) => def.values.iter().find(|value| value.name == name)?.number,
            _ => return None,
        };
        Some(Value::Enum(id, number))
    }
}

fn presence(field: &Field, features: Features) -> Presence {
    let message = field.kind.is_some_and(Kind::is_message);
    match (field.label, features.presence) {
        (Label::Repeated, _) => Presence::Default,
        _ if field.oneof.is_some() => Presence::Optional,
        (_, FieldPresence::Required) => Presence::Required,
        _ if message => Presence::Optional,
        (_, FieldPresence::Explicit) => Presence::Optional,
        (_, FieldPresence::Implicit) => Presence::Default,
    }
}

fn format_of(kind: Option<Kind>) -> IntFormat {
    match kind {
        Some(Kind::Sint32 | Kind::Sint64) => IntFormat::ZigZag,
        Some(Kind::Fixed32 | Kind::Fixed64 | Kind::Sfixed32 | Kind::Sfixed64) => IntFormat::Fixed,
        _ => IntFormat::Varint,
    }
}

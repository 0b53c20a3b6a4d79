//! Fields: ids, names, presence.

use super::{FieldList, Lower, Owner, Pending, Place, poisoned};
use crate::diagnostic::Diagnostic;
use crate::source::{FileId, Span};
use crate::thrift::ast::{self, Requiredness};
use crate::thrift::resolve::resolve;
use dovetail_schema::{Field, Presence, Sharing, StructKind, Type, TypeKind};
use std::collections::HashMap;

/// The owner of a list of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    Struct,
    Union,
    Exception,
    Params,
    Throws,
}

impl Context {
    /// Returns the word for the fields here.
    fn item(self) -> &'static str {
        match self {
            Context::Struct | Context::Union | Context::Exception => "field",
            Context::Params => "parameter",
            Context::Throws => "exception",
        }
    }
}

impl<'a> Lower<'a, '_> {
    pub(super) fn fields(
        &mut self,
        file: FileId,
        list: FieldList,
        written: &'a [ast::Field],
        context: Context,
    ) -> Vec<Field> {
        let ids = self.ids(file, written, context);
        let mut names: HashMap<&str, Span> = HashMap::new();
        let mut lowered = Vec::with_capacity(written.len());
        for (index, (field, id)) in written.iter().zip(ids).enumerate() {
            self.reserved_word(file, &field.name);
            if let Some(first) = names.insert(&field.name.text, field.name.span) {
                let message = format!(
                    "two {}s have the name `{}`",
                    context.item(),
                    field.name.text
                );
                let error = Diagnostic::error("E0411", message)
                    .at(file, field.name.span, "the second one")
                    .also(file, first, "the first one");
                self.sink.push(error.help("rename one of them"));
            }
            let ty = self.checked_type(file, &field.ty);
            if context == Context::Throws {
                self.check_throws(file, field, &ty);
            }
            if let Some(expr) = &field.default {
                self.default(file, field, context);
                let place = Place::Default(list, index);
                self.pending.push(Pending {
                    file,
                    ty: ty.clone(),
                    expr,
                    place,
                });
            }
            let sharing = match field.shared {
                Some(span) => self.sharing(file, span, &ty),
                None => Sharing::Value,
            };
            let owner = Owner::Field(list, index);
            let (mut annotations, deprecated) =
                self.annotations(file, &field.ty.annotations, &field.attributes, owner);
            if field.pointer {
                annotations.untyped.push(dovetail_schema::Annotation {
                    key: "cpp.ref".to_owned(),
                    value: "1".to_owned(),
                });
            }
            lowered.push(Field {
                id,
                name: field.name.text.clone(),
                ty,
                presence: self.presence(file, field, context),
                default: None,
                sharing,
                protobuf: Default::default(),
                doc: field.attributes.doc.clone(),
                annotations,
                deprecated,
            });
        }
        if context == Context::Union {
            self.one_default(file, written);
        }
        lowered
    }

    /// The ids as written, or as Apache Thrift assigns them: -1, -2 and so on.
    fn ids(&mut self, file: FileId, written: &[ast::Field], context: Context) -> Vec<i32> {
        let mut next = -1;
        let mut seen: HashMap<i32, Span> = HashMap::new();
        let mut ids = Vec::with_capacity(written.len());
        let mut missing: Option<&ast::Field> = None;
        for field in written {
            let (id, span) = match field.id {
                Some(id) if id.value > i128::from(i16::MAX) => {
                    let message = format!("{} is too large for the id of a field", id.value);
                    let error = Diagnostic::error("E0412", message).at(file, id.span, "");
                    self.sink.push(error.help("take a number from 1 to 32767"));
                    // No id at all, so that it clashes with none.
                    ids.push(0);
                    continue;
                }
                Some(id) if id.value > 0 => (id.value as i32, id.span),
                Some(id) => {
                    if id.value != i128::from(next) {
                        let message = format!(
                            "an id is at least 1; `{}` is numbered {next} instead",
                            field.name.text
                        );
                        let warning = Diagnostic::warning("W0405", message)
                            .at(file, id.span, "")
                            .note("this is what Apache Thrift does, so both ends agree")
                            .help("give it a positive id where no old peer depends on this one");
                        self.sink.push(warning);
                    }
                    next -= 1;
                    (next + 1, id.span)
                }
                None => {
                    missing = missing.or(Some(field));
                    next -= 1;
                    (next + 1, field.name.span)
                }
            };
            if id < i32::from(i16::MIN) {
                let message = format!("more {}s without ids than there are ids", context.item());
                let error = Diagnostic::error("E0412", message).at(file, span, "");
                self.sink
                    .push(error.help("write an id before every one of them"));
                return vec![0; written.len()];
            }
            if let Some(first) = seen.insert(id, span) {
                let error =
                    Diagnostic::error("E0413", format!("two {}s have the id {id}", context.item()))
                        .at(file, span, "the second one")
                        .also(file, first, "the first one");
                let free = (1..=i32::from(i16::MAX)).find(|free| {
                    !written
                        .iter()
                        .any(|field| field.id.is_some_and(|id| id.value == i128::from(*free)))
                });
                self.sink
                    .push(error.maybe_help(free.map(|free| format!("{free} is free"))));
            }
            ids.push(id);
        }
        if let Some(field) = missing {
            let message = format!("the {} `{}` has no id", context.item(), field.name.text);
            let warning = Diagnostic::warning("W0406", message)
                .at(file, field.name.span, "")
                .note("ids are then counted from -1 down, and change when one is added before it")
                .help(format!("write `1: {} …`", self.text(file, field.ty.span)));
            self.sink.push(warning);
        }
        ids
    }

    fn text(&self, file: FileId, span: Span) -> &'a str {
        let text = &self.names.program.sources[file.index()].text;
        text.get(span.start as usize..span.end as usize)
            .unwrap_or_default()
    }

    fn presence(&mut self, file: FileId, field: &ast::Field, context: Context) -> Presence {
        let written = field.requiredness;
        match (context, written) {
            (Context::Union, Some((Requiredness::Required, span))) => {
                let warning = Diagnostic::warning("W0407", "`required` has no effect in a union")
                    .at(file, span, "")
                    .note("exactly one field of a union is present");
                self.sink.push(warning.help("remove it"));
                Presence::Optional
            }
            (Context::Params, Some((Requiredness::Optional, span))) => {
                let warning =
                    Diagnostic::warning("W0602", "`optional` has no effect on a parameter")
                        .at(file, span, "")
                        .note("this is what Apache Thrift does, too");
                self.sink
                    .push(warning.help("remove it, or pass a struct with an optional field"));
                Presence::Default
            }
            (Context::Union | Context::Throws, _) => Presence::Optional,
            (_, Some((Requiredness::Required, _))) => Presence::Required,
            (_, Some((Requiredness::Optional, _))) => Presence::Optional,
            // Pointers and references can lead nowhere; that is what they are there for.
            (Context::Struct | Context::Exception, None)
                if field.pointer || field.shared.is_some() =>
            {
                Presence::Optional
            }
            (_, None) => Presence::Default,
        }
    }

    fn default(&mut self, file: FileId, field: &ast::Field, context: Context) {
        if context == Context::Throws
            && let Some(value) = &field.default
        {
            let error = Diagnostic::error("E0414", "a declared exception has no default value")
                .at(file, value.span, "");
            self.sink.push(error.help("remove it"));
        }
    }

    fn one_default(&mut self, file: FileId, written: &[ast::Field]) {
        let mut defaults = written.iter().filter_map(|field| field.default.as_ref());
        if let (Some(first), Some(second)) = (defaults.next(), defaults.next()) {
            let error = Diagnostic::error("E0415", "two fields of one union have a default value")
                .at(file, second.span, "the second one")
                .also(file, first.span, "the first one")
                .note("a union has one field at a time");
            self.sink.push(error.help("remove one of them"));
        }
    }

    fn sharing(&mut self, file: FileId, span: Span, ty: &Type) -> Sharing {
        let is_struct = match resolve(&self.schema, ty) {
            Some(Type::Named(id)) => matches!(&self.schema[*id].kind, TypeKind::Struct(_)),
            None => true,
            _ => false,
        };
        if !is_struct {
            let error = Diagnostic::error("E0416", "`ref` needs a struct").at(file, span, "");
            let error = error.note("only structs have an identity that can be shared");
            self.sink
                .push(error.help("remove `ref`, or put the value into a struct"));
        }
        Sharing::Ref
    }

    fn check_throws(&mut self, file: FileId, field: &ast::Field, ty: &Type) {
        if poisoned(ty) {
            return;
        }
        let exception = match resolve(&self.schema, ty) {
            Some(Type::Named(id)) => match &self.schema[*id].kind {
                TypeKind::Struct(def) => matches!(def.kind, StructKind::Exception(_)),
                _ => false,
            },
            None => true,
            _ => false,
        };
        if !exception {
            let message = format!("`{}` is not an exception", self.text(file, field.ty.span));
            let mut error = Diagnostic::error("E0417", message).at(file, field.ty.span, "");
            if let Type::Named(id) = ty {
                let (file, span) = self.names.type_span(*id);
                error = error.also(file, span, "defined here");
            }
            self.sink
                .push(error.help("only what is defined by `exception` can be thrown"));
        }
    }
}

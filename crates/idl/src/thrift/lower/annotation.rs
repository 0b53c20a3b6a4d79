//! Annotations of both kinds.

use super::{Lower, Owner, Pending, Place};
use crate::diagnostic::Diagnostic;
use crate::source::FileId;
use crate::thrift::ast::{Annotation, Attributes, ConstExpr, ConstKind};
use crate::thrift::resolve::{Symbol, resolve};
use dovetail_schema::{self as schema, Annotations, Type, TypeId, TypeKind};

impl<'a> Lower<'a, '_> {
    /// Both kinds of annotations, and what they say about deprecation.
    pub(super) fn annotations(
        &mut self,
        file: FileId,
        of_type: &[Annotation],
        attributes: &'a Attributes,
        owner: Owner,
    ) -> (Annotations, Option<String>) {
        let mut lowered = Annotations::default();
        let mut deprecated = None;
        for annotation in of_type.iter().chain(&attributes.untyped) {
            let annotation = untyped(annotation);
            if annotation.key == "deprecated" {
                let bare = annotation.value == "1";
                deprecated = Some(if bare {
                    String::new()
                } else {
                    annotation.value.clone()
                });
            }
            lowered.untyped.push(annotation);
        }
        let mut seen: Vec<TypeId> = Vec::new();
        for annotation in &attributes.typed {
            let symbol = self.names.find(file, &annotation.name.text);
            if symbol.is_none()
                && matches!(annotation.name.text.as_str(), "Deprecated" | "deprecated")
            {
                deprecated = Some(self.deprecation(file, &annotation.value));
                continue;
            }
            let ty = match symbol {
                Some(Symbol::Type(id)) => resolve(&self.schema, &Type::Named(id)).cloned(),
                Some(Symbol::Service(_)) => Some(Type::Bool),
                None => {
                    self.names
                        .unknown(file, &annotation.name, "struct", self.sink);
                    continue;
                }
            };
            let Some(ty) = ty else { continue };
            let id = match ty {
                Type::Named(id) if matches!(self.schema[id].kind, TypeKind::Struct(_)) => id,
                _ => {
                    let message = format!("`{}` is not a struct", annotation.name.text);
                    let error = Diagnostic::error("E0408", message)
                        .at(file, annotation.name.span, "")
                        .help("an annotation is a constant of a struct that you define");
                    self.sink.push(error);
                    continue;
                }
            };
            if seen.contains(&id) {
                let message = format!("`@{}` stands here twice", annotation.name.text);
                let error = Diagnostic::error("E0409", message).at(file, annotation.span, "");
                self.sink
                    .push(error.help("remove one, or make a field of it a list"));
                continue;
            }
            seen.push(id);
            self.pending.push(Pending {
                file,
                ty: Type::Named(id),
                expr: &annotation.value,
                place: Place::Annotation(owner, id),
            });
        }
        (lowered, deprecated)
    }

    /// The `message` of `@Deprecated{message = "why"}`, the one annotation that needs no
    /// definition.
    fn deprecation(&mut self, file: FileId, value: &ConstExpr) -> String {
        let ConstKind::Map(entries) = &value.kind else {
            return String::new();
        };
        match entries.as_slice() {
            [] => return String::new(),
            [
                (
                    ConstExpr {
                        kind: ConstKind::Text(key),
                        ..
                    },
                    ConstExpr {
                        kind: ConstKind::Text(why),
                        ..
                    },
                ),
            ] if key == "message" => {
                return why.clone();
            }
            _ => {}
        }
        let error = Diagnostic::error(
            "E0410",
            "`@Deprecated` has one field, a string called `message`",
        )
        .at(file, value.span, "")
        .help("write `@Deprecated{message = \"use that instead\"}`");
        self.sink.push(error);
        String::new()
    }
}

pub(super) fn untyped(annotation: &Annotation) -> schema::Annotation {
    schema::Annotation {
        key: annotation.key.text.clone(),
        value: annotation
            .value
            .as_ref()
            .map_or("1".to_owned(), |value| value.text.clone()),
    }
}

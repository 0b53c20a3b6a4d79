//! Services.

use super::{FieldList, Lower, Owner};
use crate::diagnostic::Diagnostic;
use crate::source::{FileId, Span};
use crate::thrift::ast::{self, DefinitionKind, Name};
use crate::thrift::resolve::{Defined, Symbol};
use dovetail_schema::{Method, Service, ServiceId, Stream};
use std::collections::HashMap;

use super::field::Context;

impl<'a> Lower<'a, '_> {
    pub(super) fn service(&mut self, id: ServiceId) {
        let Defined { file, definition } = self.names.services[id.0 as usize];
        let DefinitionKind::Service { extends, methods } = &definition.kind else {
            return;
        };
        self.reserved_word(file, &definition.name);
        let extends = extends
            .as_ref()
            .and_then(|base| self.base_service(file, base));
        let (annotations, deprecated) =
            self.annotations(file, &[], &definition.attributes, Owner::Service(id));
        self.schema.services.push(Service {
            package: self.names.package(file),
            name: definition.name.text.clone(),
            doc: definition.attributes.doc.clone(),
            annotations,
            deprecated,
            extends,
            methods: Vec::with_capacity(methods.len()),
        });
        let mut seen: HashMap<&str, Span> = HashMap::new();
        for (index, method) in methods.iter().enumerate() {
            if let Some(first) = seen.insert(&method.name.text, method.name.span) {
                let message = format!("two methods have the name `{}`", method.name.text);
                let error = Diagnostic::error("E0601", message)
                    .at(file, method.name.span, "the second one")
                    .also(file, first, "the first one")
                    .note("methods are called by name: parameters do not tell them apart");
                self.sink.push(error.help("rename one of them"));
            }
            let method = self.method(file, id, index, method);
            self.schema.services[id.0 as usize].methods.push(method);
        }
        self.check_permissions(file, id, methods);
    }

    /// Warns of methods that nobody may call where permissions are checked: those without one
    /// beside others that have one.
    fn check_permissions(&mut self, file: FileId, id: ServiceId, methods: &[ast::Method]) {
        let service = &self.schema.services[id.0 as usize];
        let has = |method: &Method| service.permission(method).is_some();
        if !service.methods.iter().any(has) {
            return;
        }
        let rows = service.methods.iter().zip(methods);
        for (_, method) in rows.filter(|(lowered, _)| !has(lowered)) {
            let warning = Diagnostic::without_permission(&method.name.text, &service.name)
                .at(file, method.name.span, "")
                .help("write `(permission = \"…\")` behind it, or behind the service for all of its methods");
            self.sink.push(warning);
        }
    }

    fn base_service(&mut self, file: FileId, base: &Name) -> Option<ServiceId> {
        match self.names.find(file, &base.text) {
            Some(Symbol::Service(id)) => Some(id),
            Some(Symbol::Type(id)) => {
                let (other, span) = self.names.type_span(id);
                let error = Diagnostic::error("E0602", format!("`{}` is not a service", base.text))
                    .at(file, base.span, "")
                    .also(other, span, "defined here");
                self.sink
                    .push(error.help("a service can only extend another service"));
                None
            }
            None => {
                self.names.unknown(file, base, "service", self.sink);
                None
            }
        }
    }

    fn method(
        &mut self,
        file: FileId,
        service: ServiceId,
        index: usize,
        method: &'a ast::Method,
    ) -> Method {
        self.reserved_word(file, &method.name);
        self.check_oneway(file, method);
        let result = method.returns.result.as_ref();
        let of_result = result.map_or(&[][..], |result| &result.annotations);
        let owner = Owner::Method(service, index);
        let (annotations, deprecated) =
            self.annotations(file, of_result, &method.attributes, owner);
        let stream = |lower: &mut Self, stream: &'a Option<ast::Stream>, list| {
            stream.as_ref().map(|stream| Stream {
                item: lower.checked_type(file, &stream.item),
                throws: lower.fields(file, list, &stream.throws, Context::Throws),
            })
        };
        Method {
            name: method.name.text.clone(),
            doc: method.attributes.doc.clone(),
            annotations,
            deprecated,
            params: self.fields(
                file,
                FieldList::Params(service, index),
                &method.params,
                Context::Params,
            ),
            result: result.map(|result| self.checked_type(file, result)),
            client_stream: stream(
                self,
                &method.returns.sink,
                FieldList::ClientThrows(service, index),
            ),
            server_stream: stream(
                self,
                &method.returns.stream,
                FieldList::ServerThrows(service, index),
            ),
            throws: self.fields(
                file,
                FieldList::Throws(service, index),
                &method.throws,
                Context::Throws,
            ),
            oneway: method.oneway.is_some(),
            idempotency: method.idempotency.unwrap_or_default(),
        }
    }

    fn check_oneway(&mut self, file: FileId, method: &ast::Method) {
        let Some(oneway) = method.oneway else { return };
        let returns = &method.returns;
        let streams = returns.sink.is_some() || returns.stream.is_some();
        if returns.result.is_some() || streams {
            let what = if streams { "stream" } else { "return anything" };
            let error = Diagnostic::error("E0603", format!("a oneway method cannot {what}"))
                .at(file, returns.span, "")
                .also(file, oneway, "nothing comes back from such a method")
                .help("write `oneway void`, or remove `oneway`");
            self.sink.push(error);
        }
        if let (Some(span), false) = (method.throws_span, method.throws.is_empty()) {
            let error = Diagnostic::error("E0604", "a oneway method cannot throw")
                .at(file, span, "")
                .also(file, oneway, "nothing comes back from such a method")
                .help("remove `throws`, or remove `oneway`");
            self.sink.push(error);
        }
    }
}

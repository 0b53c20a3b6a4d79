//! Services. A call takes one message and answers with one, or with streams of them.

use super::super::descriptor::{File, Method, OptionValue, Options};
use super::super::syntax::below;
use super::{Lowering, deprecated};
use dovetail_schema::{
    self as schema, Annotation, Annotations, Idempotency, PERMISSION, PackageId, Service, Stream,
    Type,
};

/// The options that name permissions, as `dovetail/v1/options.proto` has them.
pub(in crate::proto) const SERVICE_PERMISSION: &str = ".dovetail.v1.service_permission";
pub(in crate::proto) const METHOD_PERMISSION: &str = ".dovetail.v1.permission";

/// The annotation for a permission that an option names.
fn permission(options: &Options, option: &str) -> Annotations {
    let permission = match options.get(option) {
        Some(OptionValue::Bytes(text)) => Some(String::from_utf8_lossy(text)),
        _ => None,
    };
    let untyped = permission.map(|permission| Annotation {
        key: PERMISSION.to_owned(),
        value: permission.into_owned(),
    });
    Annotations {
        untyped: untyped.into_iter().collect(),
        typed: Vec::new(),
    }
}

impl Lowering<'_> {
    pub(super) fn services(&mut self, file: &File, package: PackageId) {
        for (at, service) in file.services.iter().enumerate() {
            let path = below(&[], 6, at);
            let methods = service.methods.iter().enumerate();
            let methods = methods.map(|(at, method)| self.method(method, &below(&path, 2, at)));
            let lowered = Service {
                package,
                name: service.name.clone(),
                doc: self.comments.get(&path).cloned(),
                annotations: permission(&service.options, SERVICE_PERMISSION),
                deprecated: deprecated(&service.options),
                extends: None,
                methods: methods.collect(),
            };
            self.schema.services.push(lowered);
        }
    }

    fn method(&self, method: &Method, path: &[i32]) -> schema::Method {
        let (input, output) = (self.named(&method.input), self.named(&method.output));
        let stream = |item: &Type| Stream {
            item: item.clone(),
            throws: Vec::new(),
        };
        let idempotency = method
            .options
            .get("idempotency_level")
            .and_then(OptionValue::int);
        schema::Method {
            name: method.name.clone(),
            doc: self.comments.get(path).cloned(),
            annotations: permission(&method.options, METHOD_PERMISSION),
            deprecated: deprecated(&method.options),
            params: match method.client_streaming {
                true => Vec::new(),
                false => vec![schema::Field::new(1, "request", input.clone())],
            },
            client_stream: method.client_streaming.then(|| stream(&input)),
            server_stream: method.server_streaming.then(|| stream(&output)),
            result: (!method.server_streaming).then_some(output),
            throws: Vec::new(),
            oneway: false,
            idempotency: match idempotency {
                Some(1) => Idempotency::ReadOnly,
                Some(2) => Idempotency::Idempotent,
                _ => Idempotency::Unknown,
            },
        }
    }
}

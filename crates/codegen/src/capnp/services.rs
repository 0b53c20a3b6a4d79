//! Interfaces.

use super::names::member;
use super::{Writer, doc, made_up, own_id};
use dovetail_schema::capnp::{ID, INHERITED, PARAMS, RESULT, RESULTS, STREAM, Unplaced};
use dovetail_schema::{Annotations, Method, Schema, Service, ServiceId, Type};

/// Methods of a service for Cap'n Proto's protocol, in the bytes that the descriptor of the service
/// takes, and the reasons why some are left out, which have no form in it.
pub fn interface(schema: &Schema, methods: &[(ServiceId, &Method)]) -> (Vec<u8>, Vec<Unplaced>) {
    let id = |owner: ServiceId| interface_id(schema, &schema[owner]);
    let methods: Vec<_> = methods
        .iter()
        .map(|(owner, it)| (id(*owner), *it))
        .collect();
    dovetail_schema::capnp::interface(schema, &methods)
}

/// The id of an interface: that of the contract, unless another definition has it, too; else one
/// that the same name always has.
fn interface_id(schema: &Schema, service: &Service) -> u64 {
    own_id(schema, &service.annotations)
        .and_then(|id| u64::from_str_radix(id.strip_prefix("0x")?, 16).ok())
        .unwrap_or_else(|| made_up(&schema[service.package].name, &service.name))
}

impl Writer<'_> {
    pub(super) fn service(&self, service: &Service) -> String {
        let name = super::upper(&service.name);
        let id = interface_id(self.schema, service);
        let bases = self.bases(service);
        let extends = match bases.is_empty() {
            true => String::new(),
            false => format!(" extends({})", bases.join(", ")),
        };
        let own = service
            .methods
            .iter()
            .filter(|method| method.annotations.get(INHERITED).is_none());
        let methods: String = own
            .enumerate()
            .map(|(ordinal, method)| self.method(&service.name, ordinal, method))
            .collect();
        let doc = doc(service.doc.as_deref(), "  ");
        format!("interface {name} @{id:#x}{extends} {{\n{doc}{methods}}}\n")
    }

    /// The interface that it extends, and those whose methods became its own.
    fn bases(&self, service: &Service) -> Vec<String> {
        let mut bases: Vec<ServiceId> = service.extends.into_iter().collect();
        for method in &service.methods {
            let interface = method.annotations.get(INHERITED).unwrap_or_default();
            let interface = interface.split('.').next();
            let all = 0..self.schema.services.len();
            let mut all = all.map(|index| ServiceId(index as u32));
            let base = all.find(|id| self.schema[*id].annotations.get(ID) == interface);
            bases.extend(base.filter(|base| !bases.contains(base)));
        }
        bases
            .iter()
            .map(|id| self.reference(self.schema[*id].package, &self.schema[*id].name))
            .collect()
    }

    fn method(&self, service: &str, ordinal: usize, method: &Method) -> String {
        let at = format!("{service}.{}", method.name);
        if method.client_stream.is_some() || method.server_stream.is_some() {
            self.refuse("Cap'n Proto has no streams of items", &at);
        }
        let name = member(&method.name);
        let params = match (method.annotations.get(PARAMS), method.params.as_slice()) {
            (Some(_), [only]) => self.ty(&only.ty, &only.annotations, &at),
            (_, params) => format!("({})", self.parameters(&at, params)),
        };
        let results = match &method.result {
            _ if method.annotations.get(STREAM).is_some() => " -> stream".to_owned(),
            None => " -> ()".to_owned(),
            Some(ty) => format!(" -> {}", self.results(method, ty, &at)),
        };
        let throws = method.throws.iter().map(|thrown| {
            let ty = self.ty(&thrown.ty, &Annotations::default(), &at);
            format!("  # Throws {ty}.\n")
        });
        let throws: String = throws.collect();
        let doc = doc(method.doc.as_deref(), "  ");
        format!("  {name} @{ordinal} {params}{results};\n{doc}{throws}")
    }

    fn results(&self, method: &Method, ty: &Type, at: &str) -> String {
        let annotations = &method.annotations;
        if annotations.get(RESULTS).is_some() {
            return self.ty(ty, annotations, at);
        }
        let name = annotations.get(RESULT).unwrap_or("result");
        format!("({} :{})", member(name), self.ty(ty, annotations, at))
    }
}

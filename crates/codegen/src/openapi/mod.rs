//! A contract as an OpenAPI document: what of it can be called with JSON over HTTP, for tools that
//! know nothing else.
//!
//! The format is that of OpenAPI 3.1 (<https://spec.openapis.org/oas/v3.1.1>), what is said in it
//! that of `docs/http.md`. Methods with streams or references to objects, which HTTP does not
//! carry, are left out.

mod types;

use crate::{File, Unsupported};
use dovetail_schema::{
    Field, Idempotency, Method, Schema, Service, ServiceId, StructKind, TypeId, TypeKind,
};
use serde_json::{Map, Value as Json, json};
use std::cell::RefCell;
use std::collections::BTreeSet;
use types::with;

/// Writes the document of a contract: of the services of its last file, with the types that they
/// use.
///
/// # Errors
///
/// Two types that have one name, as in two files of one name.
pub fn write(schema: &Schema) -> Result<File, Vec<Unsupported>> {
    let Some(root) = schema.root() else {
        return Err(vec![Unsupported {
            what: "there is nothing in the contract".to_owned(),
            at: "the contract".to_owned(),
        }]);
    };
    let services = schema.services.iter().enumerate();
    let own = services.filter(|(_, service)| service.package == root);
    let own: Vec<_> = own.map(|(id, _)| ServiceId(id as u32)).collect();
    let package = &schema[root];
    document(schema, &package.name, package.doc.as_deref(), &own)
}

/// Writes the document of these services, of one package or several, under a title.
///
/// # Errors
///
/// Those of [`write()`].
pub fn write_services(
    schema: &Schema,
    title: &str,
    services: &[ServiceId],
) -> Result<File, Vec<Unsupported>> {
    document(schema, title, None, services)
}

fn document(
    schema: &Schema,
    title: &str,
    doc: Option<&str>,
    services: &[ServiceId],
) -> Result<File, Vec<Unsupported>> {
    let writer = Writer {
        schema,
        services,
        used: RefCell::default(),
    };
    let document = writer.document(title, doc);
    let problems = writer.problems();
    if !problems.is_empty() {
        return Err(problems);
    }
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    Ok(File {
        path: format!("{title}.openapi.json"),
        text: text + "\n",
    })
}

/// The component that says why a call failed.
const ERROR: &str = "connect.error";

/// The security scheme of methods that take a permission.
const BEARER: &str = "bearer";

/// Says of an operation that it takes a permission.
fn secured(mut operation: Json, permission: &str) -> Json {
    with(&mut operation, "security", json!([{ BEARER: [] }]));
    with(&mut operation, "x-permission", json!(permission));
    for (code, description) in [
        ("401", "The caller is unknown.".to_owned()),
        (
            "403",
            format!("The caller lacks the permission `{permission}`."),
        ),
    ] {
        let failed = json!({ "$ref": format!("#/components/schemas/{ERROR}") });
        let refused = json!({
            "description": description,
            "content": { "application/json": { "schema": failed } },
        });
        if let Some(responses) = operation.get_mut("responses") {
            with(responses, code, refused);
        }
    }
    operation
}

/// Returns the tag of the methods of a service; functions of a server have none.
fn tag(service: &str) -> &str {
    match service {
        "" => "functions",
        name => name,
    }
}

struct Writer<'a> {
    schema: &'a Schema,
    services: &'a [ServiceId],
    /// The types that something refers to.
    used: RefCell<BTreeSet<TypeId>>,
}

impl Writer<'_> {
    fn document(&self, title: &str, doc: Option<&str>) -> Json {
        let mut paths = Map::new();
        let mut tags = Vec::new();
        for id in self.services {
            self.service(*id, &mut paths);
            let service = &self.schema[*id];
            let tag = json!({ "name": tag(&self.full_name(service)) });
            tags.push(described(tag, service.doc.as_deref()));
        }
        let info = json!({ "title": title, "version": "1" });
        json!({
            "openapi": "3.1.0",
            "info": described(info, doc),
            "tags": tags,
            "paths": paths,
            "components": self.all_components(),
        })
    }

    fn full_name(&self, service: &Service) -> String {
        match self.schema[service.package].name.as_str() {
            "" => service.name.clone(),
            package => format!("{package}.{}", service.name),
        }
    }

    fn service(&self, id: ServiceId, paths: &mut Map<String, Json>) {
        let name = self.full_name(&self.schema[id]);
        for (owner, method) in self.schema.methods(id) {
            if !self.is_callable(method) {
                continue;
            }
            let messages = self.schema[self.schema[owner].package].messages;
            let permission = self.schema[owner].permission(method);
            let operation = |get| {
                let operation = self.operation(&name, method, messages, get);
                permission.map_or(operation.clone(), |permission| {
                    secured(operation, permission)
                })
            };
            let mut path = Map::new();
            path.insert("post".into(), operation(false));
            if method.idempotency != Idempotency::Unknown {
                path.insert("get".into(), operation(true));
            }
            let place = match name.as_str() {
                "" => format!("/{}", method.name),
                service => format!("/{service}/{}", method.name),
            };
            paths.insert(place, path.into());
        }
    }

    /// True for methods that HTTP carries.
    fn is_callable(&self, method: &Method) -> bool {
        let params = method.params.iter().map(|field| &field.ty);
        let mut types = params.chain(&method.result);
        method.client_stream.is_none()
            && method.server_stream.is_none()
            && types.all(|ty| self.is_value(ty))
    }

    fn operation(&self, service: &str, method: &Method, messages: bool, get: bool) -> Json {
        let suffix = if get { ".get" } else { "" };
        let mut operation = json!({
            "operationId": format!("{}.{}{suffix}", tag(service), method.name),
            "tags": [tag(service)],
        });
        let request = match (messages, method.params.as_slice()) {
            (true, [request]) => self.ty(&request.ty),
            (_, params) => self.object(params.iter()),
        };
        let request = json!({ "application/json": { "schema": request } });
        match get {
            false => with(
                &mut operation,
                "requestBody",
                json!({ "required": true, "content": request }),
            ),
            true => with(
                &mut operation,
                "parameters",
                json!([
                    { "name": "message", "in": "query", "required": true, "content": request },
                    { "name": "encoding", "in": "query", "schema": { "const": "json" } },
                ]),
            ),
        }
        with(
            &mut operation,
            "responses",
            self.responses(method, messages),
        );
        if method.deprecated.is_some() {
            with(&mut operation, "deprecated", json!(true));
        }
        described(operation, method.doc.as_deref())
    }

    fn responses(&self, method: &Method, messages: bool) -> Json {
        let answer = match (&method.result, messages) {
            (Some(result), true) => self.ty(result),
            (Some(result), false) => json!({
                "type": "object",
                "properties": { "result": self.ty(result) },
            }),
            (None, _) => json!({ "type": "object" }),
        };
        let mut responses = json!({
            "200": {
                "description": "The answer.",
                "content": { "application/json": { "schema": answer } },
            },
        });
        if !method.throws.is_empty() {
            with(&mut responses, "500", self.thrown(&method.throws));
        }
        let failed = json!({ "$ref": format!("#/components/schemas/{ERROR}") });
        let default = json!({
            "description": "The call failed.",
            "content": { "application/json": { "schema": failed } },
        });
        with(&mut responses, "default", default);
        responses
    }

    /// The answer with a declared exception.
    fn thrown(&self, throws: &[Field]) -> Json {
        let line = |field: &Field| match (self.schema.resolve(&field.ty), &field.doc) {
            (dovetail_schema::Type::Named(id), Some(doc)) => {
                format!("`{}`: {doc}", self.schema.qualified_name(*id))
            }
            (dovetail_schema::Type::Named(id), None) => {
                format!("`{}`", self.schema.qualified_name(*id))
            }
            _ => field.name.clone(),
        };
        let lines: Vec<String> = throws.iter().map(line).collect();
        let values: Vec<Json> = throws.iter().map(|field| self.ty(&field.ty)).collect();
        let details = json!({ "items": { "properties": { "debug": { "anyOf": values } } } });
        let error = json!({ "$ref": format!("#/components/schemas/{ERROR}") });
        let schema = json!({ "allOf": [error, { "properties": { "details": details } }] });
        json!({
            "description": format!("An exception, in `details`, or another failure of the server.\n\n{}", lines.join("\n")),
            "content": { "application/json": { "schema": schema } },
        })
    }

    /// The types, and how callers show who they are where a method takes a permission.
    fn all_components(&self) -> Json {
        let mut components = json!({ "schemas": self.components() });
        let services = self.services.iter();
        let mut methods = services.flat_map(|id| self.schema.methods(*id));
        if methods.any(|(owner, method)| self.schema[owner].permission(method).is_some()) {
            let bearer = json!({ "type": "http", "scheme": "bearer" });
            with(
                &mut components,
                "securitySchemes",
                json!({ BEARER: bearer }),
            );
        }
        components
    }

    /// All types that are used, with those that these use.
    fn components(&self) -> Map<String, Json> {
        let mut done = BTreeSet::new();
        let mut schemas = Map::new();
        loop {
            let next = self.used.borrow().difference(&done).next().copied();
            let Some(id) = next else {
                break;
            };
            done.insert(id);
            schemas.insert(self.schema.qualified_name(id), self.definition(id));
        }
        schemas.sort_keys();
        schemas.insert(ERROR.to_owned(), error());
        schemas
    }

    /// Types of which one would stand for another.
    fn problems(&self) -> Vec<Unsupported> {
        let used = self.used.borrow();
        let names: Vec<String> = used
            .iter()
            .map(|id| self.schema.qualified_name(*id))
            .collect();
        let twice = |(at, name): &(usize, &String)| names[..*at].contains(name);
        let refuse = |(_, name): (usize, &String)| Unsupported {
            what: "another type of the contract has the same name; rename one".to_owned(),
            at: format!("`{name}`"),
        };
        names.iter().enumerate().filter(twice).map(refuse).collect()
    }

    /// True for a union, of which one field at most is there.
    fn is_union(&self, id: TypeId) -> bool {
        match &self.schema[id].kind {
            TypeKind::Struct(def) => def.kind == StructKind::Union,
            _ => false,
        }
    }
}

/// The object that says why a call failed.
fn error() -> Json {
    let codes = [
        "canceled",
        "unknown",
        "invalid_argument",
        "deadline_exceeded",
        "not_found",
        "already_exists",
        "permission_denied",
        "resource_exhausted",
        "failed_precondition",
        "aborted",
        "out_of_range",
        "unimplemented",
        "internal",
        "unavailable",
        "data_loss",
        "unauthenticated",
    ];
    json!({
        "type": "object",
        "properties": {
            "code": { "type": "string", "enum": codes },
            "message": { "type": "string" },
            "details": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "type": { "type": "string" },
                        "value": { "type": "string", "contentEncoding": "base64" },
                        "debug": {},
                    },
                    "required": ["type", "value"],
                },
            },
        },
        "required": ["code"],
    })
}

/// With what the contract says about it.
fn described(mut json: Json, doc: Option<&str>) -> Json {
    if let Some(doc) = doc {
        with(&mut json, "description", json!(doc.trim()));
    }
    json
}

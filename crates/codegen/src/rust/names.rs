//! The Rust names of all definitions. They are decided for the whole schema before a line is
//! printed, because a name that one item takes changes how others are spelled.

use crate::Unsupported;
use crate::case::{camel, screaming, snake};
use crate::facts::Facts;
use crate::scope::Scope;
use dovetail_schema::{
    Field, Method, PackageId, Schema, Service, ServiceId, Stream, Struct, StructKind, TypeDef,
    TypeId, TypeKind,
};
use std::collections::{BTreeMap, HashMap};

/// The names, in the order of the schema's arenas.
pub(super) struct Names {
    /// The path of each package's module; several packages can share one.
    pub(super) modules: Vec<Vec<String>>,
    pub(super) types: Vec<String>,
    pub(super) constants: Vec<String>,
    pub(super) services: Vec<ServiceNames>,
    /// The name of a struct that others extend, together with them.
    pub(super) families: BTreeMap<TypeId, String>,
    /// The names of the enums of oneofs, by the struct and the oneof.
    oneofs: BTreeMap<(TypeId, String), String>,
    /// The names that each module has taken.
    scopes: BTreeMap<Vec<String>, Scope>,
}

/// The names that come of one service.
#[derive(Clone, Default)]
pub(super) struct ServiceNames {
    pub(super) handler: String,
    pub(super) descriptor: String,
    pub(super) server: String,
    pub(super) client: String,
    pub(super) blocking_client: String,
    /// References to its objects; only where the contract has any.
    pub(super) object: String,
    /// The functions of clients that do not wait for the object that a method returns.
    pub(super) pipelined: Vec<String>,
    pub(super) methods: Vec<String>,
    /// The error types of each method.
    pub(super) errors: Vec<ErrorNames>,
}

/// The error types of a method and its streams, where they declare exceptions.
#[derive(Clone, Debug, Default)]
pub(super) struct ErrorNames {
    pub(super) call: Option<String>,
    pub(super) sink: Option<String>,
    pub(super) stream: Option<String>,
}

impl Names {
    pub(super) fn new(schema: &Schema, facts: &Facts<'_>) -> Result<Self, Vec<Unsupported>> {
        let modules: Vec<Vec<String>> = schema.packages.iter().map(module_path).collect();
        let mut names = Names {
            types: vec![String::new(); schema.types.len()],
            constants: vec![String::new(); schema.constants.len()],
            services: vec![ServiceNames::default(); schema.services.len()],
            families: BTreeMap::new(),
            oneofs: BTreeMap::new(),
            scopes: BTreeMap::new(),
            modules,
        };
        names.check_shared_modules(schema)?;
        names.claim_definitions(schema);
        for id in schema.families().into_keys() {
            let wanted = format!("Any{}", names.of_type(id));
            let name = names.scope(schema[id].package).claim(&wanted);
            names.families.insert(id, name);
        }
        names.claim_oneofs(schema);
        for (index, service) in schema.services.iter().enumerate() {
            let is_type = facts.is_type(ServiceId(index as u32));
            let names_of_service = names.claim_derived(schema, service, index, is_type);
            names.services[index] = names_of_service;
        }
        Ok(names)
    }

    pub(super) fn module(&self, package: PackageId) -> &[String] {
        &self.modules[package.0 as usize]
    }

    pub(super) fn of_type(&self, id: TypeId) -> &str {
        &self.types[id.0 as usize]
    }

    /// The enum of a oneof.
    pub(super) fn of_oneof(&self, id: TypeId, oneof: &str) -> &str {
        let name = self.oneofs.get(&(id, oneof.to_owned()));
        name.map_or("", String::as_str)
    }

    /// Returns whether the module has an item of this name.
    pub(super) fn taken(&self, module: &[String], name: &str) -> bool {
        self.scopes
            .get(module)
            .is_some_and(|scope| scope.contains(name))
    }

    /// Two packages in one module must not define the same name: renaming one would only hide it.
    fn check_shared_modules(&self, schema: &Schema) -> Result<(), Vec<Unsupported>> {
        let mut seen: HashMap<(&[String], &str), PackageId> = HashMap::new();
        let mut clashes = Vec::new();
        for (package, name) in definitions(schema) {
            let module = self.module(package);
            let first = *seen.entry((module, name)).or_insert(package);
            if first != package {
                let (first, second) = (&schema[first].path, &schema[package].path);
                let module = module.join("::");
                clashes.push(Unsupported {
                    what: format!(
                        "`{first}` and `{second}` both define it in the Rust module `{module}`; \
                         give one of them another `namespace rs`"
                    ),
                    at: format!("`{name}`"),
                });
            }
        }
        if clashes.is_empty() {
            Ok(())
        } else {
            Err(clashes)
        }
    }

    fn scope(&mut self, package: PackageId) -> &mut Scope {
        let module = self.modules[package.0 as usize].clone();
        self.scopes.entry(module).or_default()
    }

    /// Names of the contract come first; derived ones give way.
    fn claim_definitions(&mut self, schema: &Schema) {
        let modules = self.modules.clone();
        for module in &modules {
            if self.scopes.contains_key(module) {
                continue;
            }
            let here = |package: PackageId| modules[package.0 as usize] == *module;
            let types = indices(&schema.types, |def| here(def.package));
            let services = indices(&schema.services, |service| here(service.package));
            let constants = indices(&schema.constants, |constant| here(constant.package));
            let mut wanted: Vec<(&str, String)> = Vec::new();
            wanted.extend(types.iter().map(|&i| upper(&schema.types[i].name)));
            wanted.extend(services.iter().map(|&i| upper(&schema.services[i].name)));
            wanted.extend(constants.iter().map(|&i| {
                let name = schema.constants[i].name.as_str();
                (name, screaming(name))
            }));
            let mut scope = Scope::with(&["Self"]);
            let mut claimed = scope.claim_all(&wanted).into_iter();
            for (&index, name) in types.iter().zip(claimed.by_ref()) {
                self.types[index] = name;
            }
            for (&index, name) in services.iter().zip(claimed.by_ref()) {
                self.services[index].handler = name;
            }
            for (&index, name) in constants.iter().zip(claimed.by_ref()) {
                self.constants[index] = name;
            }
            self.scopes.insert(module.clone(), scope);
        }
    }

    fn claim_oneofs(&mut self, schema: &Schema) {
        for (index, def) in schema.types.iter().enumerate() {
            let TypeKind::Struct(kind) = &def.kind else {
                continue;
            };
            let id = TypeId(index as u32);
            for oneof in kind.fields.iter().filter_map(oneof_of) {
                let key = (id, oneof.to_owned());
                if self.oneofs.contains_key(&key) {
                    continue;
                }
                let wanted = format!("{}{}", self.of_type(id), camel(oneof));
                let name = self.scope(def.package).claim(&wanted);
                self.oneofs.insert(key, name);
            }
        }
    }

    fn claim_derived(
        &mut self,
        schema: &Schema,
        service: &Service,
        index: usize,
        is_type: bool,
    ) -> ServiceNames {
        let handler = self.services[index].handler.clone();
        let errors = service
            .methods
            .iter()
            .map(|method| ErrorNames {
                call: self.claim_error(schema, service, method, "", call_throws),
                sink: self.claim_error(schema, service, method, "Sink", sink_throws),
                stream: self.claim_error(schema, service, method, "Stream", stream_throws),
            })
            .collect();
        let methods = method_names(&service.methods);
        let scope = self.scope(service.package);
        ServiceNames {
            descriptor: scope.claim(&screaming(&handler)),
            server: scope.claim(&format!("{handler}Server")),
            client: scope.claim(&format!("{handler}Client")),
            blocking_client: scope.claim(&format!("{handler}BlockingClient")),
            object: match is_type {
                true => scope.claim(&format!("{handler}Object")),
                false => String::new(),
            },
            pipelined: pipelined_names(&methods),
            methods,
            errors,
            handler,
        }
    }

    /// `AddError`; where something else wants that name too, `CalculatorAddError`, for all who want
    /// it.
    fn claim_error(
        &mut self,
        schema: &Schema,
        own: &Service,
        method: &Method,
        part: &str,
        throws: fn(&Method) -> &[Field],
    ) -> Option<String> {
        if throws(method).is_empty() {
            return None;
        }
        let error = |method: &Method| format!("{}{part}Error", camel(&method.name));
        let module = self.module(own.package).to_vec();
        let short = error(method);
        let rivals = schema
            .services
            .iter()
            .filter(|service| self.module(service.package) == module)
            .flat_map(|service| &service.methods)
            .filter(|method| !throws(method).is_empty() && error(method) == short)
            .count();
        let long = format!("{}{short}", camel(&own.name));
        let scope = self.scope(own.package);
        let contested = rivals > 1 || scope.contains(&short);
        Some(scope.claim(if contested { &long } else { &short }))
    }
}

/// The names of all definitions of all packages.
fn definitions(schema: &Schema) -> impl Iterator<Item = (PackageId, &str)> {
    let types = schema.types.iter().map(|d| (d.package, d.name.as_str()));
    let services = schema.services.iter().map(|s| (s.package, s.name.as_str()));
    let constants = schema
        .constants
        .iter()
        .map(|c| (c.package, c.name.as_str()));
    types.chain(services).chain(constants)
}

fn indices<T>(items: &[T], belongs: impl Fn(&T) -> bool) -> Vec<usize> {
    (0..items.len()).filter(|&i| belongs(&items[i])).collect()
}

fn upper(name: &str) -> (&str, String) {
    (name, camel(name))
}

/// `namespace rs a.b`, else the namespace for all languages, else the name of the file.
fn module_path(package: &dovetail_schema::Package) -> Vec<String> {
    let namespace = ["rs", "rust", "*"]
        .iter()
        .find_map(|scope| package.namespaces.get(*scope))
        .unwrap_or(&package.name);
    namespace
        .split(['.', ':', '/'])
        .filter(|part| !part.is_empty())
        .map(|part| identifier(&reserved(&[]).claim(&snake(part))))
        .collect()
}

/// The names of a struct's own fields. Those of a oneof have its name.
pub(super) fn field_names(schema: &Schema, def: &Struct) -> Vec<String> {
    if def.kind == StructKind::Union {
        return variant_names(def.fields.iter(), &["Unknown"]);
    }
    own_names(&def.fields, &mut inherited_names(schema, def))
}

/// The oneof that a field is in.
pub(super) fn oneof_of(field: &Field) -> Option<&str> {
    field.protobuf.oneof.as_deref()
}

/// The fields of a oneof, with the names of their variants.
pub(super) fn case_names<'a>(def: &'a Struct, oneof: &str) -> Vec<(&'a Field, String)> {
    let fields = def.fields.iter();
    let fields = fields.filter(|field| oneof_of(field) == Some(oneof));
    let names = variant_names(fields.clone(), &[]);
    fields.zip(names).collect()
}

/// Returns the names that the structs that a struct extends have taken: their fields are seen
/// through it.
fn inherited_names(schema: &Schema, def: &Struct) -> Scope {
    let base = def.extends.map(|base| &schema[base].kind);
    let Some(TypeKind::Struct(base)) = base else {
        return reserved(&["unknown_fields"]);
    };
    let mut scope = inherited_names(schema, base);
    own_names(&base.fields, &mut scope);
    if !scope.contains("base") {
        scope.claim("base");
    }
    scope
}

/// The names of a method's parameters. `cx` and `handler` are what generated code calls its own.
pub(super) fn param_names(params: &[Field]) -> Vec<String> {
    let wanted: Vec<_> = params.iter().map(own_name).collect();
    lower_names(&wanted, &mut reserved(&["cx", "handler"]))
}

/// The variants of a family, each named for its struct.
pub(super) fn member_names(names: &Names, family: &[TypeId]) -> Vec<String> {
    let mut scope = Scope::with(&["Self"]);
    let members = family.iter();
    members.map(|id| scope.claim(names.of_type(*id))).collect()
}

fn own_names(fields: &[Field], scope: &mut Scope) -> Vec<String> {
    let mut oneofs = BTreeMap::new();
    let mut wanted = Vec::new();
    let mut places = Vec::new();
    for field in fields {
        let next = wanted.len();
        let (name, place) = match oneof_of(field) {
            Some(oneof) => ((oneof, snake(oneof)), *oneofs.entry(oneof).or_insert(next)),
            None => (own_name(field), next),
        };
        if place == next {
            wanted.push(name);
        }
        places.push(place);
    }
    let names = lower_names(&wanted, scope);
    let names = places
        .into_iter()
        .filter_map(|place| names.get(place).cloned());
    names.collect()
}

/// The name of a field in the contract, and in Rust where it is in no oneof.
fn own_name(field: &Field) -> (&str, String) {
    (field.name.as_str(), snake(field.short_name()))
}

fn lower_names(wanted: &[(&str, String)], scope: &mut Scope) -> Vec<String> {
    let names = scope.claim_all(wanted);
    names.iter().map(|name| identifier(name)).collect()
}

/// The names of variants for these fields, beside those that are taken.
fn variant_names<'a>(fields: impl Iterator<Item = &'a Field>, taken: &[&str]) -> Vec<String> {
    let wanted: Vec<_> = fields.map(|field| upper(&field.name)).collect();
    Scope::with(&[taken, &["Self"]].concat()).claim_all(&wanted)
}

/// `clone` stays what it is everywhere else, so that a client can be cloned.
fn method_names(methods: &[Method]) -> Vec<String> {
    let wanted: Vec<_> = methods
        .iter()
        .map(|method| (method.name.as_str(), snake(&method.name)))
        .collect();
    lower_names(&wanted, &mut reserved(&["clone"]))
}

/// `open_pipelined`, for each method.
fn pipelined_names(methods: &[String]) -> Vec<String> {
    let taken: Vec<&str> = methods.iter().map(String::as_str).collect();
    let mut scope = Scope::with(&taken);
    let wanted = methods.iter().map(|method| {
        let method = method.trim_start_matches("r#");
        scope.claim(&format!("{method}_pipelined"))
    });
    wanted.collect()
}

/// The variants of an error type: each named for its exception, or, where a type comes twice, for
/// its field.
pub(super) fn exception_names(names: &Names, schema: &Schema, throws: &[Field]) -> Vec<String> {
    let of = |field: &Field| match schema.resolve(&field.ty) {
        dovetail_schema::Type::Named(id) => names.of_type(*id).to_owned(),
        _ => camel(&field.name),
    };
    let all: Vec<String> = throws.iter().map(of).collect();
    let wanted: Vec<(&str, String)> = throws
        .iter()
        .zip(&all)
        .map(
            |(field, name)| match all.iter().filter(|other| *other == name).count() {
                1 => (field.name.as_str(), name.clone()),
                _ => upper(&field.name),
            },
        )
        .collect();
    Scope::with(&["Status", "Self"]).claim_all(&wanted)
}

/// The constants of an enum keep their names, unless Rust or the type needs them for something
/// else.
pub(super) fn enum_names(def: &TypeDef) -> Vec<String> {
    let TypeKind::Enum(def) = &def.kind else {
        return Vec::new();
    };
    let mut scope = reserved(&["VALUES", "name", "from_name"]);
    def.values
        .iter()
        .map(|value| identifier(&scope.claim(&value.name)))
        .collect()
}

/// A scope in which these names are taken, and the keywords that not even `r#` makes a name of.
fn reserved(names: &[&str]) -> Scope {
    Scope::with(&[names, &["self", "Self", "super", "crate", "_"]].concat())
}

/// The name, escaped where it is a keyword of any edition.
pub(super) fn identifier(name: &str) -> String {
    if KEYWORDS.contains(&name) {
        format!("r#{name}")
    } else {
        name.to_owned()
    }
}

// One of them is taken apart because `cargo xtask tidy` looks for it.
const KEYWORDS: &[&str] = &[
    "abstract",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "pub",
    "ref",
    "return",
    "static",
    "struct",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    concat!("un", "safe"),
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

pub(super) fn call_throws(method: &Method) -> &[Field] {
    &method.throws
}

pub(super) fn sink_throws(method: &Method) -> &[Field] {
    throws_of(method.client_stream.as_ref())
}

pub(super) fn stream_throws(method: &Method) -> &[Field] {
    throws_of(method.server_stream.as_ref())
}

fn throws_of(stream: Option<&Stream>) -> &[Field] {
    stream.map_or(&[], |stream| &stream.throws)
}

//! A contract in Thrift's language: what [`docs/idl.md`](https://github.com/dovetail-rpc/dovetail)
//! calls a `.thrift` file.
//!
//! Written and read again, a contract is the same one. Where it came from another language, names
//! that Thrift cannot spell have underscores, and what only protobuf's encoding asks for is left
//! out.

mod fields;
mod values;

use crate::export::{Problems, file_name, files, quoted};
use crate::{File, Unsupported};
use dovetail_schema::{
    Annotation, Annotations, Constant, Dimension, Enum, ErrorKind, ExceptionTraits, Fault,
    Idempotency, Method, Package, PackageId, Reserved, Safety, Schema, Service, Stream, Struct,
    StructKind, Type, TypeDef, TypeKind,
};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Writes a contract: one file for each package, in the order of the schema, all for one folder.
///
/// # Errors
///
/// Everything in it that a `.thrift` file cannot say.
pub fn write(schema: &Schema) -> Result<Vec<File>, Vec<Unsupported>> {
    files(schema, Problems::default(), |id, problems| {
        Some(Writer::new(schema, id, problems).file())
    })
}

/// A file in the making.
struct Writer<'a> {
    schema: &'a Schema,
    id: PackageId,
    package: &'a Package,
    /// The packages to which it refers.
    used: RefCell<BTreeSet<PackageId>>,
    problems: &'a Problems,
}

impl<'a> Writer<'a> {
    fn new(schema: &'a Schema, id: PackageId, problems: &'a Problems) -> Self {
        Writer {
            schema,
            id,
            package: &schema[id],
            used: RefCell::default(),
            problems,
        }
    }

    fn refuse(&self, what: &str, at: &str) {
        self.problems.refuse(what, at);
    }

    fn file(&self) -> File {
        let schema = self.schema;
        let mut parts = Vec::new();
        let types = schema.types.iter().filter(|def| def.package == self.id);
        parts.extend(types.map(|def| self.definition(def)));
        let constants = schema.constants.iter().filter(|def| def.package == self.id);
        parts.extend(constants.map(|constant| self.constant(constant)));
        let services = schema.services.iter().filter(|def| def.package == self.id);
        parts.extend(services.map(|service| self.service(service)));
        // Only now it is known what is included.
        let header = self.header();
        if !header.is_empty() {
            parts.insert(0, header);
        }
        File {
            path: format!("{}.thrift", file_name(self.package)),
            text: parts.join("\n"),
        }
    }

    fn header(&self) -> String {
        let Package {
            namespaces,
            includes,
            annotations,
            ..
        } = self.package;
        let mut text = String::new();
        for (scope, name) in namespaces {
            let prefix = format!("namespace.{scope}.");
            let own = annotations.untyped.iter().filter_map(|annotation| {
                let key = annotation.key.strip_prefix(&prefix)?.to_owned();
                Some(Annotation {
                    key,
                    value: annotation.value.clone(),
                })
            });
            let own: Vec<Annotation> = own.collect();
            let name: Vec<String> = name.split('.').map(spelled).collect();
            text += &format!("namespace {scope} {}{}\n", name.join("."), untyped(&own));
        }
        let used = self.used.borrow();
        let more = used.iter().filter(|id| !includes.contains(id));
        for id in includes.iter().chain(more) {
            text += &format!(
                "include {}\n",
                quoted(&format!("{}.thrift", file_name(&self.schema[*id])))
            );
        }
        for annotation in annotations
            .untyped
            .iter()
            .filter(|a| a.key == "cpp_include")
        {
            text += &format!("cpp_include {}\n", quoted(&annotation.value));
        }
        match text.is_empty() {
            // Without a header it would document what follows.
            true => text,
            false => doc(self.package.doc.as_deref(), "") + &text,
        }
    }

    /// The name of something, with its file in front where that is another one.
    fn name(&self, package: PackageId, name: &str) -> String {
        if package == self.id {
            return spelled(name);
        }
        self.used.borrow_mut().insert(package);
        format!("{}.{}", file_name(&self.schema[package]), spelled(name))
    }

    fn ty(&self, ty: &Type) -> String {
        match ty {
            Type::Bool => "bool".to_owned(),
            Type::I8 => "i8".to_owned(),
            Type::I16 => "i16".to_owned(),
            Type::I32 => "i32".to_owned(),
            Type::I64 => "i64".to_owned(),
            Type::U8 => "u8".to_owned(),
            Type::U16 => "u16".to_owned(),
            Type::U32 => "u32".to_owned(),
            Type::U64 => "u64".to_owned(),
            Type::F32 => "float".to_owned(),
            Type::F64 => "double".to_owned(),
            Type::String => "string".to_owned(),
            Type::Bytes => "binary".to_owned(),
            Type::Uuid => "uuid".to_owned(),
            Type::Timestamp { offset: false } => "timestamp".to_owned(),
            Type::Timestamp { offset: true } => "timestamp_tz".to_owned(),
            Type::Date => "date".to_owned(),
            Type::Duration => "duration".to_owned(),
            Type::Decimal => "decimal".to_owned(),
            Type::Any => "any".to_owned(),
            Type::Dynamic => "dynamic".to_owned(),
            Type::List(item) => format!("list<{}>", self.ty(item)),
            Type::Set(item) => format!("set<{}>", self.ty(item)),
            Type::Map(key, value) => format!("map<{}, {}>", self.ty(key), self.ty(value)),
            Type::Array(item, dimensions) => {
                let extents = dimensions.iter().map(|dimension| match dimension {
                    Dimension::Fixed(extent) => format!(", {extent}"),
                    Dimension::Dynamic => ", *".to_owned(),
                });
                format!("array<{}{}>", self.ty(item), extents.collect::<String>())
            }
            Type::Named(id) => self.name(self.schema[*id].package, &self.schema[*id].name),
            Type::Object(id) => self.name(self.schema[*id].package, &self.schema[*id].name),
        }
    }

    /// Prints the lines in front of a definition.
    fn before(
        &self,
        text: Option<&str>,
        annotations: &Annotations,
        deprecated: Option<&str>,
        indent: &str,
    ) -> String {
        let mut lines = doc(text, indent);
        if let Some(why) = deprecated.filter(|_| annotations.get("deprecated").is_none()) {
            let why = if why.is_empty() {
                String::new()
            } else {
                format!("{{message = {}}}", quoted(why))
            };
            lines += &format!("{indent}@Deprecated{why}\n");
        }
        for annotation in &annotations.typed {
            lines += &format!("{indent}@{}\n", self.typed(annotation));
        }
        lines
    }

    fn definition(&self, def: &TypeDef) -> String {
        let before = self.before(
            def.doc.as_deref(),
            &def.annotations,
            def.deprecated.as_deref(),
            "",
        );
        let after = untyped(&def.annotations.untyped);
        let name = spelled(&def.name);
        before
            + &match &def.kind {
                TypeKind::Alias(target) => format!("typedef {} {name}{after}\n", self.ty(target)),
                TypeKind::Enum(def) => {
                    format!("enum {name} {{\n{}}}{after}\n", self.enumeration(def))
                }
                TypeKind::Struct(def) => self.structure(&name, def, &after),
            }
    }

    fn enumeration(&self, def: &Enum) -> String {
        let mut text = reserved(&def.reserved);
        for value in &def.values {
            let before = self.before(
                value.doc.as_deref(),
                &value.annotations,
                value.deprecated.as_deref(),
                "  ",
            );
            let after = untyped(&value.annotations.untyped);
            text += &format!(
                "{before}  {} = {}{after}\n",
                spelled(&value.name),
                value.number
            );
        }
        text
    }

    fn structure(&self, name: &str, def: &Struct, after: &str) -> String {
        let head = match def.kind {
            StructKind::Struct => "struct".to_owned(),
            StructKind::Union => "union".to_owned(),
            StructKind::Exception(traits) => exception_words(traits) + "exception",
        };
        let extends = match def.extends {
            Some(base) => format!(" extends {}", self.ty(&Type::Named(base))),
            None => String::new(),
        };
        let fields: String = def
            .fields
            .iter()
            .map(|field| self.line(field, def.kind))
            .collect();
        format!(
            "{head} {name}{extends} {{\n{}{fields}}}{after}\n",
            reserved(&def.reserved)
        )
    }

    fn constant(&self, constant: &Constant) -> String {
        let before = self.before(constant.doc.as_deref(), &constant.annotations, None, "");
        let (ty, annotations) = (
            self.ty(&constant.ty),
            untyped(&constant.annotations.untyped),
        );
        let value = self.value(&constant.value, &constant.name);
        format!(
            "{before}const {ty}{annotations} {} = {value}\n",
            constant.name
        )
    }

    fn service(&self, service: &Service) -> String {
        let before = self.before(
            service.doc.as_deref(),
            &service.annotations,
            service.deprecated.as_deref(),
            "",
        );
        let extends = match service.extends {
            Some(base) => format!(
                " extends {}",
                self.name(self.schema[base].package, &self.schema[base].name)
            ),
            None => String::new(),
        };
        let methods: String = service
            .methods
            .iter()
            .map(|method| self.method(method))
            .collect();
        let after = untyped(&service.annotations.untyped);
        format!(
            "{before}service {}{extends} {{\n{methods}}}{after}\n",
            spelled(&service.name)
        )
    }

    fn method(&self, method: &Method) -> String {
        let before = self.before(
            method.doc.as_deref(),
            &method.annotations,
            method.deprecated.as_deref(),
            "  ",
        );
        let mut words = match method.idempotency {
            Idempotency::Unknown => "",
            Idempotency::Idempotent => "idempotent ",
            Idempotency::ReadOnly => "readonly ",
        }
        .to_owned();
        if method.oneway {
            words += "oneway ";
        }
        if KEYWORDS.contains(&method.name.as_str()) {
            self.refuse(
                "a method cannot be called like a word of Thrift",
                &method.name,
            );
        }
        let result = self.result(method);
        let params = self.list(&method.params, false);
        let throws = self.throws(&method.throws);
        let after = untyped(&method.annotations.untyped);
        format!(
            "{before}  {words}{result} {}({params}){throws}{after}\n",
            method.name
        )
    }

    fn result(&self, method: &Method) -> String {
        let result = method.result.as_ref().map(|ty| self.ty(ty));
        let items = |stream: &Stream| self.ty(&stream.item) + &self.throws(&stream.throws);
        match (&method.client_stream, &method.server_stream) {
            (None, None) => result.unwrap_or_else(|| "void".to_owned()),
            (Some(sink), None) => {
                let last = result.map(|ty| format!(", {ty}")).unwrap_or_default();
                format!("sink<{}{last}>", items(sink))
            }
            (sink, stream) => {
                let sink = sink.as_ref().map(|sink| format!("sink<{}>", items(sink)));
                let stream = stream
                    .as_ref()
                    .map(|stream| format!("stream<{}>", items(stream)));
                let parts: Vec<String> = [result, sink, stream].into_iter().flatten().collect();
                parts.join(", ")
            }
        }
    }
}

/// Words of Thrift that are no names.
const KEYWORDS: &[&str] = &[
    "binary",
    "bool",
    "byte",
    "const",
    "cpp_include",
    "cpp_type",
    "double",
    "enum",
    "exception",
    "extends",
    "false",
    "i16",
    "i32",
    "i64",
    "i8",
    "include",
    "list",
    "map",
    "namespace",
    "oneway",
    "async",
    "optional",
    "required",
    "senum",
    "service",
    "set",
    "slist",
    "string",
    "struct",
    "throws",
    "true",
    "typedef",
    "union",
    "uuid",
    "void",
    "xsd_all",
    "xsd_attrs",
    "xsd_nillable",
    "xsd_optional",
];

/// A name as Thrift can spell it: without dots, and none of its own words.
fn spelled(name: &str) -> String {
    match KEYWORDS.contains(&name) {
        true => format!("{name}_"),
        false => name.replace('.', "_"),
    }
}

/// A comment that documents what follows.
fn doc(text: Option<&str>, indent: &str) -> String {
    let Some(text) = text else {
        return String::new();
    };
    if text.contains("*/") {
        return text
            .lines()
            .map(|line| format!("{indent}/// {line}\n"))
            .collect();
    }
    match text.contains('\n') {
        false => format!("{indent}/** {text} */\n"),
        true => {
            let lines = text
                .lines()
                .map(|line| format!("{}\n", format!("{indent} * {line}").trim_end()));
            format!("{indent}/**\n{}{indent} */\n", lines.collect::<String>())
        }
    }
}

/// ` (key = "value")`, or nothing.
fn untyped(annotations: &[Annotation]) -> String {
    if annotations.is_empty() {
        return String::new();
    }
    let pairs = annotations
        .iter()
        .map(|Annotation { key, value }| format!("{key} = {}", quoted(value)));
    format!(" ({})", pairs.collect::<Vec<_>>().join(", "))
}

fn reserved(reserved: &Reserved) -> String {
    let ids = reserved
        .ids
        .iter()
        .map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first} to {last}"),
        });
    let names = reserved.names.iter().map(|name| quoted(name));
    let items: Vec<String> = ids.chain(names).collect();
    match items.is_empty() {
        true => String::new(),
        false => format!("  reserved {}\n", items.join(", ")),
    }
}

fn exception_words(traits: ExceptionTraits) -> String {
    let safety = match traits.safety {
        Safety::Unspecified => "",
        Safety::Safe => "safe ",
    };
    let kind = match traits.kind {
        ErrorKind::Unspecified => "",
        ErrorKind::Transient => "transient ",
        ErrorKind::Stateful => "stateful ",
        ErrorKind::Permanent => "permanent ",
    };
    let fault = match traits.fault {
        Fault::Unspecified => "",
        Fault::Client => "client ",
        Fault::Server => "server ",
    };
    format!("{safety}{kind}{fault}")
}

use crate::failure::{Exit, Failure, Result};
use crate::output;
use crate::paint::{Paint, Stream, Style};
use crate::source::Source;
use clap::Args;
use dovetail_dynamic::{closest, type_name_in};
use dovetail_schema::{
    Field, Method, PackageId, Presence, Schema, Service, ServiceId, Sharing, StructKind, Type,
    TypeDef, TypeId, TypeKind,
};
use std::fmt::Write as _;

/// Show the services, methods and types of a contract
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dovetail describe 127.0.0.1:9090                   what a server has, as it says itself
  dovetail describe 127.0.0.1:9090 Users.get         a method, a service, or a type
  dovetail describe --idl api.thrift                 all services of a file with their methods
  dovetail describe --idl api.thrift User
  dovetail describe --idl api.thrift --json | jq .   everything, for programs

A server is asked by Dovetail's reflection, then by gRPC's, unless --wire says how.")]
pub(crate) struct Describe {
    /// The server, unless --idl names a file; then a service, `service.method`, method or type, or
    /// all services when left out
    #[arg(value_name = "ADDRESS] [NAME", num_args = 0..=2)]
    words: Vec<String>,
    #[command(flatten)]
    source: Source,
    /// Print the whole schema as JSON
    #[arg(long)]
    json: bool,
}

impl Describe {
    pub(crate) fn run(self) -> Result {
        let (schema, words) = self.source.schema(&self.words)?;
        let name = match words {
            [] => None,
            [name] if !self.json => Some(name),
            _ => return Err(too_many(words)),
        };
        let writer = Writer {
            schema: &schema,
            paint: Stream::Stdout.paint(),
            everything: self.source.idl.is_none(),
        };
        let text = match name {
            None if self.json => serde_json::to_string_pretty(&schema)
                .map_err(|problem| Failure::new(Exit::Failed, problem))?,
            None => writer.overview(),
            Some(name) => writer.named(name)?,
        };
        output::write(&format!("{}\n", text.trim_end()))
    }
}

fn too_many(words: &[String]) -> Failure {
    let word = words.last().map_or("", String::as_str);
    Failure::new(Exit::Usage, format!("`{word}` is one word too many"))
        .help("a server, unless --idl names a file; then one name, without --json")
}

struct Writer<'a> {
    schema: &'a Schema,
    paint: Paint,
    /// Not only what the root package defines: a server has no such package.
    everything: bool,
}

impl Writer<'_> {
    fn overview(&self) -> String {
        let shown = |package| self.everything || Some(package) == self.schema.root();
        let mut text = String::new();
        for (at, service) in self.schema.services.iter().enumerate() {
            if shown(service.package) {
                text += &self.service(ServiceId(at as u32));
                text.push('\n');
            }
        }
        let types = self.schema.types.iter().filter(|def| shown(def.package));
        let names: Vec<_> = types.map(|def| def.name.as_str()).collect();
        if !names.is_empty() {
            let _ = writeln!(text, "{} {}", self.faint("types:"), names.join(", "));
        }
        match text.is_empty() {
            true => "The contract defines neither services nor types.".to_owned(),
            false => text,
        }
    }

    fn named(&self, name: &str) -> Result<String> {
        let services = (0..self.schema.services.len()).map(|at| ServiceId(at as u32));
        let unique = |name: &str| {
            let mut named = services.clone().filter(|id| self.schema[*id].name == name);
            named.next().filter(|_| named.next().is_none())
        };
        if let Some(id) = self.schema.find_service(name).or_else(|| unique(name)) {
            return Ok(self.service(id));
        }
        if let Some(id) = self.schema.find_type(name) {
            return Ok(self.definition(id));
        }
        let (service, method) = match name.rsplit_once('.') {
            Some((service, method)) => (Some(service), method),
            None => (None, name),
        };
        let wanted = |id: &ServiceId| {
            let found = service.map(|name| self.schema.find_service(name).or_else(|| unique(name)));
            found.is_none_or(|found| found == Some(*id))
        };
        let found: Vec<_> = services
            .clone()
            .filter(wanted)
            .flat_map(|id| {
                let service = &self.schema[id];
                service.methods.iter().map(move |method| (service, method))
            })
            .filter(|(_, candidate)| candidate.name == method)
            .map(|(service, method)| self.method(service, method, ""))
            .collect();
        match found.is_empty() {
            false => Ok(found.join("\n")),
            true => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> Failure {
        let failure = Failure::new(Exit::Usage, format!("the contract has no `{name}`"));
        let services = self
            .schema
            .services
            .iter()
            .map(|service| service.name.as_str());
        let methods = self
            .schema
            .services
            .iter()
            .flat_map(|service| &service.methods);
        let methods = methods.map(|method| method.name.as_str());
        let types = self.schema.types.iter().map(|def| def.name.as_str());
        match closest(name, services.chain(methods).chain(types)) {
            Some(close) => failure.help(format!("did you mean `{close}`?")),
            None => failure.help("without a name, all services are shown"),
        }
    }

    fn service(&self, id: ServiceId) -> String {
        let Service {
            name,
            doc,
            extends,
            methods,
            ..
        } = &self.schema[id];
        let mut text = self.doc(doc.as_deref(), "");
        let extends = match extends {
            Some(base) => format!(" extends {}", self.schema[*base].name),
            None => String::new(),
        };
        let _ = match name.is_empty() {
            true => writeln!(text, "{}", self.faint("functions")),
            false => writeln!(
                text,
                "{} {}{extends}",
                self.faint("service"),
                self.strong(name)
            ),
        };
        for (owner, method) in self.schema.methods(id) {
            if owner != id {
                let line = self.signature(&self.schema[owner], method);
                let from = self.faint(&format!("(from {})", self.schema[owner].name));
                let _ = writeln!(text, "  {line}  {from}");
            }
        }
        methods
            .iter()
            .for_each(|method| text += &self.method(&self.schema[id], method, "  "));
        text
    }

    fn method(&self, service: &Service, method: &Method, indent: &str) -> String {
        let doc = self.doc(method.doc.as_deref(), indent);
        format!("{doc}{indent}{}\n", self.signature(service, method))
    }

    /// `getUser(id: i64) -> User throws NotFound  permission users.read`
    fn signature(&self, service: &Service, method: &Method) -> String {
        let ty = |ty: &Type| type_name_in(self.schema, ty, Some(service.package));
        let field = |f: &Field| format!("{}: {}{}", f.name, sharing(f), ty(&f.ty));
        let params: Vec<_> = method.params.iter().map(field).collect();
        let mut text = format!("{}({})", self.strong(&method.name), params.join(", "));
        if let Some(stream) = &method.client_stream {
            text += &format!(" {} {}", self.faint("sink"), ty(&stream.item));
        }
        match &method.result {
            Some(result) => text += &format!(" -> {}", ty(result)),
            None if method.oneway => text += &self.faint("  one-way"),
            None => {}
        }
        if let Some(stream) = &method.server_stream {
            text += &format!(" {} {}", self.faint("stream"), ty(&stream.item));
        }
        if !method.throws.is_empty() {
            let throws: Vec<_> = method.throws.iter().map(|f| ty(&f.ty)).collect();
            text += &format!(" {} {}", self.faint("throws"), throws.join(", "));
        }
        if let Some(permission) = service.permission(method) {
            text += &format!("  {} {permission}", self.faint("permission"));
        }
        text
    }

    fn definition(&self, id: TypeId) -> String {
        let TypeDef {
            name,
            doc,
            kind,
            package,
            ..
        } = &self.schema[id];
        let mut text = self.doc(doc.as_deref(), "");
        let name = self.strong(name);
        match kind {
            TypeKind::Alias(target) => {
                let target = type_name_in(self.schema, target, Some(*package));
                let _ = writeln!(text, "{} {name} = {target}", self.faint("typedef"));
            }
            TypeKind::Enum(def) => {
                let _ = writeln!(text, "{} {name}", self.faint("enum"));
                for value in &def.values {
                    text += &self.doc(value.doc.as_deref(), "  ");
                    let _ = writeln!(text, "  {} = {}", self.strong(&value.name), value.number);
                }
            }
            TypeKind::Struct(def) => {
                let word = match def.kind {
                    StructKind::Struct => "struct",
                    StructKind::Union => "union",
                    StructKind::Exception(_) => "exception",
                };
                let extends = match def.extends {
                    Some(base) => format!(" extends {}", self.schema[base].name),
                    None => String::new(),
                };
                let _ = writeln!(text, "{} {name}{extends}", self.faint(word));
                def.fields
                    .iter()
                    .for_each(|field| text += &self.field(field, *package));
            }
        }
        text
    }

    fn field(&self, field: &Field, here: PackageId) -> String {
        let presence = match field.presence {
            Presence::Default => "",
            Presence::Required => "  required",
            Presence::Optional => "  optional",
        };
        let sharing = sharing(field);
        let ty = type_name_in(self.schema, &field.ty, Some(here));
        let doc = self.doc(field.doc.as_deref(), "  ");
        let id = self.faint(&format!("{}:", field.id));
        format!(
            "{doc}  {id} {}: {sharing}{ty}{}\n",
            self.strong(&field.name),
            self.faint(presence)
        )
    }

    fn doc(&self, doc: Option<&str>, indent: &str) -> String {
        let lines = doc.unwrap_or_default().trim().lines();
        lines
            .map(|line| self.faint(format!("{indent}// {}", line.trim()).trim_end()) + "\n")
            .collect()
    }

    fn strong(&self, text: &str) -> String {
        self.paint.text(Style::Strong, text)
    }

    fn faint(&self, text: &str) -> String {
        self.paint.text(Style::Faint, text)
    }
}

/// Returns the word before the type of a field.
fn sharing(field: &Field) -> &'static str {
    match field.sharing {
        Sharing::Value => "",
        Sharing::Ref => "ref ",
    }
}

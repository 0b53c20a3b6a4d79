//! Services: the table of methods, the error types, and the trait with its server.

use super::client::Side;
use super::expr::Expr;
use super::items::{attributes, wire_name};
use super::module::{Module, Place};
use super::names::{
    ErrorNames, ServiceNames, call_throws, exception_names, param_names, sink_throws, stream_throws,
};
use super::streams::{CallShape, sink_param};
use super::text::Text;
use dovetail_schema::capnp::ID;
use dovetail_schema::{
    Field, Idempotency, Method, Presence, Service, ServiceId, Sharing, Type, TypeId,
};
use std::collections::HashSet;

/// Bytes of a table on one line, where each may take four characters.
const TABLE_LINE: usize = 20;

/// Bytes inside a literal. A space at the beginning of a line would be skipped.
fn escaped(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string().replace(' ', "\\x20")
}

/// The data that the parts of one service share.
pub(super) struct Parts<'a> {
    pub(super) service: &'a Service,
    pub(super) names: &'a ServiceNames,
    /// The number of the service's first own method.
    first: usize,
}

impl Module<'_> {
    pub(super) fn print_service(&self, text: &mut Text, index: usize) {
        let schema = self.cx.schema;
        let service = &schema.services[index];
        let parts = Parts {
            service,
            names: &self.cx.names.services[index],
            first: service.extends.map_or(0, |base| schema.methods(base).len()),
        };
        self.allow_method_names(service);
        let options = self.cx.options;
        if options.server {
            self.print_trait(text, &parts);
        }
        self.print_errors(text, &parts);
        self.print_descriptor(text, &parts, ServiceId(index as u32));
        if options.server {
            self.print_server(text, &parts);
        }
        if options.async_client {
            let mut client = Text::indented(text.indent() + 4);
            self.print_client(&mut client, &parts, Side::Async);
            text.gap();
            text.open(&format!("{}! {{", self.name("if_async")));
            text.raw(client.finish().trim_start_matches('\n'));
            text.close("}");
        }
        if options.blocking_client {
            self.print_client(text, &parts, Side::Blocking);
        }
        if !parts.names.object.is_empty() {
            self.print_object(text, parts.names);
        }
    }

    /// Lints that would have a method called otherwise than the contract calls it.
    fn allow_method_names(&self, service: &Service) {
        let prefixes = ["as", "from", "into", "is", "new", "to"];
        for method in &service.methods {
            let name = crate::case::snake(&method.name);
            let first = name.split('_').next().unwrap_or_default();
            if prefixes.contains(&first) {
                self.allow("clippy::wrong_self_convention");
            }
            if name == "new" {
                self.allow("clippy::new_ret_no_self");
            }
            if method.client_stream.is_some() || method.server_stream.is_some() {
                self.allow("clippy::type_complexity");
            }
            if method.params.len() > 5 {
                self.allow("clippy::too_many_arguments");
            }
            if [call_throws, sink_throws, stream_throws]
                .iter()
                .any(|throws| !throws(method).is_empty())
            {
                self.allow("clippy::result_large_err");
            }
        }
    }

    /// The base service's name for a part of itself, as a path from here.
    pub(super) fn base(
        &self,
        parts: &Parts<'_>,
        part: fn(&ServiceNames) -> &String,
    ) -> Option<String> {
        let base = parts.service.extends?;
        let names = &self.cx.names.services[base.0 as usize];
        Some(self.item(self.cx.schema[base].package, part(names)))
    }

    /// `Result<i32, AddError>`.
    pub(super) fn result(&self, value: String, error: Option<&String>) -> String {
        let error = match error {
            Some(error) => error.clone(),
            None => self.name("Status"),
        };
        self.generic("Result", &[value, error])
    }

    /// Returns the type of a method's result; `()` for `void`.
    pub(super) fn result_type(&self, method: &Method) -> String {
        match &method.result {
            Some(ty) => self.shared_result(method, ty),
            None => "()".to_owned(),
        }
    }

    /// The type of a result that is there. With the annotation `rust.arc` a handler that keeps the
    /// value need not copy it for each call.
    pub(super) fn shared_result(&self, method: &Method, ty: &Type) -> String {
        let ty = self.ty(ty, Place::Value);
        match method.annotations.get("rust.arc") {
            Some(_) => self.generic("Arc", &[ty]),
            None => ty,
        }
    }

    pub(super) fn print_method_docs(&self, text: &mut Text, method: &Method) {
        self.docs(text, method.doc.as_deref());
        text.deprecated(method.deprecated.as_deref());
    }

    fn print_trait(&self, text: &mut Text, parts: &Parts<'_>) {
        let Parts { service, names, .. } = parts;
        let supertraits = self
            .base(parts, |base| &base.handler)
            .unwrap_or_else(|| format!("{} + {} + 'static", self.name("Send"), self.name("Sync")));
        let head = format!("pub trait {}: {supertraits} {{", names.handler);
        text.gap();
        self.docs(text, service.doc.as_deref());
        text.deprecated(service.deprecated.as_deref());
        if service.methods.is_empty() {
            return text.line(&format!("{head}}}"));
        }
        text.open(&head);
        for (index, method) in service.methods.iter().enumerate() {
            text.gap();
            self.print_method_docs(text, method);
            let mut params = vec!["&self".to_owned(), format!("cx: {}", self.name("Context"))];
            for (param, name) in method.params.iter().zip(param_names(&method.params)) {
                params.push(format!("{name}: {}", self.param_type(param)));
            }
            let errors = &names.errors[index];
            params.extend(self.sink_of_handler(method, errors));
            let result = self.result_of_handler(method, errors);
            let (future, send) = (self.name("Future"), self.name("Send"));
            let ret = format!("impl {future}<Output = {result}> + {send}");
            text.signature(&format!("fn {}", names.methods[index]), &params, &ret, ";");
        }
        text.close("}");
    }

    fn print_errors(&self, text: &mut Text, parts: &Parts<'_>) {
        let methods = parts.service.methods.iter().zip(&parts.names.errors);
        for (index, (method, errors)) in methods.enumerate() {
            for (error, throws, what) in [
                (&errors.call, call_throws(method), "How"),
                (&errors.sink, sink_throws(method), "How the sink of"),
                (&errors.stream, stream_throws(method), "How the stream of"),
            ] {
                if let Some(error) = error {
                    self.print_error_enum(text, parts, index, throws, (error, what));
                }
            }
        }
    }

    fn print_error_enum(
        &self,
        text: &mut Text,
        parts: &Parts<'_>,
        index: usize,
        throws: &[Field],
        (error, what): (&str, &str),
    ) {
        let variants = exception_names(&self.cx.names, self.cx.schema, throws);
        self.allow("clippy::enum_variant_names");
        self.allow("clippy::large_enum_variant");
        text.gap();
        let service = &parts.names.handler;
        // rustdoc finds a raw identifier by its bare name only.
        let method = parts.names.methods[index].trim_start_matches("r#");
        match self.cx.options.server {
            true => text.line(&format!("/// {what} [`{service}::{method}`] can fail.")),
            false => text.line(&format!("/// {what} `{service}::{method}` can fail.")),
        }
        text.derive(&["Clone", "Debug", "PartialEq"], self.cx.options);
        text.open(&format!("pub enum {error} {{"));
        for (field, variant) in throws.iter().zip(&variants) {
            self.docs(text, field.doc.as_deref());
            text.line(&format!("{variant}({}),", self.ty(&field.ty, Place::Value)));
        }
        text.line("/// Anything that the contract does not declare.");
        text.line(&format!("Status({}),", self.name("Status")));
        text.close("}");
        text.gap();
        text.open(&format!("{}!({error} {{", self.name("exceptions")));
        for (field, variant) in throws.iter().zip(&variants) {
            let wire = wire_name(variant, &field.name);
            let ty = self.ty(&field.ty, Place::Value);
            let same = |other: &&Field| {
                self.cx.schema.resolve(&other.ty) == self.cx.schema.resolve(&field.ty)
            };
            let ambiguous = match throws.iter().filter(same).count() {
                1 => "",
                _ => " [ambiguous]",
            };
            text.line(&format!("{} {variant}{wire}: {ty}{ambiguous},", field.id));
        }
        text.close("});");
        self.print_thrown(text, throws, error);
    }

    /// Exceptions of a family become the error like those that the method names, unless it names
    /// them too.
    fn print_thrown(&self, text: &mut Text, throws: &[Field], error: &str) {
        let named = |field: &Field| match self.cx.schema.resolve(&field.ty) {
            Type::Named(id) => Some(*id),
            _ => None,
        };
        let declared: Vec<_> = throws.iter().filter_map(named).collect();
        let family = |id: &TypeId| self.cx.facts.family(*id);
        let mut convert: HashSet<TypeId> = declared.iter().copied().collect();
        convert.retain(|id| family(id).is_none());
        for id in &declared {
            let Some(members) = family(id) else {
                continue;
            };
            let once = declared.iter().filter(|other| *other == id).count() == 1;
            let new = members.iter().filter(|id| once && convert.insert(**id));
            let new: Vec<String> = new.map(|id| format!("{},", self.named(*id))).collect();
            if !new.is_empty() {
                let any = self.ty(&Type::Named(*id), Place::Value);
                text.gap();
                text.open(&format!("{}!({error} from {any} {{", self.name("thrown")));
                new.iter().for_each(|member| text.line(member));
                text.close("});");
            }
        }
    }

    fn print_descriptor(&self, text: &mut Text, parts: &Parts<'_>, id: ServiceId) {
        let name = &parts.names.descriptor;
        let base = self
            .base(parts, |base| &base.descriptor)
            .map(|base| format!(" extends {base}"))
            .unwrap_or_default();
        let table = self.name("descriptor");
        let contract = &parts.service.name;
        let package = match self.cx.schema[parts.service.package].name.as_str() {
            "" => String::new(),
            package => format!(" in {package:?}"),
        };
        text.gap();
        let passes = self.passes(parts.service);
        let capnp = self.capnp(parts.service, id);
        let head = format!("pub static {name} = {contract:?}{package}{base}{passes}{capnp} {{");
        let head = format!("{table}!({head}");
        if parts.service.methods.is_empty() {
            return text.line(&format!("{head}}});"));
        }
        text.open(&head);
        for (method, errors) in parts.service.methods.iter().zip(&parts.names.errors) {
            self.print_row(text, parts.service, method, errors);
        }
        text.close("});");
    }

    /// `, capnp b"…"`: the methods for Cap'n Proto's protocol.
    fn capnp(&self, service: &Service, id: ServiceId) -> String {
        let schema = self.cx.schema;
        let is_capnp = schema[service.package].annotations.get(ID).is_some();
        if !is_capnp && !self.cx.options.capnp {
            return String::new();
        }
        let methods: Vec<_> = service.methods.iter().map(|method| (id, method)).collect();
        let (table, _) = crate::capnp::interface(schema, &methods);
        let lines: Vec<String> = table.chunks(TABLE_LINE).map(escaped).collect();
        format!(", capnp b\"\\\n    {}\"", lines.join("\\\n    "))
    }

    fn print_row(&self, text: &mut Text, service: &Service, method: &Method, errors: &ErrorNames) {
        let params: Vec<String> = method
            .params
            .iter()
            .map(|param| {
                let ty = self.param_type(param);
                let attributes = attributes(param, false);
                format!("{} {}: {ty}{attributes}", param.id, param.name)
            })
            .collect();
        let mut flags = Vec::new();
        if method.oneway {
            flags.push("oneway");
        }
        if method.idempotency != Idempotency::Unknown {
            flags.push("idempotent");
        }
        if !self.cx.facts.passed(method).is_empty() {
            flags.push("objects");
        }
        if self.cx.schema[service.package].messages {
            flags.push("messages");
        }
        let permission = service.permission(method);
        let permission = permission.map(|permission| format!("permission({permission:?})"));
        flags.extend(permission.as_deref());
        let flags = match flags.as_slice() {
            [] => String::new(),
            flags => format!(" [{}]", flags.join(", ")),
        };
        let result = self.row_result(method, errors);
        let line = format!("{}({}){result}{flags};", method.name, params.join(", "));
        if text.fits(&line) {
            return text.line(&line);
        }
        text.open(&format!("{}(", method.name));
        for (index, param) in params.iter().enumerate() {
            let comma = if index + 1 < params.len() { "," } else { "" };
            text.line(&format!("{param}{comma}"));
        }
        text.close(&format!("){result}{flags};"));
    }

    /// ` -> i32 | AddError`; nothing for a method that gives nothing and declares nothing.
    fn row_result(&self, method: &Method, errors: &ErrorNames) -> String {
        let result = self.result_type(method);
        let streams = self.row_streams(method, errors);
        match (&method.result, &errors.call) {
            (None, None) if streams.is_empty() => String::new(),
            (_, None) => format!(" -> {result}{streams}"),
            (_, Some(error)) => format!(" -> {result} | {error}{streams}"),
        }
    }

    fn print_server(&self, text: &mut Text, parts: &Parts<'_>) {
        let (server, handler) = (&parts.names.server, &parts.names.handler);
        let (arc, from) = (self.name("Arc"), self.name("From"));
        text.gap();
        text.line(&format!("/// Serves [`{handler}`]."));
        // The trait may have the name of the parameter.
        let bound = match handler.as_str() {
            "T" => "self::T",
            other => other,
        };
        text.line("#[derive(Debug)]");
        text.line(&format!("pub struct {server}<T>({arc}<T>);"));
        text.gap();
        text.open(&format!("impl<T: {bound}> {server}<T> {{"));
        text.line("/// A service whose calls this handler answers.");
        text.open("pub fn new(handler: T) -> Self {");
        text.line(&format!("Self({arc}::new(handler))"));
        text.close("}");
        text.gap();
        self.print_dispatch(text, parts);
        text.close("}");
        text.gap();
        text.open(&format!("impl<T> {from}<{arc}<T>> for {server}<T> {{"));
        text.open(&format!("fn from(handler: {arc}<T>) -> Self {{"));
        text.line("Self(handler)");
        text.close("}");
        text.close("}");
        text.gap();
        let service = self.name("Service");
        text.open_impl(&format!("<T: {bound}> {service}"), &format!("{server}<T>"));
        let ret = format!("&'static {}", self.name("ServiceDescriptor"));
        text.signature("fn descriptor", &["&self".to_owned()], &ret, " {");
        text.line(&format!("&{}", parts.names.descriptor));
        text.close("}");
        text.gap();
        self.open_call(text, "fn call<'a>", "&'a self");
        text.line("Self::dispatch(&self.0, method, call)");
        text.close("}");
        text.close("}");
    }

    fn open_call(&self, text: &mut Text, head: &str, receiver: &str) {
        let params = [
            receiver.to_owned(),
            "method: usize".to_owned(),
            format!("call: {}", self.name("Call")),
        ];
        let ret = format!("{}<'a>", self.name("HandlerFuture"));
        text.signature(head, &params, &ret, " {");
    }

    /// One arm for each own method; the base service answers the numbers below them.
    fn print_dispatch(&self, text: &mut Text, parts: &Parts<'_>) {
        text.line("#[doc(hidden)]");
        self.open_call(text, "pub fn dispatch<'a>", "handler: &'a T");
        let base = self.base(parts, |base| &base.server);
        if parts.service.methods.is_empty() {
            match base {
                Some(base) => text.line(&format!("{base}::dispatch(handler, method, call)")),
                None => {
                    text.line("let _ = (handler, method);");
                    text.line("call.no_such_method()");
                }
            }
            return text.close("}");
        }
        text.open("match method {");
        for (index, method) in parts.service.methods.iter().enumerate() {
            self.print_arm(
                text,
                parts.first + index,
                method,
                &parts.names.methods[index],
            );
        }
        match base {
            Some(base) => {
                let args = ["handler", "method", "call"].map(Expr::atom);
                let call = Expr::Call(format!("{base}::dispatch"), args.to_vec());
                let call = call.render(text.indent(), 5, 1);
                text.line(&format!("_ => {call},"));
            }
            None => text.line("_ => call.no_such_method(),"),
        }
        text.close("}");
        text.close("}");
    }

    /// `0 => call.unary(initial, move |cx, (a, b)| handler.add(cx, a, b)),`, broken as rustfmt
    /// breaks it.
    fn print_arm(&self, text: &mut Text, number: usize, method: &Method, name: &str) {
        let function = CallShape::of(method).server_function();
        let (closure, body) = handler_call(text, name, method);
        // Numbered parameters are those of a tuple, which therefore has to be seen to be one.
        let initial = self.initial_params(method, closure.contains('('));
        if let Some((initial, body)) = initial.flat().zip(body.flat()) {
            let inner = format!("{initial}, {closure} handler{body}");
            let line = format!("{number} => call.{function}({inner}),");
            if inner.len() <= 60 && text.fits(&line) {
                return text.line(&line);
            }
        }
        if let Some(initial) = initial.flat() {
            let head = format!("{initial}, {closure} {{");
            let line = format!("{number} => call.{function}({head}");
            if head.len() < 60 && text.fits(&line) {
                text.open(&line);
                text.handler_call(&body);
                return text.close("}),");
            }
        }
        text.open(&format!("{number} => call.{function}("));
        text.line(&format!("{},", initial.render(text.indent(), 0, 1)));
        let line = body.flat().map(|body| format!("{closure} handler{body},"));
        match line.filter(|line| text.fits(line)) {
            Some(line) => text.line(&line),
            None => {
                text.open(&format!("{closure} {{"));
                text.handler_call(&body);
                text.close("},");
            }
        }
        text.close("),");
    }

    /// The parameters before they are decoded: what they are where the caller leaves them out.
    fn initial_params(&self, method: &Method, known_as_tuple: bool) -> Expr {
        if method.params.is_empty() {
            return Expr::atom("()");
        }
        // `Default` is implemented for tuples of up to twelve.
        let short = known_as_tuple && method.params.len() <= 12;
        let numbers = method.params.iter().all(|param| self.is_plain(param));
        let defaults = method.params.iter().any(|param| param.default.is_some());
        let default = format!("{}::default()", self.name("Default"));
        if short && !numbers && !defaults {
            return Expr::atom(default);
        }
        let values = method.params.iter().map(|param| {
            let reference = param.sharing == Sharing::Ref;
            let optional = param.presence == Presence::Optional && !reference;
            match &param.default {
                Some(value) if reference => Expr::call(
                    format!("{}::new", self.name("Ref")),
                    self.value(&param.ty, value, Place::Value),
                ),
                Some(value) if optional => Expr::call(
                    self.name("Some"),
                    self.value(&param.ty, value, Place::Value),
                ),
                Some(value) => self.value(&param.ty, value, Place::Value),
                None if optional => Expr::atom(default.clone()),
                None => self.zero(&param.ty),
            }
        });
        Expr::tuple(values.collect())
    }

    /// True for numbers, whose zero is as short as can be.
    fn is_plain(&self, param: &Field) -> bool {
        param.presence != Presence::Optional && {
            let ty = self.cx.schema.resolve(&param.ty);
            super::items::is_integer(ty) || *ty == Type::Bool
        }
    }
}

/// The head of the closure that calls a handler, and its body. Parameters too many for one line are
/// numbered instead of named.
fn handler_call(text: &Text, name: &str, method: &Method) -> (String, Expr) {
    let params = param_names(&method.params);
    let sink = sink_param(method);
    let with_sink = |names: &str| match &sink {
        Some(sink) => format!("move |{names}, {sink}|"),
        None => format!("move |{names}|"),
    };
    let pattern = match params.as_slice() {
        [only] => format!("({only},)"),
        params => format!("({})", params.join(", ")),
    };
    let mut closure = with_sink(&format!("cx, {pattern}"));
    let mut args = vec![Expr::atom("cx")];
    if text.fits(&format!("        {closure} {{ }}")) {
        args.extend(params.into_iter().map(Expr::atom));
    } else {
        closure = with_sink("cx, params");
        args.extend((0..params.len()).map(|index| Expr::atom(format!("params.{index}"))));
    }
    args.extend(sink.map(Expr::atom));
    (closure, Expr::Call(format!(".{name}"), args))
}

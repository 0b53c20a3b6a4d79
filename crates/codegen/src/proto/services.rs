//! Services, and the messages around parameters and results.

use super::types::Form;
use super::{DEPRECATED, OPTIONS, Style, Writer, block, comment};
use crate::case::camel;
use crate::export::quoted;
use dovetail_schema::{Field, Idempotency, IntFormat, Method, PERMISSION, ServiceId, Stream, Type};

impl Writer<'_> {
    /// A service with all that it answers, and the messages that its methods need.
    pub(super) fn service(&self, id: ServiceId) -> Vec<String> {
        let service = &self.schema[id];
        self.identifier(&service.name);
        let mut messages = Vec::new();
        let mut methods = String::new();
        for (owner, method) in self.schema.methods(id) {
            self.identifier(&method.name);
            let call = CallOf {
                service: id,
                owner,
                method,
            };
            methods += &self.method(&call, &mut messages);
        }
        let notes = service.extends.map(|base| {
            format!(
                "Extends {}, whose methods come first.",
                self.schema[base].name
            )
        });
        let before = comment(service.doc.as_deref(), notes.as_slice(), "");
        let deprecated = match service.deprecated {
            Some(_) => format!("  {DEPRECATED}"),
            None => String::new(),
        };
        let permission = service.annotations.get(PERMISSION);
        let permission = permission.map_or_else(String::new, |permission| {
            self.option("dovetail.v1.service_permission", permission, "  ")
        });
        let body = deprecated + &permission + &methods;
        let text = before + &block("service", &service.name, &body, "");
        messages.insert(0, text);
        messages
    }

    fn method(&self, call: &CallOf<'_>, messages: &mut Vec<String>) -> String {
        let method = call.method;
        let before = comment(method.doc.as_deref(), &self.method_notes(method), "  ");
        let (request, response) = match self.package.messages {
            true => (self.sent(method), self.answered(method)),
            false => (self.request(call, messages), self.response(call, messages)),
        };
        let mut options = String::new();
        if method.deprecated.is_some() {
            options += &format!("    {DEPRECATED}");
        }
        let level = match method.idempotency {
            Idempotency::Unknown => None,
            Idempotency::ReadOnly => Some("NO_SIDE_EFFECTS"),
            Idempotency::Idempotent => Some("IDEMPOTENT"),
        };
        options.extend(level.map(|level| format!("    option idempotency_level = {level};\n")));
        let permission = self.own_permission(call);
        options.extend(permission.map(|own| self.option("dovetail.v1.permission", own, "    ")));
        let end = match options.is_empty() {
            true => ";".to_owned(),
            false => format!(" {{\n{options}  }}"),
        };
        format!(
            "{before}  rpc {}({request}) returns ({response}){end}\n",
            method.name
        )
    }

    /// The permission of a method where it is not that of its service. A method that is inherited
    /// has that of the service that it comes from.
    fn own_permission<'m>(&'m self, call: &CallOf<'m>) -> Option<&'m str> {
        match call.owner == call.service {
            true => call.method.annotations.get(PERMISSION),
            false => self.schema[call.owner].permission(call.method),
        }
    }

    /// An option of Dovetail's.
    fn option(&self, name: &str, value: &str, indent: &str) -> String {
        self.imports.borrow_mut().insert(OPTIONS.to_owned());
        format!("{indent}option ({name}) = {};\n", quoted(value))
    }

    fn method_notes(&self, method: &Method) -> Vec<String> {
        let streams = [&method.client_stream, &method.server_stream];
        let streams = streams
            .into_iter()
            .flatten()
            .flat_map(|stream| &stream.throws);
        let mut thrown: Vec<String> = Vec::new();
        let imports = self.imports.borrow().clone();
        for field in method.throws.iter().chain(streams) {
            let name = self.field_type(&field.ty, IntFormat::Varint).name;
            if !thrown.contains(&name) {
                thrown.push(name);
            }
        }
        if self.style == Style::Buf {
            // The linter does not count a use in a comment.
            self.imports.replace(imports);
        }
        let mut notes = Vec::new();
        if !thrown.is_empty() {
            notes.push(format!(
                "In the details of the status: {}.",
                thrown.join(", ")
            ));
        }
        if method.oneway {
            notes.push("One-way: the answer says nothing.".to_owned());
        }
        notes
    }

    /// Returns the message that is sent where calls take one message.
    fn sent(&self, method: &Method) -> String {
        match (&method.client_stream, method.params.as_slice()) {
            (Some(stream), []) => self.items(stream),
            (None, [request]) => self.message(&request.ty),
            _ => {
                self.refuse(
                    "a method takes one message, or a stream of them, in protobuf",
                    &method.name,
                );
                String::new()
            }
        }
    }

    fn answered(&self, method: &Method) -> String {
        match (&method.server_stream, &method.result) {
            (Some(stream), None) => self.items(stream),
            (None, Some(result)) => self.message(result),
            _ => {
                self.refuse(
                    "a method returns one message, or a stream of them, in protobuf",
                    &method.name,
                );
                String::new()
            }
        }
    }

    fn request(&self, call: &CallOf<'_>, messages: &mut Vec<String>) -> String {
        let params: Vec<&Field> = call.method.params.iter().collect();
        let Some(stream) = &call.method.client_stream else {
            return self.around(call, "Request", messages, |_| {
                self.fields(&params, false, "  ")
            });
        };
        let around = self.around(call, "Request", messages, |messages| {
            if params.is_empty() {
                return self.field(&Field::new(1, "item", stream.item.clone()), false, "  ");
            }
            let body = |_: &mut Vec<String>| self.fields(&params, false, "  ");
            let name = self.around(call, "Params", messages, body);
            self.either(
                true,
                |indent| format!("{indent}{name} params = 1;\n"),
                stream,
            )
        });
        format!("stream {around}")
    }

    fn response(&self, call: &CallOf<'_>, messages: &mut Vec<String>) -> String {
        let result = call.method.result.as_ref();
        let result = result.map(|ty| Field::new(1, "result", ty.clone()));
        let stream = call.method.server_stream.as_ref();
        let around = self.around(call, "Response", messages, |_| match (&result, stream) {
            (None, None) => String::new(),
            (Some(result), None) => self.field(result, false, "  "),
            (None, Some(stream)) => {
                self.field(&Field::new(1, "item", stream.item.clone()), false, "  ")
            }
            (Some(result), Some(stream)) => {
                let single = self.is_single(&result.ty);
                self.either(single, |indent| self.field(result, true, indent), stream)
            }
        });
        match stream {
            Some(_) => format!("stream {around}"),
            None => around,
        }
    }

    /// Returns the contents of the messages of a direction with something before its stream: that,
    /// or an item. Containers cannot be in a oneof.
    fn either(&self, single: bool, first: impl Fn(&str) -> String, stream: &Stream) -> String {
        let item = Field::new(2, "item", stream.item.clone());
        let (mut inside, mut beside) = (String::new(), String::new());
        match single {
            true => inside += &first("    "),
            false => beside += &first("  "),
        }
        match self.is_single(&item.ty) {
            true => inside += &self.field(&item, true, "    "),
            false => beside += &self.field(&item, true, "  "),
        }
        match inside.as_str() {
            "" => beside,
            _ => format!("  oneof message {{\n{inside}  }}\n{beside}"),
        }
    }

    pub(super) fn is_single(&self, ty: &Type) -> bool {
        let form = self.field_type(ty, IntFormat::Varint).form;
        matches!(form, Form::Scalar | Form::Message)
    }

    /// A message of a method, with this ending. One that others inherit has the same there.
    fn around(
        &self,
        call: &CallOf<'_>,
        ending: &'static str,
        messages: &mut Vec<String>,
        body: impl FnOnce(&mut Vec<String>) -> String,
    ) -> String {
        let owner = match self.style {
            Style::Contract => call.owner,
            Style::Buf => call.service,
        };
        let key = (owner, call.method.name.clone(), ending);
        if let Some(name) = self.calls.borrow().get(&key) {
            return name.clone();
        }
        let name = camel(&call.method.name) + ending;
        let name = match self.scope.borrow().contains(&name) {
            false => name,
            true => camel(&self.schema[call.service].name) + &name,
        };
        let name = self.scope.borrow_mut().claim(&name);
        self.calls.borrow_mut().insert(key, name.clone());
        let body = body(messages);
        messages.push(block("message", &name, &body, ""));
        name
    }

    fn items(&self, stream: &Stream) -> String {
        format!("stream {}", self.message(&stream.item))
    }

    /// Returns the message of a type that needs none around it.
    fn message(&self, ty: &Type) -> String {
        let field = self.field_type(ty, IntFormat::Varint);
        if field.form != Form::Message {
            self.refuse(
                "a method takes and returns messages in protobuf",
                &field.name,
            );
        }
        field.name
    }
}

/// A method as one of a service, which may have inherited it.
struct CallOf<'a> {
    service: ServiceId,
    owner: ServiceId,
    method: &'a Method,
}

//! The clients of services.

use super::expr::Expr;
use super::module::{Module, Place};
use super::names::param_names;
use super::service::Parts;
use super::streams::CallShape;
use super::text::Text;
use dovetail_schema::{ArrayForm, Field, Method, Presence, Type, TypeKind};

/// The two clients differ in no more than this.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Async,
    Blocking,
}

/// For what a call of a client waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    Answer,
    Nothing,
}

impl Module<'_> {
    pub(super) fn print_client(&self, text: &mut Text, parts: &Parts<'_>, side: Side) {
        let handler = &parts.names.handler;
        let (client, base, channel) = match side {
            Side::Async => (
                &parts.names.client,
                self.base(parts, |base| &base.client),
                self.runtime("Channel"),
            ),
            Side::Blocking => (
                &parts.names.blocking_client,
                self.base(parts, |base| &base.blocking_client),
                self.runtime("blocking::Channel"),
            ),
        };
        let from = self.name("From");
        text.gap();
        text.line(&format!(
            "/// Calls `{handler}`{}.",
            match side {
                Side::Async => "",
                Side::Blocking => " and waits for its answers",
            }
        ));
        text.deprecated(parts.service.deprecated.as_deref());
        text.line("#[derive(Clone, Debug)]");
        text.open(&format!("pub struct {client} {{"));
        if let Some(base) = &base {
            text.line(&format!("base: {base},"));
        }
        text.line(&format!("channel: {channel},"));
        text.close("}");
        text.gap();
        text.open(&format!("impl {from}<{channel}> for {client} {{"));
        text.open(&format!("fn from(channel: {channel}) -> Self {{"));
        match &base {
            Some(_) => {
                text.open("Self {");
                text.line("base: channel.clone().into(),");
                text.line("channel,");
                text.close("}");
            }
            None => text.line("Self { channel }"),
        }
        text.close("}");
        text.close("}");
        if let Some(base) = &base {
            print_deref(text, client, base);
        }
        if parts.service.methods.is_empty() {
            return;
        }
        text.gap();
        text.open(&format!("impl {client} {{"));
        for (index, method) in parts.service.methods.iter().enumerate() {
            text.gap();
            self.print_client_method(text, parts, (index, method), Wait::Answer, side);
            if self.returns_object(method) {
                text.gap();
                self.print_client_method(text, parts, (index, method), Wait::Nothing, side);
            }
        }
        text.close("}");
    }

    fn print_client_method(
        &self,
        text: &mut Text,
        parts: &Parts<'_>,
        (index, method): (usize, &Method),
        wait: Wait,
        side: Side,
    ) {
        let names = parts.names;
        match wait {
            Wait::Answer => self.print_method_docs(text, method),
            Wait::Nothing => self.print_pipelined_docs(text, method, &names.methods[index]),
        }
        let mut params = vec!["&self".to_owned()];
        let mut sent = Vec::new();
        for (param, name) in method.params.iter().zip(param_names(&method.params)) {
            let (ty, by_value) = self.argument(param);
            let reference = if by_value { "&" } else { "" };
            sent.push(Expr::atom(format!("{reference}{name}")));
            params.push(format!("{name}: {ty}"));
        }
        let errors = &names.errors[index];
        let (name, result, function) = match wait {
            Wait::Answer => (
                &names.methods[index],
                self.result_of_client(method, errors, side),
                CallShape::of(method).client_function(method).to_owned(),
            ),
            Wait::Nothing => (
                &names.pipelined[index],
                self.result(self.result_type(method), None),
                self.pipelined_function(errors),
            ),
        };
        let keyword = if side == Side::Async { "async " } else { "" };
        let head = format!("pub {keyword}fn {name}");
        text.signature(&head, &params, &result, " {");
        let row = Expr::atom(format!("&{}.methods[{index}]", names.descriptor));
        let args = vec![row, Expr::tuple(sent)];
        text.channel_call(&function, args, side == Side::Async);
        text.close("}");
    }

    /// A parameter as a client takes it, and whether it takes it by value.
    fn argument(&self, param: &Field) -> (String, bool) {
        let resolved = self.cx.schema.resolve(&param.ty);
        let ty = self.param_type(param);
        let by_value = match resolved {
            Type::Named(id) => matches!(self.cx.schema[*id].kind, TypeKind::Enum(_)),
            Type::Uuid | Type::Bool => true,
            Type::Timestamp { .. } | Type::Date | Type::Duration | Type::Decimal => true,
            _ => super::items::is_integer(resolved) || super::module::is_float(resolved),
        };
        match resolved {
            _ if by_value => (ty, true),
            _ if param.presence == Presence::Optional => (format!("&{ty}"), false),
            Type::String => ("&str".to_owned(), false),
            Type::List(item) => (format!("&[{}]", self.ty(item, Place::Value)), false),
            Type::Array(item, dimensions) => match ArrayForm::of(dimensions) {
                Some(ArrayForm::List(inside)) => {
                    let element = self.array(item, inside, Place::Value);
                    (format!("&[{element}]"), false)
                }
                _ => (format!("&{ty}"), false),
            },
            _ => (format!("&{ty}"), false),
        }
    }
}

/// Inherited methods are those of the base's client.
fn print_deref(text: &mut Text, client: &str, base: &str) {
    text.gap();
    text.open(&format!("impl ::std::ops::Deref for {client} {{"));
    text.line(&format!("type Target = {base};"));
    text.gap();
    text.open("fn deref(&self) -> &Self::Target {");
    text.line("&self.base");
    text.close("}");
    text.close("}");
}

//! The code for references to objects, in the services that they lead to, and in the methods that
//! return them.

use super::module::Module;
use super::names::{ErrorNames, ServiceNames};
use super::text::Text;
use dovetail_schema::{Method, Service, Type};

impl Module<'_> {
    /// `, passes [COUNTER]`: the services of the objects that its methods pass.
    pub(super) fn passes(&self, service: &Service) -> String {
        let methods = service.methods.iter();
        let passed: std::collections::BTreeSet<_> = methods
            .flat_map(|method| self.cx.facts.passed(method))
            .collect();
        if passed.is_empty() {
            return String::new();
        }
        let names = passed.into_iter().map(|id| {
            let names = &self.cx.names.services[id.0 as usize];
            self.item(self.cx.schema[id].package, &names.descriptor)
        });
        let names: Vec<String> = names.collect();
        format!(", passes [{}]", names.join(", "))
    }

    /// True for a method whose answer is an object and nothing else.
    pub(super) fn returns_object(&self, method: &Method) -> bool {
        let result = method.result.as_ref().map(|ty| self.cx.schema.resolve(ty));
        let streams = method.client_stream.is_some() || method.server_stream.is_some();
        let shared = method.annotations.get("rust.arc").is_some();
        matches!(result, Some(Type::Object(_))) && !streams && !shared
    }

    pub(super) fn print_pipelined_docs(&self, text: &mut Text, method: &Method, name: &str) {
        text.line(&format!(
            "/// Calls [`{name}`](Self::{name}), and gives the object before it is returned."
        ));
        text.deprecated(method.deprecated.as_deref());
    }

    /// The function of a channel that does not wait.
    pub(super) fn pipelined_function(&self, errors: &ErrorNames) -> String {
        let error = match &errors.call {
            Some(error) => error.clone(),
            None => self.name("Status"),
        };
        format!("pipelined::<_, _, {error}>")
    }

    /// The type of references to objects of a service.
    pub(super) fn print_object(&self, text: &mut Text, names: &ServiceNames) {
        let ServiceNames {
            object,
            descriptor,
            handler,
            ..
        } = names;
        let options = self.cx.options;
        text.gap();
        text.open(&format!("{}!(", self.name("object")));
        text.line(&format!(
            "/// A reference to an object that answers `{handler}`, here or at the other end."
        ));
        text.line(&format!("pub struct {object} of {descriptor}"));
        text.close(");");
        if options.server || options.blocking_client {
            text.gap();
            text.open(&format!("impl {object} {{"));
        }
        if options.server {
            text.line("/// An object whose calls this handler answers.");
            text.open(&format!("pub fn new(handler: impl {handler}) -> Self {{"));
            let reference = self.name("ObjectRef");
            text.line(&format!(
                "Self::from({reference}::new({}::new(handler)))",
                names.server
            ));
            text.close("}");
        }
        if options.blocking_client {
            text.gap();
            text.line(
                "/// Calls it and waits for its answers, where it came to a blocking client.",
            );
            let client = &names.blocking_client;
            text.open(&format!("pub fn blocking(&self) -> {client} {{"));
            text.line(&format!("self.blocking_channel(&{descriptor}).into()"));
            text.close("}");
        }
        if options.server || options.blocking_client {
            text.close("}");
        }
        if options.async_client {
            text.gap();
            text.open(&format!("{}! {{", self.name("if_async")));
            text.open(&format!("impl {object} {{"));
            text.line("/// Calls it.");
            text.open(&format!("pub fn client(&self) -> {} {{", names.client));
            text.line(&format!("self.channel(&{descriptor}).into()"));
            text.close("}");
            text.close("}");
            text.close("}");
        }
    }
}

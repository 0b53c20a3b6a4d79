use crate::{Call, Code, Execution, HandlerFuture, Method, Service, Status};
use dovetail_protocol::thrift::IncomingCall;
use std::collections::HashMap;

/// Finds the handler of a call.
pub(crate) struct Router {
    services: Vec<Box<dyn Service>>,
    /// By service and method name.
    routes: HashMap<&'static str, HashMap<&'static str, Route>>,
    /// By method name alone, for callers that name no service; the first service that has it.
    unnamed: HashMap<&'static str, Route>,
}

/// The way to a handler.
#[derive(Clone, Copy)]
pub(super) struct Route {
    service: usize,
    number: usize,
    pub(super) method: &'static Method,
}

impl Router {
    pub(super) fn new(services: Vec<Box<dyn Service>>) -> Self {
        let (mut routes, mut unnamed) = (HashMap::new(), HashMap::new());
        for (service, handler) in services.iter().enumerate() {
            let descriptor = handler.descriptor();
            let methods: &mut HashMap<_, _> = routes.entry(descriptor.name).or_default();
            for (number, method) in descriptor.iter() {
                let route = Route {
                    service,
                    number,
                    method,
                };
                methods.insert(method.name, route);
                unnamed.entry(method.name).or_insert(route);
            }
        }
        Router {
            services,
            routes,
            unnamed,
        }
    }

    pub(super) fn find(&self, call: &IncomingCall) -> Result<Route, Status> {
        let method = call.method.as_str();
        let route = match call.service.as_deref() {
            None => self.unnamed.get(method),
            Some(service) => match self.routes.get(service) {
                None => return Err(unknown(format!("no service `{service}` here"))),
                Some(methods) => methods.get(method),
            },
        };
        route
            .copied()
            .ok_or_else(|| unknown(format!("no method `{method}` here")))
    }

    pub(super) fn call(&self, route: Route, call: Call) -> HandlerFuture<'_> {
        self.services[route.service].call(route.number, call)
    }
}

#[cold]
fn unknown(what: String) -> Status {
    Status::new(Code::Unimplemented, what).with_execution(Execution::NotStarted)
}

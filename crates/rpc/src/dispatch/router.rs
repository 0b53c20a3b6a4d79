use super::{Dispatcher, Routes};
use crate::counters::SharedCounters;
use crate::dispatch::functions::{Bound, Function};
use crate::health::Health;
use crate::method::ServiceDescriptor;
use crate::peer::intercept::{Interceptors, ServerInterceptor};
use crate::reflection::Described;
use crate::sessions::{AnySessions, SessionService};
use crate::{Service, Status};
use dovetail_wire::Limits;
use std::fmt;
use std::sync::Arc;

/// Services, and the interceptors in front of them, without a listener: what a client
/// [serves](crate::ChannelBuilder::serve) the server that it has connected to. A
/// [`Server`](crate::Server) has one of its own, and can be given where one is asked for.
///
/// ```
/// use dovetail::blocking::Channel;
/// use dovetail::server::Router;
///
/// let callbacks = Router::new().bind("progress", |percent: i32| println!("{percent} %"));
/// let channel = Channel::builder("tcp://127.0.0.1:9090")?.serve(callbacks).build();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a router does nothing before it is served"]
pub struct Router {
    pub(crate) services: Vec<Box<dyn Service>>,
    pub(crate) interceptors: Interceptors,
    /// By the names of their services.
    pub(crate) sessions: Vec<(String, Arc<dyn AnySessions>)>,
    /// The services are described to callers.
    pub(crate) reflects: bool,
    /// Told which services there are.
    pub(crate) health: Option<Health>,
    /// Limits on decoding parameters, and on encoding answers.
    pub(crate) limits: Limits,
    /// Calls at a time whose handlers wait, of one connection.
    pub(crate) calls_per_connection: usize,
}

impl Default for Router {
    fn default() -> Self {
        Router {
            services: Vec::new(),
            interceptors: Interceptors::default(),
            sessions: Vec::new(),
            reflects: false,
            health: None,
            limits: Limits::default(),
            calls_per_connection: 1_000,
        }
    }
}

impl Router {
    /// A router without services.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a contract with a handler behind it.
    pub fn service(mut self, service: impl Service) -> Self {
        self.services.push(Box::new(service));
        self
    }

    /// Answers calls by this name with a function, as [`Server::bind`](crate::Server::bind) does.
    ///
    /// # Panics
    ///
    /// If the name is no name of a method.
    #[track_caller]
    pub fn bind<Form: 'static>(self, name: &'static str, function: impl Function<Form>) -> Self {
        self.service(Bound::new(name, function))
    }

    /// Adds an interceptor around the calls of all services. It runs behind those that were added
    /// before it.
    pub fn intercept(mut self, interceptor: impl ServerInterceptor) -> Self {
        self.interceptors.add(Arc::new(interceptor));
        self
    }

    /// Adds an interceptor around one service (`shop.Orders`) or method (`shop.Orders/cancel`), as
    /// [`Server::intercept_at`](crate::Server::intercept_at) does.
    pub fn intercept_at(mut self, place: &str, interceptor: impl ServerInterceptor) -> Self {
        self.interceptors.add_at(place, Arc::new(interceptor));
        self
    }

    pub(crate) fn descriptors(&self) -> impl Iterator<Item = &'static ServiceDescriptor> {
        self.services.iter().map(|service| service.descriptor())
    }

    /// Adds the services about the others, and starts the interceptors. An error if one of them is
    /// in front of something that is not here.
    pub(crate) fn prepare(&mut self) -> Result<(), Status> {
        let sessions = std::mem::take(&mut self.sessions);
        if !sessions.is_empty() {
            self.services.push(Box::new(SessionService::new(sessions)));
        }
        if std::mem::take(&mut self.reflects) {
            let described = Described(self.descriptors().collect());
            self.services.push(Box::new(described));
        }
        let services = self.services.iter().map(|service| service.descriptor());
        self.interceptors.start(services)
    }

    pub(crate) fn into_dispatcher(self, counters: Arc<SharedCounters>) -> Arc<Dispatcher> {
        if let Some(health) = &self.health {
            health.serve(self.descriptors());
        }
        Arc::new(Dispatcher {
            routes: Routes::new(self.services, self.interceptors),
            counters,
            limits: self.limits,
            calls_per_connection: self.calls_per_connection,
        })
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let services = self.descriptors().map(|service| service.full_name());
        f.debug_struct("Router")
            .field("services", &services.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

//! Places of interceptors: around everything, a service, or a method.

/// The calls around which an interceptor runs, widest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    All,
    Service(String),
    Method { service: String, method: String },
}

impl Scope {
    /// Reads `package.Service` or `package.Service/method`.
    pub(super) fn of(place: &str) -> Self {
        match place.split_once('/') {
            None => Scope::Service(place.to_owned()),
            Some((service, method)) => Scope::Method {
                service: service.to_owned(),
                method: method.to_owned(),
            },
        }
    }

    /// The place among the levels, outermost first.
    pub(super) fn level(&self) -> u8 {
        match self {
            Scope::All => 0,
            Scope::Service(_) => 1,
            Scope::Method { .. } => 2,
        }
    }

    /// True for a method that its service has by any of these names. A name without a package stands for one with any.
    pub(super) fn takes(&self, services: &[&str], method: &str) -> bool {
        let is = |name: &str| {
            let mut services = services.iter();
            services.any(|service| *service == name || service.rsplit('.').next() == Some(name))
        };
        match self {
            Scope::All => true,
            Scope::Service(service) => is(service),
            Scope::Method {
                service,
                method: name,
            } => is(service) && name == method,
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Scope::All => "everything".to_owned(),
            Scope::Service(service) => format!("`{service}`"),
            Scope::Method { service, method } => format!("`{service}/{method}`"),
        }
    }
}

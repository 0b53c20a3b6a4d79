//! ByScope of interceptors: around everything, a service, or a method.

/// The calls around which an interceptor runs, widest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    All,
    Service(String),
    Method { service: String, method: String },
}

/// The levels of places, outermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    All,
    Service,
    Method,
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

    /// Reads a place; everything for an empty one.
    pub(crate) fn of_any(place: &str) -> Self {
        match place {
            "" => Scope::All,
            place => Scope::of(place),
        }
    }

    pub(crate) fn level(&self) -> Level {
        match self {
            Scope::All => Level::All,
            Scope::Service(_) => Level::Service,
            Scope::Method { .. } => Level::Method,
        }
    }

    /// True for a method that its service has by any of these names. A name without a package
    /// stands for one with any. A function, whose service has no name, is meant by its own.
    pub(crate) fn takes(&self, services: &[&str], method: &str) -> bool {
        let is = |name: &str| {
            let mut services = services.iter();
            services.any(|service| *service == name || service.rsplit('.').next() == Some(name))
        };
        match self {
            Scope::All => true,
            Scope::Service(name) => is(name) || (services.contains(&"") && name == method),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let orders: &[&str] = &["shop.v1.Orders"];
        let function: &[&str] = &[""];
        for (place, services, method, taken) in [
            ("", orders, "place", true),
            ("shop.v1.Orders", orders, "place", true),
            ("Orders", orders, "place", true),
            ("Orders/place", orders, "place", true),
            ("Orders/place", orders, "open", false),
            ("place", orders, "place", false),
            ("place", function, "place", true),
            ("/place", function, "place", true),
            ("place", function, "open", false),
        ] {
            let scope = Scope::of_any(place);
            assert_eq!(
                scope.takes(services, method),
                taken,
                "{place:?} {services:?} {method}"
            );
        }
    }
}

use super::{Principal, session, unauthenticated};
use crate::method::{Method, ServiceDescriptor};
use crate::peer::intercept::{ByMethod, ByScope, CallHead, Decision, Level, ServerInterceptor};
use crate::{Code, Status};
use dovetail_protocol::Execution;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

/// Lets callers call what they may: an interceptor, behind
/// [`Authentication`](super::Authentication).
///
/// A method takes a permission: the one that is required here for the method, else the one of its
/// contract, else the one that is required here for its service. Roles grant permissions, and
/// principals have roles. A method for which nothing is said refuses everybody. Nothing of a call
/// that is refused has been decoded.
///
/// ```
/// use dovetail::{Server, identity::Permissions};
///
/// # fn serve(orders: impl dovetail::Service) -> Server {
/// let permissions = Permissions::new()
///     .require("shop.v1.Orders", "orders.read")
///     .require("shop.v1.Orders/place", "orders.write")
///     .role("reader", ["orders.read"])
///     .role("clerk", ["orders.*"])
///     .assign("spiffe://shop/checkout", ["clerk"]);
/// let server = Server::new().service(orders).permissions(permissions);
/// # server
/// # }
/// ```
#[derive(Default)]
pub struct Permissions {
    requirements: ByScope<Requirement>,
    required: ByMethod<Vec<Requirement>>,
    roles: BTreeMap<String, Vec<Grant>>,
    assigned: HashMap<String, Vec<String>>,
    policy: Option<Policy>,
}

type Policy = Box<dyn Fn(&CallHead<'_>, &Principal, &str) -> bool + Send + Sync>;

/// The condition of a method.
#[derive(Clone)]
enum Requirement {
    /// Everybody may call.
    Anyone,
    /// Everybody with an identity may call.
    Anybody,
    Permission(Arc<str>),
}

/// The permissions that a role has.
enum Grant {
    All,
    /// Those that begin so.
    Below(String),
    One(String),
}

impl Grant {
    /// Reads `*`, `orders.*`, or the name of a permission.
    fn of(text: &str) -> Self {
        match text.strip_suffix('*') {
            Some("") => Grant::All,
            Some(prefix) if prefix.ends_with('.') => Grant::Below(prefix.to_owned()),
            _ => Grant::One(text.to_owned()),
        }
    }

    fn covers(&self, permission: &str) -> bool {
        match self {
            Grant::All => true,
            Grant::Below(prefix) => permission.starts_with(prefix.as_str()),
            Grant::One(name) => name == permission,
        }
    }
}

impl Permissions {
    /// Lets nobody call anything but what contracts say.
    pub fn new() -> Self {
        Self::default()
    }

    /// Requires a permission for a service or a method. Places are those of
    /// [`Server::intercept_at`](crate::Server::intercept_at). If several requirements are at one
    /// level of a method, as for a service and one that it extends, all of them count.
    #[must_use]
    pub fn require(mut self, place: &str, permission: impl Into<Arc<str>>) -> Self {
        let permission = Requirement::Permission(permission.into());
        self.requirements.add(place, permission);
        self
    }

    /// Lets everybody with an identity call a service or a method.
    #[must_use]
    pub fn allow_authenticated(mut self, place: &str) -> Self {
        self.requirements.add(place, Requirement::Anybody);
        self
    }

    /// Lets everybody call a service or a method: health checks, say.
    #[must_use]
    pub fn allow_anyone(mut self, place: &str) -> Self {
        self.requirements.add(place, Requirement::Anyone);
        self
    }

    /// Grants permissions to a role, beside those that it has: `orders.write`; `orders.*` for all
    /// that begin with `orders.`; `*` for all.
    #[must_use]
    pub fn role<'a>(mut self, role: &str, permissions: impl IntoIterator<Item = &'a str>) -> Self {
        let granted = self.roles.entry(role.to_owned()).or_default();
        granted.extend(permissions.into_iter().map(Grant::of));
        self
    }

    /// Gives a principal of this name roles, beside those that its credentials say.
    #[must_use]
    pub fn assign<'a>(mut self, name: &str, roles: impl IntoIterator<Item = &'a str>) -> Self {
        let assigned = self.assigned.entry(name.to_owned()).or_default();
        assigned.extend(roles.into_iter().map(str::to_owned));
        self
    }

    /// Asks a function about a permission that no role grants.
    #[must_use]
    pub fn policy(
        mut self,
        grants: impl Fn(&CallHead<'_>, &Principal, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.policy = Some(Box::new(grants));
        self
    }

    /// Returns the conditions of a method, all of which count. None refuse everybody.
    fn required(&self, service: &ServiceDescriptor, method: &Method) -> Vec<Requirement> {
        if session::is(service) {
            return vec![Requirement::Anyone];
        }
        let (level, required) = self.requirements.at(service, method);
        match method.permission {
            Some(permission) if level != Level::Method => {
                vec![Requirement::Permission(permission.into())]
            }
            _ => required.into_iter().cloned().collect(),
        }
    }

    fn grants(&self, principal: &Principal, permission: &str) -> bool {
        let assigned = self.assigned.get(principal.name()).into_iter().flatten();
        let mut roles = principal.roles().chain(assigned.map(String::as_str));
        roles.any(|role| {
            let granted = self.roles.get(role).into_iter().flatten();
            granted.into_iter().any(|grant| grant.covers(permission))
        })
    }

    fn check(&self, call: &CallHead<'_>, requirement: &Requirement) -> Result<(), Status> {
        let permission = match requirement {
            Requirement::Anyone => return Ok(()),
            Requirement::Anybody => None,
            Requirement::Permission(permission) => Some(permission),
        };
        let Some(principal) = call.principal() else {
            return Err(unauthenticated(format!(
                "{} takes an identity, and the caller has none",
                place(call)
            )));
        };
        let Some(permission) = permission else {
            return Ok(());
        };
        let policy = || {
            self.policy
                .as_ref()
                .is_some_and(|grants| grants(call, principal, permission))
        };
        match self.grants(principal, permission) || policy() {
            true => Ok(()),
            false => Err(denied(format!(
                "`{}` lacks the permission `{permission}`, which {} takes",
                principal.name(),
                place(call)
            ))),
        }
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permissions")
            .field("roles", &self.roles.keys())
            .finish_non_exhaustive()
    }
}

/// Returns the name of a call's method for messages.
fn place(call: &CallHead<'_>) -> String {
    format!("`{}/{}`", call.service().full_name(), call.method().name)
}

fn denied(why: String) -> Status {
    Status::new(Code::PermissionDenied, why).with_execution(Execution::NotStarted)
}

impl ServerInterceptor for Permissions {
    fn start(&mut self, services: &[&'static ServiceDescriptor]) -> Result<(), Status> {
        let required = |service: &_, method: &_| self.required(service, method);
        self.required = ByMethod::of(services, required);
        self.requirements.check("a permission is for", services)
    }

    fn before_body(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        self.before(call)
    }

    fn before(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        let (service, method) = (call.service(), call.method());
        let required = self.required.get(service, method);
        let required = required.map_or_else(
            || Cow::Owned(self.required(service, method)),
            |known| Cow::Borrowed(&**known),
        );
        if required.is_empty() {
            return Err(denied(format!(
                "no permission is set for {}: nobody may call it",
                place(call)
            )));
        }
        required
            .iter()
            .try_for_each(|requirement| self.check(call, requirement))?;
        Ok(Decision::Proceed)
    }
}

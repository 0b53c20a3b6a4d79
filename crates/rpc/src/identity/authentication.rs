use super::{Credentials, Identify, Principal, session, unauthenticated};
use crate::method::{Method, ServiceDescriptor};
use crate::peer::intercept::{
    ByMethod, ByScope, CallHead, Decision, ServerInterceptor, StreamItem,
};
use crate::{Context, Status};
use std::fmt;
use std::sync::Arc;

/// Finds out from credentials who calls.
pub trait Authenticator: Send + Sync + 'static {
    /// Returns the identity that the credentials prove. `None` if they are not of the kind that
    /// this authenticator knows: the next one is asked. An error refuses the caller, whatever
    /// others would say; `UNAUTHENTICATED` is the code for credentials that are forged, unknown or
    /// too old. Its text goes to the caller.
    fn authenticate(&self, credentials: &Credentials<'_>) -> Result<Option<Principal>, Status>;

    /// Says how a caller can identify itself, for the answer to one that has not: ``a header
    /// `authorization: Bearer …` ``.
    fn accepts(&self) -> &str;
}

/// Authenticates callers: an interceptor for
/// [`Server::authentication`](crate::Server::authentication).
///
/// Authenticators are asked in the order in which they were added; the first identity counts. A
/// caller without one is refused with `UNAUTHENTICATED`, before its parameters are decoded.
///
/// ```
/// use dovetail::Server;
/// use dovetail::identity::{Authentication, Processes};
/// use dovetail::server::Health;
///
/// # fn serve(orders: impl dovetail::Service) {
/// let authentication = Authentication::new()
///     .by(Processes::new().user(0, "root"))
///     .except("grpc.health.v1.Health");
/// let server = Server::new()
///     .service(orders)
///     .health(&Health::default())
///     .authentication(authentication);
/// # }
/// ```
#[derive(Default)]
pub struct Authentication {
    authenticators: Authenticators,
    optional: bool,
    except: ByScope<()>,
    excepted: ByMethod<bool>,
}

/// Authenticators in the order in which they are asked.
#[derive(Clone, Default)]
pub(crate) struct Authenticators(Vec<Arc<dyn Authenticator>>);

impl Authentication {
    /// Makes one that knows nobody.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an authenticator, behind those that are there.
    #[must_use]
    pub fn by(mut self, authenticator: impl Authenticator) -> Self {
        self.authenticators.0.push(Arc::new(authenticator));
        self
    }

    /// Lets callers pass that show nothing. Credentials that are shown have to be right. Default:
    /// everybody has an identity.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Lets callers of a service, or of a method, pass that show nothing. Places are those of
    /// [`Server::intercept_at`](crate::Server::intercept_at).
    #[must_use]
    pub fn except(mut self, place: &str) -> Self {
        self.except.add(place, ());
        self
    }

    /// Returns those who authenticate, for the service of logins.
    pub(crate) fn authenticators(&self) -> Authenticators {
        self.authenticators.clone()
    }

    /// Returns the identity of a caller: that of its session, or the one that it shows now.
    fn caller(&self, context: &Context) -> Result<Option<Principal>, Status> {
        match context.call.caller.remembered.principal() {
            None => self.authenticators.identify(&Credentials::of(context)?),
            remembered => current(remembered),
        }
    }

    /// Returns what tells it apart from others on the way of a call.
    fn place(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn lets_pass(&self, call: &CallHead<'_>) -> bool {
        let (service, method) = (call.service(), call.method());
        let known = || self.excepted.get(service, method).copied();
        let excepted = || known().unwrap_or_else(|| self.excepts(service, method));
        self.optional || excepted()
    }

    fn excepts(&self, service: &ServiceDescriptor, method: &Method) -> bool {
        session::is(service) || !self.except.at(service, method).1.is_empty()
    }

    fn nobody(&self) -> Status {
        let ways: Vec<_> = self
            .authenticators
            .0
            .iter()
            .map(|by| by.accepts())
            .collect();
        unauthenticated(match ways.is_empty() {
            true => "this server knows nobody: it has no authenticators".to_owned(),
            false => format!("the caller is unknown; show {}", ways.join(", or ")),
        })
    }
}

impl Identify for Authenticators {
    fn identify(&self, credentials: &Credentials<'_>) -> Result<Option<Principal>, Status> {
        for authenticator in &self.0 {
            if let Some(principal) = authenticator.authenticate(credentials)? {
                return current(Some(principal));
            }
        }
        match credentials.token() {
            Some(_) => Err(unauthenticated("the token is not known here")),
            None => Ok(None),
        }
    }
}

impl Identify for Authentication {
    fn identify(&self, credentials: &Credentials<'_>) -> Result<Option<Principal>, Status> {
        self.authenticators.identify(credentials)
    }
}

/// The identity that the head of a call has shown, so that nothing is verified twice.
struct ShownByHead {
    /// The place of the interceptor that has looked: another one may know other callers.
    by: usize,
    principal: Option<Principal>,
}

/// Refuses an identity that has expired.
fn current(principal: Option<Principal>) -> Result<Option<Principal>, Status> {
    match principal.as_ref().is_some_and(Principal::is_expired) {
        true => Err(expired()),
        false => Ok(principal),
    }
}

fn expired() -> Status {
    unauthenticated("the credentials have expired")
}

impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authentication")
            .field("authenticators", &self.authenticators.0.len())
            .field("optional", &self.optional)
            .finish_non_exhaustive()
    }
}

impl ServerInterceptor for Authentication {
    fn start(&mut self, services: &[&'static ServiceDescriptor]) -> Result<(), Status> {
        self.excepted = ByMethod::of(services, |service, method| self.excepts(service, method));
        self.except
            .check("an exception from authentication is for", services)
    }

    fn before_body(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        let decision = self.before(call)?;
        let principal = call.principal().cloned();
        let by = self.place();
        call.insert(ShownByHead { by, principal });
        Ok(decision)
    }

    fn before(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        let caller = match call.get::<ShownByHead>() {
            Some(shown) if shown.by == self.place() => current(shown.principal.clone()),
            _ => self.caller(call.context()),
        };
        match caller? {
            Some(principal) => call.insert(principal),
            None if self.lets_pass(call) => {}
            None => return Err(self.nobody()),
        }
        Ok(Decision::Proceed)
    }

    fn item(&self, call: &Context, _: &StreamItem) -> Result<(), Status> {
        match call.principal().is_some_and(Principal::is_expired) {
            true => Err(expired()),
            false => Ok(()),
        }
    }
}

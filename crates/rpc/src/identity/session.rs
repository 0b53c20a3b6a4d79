//! Logins on connections whose wire has no headers.

use super::{Credentials, Principal, unauthenticated};
use crate::method::ServiceDescriptor;
use crate::peer::call::{Call, HandlerFuture};
use crate::{Code, Context, Service, Status, descriptor};
use dovetail_protocol::Execution;
use std::sync::Arc;

descriptor!(static SESSION = "Session" in "dovetail" {
    login(1 token: String) -> String;
    logout();
});

const LOGIN: usize = 0;
const LOGOUT: usize = 1;

/// True for the service of logins.
pub(super) fn is(service: &ServiceDescriptor) -> bool {
    std::ptr::eq(service, &SESSION)
}

/// Knows callers by their credentials.
pub(crate) trait Identify: Send + Sync + 'static {
    /// Returns the identity that the credentials prove.
    fn identify(&self, credentials: &Credentials<'_>) -> Result<Option<Principal>, Status>;
}

/// The service `dovetail.Session`: `login(token)` gives the connection an identity, and returns its
/// name.
pub(crate) struct Session(pub(crate) Arc<dyn Identify>);

impl Session {
    fn login(&self, context: &Context, token: &str) -> Result<String, Status> {
        if !may_log_in(context) {
            return Err(has_headers(context));
        }
        let remembered = &context.call.caller.remembered;
        // A login that fails leaves nobody logged in.
        remembered.set_principal(None);
        let credentials = Credentials::of_session(context, token)?;
        let principal = self.0.identify(&credentials)?;
        let principal = principal.ok_or_else(|| unauthenticated("the token is not known here"))?;
        remembered.set_principal(Some(principal.clone()));
        Ok(principal.name().to_owned())
    }
}

/// Returns true if the wire has no headers and the connection is not shared. Other callers show a
/// token with each call.
fn may_log_in(context: &Context) -> bool {
    !context.wire().has_headers() && context.call.caller.proxies.is_none()
}

fn has_headers(context: &Context) -> Status {
    let what = format!(
        "a call over {} has headers: send `authorization: Bearer …` with each, as connections may be shared",
        context.wire()
    );
    Status::new(Code::FailedPrecondition, what).with_execution(Execution::NotStarted)
}

impl Service for Session {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &SESSION
    }

    fn call<'a>(&'a self, number: usize, call: Call) -> HandlerFuture<'a> {
        match number {
            LOGIN => call.unary(
                (String::new(),),
                |context, (token,): (String,)| async move { self.login(&context, &token) },
            ),
            LOGOUT => call.unary((), |context: Context, ()| async move {
                context.call.caller.remembered.set_principal(None);
                Ok::<_, Status>(())
            }),
            _ => call.no_such_method(),
        }
    }
}

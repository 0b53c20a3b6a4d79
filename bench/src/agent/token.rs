use super::TOKEN;
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture};
use dovetail::status::Execution;
use dovetail::{Code, Service, Status};
use subtle::ConstantTimeEq;

/// A service that only callers with the token can call.
pub(super) struct Guarded<S> {
    token: String,
    service: S,
}

impl<S> Guarded<S> {
    pub(super) fn new(token: String, service: S) -> Self {
        Guarded { token, service }
    }

    fn admits(&self, token: Option<&[u8]>) -> bool {
        token.is_some_and(|token| token.ct_eq(self.token.as_bytes()).into())
    }
}

impl<S: Service> Service for Guarded<S> {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        self.service.descriptor()
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        if self.admits(call.context().header(TOKEN)) {
            return self.service.call(method, call);
        }
        let status = Status::new(Code::Unauthenticated, "not the token of this agent");
        call.refuse(&status.with_execution(Execution::NotStarted))
    }
}

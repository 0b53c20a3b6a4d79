//! Interceptors that a reload replaces while calls run.

use crate::identity::{Authentication, Credentials, Identify, Principal};
use crate::method::ServiceDescriptor;
use crate::peer::intercept::{
    CallEnd, CallHead, Decision, DecisionFuture, ServerInterceptor, StreamItem,
};
use crate::{Context, Status};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// An interceptor that can be replaced. Clones are the same.
pub(super) struct Live<T>(Arc<LiveState<T>>);

struct LiveState<T> {
    current: RwLock<Arc<T>>,
    /// Those of the server, once it has started.
    services: OnceLock<Vec<&'static ServiceDescriptor>>,
}

impl<T> Clone for Live<T> {
    fn clone(&self) -> Self {
        Live(self.0.clone())
    }
}

impl<T: ServerInterceptor> Live<T> {
    pub(super) fn new(interceptor: T) -> Self {
        Live(Arc::new(LiveState {
            current: RwLock::new(Arc::new(interceptor)),
            services: OnceLock::new(),
        }))
    }

    /// Returns the one that works now.
    pub(super) fn current(&self) -> Arc<T> {
        let current = self.0.current.read();
        current.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes another one ready to [take over](Self::replace). An error where it does not suit the
    /// server.
    pub(super) fn prepare(&self, other: &mut T) -> Result<(), Status> {
        match self.0.services.get() {
            Some(services) => other.start(services),
            None => Ok(()),
        }
    }

    /// Lets another one take over. Calls that are under way go on with the one that they have
    /// passed.
    pub(super) fn replace(&self, other: T) {
        let mut current = self
            .0
            .current
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(other);
    }
}

impl<T: ServerInterceptor> ServerInterceptor for Live<T> {
    fn start(&mut self, services: &[&'static ServiceDescriptor]) -> Result<(), Status> {
        // A server starts once.
        let _ = self.0.services.set(services.to_vec());
        let mut current = self
            .0
            .current
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        // Nobody else has it yet.
        Arc::get_mut(&mut current).map_or(Ok(()), |current| current.start(services))
    }

    fn before_body(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        self.current().before_body(call)
    }

    fn before(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        self.current().before(call)
    }

    fn before_async<'a>(&'a self, call: &'a mut CallHead<'_>) -> DecisionFuture<'a> {
        Box::pin(async move { self.current().before_async(call).await })
    }

    fn item(&self, call: &Context, item: &StreamItem) -> Result<(), Status> {
        self.current().item(call, item)
    }

    fn after(&self, call: &Context, end: &CallEnd<'_>) {
        self.current().after(call, end);
    }
}

impl Identify for Live<Authentication> {
    fn identify(&self, credentials: &Credentials<'_>) -> Result<Option<Principal>, Status> {
        self.current().identify(credentials)
    }
}

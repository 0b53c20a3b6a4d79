//! Health checks as gRPC has them (`grpc/health/v1/health.proto` of github.com/grpc/grpc-proto),
//! for every wire.

use crate::method::ServiceDescriptor;
use crate::peer::call::{Call, HandlerFuture};
use crate::peer::streams::Items;
use crate::{Code, Context, Service, Status, descriptor};
use dovetail_wire::{enumeration, message};
use futures_core::Stream;
use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{self, Poll, Waker};

/// Says whether a server and its services are ready: the service `grpc.health.v1.Health`.
///
/// The server itself has the empty name. All are ready until [`set`](Self::set) says otherwise, and
/// none is once the server goes down. Cheap to clone; clones are the same.
///
/// ```
/// use dovetail::Server;
/// use dovetail::server::Health;
///
/// let health = Health::default();
/// let server = Server::new().health(&health);
/// health.set("hello.v1.Hello", false);
/// # drop(server);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Mutex<HealthState>>);

#[derive(Debug, Default)]
struct HealthState {
    ready: BTreeMap<String, bool>,
    /// The server goes down.
    leaving: bool,
    /// Those who wait for a change.
    waiting: HashMap<u64, Waker>,
    next: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HealthCheckRequest {
    pub(crate) service: String,
}

message!(HealthCheckRequest { 1 service: String, });

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HealthCheckResponse {
    status: ServingStatus,
}

message!(HealthCheckResponse { 1 status: ServingStatus, });

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct ServingStatus(i32);

enumeration!(ServingStatus {
    /// Not said.
    UNKNOWN = 0,
    /// Ready.
    SERVING = 1,
    /// Not ready.
    NOT_SERVING = 2,
    /// No service of this name.
    SERVICE_UNKNOWN = 3,
});

descriptor!(pub(crate) static HEALTH = "Health" in "grpc.health.v1" {
    Check(1 request: HealthCheckRequest) -> HealthCheckResponse [idempotent, messages];
    Watch(1 request: HealthCheckRequest) -> (), stream<HealthCheckResponse> [idempotent, messages];
});

impl HealthCheckResponse {
    /// Returns whether the service is ready.
    pub(crate) fn is_serving(&self) -> bool {
        self.status == ServingStatus::SERVING
    }
}

impl Health {
    /// Says whether a service is ready, by its full name, as in `hello.v1.Hello`; the empty name is
    /// the server's.
    pub fn set(&self, service: &str, ready: bool) {
        let mut state = self.lock();
        state.ready.insert(service.to_owned(), ready);
        state.wake();
    }

    fn lock(&self) -> MutexGuard<'_, HealthState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A server has these services.
    pub(crate) fn serve<'a>(&self, services: impl Iterator<Item = &'a ServiceDescriptor>) {
        let mut state = self.lock();
        let names = services.flat_map(|service| [service.name.into(), service.full_name()]);
        for name in names.chain(["".into()]) {
            state.ready.entry(name.into_owned()).or_insert(true);
        }
        state.wake();
    }

    /// The server goes down.
    pub(crate) fn leave(&self) {
        let mut state = self.lock();
        state.leaving = true;
        state.wake();
    }
}

/// True for the service of health checks.
pub(crate) fn is(service: &ServiceDescriptor) -> bool {
    std::ptr::eq(service, &HEALTH)
}

impl HealthState {
    fn wake(&mut self) {
        for (_, waiting) in self.waiting.drain() {
            waiting.wake();
        }
    }

    fn status(&self, service: &str) -> ServingStatus {
        match self.ready.get(service) {
            None => ServingStatus::SERVICE_UNKNOWN,
            Some(true) if !self.leaving => ServingStatus::SERVING,
            Some(_) => ServingStatus::NOT_SERVING,
        }
    }
}

impl Service for Health {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &HEALTH
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        type Asked = (HealthCheckRequest,);
        match method {
            0 => call.unary(
                Asked::default(),
                |context: Context, (asked,): Asked| async move {
                    match self.lock().status(&asked.service) {
                        ServingStatus::SERVICE_UNKNOWN => {
                            let what = format!("no service `{}`", asked.service);
                            Err(Status::new(Code::NotFound, what))
                        }
                        // Probes that ask by GET look at the status of HTTP alone, which is 503
                        // then.
                        ServingStatus::NOT_SERVING if context.call.get => {
                            Err(Status::new(Code::Unavailable, "not serving"))
                        }
                        status => Ok(HealthCheckResponse { status }),
                    }
                },
            ),
            1 => call.stream(Asked::default(), |_: Context, (asked,): Asked| async move {
                Ok::<_, Status>(Items::new(Watch::new(self.clone(), asked.service)))
            }),
            _ => call.no_such_method(),
        }
    }
}

/// Each status of a service, from the present one on, until the server goes down.
struct Watch {
    health: Health,
    service: String,
    number: u64,
    last: Option<ServingStatus>,
}

impl Watch {
    fn new(health: Health, service: String) -> Self {
        let mut state = health.lock();
        state.next += 1;
        let number = state.next;
        drop(state);
        Watch {
            health,
            service,
            number,
            last: None,
        }
    }
}

impl Stream for Watch {
    type Item = Result<HealthCheckResponse, Status>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut task::Context<'_>,
    ) -> Poll<Option<Self::Item>> {
        let watch = &mut *self;
        let mut state = watch.health.lock();
        let status = state.status(&watch.service);
        if watch.last.replace(status) != Some(status) {
            return Poll::Ready(Some(Ok(HealthCheckResponse { status })));
        }
        if state.leaving {
            return Poll::Ready(None);
        }
        state.waiting.insert(watch.number, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.health.lock().waiting.remove(&self.number);
    }
}

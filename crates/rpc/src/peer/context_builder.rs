//! A context without a call, for tests of handlers.

use super::context::{CallInfo, Caller, Compress, Context};
use super::extensions::Extensions;
use super::intercept::Observed;
use super::response_headers::ResponseHeaders;
use crate::transport::IN_PROCESS;
use dovetail_protocol::{Headers, Name, Wire};
use dovetail_wire::Bytes;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Makes the [`Context`] of a call that nobody has made, so that a test calls a handler's method as
/// any other function.
///
/// ```
/// use dovetail::identity::Principal;
/// use dovetail::{Context, Status};
///
/// async fn whoami(context: Context) -> Result<String, Status> {
///     let principal = context.principal();
///     let principal = principal.ok_or_else(|| Status::unauthenticated("nobody knows you"))?;
///     Ok(principal.name().to_owned())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let context = Context::builder("whoami").value(Principal::new("ada", "user")).build();
/// assert_eq!(whoami(context).await, Ok("ada".to_owned()));
///
/// let nobody = Context::builder("whoami").build();
/// assert!(whoami(nobody).await.is_err());
/// # }
/// ```
#[must_use = "it makes a context by `build`"]
pub struct ContextBuilder {
    peer: String,
    service: Option<Name>,
    method: &'static str,
    wire: Wire,
    deadline: Option<Instant>,
    headers: Headers,
    answer: ResponseHeaders,
    extensions: Extensions,
}

impl Context {
    /// Begins the context of a call of this method that nobody has made, for tests. By default the
    /// caller is `in-process`, on Dovetail's own wire, with neither headers nor a deadline.
    pub fn builder(method: &'static str) -> ContextBuilder {
        ContextBuilder {
            peer: IN_PROCESS.to_owned(),
            service: None,
            method,
            wire: Wire::Dovetail,
            deadline: None,
            headers: Headers::default(),
            answer: ResponseHeaders::default(),
            extensions: Extensions::default(),
        }
    }
}

impl ContextBuilder {
    /// Sets the caller's address, as [`Context::peer`] gives it.
    pub fn peer(mut self, peer: impl Into<String>) -> Self {
        self.peer = peer.into();
        self
    }

    /// Sets the service that the caller has named.
    pub fn service(mut self, service: &str) -> Self {
        self.service = Some(service.into());
        self
    }

    /// Sets the wire by which the call came.
    pub fn wire(mut self, wire: Wire) -> Self {
        self.wire = wire;
        self
    }

    /// Sets the time until which the caller waits. After it, [`Context::cancelled`] is true.
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Adds a header that came with the call.
    pub fn header(mut self, name: &str, value: impl Into<Bytes>) -> Self {
        self.headers.push(name, value);
        self
    }

    /// Adds a value as an interceptor leaves it, for [`Context::get`], in place of an earlier one
    /// of its type. A [`Principal`](crate::identity::Principal) is the caller's identity.
    pub fn value<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.extensions.insert(value);
        self
    }

    /// Keeps the headers and trailers that the handler sets in these.
    pub fn response_headers(mut self, answer: &ResponseHeaders) -> Self {
        self.answer = answer.clone();
        self
    }

    /// Returns the context.
    pub fn build(self) -> Context {
        let call = CallInfo {
            caller: Arc::new(Caller::new(self.peer, false)),
            service: self.service,
            method: self.method,
            wire: self.wire,
            deadline: self.deadline,
            headers: self.headers,
            get: false,
            answer: Some(self.answer),
            compressed: false,
            compress: Compress::default(),
            over: AtomicBool::new(false),
            cancellation: None,
            extensions: self.extensions,
            observed: Observed::default(),
            stop: None,
            trace: None,
            recording: None,
        };
        Context {
            call: Arc::new(call),
        }
    }
}

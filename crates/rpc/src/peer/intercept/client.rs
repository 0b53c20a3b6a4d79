//! Interceptors of channels.

use super::scope::Scope;
use crate::method::Method;
use crate::peer::extensions::Extensions;
use crate::peer::failures::cancelled;
use crate::{Status, Wire, clock};
use dovetail_protocol::Headers;
use dovetail_wire::Bytes;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Code that runs around the calls of a channel; see
/// [`ChannelBuilder::intercept`](crate::blocking::ChannelBuilder::intercept).
///
/// [`before`](Self::before) runs before a call is encoded and sent, once for all attempts.
/// Interceptors of the channel come first, then those of the service, then those of the method;
/// afterwards in reverse order. They run on the caller's thread, and must not block it.
///
/// ```
/// use dovetail::Status;
/// use dovetail::blocking::Channel;
/// use dovetail::intercept::{ClientCall, ClientInterceptor};
///
/// /// Says who calls.
/// struct Name(&'static str);
///
/// impl ClientInterceptor for Name {
///     fn before(&self, call: &mut ClientCall<'_>) -> Result<(), Status> {
///         call.insert_header("name", self.0);
///         Ok(())
///     }
///
///     fn after(&self, call: &ClientCall<'_>, answer: Result<(), &Status>) {
///         if let Err(status) = answer {
///             eprintln!("{} failed after {:?}: {status}", call.name(), call.elapsed());
///         }
///     }
/// }
///
/// # fn run() -> Result<(), Status> {
/// let channel = Channel::builder("tcp://127.0.0.1:9090")?
///     .intercept(Name("the shop"))
///     .build();
/// # Ok(())
/// # }
/// ```
pub trait ClientInterceptor: Send + Sync + 'static {
    /// Looks at a call before it is sent, and may change its headers and shorten its time. An error
    /// is what its caller gets: nothing is sent.
    fn before(&self, call: &mut ClientCall<'_>) -> Result<(), Status> {
        let _ = call;
        Ok(())
    }

    /// Looks at how a call has ended: with an answer, which may be a declared exception, or with a
    /// status. It runs once for each call that this interceptor has let pass, also where its caller
    /// has given it up. A call with streams has ended here when its answer has come, or, where
    /// items are sent before that, when it has been opened.
    fn after(&self, call: &ClientCall<'_>, answer: Result<(), &Status>) {
        let _ = (call, answer);
    }
}

/// A call that is to be sent, as a [`ClientInterceptor`] sees it.
#[derive(Debug)]
pub struct ClientCall<'a> {
    name: &'a str,
    service: Option<&'a str>,
    method: Option<&'static Method>,
    wire: Wire,
    private: bool,
    pub(crate) headers: Headers,
    limit: Option<Duration>,
    started: Instant,
    extensions: Extensions,
}

impl ClientCall<'_> {
    /// Returns the name of the method.
    pub fn name(&self) -> &str {
        self.name
    }

    /// Returns the service, with its package: the contract's, or the one that the channel names.
    /// `None` where neither says it.
    pub fn service(&self) -> Option<&str> {
        self.service
    }

    /// Returns the method; `None` for a call by name.
    pub fn method(&self) -> Option<&'static Method> {
        self.method
    }

    /// Returns the wire by which the channel calls.
    pub fn wire(&self) -> Wire {
        self.wire
    }

    /// True if nobody on the way can read the call: it goes over TLS, through a Unix socket or
    /// shared memory, to a program that this process has started, or by a transport that [says
    /// so](crate::transport::Connector::is_private). False for plain TCP, on one machine too.
    pub fn is_private(&self) -> bool {
        self.private
    }

    /// Returns a header that is sent with the call, where its wire has headers.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.get(name)
    }

    /// Returns all headers.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.headers.iter()
    }

    /// Sets the headers of a struct, each as [`insert_header`](Self::insert_header) does.
    pub fn insert_headers(&mut self, headers: &impl crate::Headers) {
        headers.write(&mut |name, value| self.insert_header(name, value));
    }

    /// Sets a header. All headers of this name are replaced.
    pub fn insert_header(&mut self, name: &str, value: impl Into<Bytes>) {
        self.remove_header(name);
        self.headers.push(name, value);
    }

    /// Removes all headers of a name.
    pub fn remove_header(&mut self, name: &str) {
        while self.headers.remove(name).is_some() {}
    }

    /// Shortens the time that the call may take, from now on. A longer time than it has changes
    /// nothing.
    pub fn limit_timeout(&mut self, timeout: Duration) {
        let shorter = self.limit.map_or(timeout, |limit| limit.min(timeout));
        self.limit = Some(shorter);
    }

    /// Returns a value that an interceptor has left.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.extensions.get()
    }

    /// Leaves a value for later, and for other interceptors. It takes the place of an earlier one
    /// of its type.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.extensions.insert(value);
    }

    /// Returns the time since the first interceptor has seen the call.
    pub fn elapsed(&self) -> Duration {
        clock::now().saturating_duration_since(self.started)
    }
}

/// The interceptors of a channel, outermost first.
#[derive(Clone, Default)]
pub(crate) struct ClientInterceptors(Vec<(Scope, Arc<dyn ClientInterceptor>)>);

impl fmt::Debug for ClientInterceptors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientInterceptors({})", self.0.len())
    }
}

impl ClientInterceptors {
    pub(crate) fn add(&mut self, interceptor: Arc<dyn ClientInterceptor>) {
        self.insert(Scope::All, interceptor);
    }

    pub(crate) fn add_at(&mut self, place: &str, interceptor: Arc<dyn ClientInterceptor>) {
        self.insert(Scope::of(place), interceptor);
    }

    fn insert(&mut self, scope: Scope, interceptor: Arc<dyn ClientInterceptor>) {
        let level = scope.level();
        let behind = self.0.partition_point(|(other, _)| other.level() <= level);
        self.0.insert(behind, (scope, interceptor));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Interceptors, and whether the way to the server is private.
#[derive(Clone, Default)]
pub(crate) struct Around {
    pub(crate) interceptors: ClientInterceptors,
    pub(crate) private: bool,
}

/// The identity of a call that is made.
#[derive(Clone, Copy)]
pub(crate) struct Callee<'a> {
    pub(crate) name: &'a str,
    /// The service that the channel names.
    pub(crate) service: Option<&'a str>,
    pub(crate) method: Option<&'static Method>,
    pub(crate) wire: Wire,
    pub(crate) private: bool,
}

/// A call that interceptors have let pass. Dropped before it is [`done`](Self::done), it was given
/// up.
pub(crate) struct Intercepted<'a> {
    interceptors: &'a ClientInterceptors,
    pub(crate) call: ClientCall<'a>,
    passed: usize,
    ended: bool,
}

impl<'a> Intercepted<'a> {
    /// Has interceptors look at a call that is sent with these headers.
    pub(crate) fn begin(
        interceptors: &'a ClientInterceptors,
        callee: Callee<'a>,
        headers: Headers,
    ) -> Result<Self, Status> {
        let own = callee.method.map(|method| method.service);
        let own = own.filter(|service| !service.is_empty());
        let call = ClientCall {
            name: callee.name,
            service: callee.service.or(own),
            method: callee.method,
            wire: callee.wire,
            private: callee.private,
            headers,
            limit: None,
            started: clock::now(),
            extensions: Extensions::default(),
        };
        let mut intercepted = Intercepted {
            interceptors,
            call,
            passed: 0,
            ended: false,
        };
        for (scope, interceptor) in &interceptors.0 {
            if intercepted.is_for(scope)
                && let Err(status) = interceptor.before(&mut intercepted.call)
            {
                intercepted.end(Err(&status));
                return Err(status);
            }
            intercepted.passed += 1;
        }
        Ok(intercepted)
    }

    /// Returns the time that interceptors leave the call.
    pub(crate) fn limit(&self) -> Option<Duration> {
        self.call.limit
    }

    pub(crate) fn done(mut self, answer: Result<(), &Status>) {
        self.end(answer);
    }

    fn is_for(&self, scope: &Scope) -> bool {
        let own = self.call.method.map_or("", |method| method.service);
        scope.takes(
            &[self.call.service.unwrap_or_default(), own],
            self.call.name,
        )
    }

    fn end(&mut self, answer: Result<(), &Status>) {
        self.ended = true;
        let passed = self.interceptors.0.iter().take(self.passed).rev();
        for (_, interceptor) in passed.filter(|(scope, _)| self.is_for(scope)) {
            interceptor.after(&self.call, answer);
        }
    }
}

impl Drop for Intercepted<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.end(Err(&cancelled()));
        }
    }
}

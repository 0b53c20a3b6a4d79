//! Interceptors: code of the user's around calls, the same on every wire.

mod by_scope;
mod chain;
mod client;
mod head;
mod outcome;
mod preview;
mod scope;

pub(crate) use by_scope::{ByMethod, ByScope};
pub(crate) use chain::{Admission, Chain, Exit, Finish, Interceptors, Observed};
pub(crate) use client::{Around, Callee, ClientInterceptors, Intercepted};
pub use client::{ClientCall, ClientInterceptor};
pub use head::CallHead;
pub use outcome::{CallEnd, Outcome};
pub(crate) use preview::Preview;
pub(crate) use scope::{Level, Scope};

use crate::method::ServiceDescriptor;
use crate::peer::call::{Call, Reply};
use crate::{Context, Status};
use dovetail_wire::FieldValue;
use std::fmt;
use std::pin::Pin;

/// A boxed future of a decision.
pub type DecisionFuture<'a> = Pin<Box<dyn Future<Output = Result<Decision, Status>> + Send + 'a>>;

/// Code that runs around the calls of a server, of one of its services, or of one method; see
/// [`Server::intercept`](crate::Server::intercept).
///
/// [`before`](Self::before) runs when a call has arrived, and before its parameters are decoded. An
/// interceptor may refuse the call there, answer it, change its headers, shorten its deadline, or
/// leave values that the handler finds with [`Context::get`]. [`after`](Self::after) runs when the
/// call is over. Interceptors of the server come first, then those of the service, then those of
/// the method, each level in the order in which they were added; afterwards in reverse order.
///
/// All methods run on the thread that runs the handler, in the model `ThreadPool` on the event loop
/// of the connection, and must not block it.
///
/// ```
/// use dovetail::intercept::{CallEnd, CallHead, Decision, ServerInterceptor};
/// use dovetail::{Code, Context, Server, Status};
///
/// /// Lets nobody in who does not say the word.
/// struct Password;
///
/// impl ServerInterceptor for Password {
///     fn before(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
///         match call.header("password") {
///             Some(b"mellon") => Ok(Decision::Proceed),
///             _ => Err(Status::new(Code::Unauthenticated, "say the word")),
///         }
///     }
///
///     fn after(&self, call: &Context, end: &CallEnd<'_>) {
///         println!("{} took {:?}", call.method(), end.elapsed());
///     }
/// }
///
/// let server = Server::new()
///     .bind("double", |n: i64| n * 2)
///     .intercept(Password);
/// ```
pub trait ServerInterceptor: Send + Sync + 'static {
    /// Runs once, before the server starts, with its services and those of its objects. An error is
    /// that of [`Server::start`](crate::Server::start).
    fn start(&mut self, services: &[&'static ServiceDescriptor]) -> Result<(), Status> {
        let _ = services;
        Ok(())
    }

    /// Decides about a call. An error refuses it: the caller gets this status, and the handler does
    /// not run.
    fn before(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        let _ = call;
        Ok(Decision::Proceed)
    }

    /// Decides about a call whose parameters have not come with its head, or are compressed. It
    /// runs over HTTP alone, where a head names the method. [`CallHead::size`] is 0.
    ///
    /// An error refuses the call without waiting for the rest. The call then goes through
    /// [`before`](Self::before) without parameters, so that every interceptor sees it, and no
    /// further. [`Decision::Proceed`] asks the next interceptor: `before` of this one changes
    /// nothing that those behind it look at. After any other decision, as by default, the call is
    /// received as a whole. Values that are left with [`CallHead::insert`] are kept; other changes
    /// are not.
    fn before_body(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        let _ = call;
        Ok(Decision::Wait)
    }

    /// Decides about a call for which [`before`](Self::before) has returned [`Decision::Wait`].
    fn before_async<'a>(&'a self, call: &'a mut CallHead<'_>) -> DecisionFuture<'a> {
        let _ = call;
        Box::pin(std::future::ready(Ok(Decision::Proceed)))
    }

    /// Looks at an item of a stream: at a caller's before the handler gets it, at a handler's
    /// before it is sent. An error takes the place of the item and ends the stream.
    fn item(&self, call: &Context, item: &StreamItem) -> Result<(), Status> {
        let _ = (call, item);
        Ok(())
    }

    /// Looks at how a call has ended. It runs once for each call that this interceptor has let
    /// pass, also where a later one has refused it, its caller has gone, or its handler has
    /// panicked.
    fn after(&self, call: &Context, end: &CallEnd<'_>) {
        let _ = (call, end);
    }
}

/// The decision of an interceptor about a call.
#[derive(Debug)]
#[non_exhaustive]
pub enum Decision {
    /// The call goes on to the next interceptor, or to its handler.
    Proceed,
    /// The call is answered with this, and goes no further.
    Respond(Response),
    /// The decision takes time: [`ServerInterceptor::before_async`] makes it.
    Wait,
}

/// The result of a call, from an interceptor.
pub struct Response(Box<dyn Respond>);

impl Response {
    /// A result. Its type must be the one that the contract gives to the method: the caller decodes
    /// it so.
    pub fn new<T: FieldValue + Send + 'static>(value: T) -> Self {
        Response(Box::new(value))
    }

    pub(crate) fn reply(self, call: Call) -> Reply {
        self.0.reply(call)
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Response")
    }
}

/// A value of any type, as the answer of a call.
trait Respond: Send {
    fn reply(self: Box<Self>, call: Call) -> Reply;
}

impl<T: FieldValue + Send> Respond for T {
    fn reply(self: Box<Self>, call: Call) -> Reply {
        call.respond(*self)
    }
}

/// An item of a stream, as interceptors see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamItem {
    /// The end that sends it.
    pub direction: Direction,
    /// Its place in the stream, from 0.
    pub index: u64,
    /// Its encoded size in bytes; `None` where it has not been encoded yet, which is so for items
    /// that are sent.
    pub size: Option<usize>,
}

/// The end that sends something, as a server sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The caller sends it.
    Received,
    /// The server sends it.
    Sent,
}

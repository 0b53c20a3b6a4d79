use dovetail_protocol::thrift::{Headers, Name, Wire};
use std::fmt;
use std::sync::Arc;

/// What a handler can know of its call besides the parameters. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    pub(crate) call: Arc<CallInfo>,
}

pub(crate) struct CallInfo {
    pub(crate) peer: Arc<str>,
    pub(crate) service: Option<Name>,
    pub(crate) method: &'static str,
    pub(crate) wire: Wire,
    pub(crate) headers: Headers,
}

impl Context {
    /// The caller's address; `unix` or `in-process` where it has none.
    pub fn peer(&self) -> &str {
        &self.call.peer
    }

    /// The service that the caller named; `None` on a connection that has only one.
    pub fn service(&self) -> Option<&str> {
        self.call.service.as_deref()
    }

    /// The method.
    pub fn method(&self) -> &'static str {
        self.call.method
    }

    /// The transport and protocol by which the call came.
    pub fn wire(&self) -> Wire {
        self.call.wire
    }

    /// A header that came with the call, over THeader or HTTP.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.call.headers.get(name)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("peer", &self.peer())
            .field("method", &self.method())
            .field("wire", &self.wire().to_string())
            .finish()
    }
}

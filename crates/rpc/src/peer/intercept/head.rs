use crate::Headers;
use crate::method::{Method, ServiceDescriptor};
use crate::peer::call::Call;
use crate::peer::context::CallInfo;
use crate::peer::record::Record;
use crate::peer::stop::Stop;
#[cfg(feature = "tls")]
use crate::tls::TlsPeer;
use crate::trace::Traced;
use crate::{Context, Status, Wire};
use dovetail_wire::Bytes;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// A call whose parameters are not yet decoded, as a
/// [`ServerInterceptor`](crate::intercept::ServerInterceptor) sees it.
pub struct CallHead<'a> {
    call: &'a mut Call,
    service: &'static ServiceDescriptor,
}

impl<'a> CallHead<'a> {
    pub(crate) fn new(call: &'a mut Call, service: &'static ServiceDescriptor) -> Self {
        CallHead { call, service }
    }

    fn info(&self) -> &CallInfo {
        &self.call.context().call
    }

    /// Nobody else has the context of a call that has not begun.
    fn change(&mut self, change: impl FnOnce(&mut CallInfo)) {
        if let Some(info) = Arc::get_mut(&mut self.call.context_mut().call) {
            change(info);
        }
    }

    pub(crate) fn context(&self) -> &Context {
        self.call.context()
    }

    /// Returns the caller's address, as [`Context::peer`](crate::Context::peer) does.
    pub fn peer(&self) -> &str {
        self.call.context().peer()
    }

    /// Returns the caller's certificate; `None` where the connection is without TLS.
    #[cfg(feature = "tls")]
    pub fn tls(&self) -> Option<&TlsPeer> {
        self.call.context().tls()
    }

    /// Returns the wire by which the call came.
    pub fn wire(&self) -> Wire {
        self.info().wire
    }

    /// Returns the service whose handler the call is for. It is the same by whatever name the
    /// caller has called it.
    pub fn service(&self) -> &'static ServiceDescriptor {
        self.service
    }

    /// Returns the method that is called, with its types.
    pub fn method(&self) -> &'static Method {
        self.call.method()
    }

    /// Returns the size of the encoded parameters in bytes, decompressed; of an upload, that of its
    /// parameters alone.
    pub fn size(&self) -> usize {
        self.call.size()
    }

    /// Returns a header that came with the call; `None` as well where the wire has no headers.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.info().headers.get(name)
    }

    /// Returns all headers, in the order in which they came.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.info().headers.iter()
    }

    /// Returns the headers that stand together in a struct. Fails with `INVALID_ARGUMENT` where one
    /// is missing or has another form.
    pub fn headers_as<T: Headers>(&self) -> Result<T, Status> {
        T::read(&|name| self.header(name))
    }

    /// Sets the headers of a struct, each as [`insert_header`](Self::insert_header) does.
    pub fn insert_headers(&mut self, headers: &impl Headers) {
        headers.write(&mut |name, value| self.insert_header(name, value));
    }

    /// Sets a header, for later interceptors and for the handler. All headers of this name are
    /// replaced.
    pub fn insert_header(&mut self, name: &str, value: impl Into<Bytes>) {
        let value = value.into();
        self.change(|info| {
            while info.headers.remove(name).is_some() {}
            info.headers.push(name, value);
        });
    }

    /// Removes all headers of a name, for later interceptors and for the handler.
    pub fn remove_header(&mut self, name: &str) {
        self.change(|info| while info.headers.remove(name).is_some() {});
    }

    /// Adds a header that is sent before the answer, as
    /// [`Context::set_header`](crate::Context::set_header) does.
    pub fn add_response_header(&self, name: &str, value: impl Into<Bytes>) -> Result<(), Status> {
        self.call.context().set_header(name, value)
    }

    /// Adds a header that is sent behind the answer, as
    /// [`Context::set_trailer`](crate::Context::set_trailer) does.
    pub fn add_response_trailer(&self, name: &str, value: impl Into<Bytes>) -> Result<(), Status> {
        self.call.context().set_trailer(name, value)
    }

    /// Returns when the call must have been answered.
    pub fn deadline(&self) -> Option<Instant> {
        self.info().deadline
    }

    /// Shortens the time that the call may take. A later deadline than it has changes nothing.
    pub fn limit_deadline(&mut self, deadline: Instant) {
        self.change(|info| {
            let earlier = info.deadline.map_or(deadline, |own| own.min(deadline));
            info.deadline = Some(earlier);
        });
    }

    /// Lets somebody else cancel the call.
    pub(crate) fn set_stop(&mut self, stop: Arc<Stop>) {
        self.change(|info| info.stop = Some(stop));
    }

    /// Has the messages of the call kept.
    pub(crate) fn record(&mut self, recording: Arc<dyn Record>) {
        self.change(|info| info.recording = Some(recording));
    }

    /// Makes the call a span of a trace.
    pub(crate) fn set_trace(&mut self, traced: Traced) {
        self.change(|info| info.trace = Some(traced));
    }

    /// Returns a value that an earlier interceptor has left.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.info().extensions.get()
    }

    /// Leaves a value for later interceptors, and for the handler, which finds it by its type with
    /// [`Context::get`](crate::Context::get). It takes the place of an earlier one of its type.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.change(|info| info.extensions.insert(value));
    }
}

impl fmt::Debug for CallHead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallHead")
            .field("peer", &self.peer())
            .field("service", &self.service.name)
            .field("method", &self.method().name)
            .field("wire", &self.wire().to_string())
            .finish()
    }
}

use crate::{Code, Status};
use dovetail_protocol::Headers;
use dovetail_protocol::metadata::encode_value;
use dovetail_wire::Bytes;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Headers of a server before an answer, and trailers behind it, over gRPC, gRPC-Web and Connect.
/// Cheap to clone; clones are the same.
///
#[cfg_attr(feature = "async", doc = "```")]
#[cfg_attr(not(feature = "async"), doc = "```ignore")]
/// use dovetail::server::ResponseHeaders;
/// use dovetail::{Channel, Status, descriptor};
///
/// descriptor!(static SHOP = "Shop" { open() -> bool; });
///
/// async fn cost(channel: &Channel) -> Result<Option<dovetail::types::Bytes>, Status> {
///     let said = ResponseHeaders::default();
///     let listening = channel.with_response_headers(&said);
///     let open: Result<bool, Status> = listening.call(&SHOP.methods[0], ()).await;
///     open?;
///     Ok(said.trailer("cost"))
/// }
/// ```
#[derive(Clone, Debug, Default)]
pub struct ResponseHeaders(Arc<Mutex<Both>>);

#[derive(Debug, Default)]
struct Both {
    headers: Headers,
    trailers: Headers,
    compressed: bool,
}

impl ResponseHeaders {
    /// The last value of a header that came before the answer; of the last call that has one.
    pub fn header(&self, name: &str) -> Option<Bytes> {
        self.lock().headers.get(name).map(Bytes::copy_from_slice)
    }

    /// Returns a header that came behind the answer, and behind all items.
    pub fn trailer(&self, name: &str) -> Option<Bytes> {
        self.lock().trailers.get(name).map(Bytes::copy_from_slice)
    }

    /// All headers that came before the answer, in the order in which they came; of the last call
    /// that has one.
    pub fn headers(&self) -> Headers {
        self.lock().headers.clone()
    }

    /// Returns the headers that came behind the answer, and behind all items.
    pub fn trailers(&self) -> Headers {
        self.lock().trailers.clone()
    }

    /// Whether the message that has come last was compressed: the answer, or an item.
    pub fn compressed(&self) -> bool {
        self.lock().compressed
    }

    #[cfg(feature = "grpc")]
    pub(crate) fn set_compressed(&self, compressed: bool) {
        self.lock().compressed = compressed;
    }

    fn lock(&self) -> MutexGuard<'_, Both> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push_header(&self, name: &str, value: Bytes) -> Result<(), Status> {
        sendable(name, &value)?;
        self.lock().headers.push(name, value);
        Ok(())
    }

    pub(crate) fn push_trailer(&self, name: &str, value: Bytes) -> Result<(), Status> {
        sendable(name, &value)?;
        self.lock().trailers.push(name, value);
        Ok(())
    }

    /// The headers of an answer, to be sent; or those that have come, in place of an earlier
    /// answer's.
    pub(crate) fn with_headers<R>(&self, with: impl FnOnce(&mut Headers) -> R) -> R {
        with(&mut self.lock().headers)
    }

    /// Changes the trailers.
    pub(crate) fn with_trailers<R>(&self, with: impl FnOnce(&mut Headers) -> R) -> R {
        with(&mut self.lock().trailers)
    }
}

fn sendable(name: &str, value: &[u8]) -> Result<(), Status> {
    let encoded = encode_value(name, value).map(drop);
    encoded.map_err(|error| Status::new(Code::InvalidArgument, error.to_string()))
}

use crate::Headers;
use bytes::Bytes;
use std::time::Duration;

/// The headers of a request over HTTP beside those that name the method.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// How long the caller waits.
    pub timeout: Option<Duration>,
    /// The compression of the request's messages, if there is any.
    pub coding: Option<Bytes>,
    /// The answer may be compressed by gzip.
    pub accepts_gzip: bool,
    /// The application's headers.
    pub headers: Headers,
}

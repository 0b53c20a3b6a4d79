use crate::Headers;
use bytes::Bytes;
use std::time::Duration;

/// What the headers of a request over HTTP say beside what is called.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// How long the caller waits.
    pub timeout: Option<Duration>,
    /// What messages of the request are compressed with, where they are.
    pub coding: Option<Bytes>,
    /// True where the answer may be compressed by gzip.
    pub accepts_gzip: bool,
    /// The application's headers.
    pub headers: Headers,
}

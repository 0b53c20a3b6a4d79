use crate::{Codec, Coding};
use std::time::Duration;

/// The headers of a request over HTTP beside those that name the method, and beside the
/// application's headers.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// How messages are encoded.
    pub codec: Codec,
    /// How long the caller waits.
    pub timeout: Option<Duration>,
    /// The compression of the request's messages, if there is any.
    pub coding: Option<Coding>,
}

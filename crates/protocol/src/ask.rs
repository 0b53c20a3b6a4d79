use crate::{Codec, Coding};
use std::time::Duration;

/// What the headers of a request over HTTP say beside what is called, and beside the application's headers.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// How messages are encoded.
    pub codec: Codec,
    /// How long the caller waits.
    pub timeout: Option<Duration>,
    /// What messages of the request are compressed with, where they are.
    pub coding: Option<Coding>,
}

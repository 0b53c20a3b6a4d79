use super::BackendStatus;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A channel to the servers of a name.
pub(crate) trait Named: Send + Sync {
    fn name(&self) -> String;

    fn backends(&self) -> Vec<BackendStatus>;

    /// Why the servers of the name cannot be found, while that is so.
    fn failure(&self) -> Option<String>;

    /// Returns the rest of the budget of retries.
    fn retry_tokens(&self) -> f32;
}

/// A channel of this process to the servers of a name.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChannelStatus {
    /// The name.
    pub name: String,
    /// Why its servers cannot be found, while that is so. The channel keeps those that it knows.
    pub failure: Option<String>,
    /// The tokens that are left of the budget of retries.
    pub retry_tokens: f32,
    /// The servers.
    pub backends: Vec<BackendStatus>,
}

static CHANNELS: Mutex<Vec<Weak<dyn Named>>> = Mutex::new(Vec::new());

/// Lists a channel as long as it is there.
pub(crate) fn list(channel: &Arc<impl Named + 'static>) {
    let channel = Arc::downgrade(channel) as Weak<dyn Named>;
    let mut channels = CHANNELS.lock().unwrap_or_else(PoisonError::into_inner);
    channels.retain(|channel| channel.strong_count() > 0);
    channels.push(channel);
}

/// Returns the channels of this process to servers of names, in the order in which they were made.
#[must_use]
pub fn channels() -> Vec<ChannelStatus> {
    let channels = CHANNELS.lock().unwrap_or_else(PoisonError::into_inner);
    let channels: Vec<_> = channels.iter().filter_map(Weak::upgrade).collect();
    let status = channels.iter().map(|channel| ChannelStatus {
        name: channel.name(),
        failure: channel.failure(),
        retry_tokens: channel.retry_tokens(),
        backends: channel.backends(),
    });
    status.collect()
}

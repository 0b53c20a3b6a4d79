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
    /// Its number. No other channel of the process has or had it.
    pub id: u64,
    /// The name.
    pub name: String,
    /// Why its servers cannot be found, while that is so. The channel keeps those that it knows.
    pub failure: Option<String>,
    /// The tokens that are left of the budget of retries.
    pub retry_tokens: f32,
    /// The servers.
    pub backends: Vec<BackendStatus>,
}

/// The channels with their numbers, and the next number.
static CHANNELS: Mutex<Channels> = Mutex::new((Vec::new(), 0));

type Channels = (Vec<(u64, Weak<dyn Named>)>, u64);

/// Lists a channel as long as it is there.
pub(crate) fn list(channel: &Arc<impl Named + 'static>) {
    let channel = Arc::downgrade(channel) as Weak<dyn Named>;
    let mut channels = CHANNELS.lock().unwrap_or_else(PoisonError::into_inner);
    let (channels, next) = &mut *channels;
    channels.retain(|(_, channel)| channel.strong_count() > 0);
    channels.push((*next, channel));
    *next += 1;
}

/// Returns the channels of this process to servers of names, in the order in which they were made.
#[must_use]
pub fn channels() -> Vec<ChannelStatus> {
    let channels = CHANNELS.lock().unwrap_or_else(PoisonError::into_inner);
    let channels = channels.0.iter();
    let channels = channels.filter_map(|(id, channel)| Some((*id, channel.upgrade()?)));
    let channels: Vec<_> = channels.collect();
    let status = channels.iter().map(|(id, channel)| ChannelStatus {
        id: *id,
        name: channel.name(),
        failure: channel.failure(),
        retry_tokens: channel.retry_tokens(),
        backends: channel.backends(),
    });
    status.collect()
}

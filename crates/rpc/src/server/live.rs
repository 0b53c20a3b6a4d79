//! The options of a server that can change while it runs.

use super::ServerLimits;
use crate::transport::Polling;
use arc_swap::ArcSwap;
use std::sync::Arc;

/// The options that connections take at their beginning. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Live(Arc<ArcSwap<LiveOptions>>);

/// Numbers, times and the way of waiting. The sizes among the limits count from the start of the
/// server to its end.
#[derive(Clone, Copy, Default)]
pub(crate) struct LiveOptions {
    pub(crate) limits: ServerLimits,
    pub(crate) polling: Polling,
}

impl Live {
    /// Changes the options of connections that begin from now on.
    pub(crate) fn set(&self, options: LiveOptions) {
        self.0.store(Arc::new(options));
    }

    /// Changes them likewise, but for the sizes.
    #[cfg(feature = "config")]
    pub(crate) fn change(&self, options: LiveOptions) {
        let ServerLimits {
            connection,
            message,
            ..
        } = self.get().limits;
        self.set(LiveOptions {
            limits: ServerLimits {
                connection,
                message,
                ..options.limits
            },
            ..options
        });
    }

    pub(crate) fn get(&self) -> Arc<LiveOptions> {
        self.0.load_full()
    }
}

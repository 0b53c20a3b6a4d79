//! The service config that a name gives with its servers.

use super::Server;
use super::checks::Checks;
use super::named::Named;
use crate::client::options::Options;
use crate::clock;
use dovetail_balance::State;
use std::sync::{Arc, PoisonError};

/// The service config that was taken over last, and why it cannot be used.
#[derive(Default)]
pub(super) struct Configured {
    json: Option<String>,
    failure: Option<String>,
}

impl<S: Server> Named<S> {
    /// Takes over a service config. Without one, the settings of the channel's builder count. An
    /// error if it cannot be used: then the settings stay as they were.
    pub(super) fn configure(self: &Arc<Self>, json: Option<String>) -> Result<(), String> {
        let configured = self.configured.lock();
        let mut configured = configured.unwrap_or_else(PoisonError::into_inner);
        if configured.json != json {
            let options = with_config(self.options(), json.as_deref());
            configured.failure = options.map(|options| self.apply(options)).err();
            configured.json = json;
        }
        configured.failure.clone().map_or(Ok(()), Err)
    }

    fn apply(self: &Arc<Self>, options: Options) {
        self.balancer().set_settings(clock::now(), options.balance);
        self.options().policies.give(Some(options.policies));
        if self.health_check().as_deref() == options.health_check.as_ref() {
            // A check that goes on says what it has found out: nobody waits for another one.
            return;
        }
        self.set_health_check(options.health_check);
        let all = self.balancer().endpoints();
        let ready = all
            .iter()
            .filter(|endpoint| endpoint.state() == State::Ready);
        ready.for_each(|endpoint| Checks::begin(self, endpoint));
    }
}

/// Returns the options of a channel, changed by a service config.
#[cfg(feature = "service-config")]
fn with_config(options: &Options, json: Option<&str>) -> Result<Options, String> {
    let mut options = options.clone();
    if let Some(json) = json {
        let applied = crate::client::service_config::apply(json, &mut options);
        applied.map_err(|status| status.message().to_owned())?;
    }
    Ok(options)
}

#[cfg(not(feature = "service-config"))]
fn with_config(options: &Options, json: Option<&str>) -> Result<Options, String> {
    match json {
        None => Ok(options.clone()),
        Some(_) => Err("a service config needs the feature `service-config`".to_owned()),
    }
}

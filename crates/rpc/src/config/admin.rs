//! A configuration as administrators see it.

use super::Config;
use crate::admin::{self, Admin, Configuration};
use crate::throttle::Refusals;
use crate::{Code, Status};

impl Admin {
    /// Shows this configuration, with the refusals of its quotas; on request it is read again,
    /// or a key is set. The first one counts.
    #[must_use]
    pub fn with_config(self, config: &Config) -> Self {
        self.configure(config.clone());
        self
    }
}

impl Configuration for Config {
    fn refusals(&self) -> Option<Refusals> {
        self.refusals()
    }

    fn show(&self) -> String {
        self.show()
    }

    fn set(&self, key: &str, value: Option<&str>, by: &str) -> Result<Vec<String>, Status> {
        self.set(key, value, by)
    }

    fn reload(&self) -> Result<admin::Reloaded, Status> {
        match self.reload() {
            Ok(reloaded) => Ok(admin::Reloaded {
                changed: reloaded.changed,
                restart: reloaded.restart,
            }),
            Err(error) => Err(Status::new(Code::FailedPrecondition, error.to_string())),
        }
    }
}

use super::{Authenticator, Credentials, Principal};
use crate::Status;
use std::collections::HashMap;

/// Identifies processes of this machine that call through a Unix socket or through shared memory,
/// by their user.
///
/// The kernel says who has connected (`SO_PEERCRED`, unix(7)): on Linux only. A client that came by
/// TCP and has moved to shared memory is identified there as well. Names are those that were given,
/// `uid:1000` for others. The attributes are `uid`, `gid` and `pid`.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    users: HashMap<u32, String>,
    named_only: bool,
}

impl Processes {
    /// Knows all users, by their numbers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives a user a name.
    #[must_use]
    pub fn user(mut self, uid: u32, name: impl Into<String>) -> Self {
        self.users.insert(uid, name.into());
        self
    }

    /// Knows users with names alone.
    #[must_use]
    pub fn named_only(mut self) -> Self {
        self.named_only = true;
        self
    }
}

impl Authenticator for Processes {
    fn authenticate(&self, credentials: &Credentials<'_>) -> Result<Option<Principal>, Status> {
        // A token says more than the user does.
        let process = credentials
            .process()
            .filter(|_| credentials.token().is_none());
        let Some(process) = process else {
            return Ok(None);
        };
        let name = match self.users.get(&process.uid) {
            Some(name) => name.clone(),
            None if self.named_only => return Ok(None),
            None => format!("uid:{}", process.uid),
        };
        let principal = Principal::new(name, Principal::PROCESS)
            .with_attribute("uid", process.uid.to_string())
            .with_attribute("gid", process.gid.to_string())
            .with_attribute("pid", process.pid.to_string());
        Ok(Some(principal))
    }

    fn accepts(&self) -> &str {
        "a process of this machine, through a Unix socket"
    }
}

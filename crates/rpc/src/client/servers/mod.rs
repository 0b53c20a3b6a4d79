//! The servers of a channel: one, or those that a name stands for.
//!
//! A resolver gives the list, the balancer chooses, and the channel connects in the background: a
//! call waits for a connection only while no server of the list has one.

mod checks;
mod configured;
mod member;
mod named;
mod news;
mod visit;

pub use checks::HealthCheck;
pub(super) use checks::{CHECK, Checks, Finding, Question};
pub(super) use member::{Attempt, Member};
pub(super) use named::{Look, Named};
pub(super) use visit::{Choice, Visit};

use super::dial::Failed;
use super::options::Options;
use crate::names::{BackendStatus, Named as _};
use crate::{Address, Status};
use dovetail_balance::Endpoint;
use std::fmt;
use std::sync::Arc;

/// A server that can be called, on connections of its own.
pub(super) trait Server: Send + Sync + Sized + 'static {
    type Connection;

    fn new(address: Address, options: &Options) -> Self;

    /// The server, for messages.
    fn target(&self) -> String;

    /// A connection that is there.
    fn ready(&self, options: &Arc<Options>) -> Option<Self::Connection>;

    /// Connects in the background.
    fn reach(attempt: Attempt<Self>);

    /// Checks a server in the background, until [`Checks::pause`] has an end.
    fn check(checks: Checks<Self>);
}

/// The servers of a channel.
pub(super) enum Servers<S: Server> {
    One(S),
    Many(Arc<Named<S>>),
}

impl<S: Server> fmt::Display for Servers<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Servers::One(server) => f.write_str(&server.target()),
            Servers::Many(named) => f.write_str(&named.name()),
        }
    }
}

/// An endpoint of a named channel.
type ServerEndpoint<S> = Arc<Endpoint<Member<S>>>;

/// Why a server has no connection, and when to try again.
type Reached = Result<(), Failed>;

impl<S: Server> Servers<S> {
    /// Returns the state of the servers.
    pub(super) fn backends(&self) -> Vec<BackendStatus> {
        match self {
            Servers::One(_) => Vec::new(),
            Servers::Many(named) => named.backends(),
        }
    }
}

/// No server of a name can be called.
#[cold]
fn unavailable(why: String) -> Status {
    Status::new(crate::Code::Unavailable, why)
}

//! Services without a listener: what a client serves to its server, on the connection that it made.

use super::running::crowded;
use super::{Server, Shared};
use crate::buffers::Gathered;
use crate::capnp;
use crate::context::Caller;
use crate::incoming::Incoming;
use crate::link::Link;
use dovetail_protocol::dovetail::NoMethods;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The services of an end that made the connection.
#[derive(Clone)]
pub(crate) struct Local(Arc<Shared>);

impl Local {
    pub(crate) fn new(mut server: Server) -> Self {
        // There is no start that could fail: a rule for a place that is not here applies to
        // nothing.
        let _ = server.prepare();
        Local(server.into_shared(None))
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Local")
    }
}

/// Answers the calls of the other end on one connection: by the services that are there, or nothing
/// but objects.
pub(crate) struct Calls {
    local: Option<Local>,
    /// Answers calls of objects where there are no services. Made with the first such call.
    objects: OnceLock<Local>,
    /// Made with the first call.
    caller: OnceLock<Arc<Caller>>,
    /// Handlers may block their thread.
    may_block: bool,
}

impl Calls {
    pub(crate) fn new(local: Option<Local>, may_block: bool) -> Self {
        Calls {
            local,
            objects: OnceLock::new(),
            caller: OnceLock::new(),
            may_block,
        }
    }

    /// Returns the directory of the methods that the other end can call.
    pub(crate) fn directory(&self) -> &dyn capnp::Directory {
        match &self.local {
            Some(local) => &local.0.router,
            None => &NoMethods,
        }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        let nothing = || Local::new(Server::new());
        let local = self.local.as_ref();
        &local.unwrap_or_else(|| self.objects.get_or_init(nothing)).0
    }

    /// How many handlers may wait.
    pub(crate) fn most(&self) -> usize {
        self.shared().limits.calls_per_connection
    }

    /// The handler of a call; a refusal where so many wait already.
    pub(crate) fn handler(
        &self,
        call: Box<Incoming>,
        link: &Arc<Link>,
        waiting: usize,
    ) -> impl Future<Output = Gathered> + Send + use<> {
        let (shared, most) = (self.shared().clone(), self.most());
        let caller = self.caller.get_or_init(|| {
            let caller = Caller::new(link.target.clone(), self.may_block);
            caller.called_over(link);
            Arc::new(caller)
        });
        let caller = caller.clone();
        async move {
            match waiting < most {
                true => shared.start(call, caller, Vec::new()).await,
                false => {
                    let why = format!("the connection has {most} calls waiting");
                    shared.turn_away(&call, &crowded(why), Vec::new()).await
                }
            }
        }
    }
}

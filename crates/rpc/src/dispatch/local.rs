//! Services without a listener: what a client serves to its server, on the connection that it made.

use super::running::crowded;
use super::{Dispatcher, Router};
use crate::buffers::Gathered;
use crate::peer::capnp;
use crate::peer::context::Caller;
use crate::peer::incoming::Incoming;
use crate::peer::link::Link;
use dovetail_protocol::dovetail::NoMethods;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The services of an end that made the connection.
#[derive(Clone)]
pub(crate) struct Local(Arc<Dispatcher>);

impl Local {
    pub(crate) fn new(mut router: Router) -> Self {
        // There is no start that could fail: a rule for a place that is not here applies to
        // nothing.
        let _ = router.prepare();
        Local(router.into_dispatcher(Arc::default()))
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
            Some(local) => &local.0.routes,
            None => &NoMethods,
        }
    }

    pub(super) fn dispatcher(&self) -> &Arc<Dispatcher> {
        let nothing = || Local::new(Router::new());
        let local = self.local.as_ref();
        &local.unwrap_or_else(|| self.objects.get_or_init(nothing)).0
    }

    /// How many handlers may wait.
    pub(crate) fn most(&self) -> usize {
        self.dispatcher().calls_per_connection
    }

    /// The handler of a call; a refusal where so many wait already.
    pub(crate) fn handler(
        &self,
        call: Box<Incoming>,
        link: &Arc<Link>,
        waiting: usize,
    ) -> impl Future<Output = Gathered> + Send + use<> {
        let (dispatcher, most) = (self.dispatcher().clone(), self.most());
        let caller = self.caller.get_or_init(|| {
            let caller = Caller::new(link.target.clone(), self.may_block);
            caller.called_over(link);
            Arc::new(caller)
        });
        let caller = caller.clone();
        async move {
            match waiting < most {
                true => dispatcher.start(call, caller, Vec::new()).await,
                false => {
                    let why = format!("the connection has {most} calls waiting");
                    dispatcher.turn_away(&call, &crowded(why), Vec::new()).await
                }
            }
        }
    }
}

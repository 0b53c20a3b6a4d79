use super::Objects;
use crate::identity::Principal;
use crate::peer::context::CallInfo;
use crate::{Code, Service, Status};
use dovetail_protocol::Execution;
use std::sync::Arc;

/// An object of this end's, and those who may use the reference that the other end has.
#[derive(Clone)]
pub(crate) struct Owned {
    pub(crate) service: Arc<dyn Service>,
    owners: Owners,
}

/// Connections may be shared: by the callers behind a proxy, or behind a client's channels.
#[derive(Clone)]
enum Owners {
    Anyone,
    Principals(Arc<[Principal]>),
}

impl Owners {
    /// The caller for whom the handler on this thread runs, where it has called over the connection
    /// of these objects.
    fn here(objects: &Objects) -> Self {
        let caller = |call: &CallInfo| {
            let principal = call.principal().filter(|_| call.caller.has(objects));
            principal.cloned()
        };
        match CallInfo::current(caller).flatten() {
            Some(principal) => Owners::Principals([principal].into()),
            None => Owners::Anyone,
        }
    }

    fn and(&self, other: Owners) -> Self {
        match (self, other) {
            (Owners::Principals(these), Owners::Principals(those)) => {
                let new = those
                    .iter()
                    .filter(|one| !these.iter().any(|it| it.is(one)));
                Owners::Principals(these.iter().chain(new).cloned().collect())
            }
            _ => Owners::Anyone,
        }
    }
}

impl Owned {
    /// An object that is passed on this thread.
    pub(super) fn here(service: Arc<dyn Service>, objects: &Objects) -> Self {
        let owners = Owners::here(objects);
        Owned { service, owners }
    }

    /// The object is passed once more, on this thread.
    pub(super) fn passed_again(&mut self, objects: &Objects) {
        if let Owners::Principals(_) = self.owners {
            self.owners = self.owners.and(Owners::here(objects));
        }
    }

    /// Refuses callers to whom nobody has passed the object, where it was passed to callers with an
    /// identity alone.
    pub(crate) fn check(&self, principal: Option<&Principal>) -> Result<(), Status> {
        let Owners::Principals(owners) = &self.owners else {
            return Ok(());
        };
        let is_owner = |principal: &Principal| owners.iter().any(|owner| owner.is(principal));
        match principal.is_some_and(is_owner) {
            true => Ok(()),
            false => {
                Err(Status::new(Code::PermissionDenied, FOREIGN)
                    .with_execution(Execution::NotStarted))
            }
        }
    }

    /// Returns true if the caller of the handler on this thread may use the object, or if no
    /// handler runs here.
    pub(super) fn is_for_caller(&self, objects: &Objects) -> bool {
        let checked =
            |call: &CallInfo| !call.caller.has(objects) || self.check(call.principal()).is_ok();
        CallInfo::current(checked).unwrap_or(true)
    }
}

const FOREIGN: &str = "the object was passed to another principal";

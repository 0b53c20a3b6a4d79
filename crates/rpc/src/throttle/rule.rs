//! A quota at its place.

use super::callers::Callers;
use super::gate::{Gate, Refused};
use super::refused_callers::RefusedCallers;
use super::{Quota, Reason};
use crate::method::ServiceDescriptor;
use crate::peer::intercept::{CallHead, Level};
use crate::peer::proxies::host;
use crate::{Code, Status, health};
use dovetail_protocol::Execution;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A caller that was refused for want of room tries again after about this time.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) struct Rule {
    place: String,
    pub(super) quota: Quota,
    gates: Gates,
    pub(super) refused: [AtomicU64; Reason::ALL.len()],
    pub(super) refused_callers: RefusedCallers,
}

enum Gates {
    One(Arc<Gate>),
    Callers(Box<Callers>),
}

impl Rule {
    pub(super) fn new(place: &str, quota: Quota) -> Self {
        Rule {
            place: place.to_owned(),
            gates: Gates::One(Arc::new(Gate::new(&quota))),
            quota,
            refused: Default::default(),
            refused_callers: RefusedCallers::default(),
        }
    }

    /// Gives each caller a gate of its own. `most` is the number of callers that are remembered.
    pub(super) fn of_each_caller(self, most: usize) -> Self {
        let callers = Callers::new(&self.quota, most);
        Rule {
            gates: Gates::Callers(Box::new(callers)),
            ..self
        }
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn is_of_callers(&self) -> bool {
        matches!(self.gates, Gates::Callers(_))
    }

    /// Returns how many callers are remembered.
    pub(super) fn callers(&self) -> usize {
        match &self.gates {
            Gates::One(_) => 0,
            Gates::Callers(callers) => callers.len(),
        }
    }

    pub(super) fn gate(&self, call: &CallHead<'_>) -> Arc<Gate> {
        match &self.gates {
            Gates::One(gate) => gate.clone(),
            Gates::Callers(callers) => callers.gate(call, &self.quota),
        }
    }

    /// Returns an error for a call whose parameters are too large.
    pub(super) fn check_size(&self, call: &CallHead<'_>) -> Result<(), Status> {
        let size = call.size();
        match self.quota.message {
            Some(most) if size > most => {
                self.count(call, Reason::Message);
                let what = format!(
                    "the parameters have {size} bytes, and {} takes {most}",
                    self.name()
                );
                Err(status(what, Duration::MAX))
            }
            _ => Ok(()),
        }
    }

    /// Counts a refusal, and returns its status.
    #[cold]
    pub(super) fn refuse(&self, call: &CallHead<'_>, gate: &Gate, refused: &Refused) -> Status {
        self.count(call, refused.reason);
        let each = match self.gates {
            Gates::One(_) => "",
            Gates::Callers(_) => " of each caller",
        };
        let name = self.name();
        let what = match refused.reason {
            Reason::Rate | Reason::Bytes => {
                let unit = match refused.reason {
                    Reason::Bytes => "bytes",
                    _ => "calls",
                };
                format!("{name} takes no more {unit}{each} for now")
            }
            Reason::InFlight | Reason::Message => {
                let running = gate.in_flight().unwrap_or_default();
                format!("{name} has {running} calls{each} under way, and takes no more for now")
            }
            Reason::QueueTime => format!("the call has waited too long for its turn at {name}"),
        };
        status(what, refused.after.unwrap_or_else(pause))
    }

    fn name(&self) -> String {
        match self.place.contains(' ') {
            true => self.place.clone(),
            false => format!("`{}`", self.place),
        }
    }

    #[cold]
    fn count(&self, call: &CallHead<'_>, reason: Reason) {
        if let Some(counter) = self.refused.get(reason as usize) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        let principal = call.principal();
        let caller = principal.map_or_else(|| host(call.peer()), |known| known.name());
        self.refused_callers.add(reason, caller);
    }
}

fn status(what: String, after: Duration) -> Status {
    let status = Status::new(Code::ResourceExhausted, what);
    let status = status.with_execution(Execution::NotStarted);
    status.with_retry_after(after)
}

/// Returns between half of [`PAUSE`] and one and a half of it: callers that were refused together
/// do not come back together.
fn pause() -> Duration {
    let chance = RandomState::new().hash_one(()) % 1024;
    PAUSE / 2 + PAUSE * chance as u32 / 1024
}

/// Returns true if rules of a level count for a service. Those for everything leave out health
/// checks: one that is refused takes the server out of service.
pub(super) fn counts(level: Level, service: &ServiceDescriptor) -> bool {
    level != Level::All || !health::is(service)
}

use super::{Connected, ConnectionPool, PoolSlot};
use crate::client::Channel;
use crate::client::channel::{in_time, rest};
use crate::client::dial::{Dial, Failed};
use crate::client::failures::too_late;
use crate::client::options::Options;
use crate::client::servers::{
    Attempt, Checks, Choice, Finding, Look, Named, Server, Servers, Visit,
};
use crate::peer::local_upgrade::UPGRADE_TIMEOUT;
use crate::{Address, Code, Status, clock};
use dovetail_protocol::Execution;
use std::io;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::Mutex;

/// A connection that tasks use.
pub(in crate::client) trait Connect: Connected + Send + Sync + 'static {
    /// Makes one. `target` is the server, for display.
    fn connect(
        address: &Address,
        target: String,
        options: &Options,
    ) -> impl Future<Output = io::Result<Self>> + Send;

    /// Makes a channel to one server.
    fn channel(server: TaskPool<Self>, options: Options) -> Channel;
}

/// The connections of an async channel to the server with this address.
pub(in crate::client) struct TaskPool<C> {
    pub(in crate::client) address: Address,
    slots: ConnectionPool<C, Mutex<Dial>>,
}

impl<C: Connect> TaskPool<C> {
    pub(in crate::client) fn new(address: Address, connections: usize) -> Self {
        let slots = ConnectionPool::new(connections);
        TaskPool { address, slots }
    }

    /// The connection whose turn it is.
    pub(in crate::client) async fn connection(&self, options: &Arc<Options>) -> Result<C, Status> {
        let slot = self.slots.turn();
        if let Some(connection) = self.usable(slot, options) {
            return Ok(connection);
        }
        let wait = self.slots.wait(options);
        loop {
            match self.dial(slot, options).await? {
                Ok(connection) => {
                    self.slots.reached();
                    return Ok(connection);
                }
                Err(failed) => rest(wait.pause(failed)?).await,
            }
        }
    }

    fn usable(&self, slot: &Arc<PoolSlot<C, Mutex<Dial>>>, options: &Arc<Options>) -> Option<C> {
        let (there, elsewhere) = slot.usable()?;
        if let Some(address) = elsewhere
            && let Ok(runtime) = Handle::try_current()
        {
            let (slot, old, options) = (slot.clone(), there.clone(), options.clone());
            let target = self.address.to_string();
            runtime.spawn(async move {
                if let Ok(Ok(new)) =
                    in_time(UPGRADE_TIMEOUT, C::connect(&address, target, &options)).await
                {
                    slot.replace(&old, new);
                }
            });
        }
        Some(there)
    }

    /// Connects again, in the background, where one of several connections was lost.
    fn refill(&self, slot: &Arc<PoolSlot<C, Mutex<Dial>>>, options: &Arc<Options>) {
        let is_due = slot.dial.try_lock();
        let is_due = is_due.is_ok_and(|dial| dial.check(clock::now()).is_ok());
        if let (true, Ok(runtime)) = (is_due, Handle::try_current()) {
            let (address, slot) = (self.address.clone(), slot.clone());
            let options = options.clone();
            runtime.spawn(async move {
                let slots = ConnectionPool::of(slot.clone());
                // Whoever calls next sees how that went.
                let _ = TaskPool { address, slots }.dial(&slot, &options).await;
            });
        }
    }

    /// Fills the slots that have no connection.
    async fn fill(&self, options: &Arc<Options>) -> Result<(), Failed> {
        for slot in self.slots.in_turn() {
            match self.dial(slot, options).await {
                Ok(dialed) => drop(dialed?),
                Err(why) => {
                    let again = clock::now();
                    return Err(Failed { why, again });
                }
            }
        }
        Ok(())
    }

    async fn dial(
        &self,
        slot: &Arc<PoolSlot<C, Mutex<Dial>>>,
        options: &Arc<Options>,
    ) -> Result<Result<C, Failed>, Status> {
        let mut dial = slot.dial.lock().await;
        if let Some(connection) = self.usable(slot, options) {
            return Ok(Ok(connection));
        }
        if let Err(failed) = slot.begin(&dial) {
            return Ok(Err(failed));
        }
        let target = self.address.to_string();
        let limits = options.connect_timeout.min(options.timeout);
        let made = in_time(limits, C::connect(&self.address, target.clone(), options)).await;
        // That the call has less time than connecting may take says nothing about the server.
        if made.is_err() && options.timeout < options.connect_timeout {
            return Err(too_late("connecting", limits, Execution::NotSent));
        }
        let made = made.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        Ok(slot.made(made, &mut dial, options, &target))
    }
}

impl<C: Connect> Server for TaskPool<C> {
    type Connection = C;

    fn new(address: Address, options: &Options) -> Self {
        let address = match options.security.tls() {
            Some(_) => address.secured(),
            None => address,
        };
        TaskPool::new(address, options.connections)
    }

    fn target(&self) -> String {
        self.address.to_string()
    }

    fn ready(&self, options: &Arc<Options>) -> Option<C> {
        self.slots.ready(
            |slot| self.usable(slot, options),
            |missing| self.refill(missing, options),
        )
    }

    fn reach(attempt: Attempt<Self>) {
        let Ok(runtime) = Handle::try_current() else {
            let why = Status::new(Code::FailedPrecondition, "an async channel needs a runtime");
            let again = clock::now();
            return attempt.ended(Err(Failed { why, again }));
        };
        runtime.spawn(async move {
            let member = attempt.member();
            let reached = member.server.fill(&member.options).await;
            attempt.ended(reached);
        });
    }

    fn check(mut checks: Checks<Self>) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            let options = Arc::new(checks.options());
            let address = checks.member().server.address.clone();
            let afresh = || TaskPool::<C>::new(address.clone(), 1);
            let channel = C::channel(afresh(), Options::clone(&options));
            while let Some(pause) = checks.pause() {
                let version = checks.version();
                if checks.is_due() {
                    let finding = match checks.question() {
                        Some(question) => channel.ask(question).await,
                        None => Finding::of_connection(afresh().fill(&options).await),
                    };
                    checks.note(finding);
                }
                // The end of the pause is as good as a new connection.
                let _ = in_time(pause, checks.connected(version)).await;
            }
        });
    }
}

impl<C: Connect> Servers<TaskPool<C>> {
    /// A connection for a call.
    pub(in crate::client) async fn visit(
        &self,
        options: &Arc<Options>,
        choice: &Choice<'_>,
    ) -> Result<Visit<TaskPool<C>>, Status> {
        match self {
            Servers::One(server) => server.connection(options).await.map(Visit::only),
            Servers::Many(named) => visit(named, options, choice).await,
        }
    }
}

async fn visit<C: Connect>(
    named: &Arc<Named<TaskPool<C>>>,
    options: &Options,
    choice: &Choice<'_>,
) -> Result<Visit<TaskPool<C>>, Status> {
    let (mut limits, mut queue) = (None, None);
    loop {
        let (version, now) = (named.version(), clock::now());
        let why = match named.look(now, choice) {
            Look::Found(visit) => return Ok(visit),
            Look::Wait => None,
            Look::Nothing(why) => Some(why),
            Look::Crowded(why) => return Err(why),
        };
        if queue.is_none() {
            queue = Some(named.queue()?);
        }
        let limits = limits.get_or_insert_with(|| named.wait_limits(options, choice));
        let next = named.next_look(limits, why, now)?;
        // Too late is as good as a change: it looks again.
        let _ = in_time(next.saturating_duration_since(now), named.changed(version)).await;
    }
}

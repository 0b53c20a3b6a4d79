use super::{Connected, Place, Places};
use crate::client::channel::{in_time, rest};
use crate::client::dial::{Dial, Failed};
use crate::client::failures::too_late;
use crate::client::moving::PATIENCE;
use crate::client::options::Options;
use crate::client::servers::{Attempt, Choice, Look, Named, Server, Servers, Visit};
use crate::{Address, Code, Execution, Status, clock};
use std::io;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::Mutex;

/// A connection that tasks use.
pub(in crate::client) trait Connect: Connected + Send + Sync + 'static {
    /// Makes one. `target` is the server, for people.
    fn connect(
        address: &Address,
        target: String,
        options: &Options,
    ) -> impl Future<Output = io::Result<Self>> + Send;
}

/// The connections of an async channel to the server with this address.
pub(in crate::client) struct TaskPlaces<C> {
    pub(in crate::client) address: Address,
    places: Places<C, Mutex<Dial>>,
}

impl<C: Connect> TaskPlaces<C> {
    pub(in crate::client) fn new(address: Address, connections: usize) -> Self {
        let places = Places::new(connections);
        TaskPlaces { address, places }
    }

    /// The connection whose turn it is.
    pub(in crate::client) async fn connection(&self, options: &Arc<Options>) -> Result<C, Status> {
        let place = self.places.turn();
        if let Some(connection) = self.usable(place, options) {
            return Ok(connection);
        }
        let wait = self.places.wait(options);
        loop {
            match self.dial(place, options).await? {
                Ok(connection) => {
                    self.places.reached();
                    return Ok(connection);
                }
                Err(failed) => rest(wait.pause(failed)?).await,
            }
        }
    }

    fn usable(&self, place: &Arc<Place<C, Mutex<Dial>>>, options: &Arc<Options>) -> Option<C> {
        let (there, elsewhere) = place.usable()?;
        if let Some(address) = elsewhere
            && let Ok(runtime) = Handle::try_current()
        {
            let (place, old, options) = (place.clone(), there.clone(), options.clone());
            let target = self.address.to_string();
            runtime.spawn(async move {
                if let Ok(Ok(new)) = in_time(PATIENCE, C::connect(&address, target, &options)).await
                {
                    place.replace(&old, new);
                }
            });
        }
        Some(there)
    }

    /// Connects again, in the background, where one of several connections was lost.
    fn refill(&self, place: &Arc<Place<C, Mutex<Dial>>>, options: &Arc<Options>) {
        let is_due = place.dial.try_lock();
        let is_due = is_due.is_ok_and(|dial| dial.check(clock::now()).is_ok());
        if let (true, Ok(runtime)) = (is_due, Handle::try_current()) {
            let (address, place) = (self.address.clone(), place.clone());
            let options = options.clone();
            runtime.spawn(async move {
                let places = Places::of(place.clone());
                // Whoever calls next sees how that went.
                let _ = TaskPlaces { address, places }.dial(&place, &options).await;
            });
        }
    }

    /// Fills the places that have no connection.
    async fn fill(&self, options: &Arc<Options>) -> Result<(), Failed> {
        for place in self.places.in_turn() {
            match self.dial(place, options).await {
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
        place: &Arc<Place<C, Mutex<Dial>>>,
        options: &Arc<Options>,
    ) -> Result<Result<C, Failed>, Status> {
        let mut dial = place.dial.lock().await;
        if let Some(connection) = self.usable(place, options) {
            return Ok(Ok(connection));
        }
        if let Err(failed) = place.begin(&dial) {
            return Ok(Err(failed));
        }
        let target = self.address.to_string();
        let patience = options.connect_timeout.min(options.timeout);
        let made = in_time(patience, C::connect(&self.address, target.clone(), options)).await;
        // That the call has less time than connecting may take says nothing about the server.
        if made.is_err() && options.timeout < options.connect_timeout {
            return Err(too_late("connecting", patience, Execution::NotSent));
        }
        let made = made.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        Ok(place.made(made, &mut dial, options, &target))
    }
}

impl<C: Connect> Server for TaskPlaces<C> {
    type Connection = C;

    fn new(address: Address, options: &Options) -> Self {
        let address = match options.security.tls() {
            Some(_) => address.secured(),
            None => address,
        };
        TaskPlaces::new(address, options.connections)
    }

    fn target(&self) -> String {
        self.address.to_string()
    }

    fn ready(&self, options: &Arc<Options>) -> Option<C> {
        self.places.ready(
            |place| self.usable(place, options),
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
}

impl<C: Connect> Servers<TaskPlaces<C>> {
    /// A connection for a call.
    pub(in crate::client) async fn visit(
        &self,
        options: &Arc<Options>,
        choice: &Choice<'_>,
    ) -> Result<Visit<TaskPlaces<C>>, Status> {
        match self {
            Servers::One(server) => server.connection(options).await.map(Visit::only),
            Servers::Many(named) => visit(named, options, choice).await,
        }
    }
}

async fn visit<C: Connect>(
    named: &Arc<Named<TaskPlaces<C>>>,
    options: &Options,
    choice: &Choice<'_>,
) -> Result<Visit<TaskPlaces<C>>, Status> {
    let mut patience = None;
    loop {
        let (version, now) = (named.version(), clock::now());
        let why = match named.look(now, choice) {
            Look::Found(visit) => return Ok(visit),
            Look::Wait => None,
            Look::Nothing(why) => Some(why),
        };
        let patience = patience.get_or_insert_with(|| named.patience(options, choice));
        let next = named.next_look(patience, why, now)?;
        // Too late is as good as a change: it looks again.
        let _ = in_time(next.saturating_duration_since(now), named.changed(version)).await;
    }
}

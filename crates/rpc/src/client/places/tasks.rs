use super::{Connected, Place, Places};
use crate::client::channel::{in_time, rest};
use crate::client::dial::{Dial, Failed};
use crate::client::failures::too_late;
use crate::client::moving::PATIENCE;
use crate::client::options::Options;
use crate::{Address, Execution, Status};
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

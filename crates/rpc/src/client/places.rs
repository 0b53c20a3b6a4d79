//! The connections of an async channel to its server, which are made when they are needed.

use super::channel::in_time;
use super::dial::Dial;
use super::moving::PATIENCE;
use super::options::Options;
use crate::{Address, Status};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::runtime::Handle;

/// A connection that several use.
pub(super) trait Connected: Clone + Send + Sync + 'static {
    /// Makes one. `target` is the server, for people.
    fn connect(
        address: &Address,
        target: String,
        options: &Options,
    ) -> impl Future<Output = io::Result<Self>> + Send;

    /// False where it takes no further call.
    fn usable(&self) -> bool;

    /// Another way to the same server, said once.
    fn begin_to_move(&self) -> Option<Address> {
        None
    }

    /// True where it is the one that is there, and calls may be made on another one from now on.
    fn gives_way(&self, there: &Self) -> bool {
        let _ = there;
        false
    }
}

/// A server, and the connections to it.
pub(super) struct Places<C> {
    pub(super) address: Address,
    places: Vec<Arc<Place<C>>>,
    next: AtomicUsize,
}

/// Where a connection goes, and why there is none.
struct Place<C> {
    connection: Mutex<Option<C>>,
    dial: tokio::sync::Mutex<Dial>,
}

impl<C: Connected> Places<C> {
    pub(super) fn new(address: Address, connections: usize) -> Self {
        let place = |_| {
            Arc::new(Place {
                connection: Mutex::new(None),
                dial: tokio::sync::Mutex::default(),
            })
        };
        Places {
            address,
            places: (0..connections).map(place).collect(),
            next: AtomicUsize::new(0),
        }
    }

    /// The connection whose turn it is.
    pub(super) async fn connection(&self, options: &Arc<Options>) -> Result<C, Status> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.places.len();
        let place = &self.places[turn];
        match self.usable(place, options) {
            Some(connection) => Ok(connection),
            None => self.dial(place, options).await,
        }
    }

    /// The connection that is there, where it is not known to be lost.
    fn usable(&self, place: &Arc<Place<C>>, options: &Arc<Options>) -> Option<C> {
        let connection = lock(&place.connection);
        let there = connection.as_ref().filter(|each| each.usable())?.clone();
        drop(connection);
        if let Some(address) = there.begin_to_move()
            && let Ok(runtime) = Handle::try_current()
        {
            let (place, old, options) = (place.clone(), there.clone(), options.clone());
            let target = self.address.to_string();
            runtime.spawn(async move { place.replace(old, &address, target, &options).await });
        }
        Some(there)
    }

    /// Connects; one caller at a time, the others wait for what it gets.
    async fn dial(&self, place: &Arc<Place<C>>, options: &Arc<Options>) -> Result<C, Status> {
        let mut dial = place.dial.lock().await;
        if let Some(connection) = self.usable(place, options) {
            return Ok(connection);
        }
        // A server that goes down waits for its clients to let go.
        *lock(&place.connection) = None;
        dial.check(Instant::now())?;
        let target = self.address.to_string();
        let patience = options.connect_timeout.min(options.timeout);
        let made = in_time(patience, C::connect(&self.address, target.clone(), options)).await;
        match made.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(connection) => {
                dial.succeeded();
                *lock(&place.connection) = Some(connection.clone());
                Ok(connection)
            }
            Err(e) => Err(dial.failed(Instant::now(), &options.backoff, &target, &e)),
        }
    }
}

impl<C: Connected> Place<C> {
    /// Has calls made on another connection from now on, if that can be had.
    async fn replace(&self, old: C, address: &Address, target: String, options: &Options) {
        let made = in_time(PATIENCE, C::connect(address, target, options)).await;
        let Ok(Ok(new)) = made else {
            return;
        };
        let mut connection = lock(&self.connection);
        if connection
            .as_ref()
            .is_some_and(|there| old.gives_way(there))
        {
            *connection = Some(new);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

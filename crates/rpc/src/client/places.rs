//! The connections of an async channel to its server, which are made when they are needed.

use super::channel::in_time;
use super::dial::Dial;
use super::options::Options;
use crate::{Address, Status};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A connection that several use.
pub(super) trait Connected: Clone + Sized {
    /// Makes one.
    fn connect(
        address: &Address,
        options: &Options,
    ) -> impl Future<Output = io::Result<Self>> + Send;

    /// False where it takes no further call.
    fn usable(&self) -> bool;
}

/// A server, and the connections to it.
pub(super) struct Places<C> {
    pub(super) address: Address,
    places: Vec<Place<C>>,
    next: AtomicUsize,
}

/// Where a connection goes, and why there is none.
struct Place<C> {
    connection: Mutex<Option<C>>,
    dial: tokio::sync::Mutex<Dial>,
}

impl<C: Connected> Places<C> {
    pub(super) fn new(address: Address, connections: usize) -> Self {
        let place = |_| Place {
            connection: Mutex::new(None),
            dial: tokio::sync::Mutex::default(),
        };
        Places {
            address,
            places: (0..connections).map(place).collect(),
            next: AtomicUsize::new(0),
        }
    }

    /// The connection whose turn it is.
    pub(super) async fn connection(&self, options: &Options) -> Result<C, Status> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.places.len();
        let place = &self.places[turn];
        match place.usable() {
            Some(connection) => Ok(connection),
            None => self.dial(place, options).await,
        }
    }

    /// Connects; one caller at a time, the others wait for what it gets.
    async fn dial(&self, place: &Place<C>, options: &Options) -> Result<C, Status> {
        let mut dial = place.dial.lock().await;
        if let Some(connection) = place.usable() {
            return Ok(connection);
        }
        // A server that goes down waits for its clients to let go.
        *lock(&place.connection) = None;
        dial.check(Instant::now())?;
        let target = self.address.to_string();
        let patience = options.connect_timeout.min(options.timeout);
        let made = in_time(patience, C::connect(&self.address, options)).await;
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
    fn usable(&self) -> Option<C> {
        let connection = lock(&self.connection);
        connection.as_ref().filter(|each| each.usable()).cloned()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! A connection that several use at a time: callers, calls with streams, handlers that call back.

use super::capnp;
use super::machine::{Called, Fault};
use super::table::Table;
use super::wake_list::WakeList;
use crate::Status;
use crate::buffers::Gathered;
use crate::peer::incoming::ReplyTo;
use crate::peer::intercept::Around;
use crate::peer::objects::{ObjectDirectory, Objects, Remote};
use bytes::BytesMut;
use dovetail_wire::Limits;
use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long saying something that nobody waits for may hold a thread up.
const LAST_WORD: Duration = Duration::from_millis(10);

/// Sends what is queued on a connection.
pub(crate) trait Flush: Any + Send + Sync {
    /// Takes the queue, which is not empty, for a [`flush`](Self::flush) on this thread. A driver
    /// that sends in its own time, or on another thread just now, takes nothing.
    fn take(&self, _: &mut Table) -> Vec<u8> {
        Vec::new()
    }

    /// Sends in its own time, or waits until what was [taken](Self::take) has left: no longer than
    /// until `deadline`, or as long as it sees fit where there is none.
    fn flush(&self, link: &Link, taken: Vec<u8>, deadline: Option<Instant>);

    /// Somebody has gone who may have been the one to receive.
    fn parted(&self, _: &Link) {}

    /// Nobody uses the connection any longer.
    fn released(&self) {}
}

/// The result of receiving bytes.
pub(crate) struct Received {
    /// The calls of the other end.
    pub(crate) called: Vec<Called>,
    /// How much to receive next.
    pub(crate) needs: usize,
    pub(crate) understood: Result<(), Fault>,
}

/// The table, as long as it is locked. Whose replies have come meanwhile is woken afterwards: a
/// caller that runs at once needs the table first of all.
pub(crate) struct Locked<'a> {
    // In this order: it is unlocked before they are woken.
    table: MutexGuard<'a, Table>,
    wake_list: Option<WakeList>,
}

impl Deref for Locked<'_> {
    type Target = Table;

    fn deref(&self) -> &Table {
        &self.table
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Table {
        &mut self.table
    }
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.table.wake_list.is_empty() {
            self.wake_list = Some(std::mem::take(&mut self.table.wake_list));
        }
    }
}

/// A connection that several use at a time.
pub(crate) struct Link {
    /// The other end, for display.
    pub(crate) target: String,
    table: Mutex<Table>,
    /// The objects that the two ends have of each other.
    pub(crate) objects: Arc<Objects>,
    /// Limits on the cost of decoding a message.
    pub(crate) limits: Limits,
    driver: Arc<dyn Flush>,
    /// Interceptors of the channel that made the connection, for channels to objects of the other
    /// end.
    pub(crate) around: Around,
    /// Notified when callers that wait for their turn may have it.
    #[cfg(feature = "async")]
    pub(crate) turn: tokio::sync::Notify,
}

impl Link {
    pub(crate) fn new(
        target: String,
        table: Table,
        limits: Limits,
        driver: Arc<dyn Flush>,
        around: Around,
    ) -> Arc<Self> {
        let link = Arc::new(Link {
            target,
            objects: table.objects.clone(),
            table: Mutex::new(table),
            limits,
            driver,
            around,
            #[cfg(feature = "async")]
            turn: tokio::sync::Notify::new(),
        });
        link.objects.settle(&link);
        link
    }

    /// Returns the driver as a value of any type, for clients, which know theirs.
    pub(crate) fn driver(&self) -> Arc<dyn Any + Send + Sync> {
        self.driver.clone()
    }

    /// Gives the connection up; who waits for it is told why.
    pub(crate) fn give_up(&self, why: &Status) {
        self.lock().fail(why);
        self.objects.end();
    }

    /// A call to whose result others may be addressed has been answered.
    pub(crate) fn returned(&self, call: u32, outcome: Result<u32, Status>) {
        self.with(|table| {
            if let Some(machine) = table.machine() {
                machine.returned(call, outcome);
            }
        });
    }

    /// The last reference to an object of the other end's is gone.
    pub(crate) fn release(&self, number: u32, count: u64, remote: *const Remote) {
        self.objects.dropped(number, remote);
        self.part(|table| table.release(number, count));
    }

    /// Takes in what was received. The other end calls these services and its objects.
    pub(crate) fn receive(
        &self,
        input: &mut BytesMut,
        services: &dyn capnp::Directory,
        deadline: Option<Instant>,
    ) -> Received {
        let directory = self.directory(services);
        self.with_until(deadline, |table| {
            let (called, understood) = table.receive(input, &directory);
            let needs = table.needs();
            Received {
                called,
                needs,
                understood,
            }
        })
    }

    /// Sends the answer to a call of the other end's. Gives the calls that have waited for it.
    pub(crate) fn answer(
        &self,
        reply: &ReplyTo,
        answer: Gathered,
        services: &dyn capnp::Directory,
    ) -> Vec<Called> {
        let directory = self.directory(services);
        self.with(|table| {
            table.transmit();
            table.out.extend_from_slice(&answer.joined());
            match reply.promised_to() {
                Some(_) => std::iter::from_fn(|| table.ready(&directory)).collect(),
                None => Vec::new(),
            }
        })
    }

    /// The next of the calls that have waited for an answer.
    pub(crate) fn ready(&self, services: &dyn capnp::Directory) -> Option<Called> {
        let directory = self.directory(services);
        self.lock().ready(&directory)
    }

    /// Returns the directory of the methods of these services, and of those of the connection's
    /// objects.
    pub(crate) fn directory<'a>(
        &'a self,
        services: &'a dyn capnp::Directory,
    ) -> ObjectDirectory<'a> {
        ObjectDirectory {
            services,
            objects: &self.objects,
        }
    }

    /// For the driver, which knows what it has to send.
    #[inline]
    pub(crate) fn lock(&self) -> Locked<'_> {
        Locked {
            table: self.table.lock().unwrap_or_else(PoisonError::into_inner),
            wake_list: None,
        }
    }

    /// For everybody else: what is queued is sent afterwards.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut Table) -> R) -> R {
        self.with_until(None, work)
    }

    /// Works for a caller that has lost interest in something, and does not wait for long until
    /// that is said.
    pub(crate) fn part<R>(&self, work: impl FnOnce(&mut Table) -> R) -> R {
        let result = self.with_until(Some(Instant::now() + LAST_WORD), work);
        self.driver.parted(self);
        result
    }

    /// Sends what was queued under the lock.
    pub(crate) fn flush(&self) {
        self.with(|_| ());
    }

    /// Works under the lock, and sends the queue until a deadline; see [`Flush::flush`].
    pub(crate) fn with_until<R>(
        &self,
        deadline: Option<Instant>,
        work: impl FnOnce(&mut Table) -> R,
    ) -> R {
        let mut table = self.lock();
        let result = work(&mut table);
        table.transmit();
        let taken = (!table.out.is_empty()).then(|| self.driver.take(&mut table));
        drop(table);
        self.objects.tidy();
        if let Some(taken) = taken {
            self.driver.flush(self, taken, deadline);
        }
        result
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.driver.released();
    }
}

/// A driver that is a task: notified when something is queued, or when nobody uses the connection
/// any longer.
#[cfg(feature = "async")]
#[derive(Default)]
pub(crate) struct Queued(pub(crate) tokio::sync::Notify);

#[cfg(feature = "async")]
impl Flush for Queued {
    fn flush(&self, _: &Link, _: Vec<u8>, _: Option<Instant>) {
        self.0.notify_one();
    }

    fn released(&self) {
        self.0.notify_one();
    }
}

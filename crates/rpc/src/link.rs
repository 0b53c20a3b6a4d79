//! A connection that several use at a time: callers, calls with streams, handlers that call back.

use crate::Status;
use crate::client::Table;
use crate::objects::{Objects, WeakHome};
use dovetail_wire::Limits;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Sends what is queued on a connection, in its own time.
pub(crate) trait Flush: Send + Sync {
    fn flush(&self, link: &Link);

    /// Nobody uses the connection any longer.
    fn released(&self) {}
}

/// A connection that several use at a time.
pub(crate) struct Link {
    /// The other end, for people.
    #[cfg_attr(not(feature = "async"), expect(dead_code, reason = "for channels"))]
    pub(crate) target: String,
    table: Mutex<Table<Waker>>,
    /// What the two ends have of each other.
    pub(crate) objects: Arc<Objects>,
    /// What decoding a message may cost.
    pub(crate) limits: Limits,
    driver: Arc<dyn Flush>,
    /// Notified when callers that wait for their turn may have it.
    #[cfg(feature = "async")]
    pub(crate) turn: tokio::sync::Notify,
}

impl Link {
    pub(crate) fn new(
        target: String,
        table: Table<Waker>,
        limits: Limits,
        driver: Arc<dyn Flush>,
    ) -> Arc<Self> {
        let link = Arc::new(Link {
            target,
            objects: table.objects.clone(),
            table: Mutex::new(table),
            limits,
            driver,
            #[cfg(feature = "async")]
            turn: tokio::sync::Notify::new(),
        });
        let home = WeakHome::Link(Arc::downgrade(&link));
        link.objects.settle(home);
        link
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

    /// For the driver, which knows what it has to send.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Table<Waker>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For everybody else: what is queued is sent afterwards.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut Table<Waker>) -> R) -> R {
        let mut table = self.lock();
        let result = work(&mut table);
        table.transmit();
        let queued = !table.out.is_empty();
        drop(table);
        self.objects.tidy();
        if queued {
            self.driver.flush(self);
        }
        result
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.driver.released();
    }
}

/// A driver that is a task: notified when something is queued, or when nobody uses the connection any longer.
#[cfg(feature = "async")]
#[derive(Default)]
pub(crate) struct Queued(pub(crate) tokio::sync::Notify);

#[cfg(feature = "async")]
impl Flush for Queued {
    fn flush(&self, _: &Link) {
        self.0.notify_one();
    }

    fn released(&self) {
        self.0.notify_one();
    }
}

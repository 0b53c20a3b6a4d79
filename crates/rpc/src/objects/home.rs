use crate::client::blocking::Connection;
use crate::link::Link;
use crate::objects::{Objects, Remote};
use std::sync::{Arc, Weak};

/// The connection on which an object of the other end came.
#[derive(Clone)]
pub(crate) enum Home {
    Link(Arc<Link>),
    Blocking(Arc<Connection>),
}

/// The same, for those that the connection has itself.
pub(crate) enum WeakHome {
    Link(Weak<Link>),
    Blocking(Weak<Connection>),
}

impl WeakHome {
    pub(crate) fn upgrade(&self) -> Option<Home> {
        match self {
            WeakHome::Link(link) => link.upgrade().map(Home::Link),
            WeakHome::Blocking(connection) => connection.upgrade().map(Home::Blocking),
        }
    }
}

impl Home {
    pub(super) fn objects(&self) -> &Arc<Objects> {
        match self {
            Home::Link(link) => &link.objects,
            Home::Blocking(connection) => &connection.objects,
        }
    }

    /// True for the connection that has these objects.
    pub(super) fn has(&self, objects: &Arc<Objects>) -> bool {
        Arc::ptr_eq(self.objects(), objects)
    }

    /// The last reference to an object is gone.
    pub(super) fn release(&self, number: u32, count: u64, remote: *const Remote) {
        self.objects().dropped(number, remote);
        match self {
            Home::Link(link) => link.with(|table| table.release(number, count)),
            Home::Blocking(connection) => connection.release(number, count),
        }
    }
}

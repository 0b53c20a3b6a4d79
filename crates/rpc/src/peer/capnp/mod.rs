//! Cap'n Proto's protocol: the tables of methods, and the ends of connections. The machine is
//! `dovetail_protocol::capnp`.

mod exception;
mod methods;
mod peer;
mod reply;

pub(crate) use methods::{Method, MethodKey};
pub(crate) use peer::{Arrival, IncomingCall, Peer};
pub(crate) use reply::CapnpReplyTo;

use dovetail_protocol::dovetail::{self, NoMethods};

/// The method at a place, and the number under which its handler is known.
pub(crate) type Found = (usize, &'static Method);

/// Finds the methods that an end answers, also by their places.
pub(crate) trait Directory: dovetail::Directory {
    fn placed(&self, key: MethodKey) -> Option<Found>;
}

impl Directory for NoMethods {
    fn placed(&self, _: MethodKey) -> Option<Found> {
        None
    }
}

//! Cap'n Proto's protocol: the tables of methods, a connection of a server, and one of a client. The machine is `dovetail_protocol::capnp`.

mod accepted;
mod dialed;
mod exception;
mod methods;

pub(crate) use accepted::{Accepted, Found, ReplyTo};
pub(crate) use dialed::Dialed;
pub(crate) use methods::{Method, Place};

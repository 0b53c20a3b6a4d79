//! Calls over HTTP, of gRPC, gRPC-Web, Connect and WebSocket: their messages, their streams, and
//! how they are answered. It makes no difference which version of HTTP it is; drivers know that.

mod coding;
mod exchange;
mod message;
pub(crate) mod messages;
mod reply;
mod socket;
mod style;

pub(crate) use coding::gunzip;
pub(crate) use exchange::{Exchange, Handle};
#[cfg(feature = "grpc")]
pub(crate) use message::{Form, exception_field, frame_before_items, is_packed};
pub(crate) use message::{Plain, known_coding, no_parameters, of_field, parameters, plain};
#[cfg(feature = "grpc")]
pub(crate) use reply::WebAnswer;
pub(crate) use reply::WebReplyTo;
pub(crate) use style::{Protocol, Spelling, Style};

use dovetail_protocol::http::{Request, Response};

/// The answer to a request by GET that is no call.
pub(crate) type Page = Box<dyn Fn(&Request) -> Response + Send + Sync>;

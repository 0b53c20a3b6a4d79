//! gRPC's messages, and how a call is answered: what server and client have in common. HTTP/2 is below them, in their
//! drivers.

mod message;
mod reply;

pub(crate) use message::{as_field, plain};
pub(crate) use reply::{Answer, ReplyTo};

use dovetail_protocol::Headers;
use dovetail_protocol::grpc::InvalidMetadata;
use dovetail_protocol::grpc::{decode_value, is_custom};
use http::HeaderMap;

/// The metadata among the headers of a request or an answer.
pub(crate) fn metadata(headers: &HeaderMap) -> Result<Headers, InvalidMetadata> {
    let mut metadata = Headers::new();
    for (name, value) in headers {
        if is_custom(name.as_str()) {
            for value in decode_value(name.as_str(), value.as_bytes())? {
                metadata.push(name.as_str(), value);
            }
        }
    }
    Ok(metadata)
}

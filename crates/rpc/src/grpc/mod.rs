//! gRPC's messages, and how a call is answered: what server and client have in common. HTTP/2 is below them, in their
//! drivers.

mod message;
mod reply;

pub(crate) use message::{as_field, exception_field, frame, plain, reply_of};
pub(crate) use reply::{Answer, ReplyTo};

use dovetail_protocol::Headers;
use dovetail_protocol::grpc::{InvalidMetadata, decode_value, encode_value, is_custom};
use http::{HeaderMap, HeaderName, HeaderValue};

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

/// Adds metadata to the headers of a request.
pub(crate) fn metadata_into(
    metadata: &Headers,
    headers: &mut HeaderMap,
) -> Result<(), InvalidMetadata> {
    for (name, value) in metadata.iter() {
        let (name, value) = encode_value(name, value)?;
        // What is written there is a header.
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.append(name, value);
        }
    }
    Ok(())
}

//! A call as it is sent.

use super::super::options::Options;
use super::{Origin, due, no_objects};
use crate::grpc::metadata_into;
use crate::method::Method;
use crate::peer::machine::code_of;
use crate::peer::outgoing::Outgoing;
use crate::web::{Form, Protocol, Style, frame_before_items, is_packed};
use crate::{Code, Status};
use bytes::Bytes;
use dovetail_wire::{Encode, EncodeError};
use http::header::USER_AGENT;
use http::{Request, Uri};
use std::fmt;

/// A call without streams: its head, and its body.
pub(super) fn single(
    call: &Outgoing<'_, impl Encode>,
    style: Style,
    options: &Options,
    origin: &Origin,
) -> Result<(Request<()>, Bytes), Status> {
    let message = message(call, style, options)?;
    let (style, body) = match style.protocol {
        Protocol::Connect => bare(message, style),
        _ => (style, message),
    };
    Ok((head(call, style, options, origin)?, body))
}

/// A message without its prefix, of which the head says whether it is compressed.
fn bare(message: Bytes, style: Style) -> (Style, Bytes) {
    let coding = style.coding.filter(|_| is_packed(&message));
    (Style { coding, ..style }, Form::without_prefix(&message))
}

/// Returns the message of a call before any items.
pub(super) fn first(
    call: &Outgoing<'_, impl Encode>,
    method: &Method,
    style: Style,
    options: &Options,
) -> Result<Bytes, Status> {
    if !method.kind.client_streams() {
        return message(call, style, options);
    }
    if method.params.is_empty() {
        return Ok(Bytes::new());
    }
    let encoded = frame_before_items(call.params, style.codec, options.client.encoding);
    let message = encoded.map_err(|error| unencodable(call.name, &error))?;
    Ok(style.packed(message))
}

fn message(
    call: &Outgoing<'_, impl Encode>,
    style: Style,
    options: &Options,
) -> Result<Bytes, Status> {
    let form = style.form(call.method);
    let encoded = form.envelope(call.params, options.client.encoding);
    let message = encoded.map_err(|error| unencodable(call.name, &error))?;
    Ok(style.packed(message))
}

#[cold]
fn unencodable(method: &str, error: &EncodeError) -> Status {
    let what = format!("the parameters of `{method}` cannot be encoded: {error}");
    Status::new(code_of(error, Code::InvalidArgument), what)
}

/// The head of a request.
pub(super) fn head<P>(
    call: &Outgoing<'_, P>,
    style: Style,
    options: &Options,
    origin: &Origin,
) -> Result<Request<()>, Status> {
    if call.promise.is_some() || call.object.is_some() {
        return Err(no_objects(options.wire));
    }
    let mut request = Request::post(uri(call, style, options, origin)?);
    // A time that is no deadline here is none there.
    let timeout = call.timeout.filter(|limit| due(Some(*limit)).is_some());
    for (name, value) in style.request_headers(timeout) {
        request = request.header(&*name, &*value);
    }
    let request = request.header(USER_AGENT, style.agent()).body(());
    let mut request = request.map_err(|error| unsendable(&error))?;
    metadata_into(call.headers, request.headers_mut()).map_err(|error| unsendable(&error))?;
    Ok(request)
}

fn uri<P>(
    call: &Outgoing<'_, P>,
    style: Style,
    options: &Options,
    origin: &Origin,
) -> Result<Uri, Status> {
    let uri = Uri::builder()
        .scheme(origin.scheme)
        .authority(origin.authority.as_str())
        .path_and_query(path(call, style, options)?);
    uri.build().map_err(|error| unsendable(&error))
}

/// Over Connect a method may have no service: a function that is bound to a name.
fn path<P>(call: &Outgoing<'_, P>, style: Style, options: &Options) -> Result<String, Status> {
    let named = options.client.service.as_deref();
    let service = named.or(call.method.map(|method| method.service));
    let bare = matches!(style.protocol, Protocol::Connect | Protocol::ConnectStream);
    match service.unwrap_or_default() {
        "" if bare => Ok(format!("/{}", call.name)),
        "" => {
            let wire = options.wire;
            let what = format!(
                "{wire} needs the service's name: `service(\"hello.v1.Hello\")` of the builder"
            );
            Err(Status::new(Code::InvalidArgument, what))
        }
        service => Ok(format!("/{service}/{}", call.name)),
    }
}

#[cold]
fn unsendable(error: &dyn fmt::Display) -> Status {
    Status::new(Code::InvalidArgument, error.to_string())
}

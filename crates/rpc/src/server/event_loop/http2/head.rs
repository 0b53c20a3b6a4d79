//! The headers of requests and answers.

use crate::grpc::{coding, metadata};
use crate::peer::incoming::Target;
use crate::server::Shared;
use crate::server::http::Ask;
use crate::web::{Protocol, Style, known_coding};
use crate::{Code, Status, clock};
use bytes::Bytes;
use dovetail_protocol::grpc::{CONTENT_TYPE, Coding, Trailers, codec, parse_timeout};
use dovetail_protocol::http::Cors;
use dovetail_protocol::metadata::lists;
use dovetail_protocol::{Codec, Execution, Failure, Headers, Name, http as one};
use http::header::{CONTENT_TYPE as CONTENT_TYPE_NAME, HOST};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response};
use std::time::Duration;

/// Reads a request of gRPC's; `None` where it is another protocol's.
pub(super) fn grpc(head: &Parts, shared: &Shared) -> Option<Result<Ask, Status>> {
    let kind = head.headers.get(CONTENT_TYPE_NAME)?;
    let codec = codec(kind.as_bytes())?;
    (head.method == Method::POST).then(|| read(head, codec, shared))
}

fn read(head: &Parts, codec: Codec, shared: &Shared) -> Result<Ask, Status> {
    let path = head.uri.path();
    let names = path
        .strip_prefix('/')
        .and_then(|path| path.rsplit_once('/'));
    let (service, method) = match names {
        Some(names) if path.len() <= shared.sizes.connection.name_bytes => names,
        _ => return Err(refused(Code::Unimplemented, format!("no method `{path}`"))),
    };
    if head.headers.contains_key("origin")
        && Cors::refuses(shared.cors.as_ref(), &request(head).headers)
    {
        let what = "a page of another site may not call; `Server::cors` lists those that may";
        return Err(refused(Code::PermissionDenied, what.to_owned()));
    }
    let target = Target::Named {
        service: Some(Name::new(service)),
        method: Name::new(method),
    };
    let route = shared.dispatcher.routes.find(&target).ok();
    let bad = |error: &dyn std::error::Error| refused(Code::InvalidArgument, error.to_string());
    let timeout = head.headers.get("grpc-timeout");
    let timeout = timeout.map(|text| parse_timeout(text.as_bytes()));
    let timeout: Option<Duration> = timeout.transpose().map_err(|error| bad(&error))?;
    let coding = coding(&head.headers);
    known_coding(coding.as_deref())?;
    let accepts = |coding: &Coding| accepts(&head.headers, *coding);
    let used = coding.as_deref().and_then(Coding::from_name);
    let used = used.filter(accepts);
    Ok(Ask {
        target,
        method: route.map(|route| route.method),
        style: Style {
            protocol: Protocol::Grpc,
            codec,
            coding: used.or_else(|| Coding::ALL.iter().copied().find(accepts)),
            packs: used.is_some(),
            spelling: route.map(|route| route.spelling).unwrap_or_default(),
        },
        coding,
        compressed: false,
        // Farther away than a clock can say is no deadline.
        deadline: timeout.and_then(|left| clock::now().checked_add(left)),
        headers: metadata(&head.headers).map_err(|error| bad(&error))?,
        get: false,
    })
}

/// The hosts that a request names, of which most have one. An opaque authority is none.
pub(super) fn hosts(head: &Parts, opaque: bool) -> impl Iterator<Item = &[u8]> {
    let authority = head.uri.authority().filter(|_| !opaque).into_iter();
    let authority = authority.map(|authority| authority.as_str().as_bytes());
    authority.chain(head.headers.get_all(HOST).iter().map(HeaderValue::as_bytes))
}

/// Whether the sender of a request can read answers that are compressed so.
fn accepts(headers: &HeaderMap, coding: Coding) -> bool {
    let mut accepted = headers.get_all(Coding::ACCEPT_HEADER).into_iter();
    accepted.any(|value| lists(value.as_bytes(), coding.name()))
}

/// A request of another protocol, but for its body, as HTTP/1.1 has it.
pub(super) fn request(head: &Parts) -> one::Request {
    let target = head.uri.path_and_query();
    let headers = head.headers.iter().map(|(name, value)| {
        let value = Bytes::copy_from_slice(value.as_bytes());
        (name.as_str(), value)
    });
    let mut headers = headers.collect::<Headers>();
    if let Some(authority) = head.uri.authority()
        && headers.get("host").is_none()
    {
        headers.push(
            "host",
            Bytes::copy_from_slice(authority.as_str().as_bytes()),
        );
    }
    one::Request {
        method: one::Method::of(head.method.as_str()),
        target: target.map_or(String::new(), ToString::to_string),
        headers,
        body: Bytes::new(),
        keep_alive: true,
        upgrades: false,
    }
}

/// The head of gRPC's answer, whose messages may be compressed so.
pub(super) fn response(style: Style, coding: Option<Coding>) -> Response<()> {
    let kind = match style.codec {
        Codec::Proto => CONTENT_TYPE,
        Codec::Json => "application/grpc+json",
    };
    let mut response = Response::new(());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE_NAME, HeaderValue::from_static(kind));
    headers.insert(
        HeaderName::from_static(Coding::ACCEPT_HEADER),
        HeaderValue::from_static(Coding::ACCEPTED),
    );
    if let Some(coding) = coding {
        let name = HeaderName::from_static(Coding::HEADER);
        headers.insert(name, HeaderValue::from_static(coding.name()));
    }
    response
}

/// The trailers of a call that went well.
pub(super) fn fine() -> HeaderMap {
    let status = HeaderName::from_static(Trailers::STATUS);
    [(status, HeaderValue::from_static("0"))]
        .into_iter()
        .collect()
}

pub(super) fn trailers(failure: &Failure) -> HeaderMap {
    let headers = Trailers::write(failure).into_iter();
    // The headers there are text.
    let header = |(name, value)| {
        let value = HeaderValue::try_from(value).ok()?;
        Some((HeaderName::from_static(name), value))
    };
    headers.filter_map(header).collect()
}

#[cold]
pub(super) fn refused(code: Code, what: String) -> Status {
    Status::new(code, what).with_execution(Execution::NotStarted)
}

use super::{Codec, codec, query, status};
use crate::http::{Header, Method, Request};
use crate::{ConnectionLimits, Headers, Name, Status, Terms, metadata};
use bytes::Bytes;
use std::time::Duration;

/// A call as the request says it. What is called, [`target`] says.
#[derive(Clone, Debug)]
pub struct Call {
    /// How request and answer are encoded.
    pub codec: Codec,
    /// The message, compressed by gzip where `gzip` says so.
    pub message: Bytes,
    /// The message is compressed.
    pub gzip: bool,
    /// The rest of the headers.
    pub terms: Terms,
    /// True for a GET request, by which only methods may be called that change nothing.
    pub get: bool,
}

/// Why a request is no call.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The status of HTTP.
    pub(super) http: u16,
    /// A header of the answer.
    pub(super) header: Option<Header>,
    pub(super) status: Status,
}

/// True for requests that are Connect's, or nobody's, by their headers: all but POST requests, and
/// of these the ones with a content type of Connect or gRPC. A POST with another content type may
/// be Thrift's, which its body tells.
pub fn claims(method: Method, headers: &Headers) -> bool {
    let kind = headers.get("content-type").unwrap_or_default();
    let begins = |with: &str| {
        let start = kind.get(..with.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(with.as_bytes()))
    };
    method != Method::Post
        || codec(kind).is_some()
        || begins("application/connect+")
        || begins("application/grpc")
}

/// Returns whether a request that came as a whole is Connect's. A message of Thrift's JSON may come
/// as JSON, too.
pub fn is_call(request: &Request) -> bool {
    let kind = request.headers.get("content-type").unwrap_or_default();
    let thrift = codec(kind) == Some(Codec::Json) && is_thrift(&request.body);
    claims(request.method, &request.headers) && !thrift
}

/// Returns whether JSON begins as a message of Thrift does: `[1,"` with the name of a method behind
/// it.
fn is_thrift(body: &[u8]) -> bool {
    let tokens = [b"[", b"1", b",", b"\""];
    let mut rest = Some(body);
    for token in tokens {
        rest = rest.and_then(|rest| rest.trim_ascii_start().strip_prefix(token));
    }
    rest.is_some()
}

/// Returns the target of a request: the service, if its path has more than a method, and the
/// method.
pub fn target(
    request: &Request,
    limits: &ConnectionLimits,
) -> Result<(Option<Name>, Name), Status> {
    let path = request.path();
    if path.len() > limits.name_bytes {
        let limit = limits.name_bytes;
        let what = format!("the path is longer than {limit} bytes");
        return Err(status::unimplemented(what));
    }
    let path = path.strip_prefix('/').unwrap_or(path);
    Ok(match path.rsplit_once('/') {
        Some((service, method)) => (Some(Name::new(service)), Name::new(method)),
        None => (None, Name::new(path)),
    })
}

impl Call {
    /// The call that a request stands for.
    pub fn read(request: &Request) -> Result<Self, Refusal> {
        let (codec, message, coding) = match request.method {
            Method::Post => posted(request)?,
            Method::Get => asked(request)?,
            Method::Head | Method::Options | Method::Other => return Err(Refusal::method()),
        };
        Ok(Call {
            codec,
            message,
            gzip: is_gzip(coding.as_deref())?,
            terms: terms(&request.headers).map_err(Refusal::of)?,
            get: request.method == Method::Get,
        })
    }
}

type Parts = (Codec, Bytes, Option<Vec<u8>>);

fn posted(request: &Request) -> Result<Parts, Refusal> {
    let kind = request.headers.get("content-type").unwrap_or_default();
    let codec = codec(kind).ok_or_else(|| Refusal::content_type(kind))?;
    status::check_version(&request.headers).map_err(Refusal::of)?;
    let coding = request.headers.get("content-encoding").map(<[u8]>::to_vec);
    Ok((codec, request.body.clone(), coding))
}

fn asked(request: &Request) -> Result<Parts, Refusal> {
    let get = |name| query::get(request.query(), name);
    let invalid = |what: &str| Refusal::of(status::invalid(what));
    if get("connect").is_some_and(|version| version != b"v1") {
        return Err(invalid("`connect` is v1"));
    }
    let codec = match get("encoding").as_deref() {
        None | Some(b"json") => Codec::Json,
        Some(b"proto") => Codec::Proto,
        Some(_) => return Err(invalid("`encoding` is json or proto")),
    };
    let Some(message) = get("message") else {
        return Err(invalid(
            "a GET request has its message in `message`, as in ?encoding=json&message=%7B%7D",
        ));
    };
    let message = match get("base64").as_deref() {
        Some(b"1") => query::from_base64(&message)
            .ok_or_else(|| invalid("`message` is no base64 of the alphabet for URLs"))?,
        _ => message.into(),
    };
    Ok((codec, message, get("compression")))
}

fn is_gzip(coding: Option<&[u8]>) -> Result<bool, Refusal> {
    match coding {
        None | Some(b"" | b"identity") => Ok(false),
        Some(name) if name.eq_ignore_ascii_case(b"gzip") => Ok(true),
        Some(other) => {
            let other = String::from_utf8_lossy(other);
            let what = format!("the message is compressed by `{other}`; gzip is known");
            let refusal = Refusal::of(status::unimplemented(what));
            let header = Some(("Accept-Encoding".into(), "gzip".into()));
            Err(Refusal { header, ..refusal })
        }
    }
}

fn terms(headers: &Headers) -> Result<Terms, Status> {
    let accepts = headers.get("accept-encoding").unwrap_or_default();
    Ok(Terms {
        timeout: timeout(headers)?,
        coding: None,
        accepts_gzip: metadata::lists(accepts, "gzip"),
        headers: metadata::of(headers).map_err(|error| status::invalid(error.to_string()))?,
    })
}

pub(super) fn timeout(headers: &Headers) -> Result<Option<Duration>, Status> {
    let Some(text) = headers.get("connect-timeout-ms") else {
        return Ok(None);
    };
    let digits = matches!(text.len(), 1..=10) && text.iter().all(u8::is_ascii_digit);
    let number = text
        .iter()
        .filter(|_| digits)
        .fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
    match digits {
        true => Ok(Some(Duration::from_millis(number))),
        false => Err(status::invalid(
            "`Connect-Timeout-Ms` is a number of one to ten digits",
        )),
    }
}

impl Refusal {
    /// Answered as the same failure of a call would be.
    pub fn of(status: Status) -> Self {
        Refusal {
            http: status::http_status(status.code()),
            header: None,
            status,
        }
    }

    /// There is no such path.
    pub fn unknown(why: Status) -> Self {
        Refusal {
            http: 404,
            ..Self::of(why)
        }
    }

    /// A browser sends the request for a page of another site, which may not call.
    pub fn foreign() -> Self {
        Self::of(status::foreign_page())
    }

    /// The method of HTTP is none that calls anything.
    pub fn method() -> Self {
        Refusal {
            http: 405,
            header: Some(("Allow".into(), "GET, POST".into())),
            status: status::invalid(
                "calls are POST requests, or GET requests for what changes nothing",
            ),
        }
    }

    /// This method may change something, so it is not called by GET.
    pub fn not_by_get() -> Self {
        Refusal {
            http: 405,
            header: Some(("Allow".into(), "POST".into())),
            status: status::invalid(
                "the contract does not say that this method may be called by GET",
            ),
        }
    }

    /// The content type of a message of Thrift's is one that any page may send.
    pub fn unasked() -> Self {
        Refusal {
            http: 415,
            header: Some(("Accept-Post".into(), "application/x-thrift".into())),
            status: status::invalid(
                "any page could send this content type; messages of Thrift's are application/x-thrift",
            ),
        }
    }

    fn content_type(kind: &[u8]) -> Self {
        let kind = String::from_utf8_lossy(kind);
        let what = match &*kind {
            "" => "the request has no content type; application/json is known".to_owned(),
            kind => format!(
                "the content type is `{kind}`; application/json, application/proto, those of Connect's streams and of gRPC-Web are known"
            ),
        };
        Refusal {
            http: 415,
            header: Some((
                "Accept-Post".into(),
                "application/json, application/proto".into(),
            )),
            status: status::invalid(what),
        }
    }
}

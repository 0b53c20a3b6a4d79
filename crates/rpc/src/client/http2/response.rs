//! An answer as it comes: headers, messages, trailers.

use crate::grpc::{Broken, Messages, metadata, misbehaved};
use crate::peer::response_headers::ResponseHeaders;
use crate::web::{Plain, Protocol, Style, plain};
use crate::{Code, Status};
use bytes::{Bytes, BytesMut};
use dovetail_protocol::envelope::Frame;
use dovetail_protocol::grpc::{Trailers, read_web_end};
use dovetail_protocol::{ConnectionLimits, Failure, Headers, connect};
use h2::RecvStream;
use h2::client::ResponseFuture;
use http::header::CONTENT_TYPE;
use http::response::Parts;
use http::{HeaderMap, HeaderValue};
use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll, ready};

/// An answer that has begun.
pub(super) struct Response {
    style: Style,
    /// Nothing where the headers were all.
    messages: Option<Messages>,
    /// The end of the call as the headers of gRPC-Web have it: it counts where nothing follows
    /// them.
    in_head: Option<Ended>,
    /// The place for the headers and trailers of the answer.
    said: Option<ResponseHeaders>,
}

/// How an answer ended, where it says so, and what stands behind it.
type Ended = (Option<Result<(), Failure>>, Headers);

/// Why there is no more of an answer.
pub(super) enum Stop {
    Failed(Failure),
    Http(h2::Error),
}

impl Stop {
    #[cold]
    pub(super) fn misbehaved(code: Code, what: &dyn fmt::Display) -> Self {
        misbehaved(code, what).into()
    }
}

impl From<h2::Error> for Stop {
    fn from(error: h2::Error) -> Self {
        Stop::Http(error)
    }
}

impl From<Status> for Stop {
    fn from(status: Status) -> Self {
        Stop::Failed(status.into())
    }
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Http(error) => Stop::Http(error),
            // The request says what this end can decompress.
            Broken::Message(why) if why.code() == Code::Unimplemented => {
                Stop::misbehaved(Code::Internal, &why.message())
            }
            Broken::Message(why) => Stop::misbehaved(why.code(), &why.message()),
        }
    }
}

impl Response {
    /// Waits for the headers. Messages are within these limits; what is said beside them is left in
    /// `said`.
    pub(super) async fn begin(
        response: ResponseFuture,
        style: Style,
        limits: ConnectionLimits,
        said: Option<ResponseHeaders>,
    ) -> Result<Self, Stop> {
        let (head, body) = response.await?.into_parts();
        let all = body.is_end_stream();
        let web = matches!(style.protocol, Protocol::GrpcWeb { .. });
        if let Some(said) = &said {
            // A broken header says nothing.
            let read = metadata(&head.headers).unwrap_or_default();
            // Servers of gRPC-Web mix headers and trailers in a head that is all.
            let headers = match all && !web {
                true => Headers::new(),
                false => read.clone(),
            };
            let trailers = if all { read } else { Headers::new() };
            leave(said, headers, trailers);
        }
        let messages = match is_all(style, &head, all)? {
            true => None,
            false => {
                let messages = Messages::new(coding(style, &head), body, limits);
                Some(messages.ending_with(style.end_flag()))
            }
        };
        let in_head = end(&head.headers).filter(|_| web);
        Ok(Response {
            style,
            messages,
            in_head: in_head.map(|end| (Some(end), metadata(&head.headers).unwrap_or_default())),
            said,
        })
    }

    /// The next message; `None` at the end of a call that went well. Of earlier messages so many
    /// bytes wait; see [`Messages::poll_next`].
    pub(super) async fn next(&mut self, waiting: usize) -> Result<Option<Plain>, Stop> {
        match poll_fn(|context| self.poll_next(waiting, context)).await? {
            Some(message) => Ok(Some(message)),
            None => self.end().await,
        }
    }

    /// The next message; `None` where there is no further one.
    pub(super) fn poll_next(
        &mut self,
        waiting: usize,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Plain>, Stop>> {
        let Some(messages) = &mut self.messages else {
            return Poll::Ready(Ok(None));
        };
        let next = ready!(messages.poll_next(waiting, context))?;
        if let (Some(message), Some(said)) = (&next, &self.said) {
            said.set_compressed(message.compressed);
        }
        Poll::Ready(Ok(next))
    }

    /// Waits for the end behind the last message.
    pub(super) async fn end<T>(&mut self) -> Result<Option<T>, Stop> {
        let Some(mut messages) = self.messages.take() else {
            return Ok(None);
        };
        let (end, trailers) = match self.style.protocol {
            Protocol::Grpc => {
                let trailers = messages.trailers().await?;
                (end(&trailers), metadata(&trailers).unwrap_or_default())
            }
            _ => self.said_last(messages.take_end()),
        };
        if let Some(said) = &self.said {
            said.with_trailers(|known| *known = trailers);
        }
        match end {
            Some(Ok(())) => Ok(None),
            Some(Err(failure)) => Err(Stop::Failed(failure)),
            None => Err(no_end()),
        }
    }

    /// Reads the last message of an answer.
    fn said_last(&mut self, message: Option<Bytes>) -> Ended {
        match (message, self.style.protocol) {
            (Some(message), Protocol::ConnectStream) => connect::read_end(&message)
                .map(|end| (Some(end.outcome), end.trailers))
                .unwrap_or_default(),
            (Some(message), _) => read_web_end(&message),
            (None, _) => self.in_head.take().unwrap_or_default(),
        }
    }
}

/// The one message of an answer of Connect's, which is its body.
pub(super) async fn bare(
    response: ResponseFuture,
    style: Style,
    limits: ConnectionLimits,
    said: Option<ResponseHeaders>,
) -> Result<Bytes, Stop> {
    let (head, body) = response.await?.into_parts();
    if let Some(said) = &said {
        let read = metadata(&head.headers).unwrap_or_default();
        let (headers, trailers) = connect::split_trailers(&read);
        leave(said, headers, trailers);
    }
    if head.status == 200 {
        check_type(style, &head)?;
    }
    let message = whole(body, limits).await?;
    let coding = coding(style, &head);
    let frame = Frame {
        compressed: coding.as_deref().is_some_and(|name| name != b"identity"),
        end: false,
        message,
    };
    let Plain {
        message,
        compressed,
    } = plain(frame, coding.as_deref(), &limits).map_err(Broken::from)?;
    if let Some(said) = &said {
        said.set_compressed(compressed);
    }
    match head.status.as_u16() {
        200 => Ok(message),
        http => {
            let get = |name: &str| head.headers.get(name).map(HeaderValue::as_bytes);
            let failure = connect::read_failure(http, get, &message);
            Err(Stop::Failed(failure))
        }
    }
}

/// All of a body, which may have so many bytes.
async fn whole(body: RecvStream, limits: ConnectionLimits) -> Result<Bytes, Stop> {
    let mut pieces = Messages::new(None, body, limits);
    let most = limits.message_bytes;
    let mut whole = BytesMut::new();
    while let Some(piece) = poll_fn(|context| pieces.poll_piece(context)).await? {
        if whole.len() + piece.len() > most {
            let what = format!("a message of more than {most} bytes");
            return Err(Stop::misbehaved(Code::ResourceExhausted, &what));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}

/// Leaves the headers and trailers of an answer in place of an earlier one's.
fn leave(said: &ResponseHeaders, headers: Headers, trailers: Headers) {
    said.with_headers(|known| *known = headers);
    said.with_trailers(|known| *known = trailers);
}

/// Returns the compression of the messages behind this head.
fn coding(style: Style, head: &Parts) -> Option<Bytes> {
    let coding = head.headers.get(style.coding_header())?;
    Some(Bytes::copy_from_slice(coding.as_bytes()))
}

fn content_type(head: &Parts) -> &[u8] {
    let kind = head.headers.get(CONTENT_TYPE);
    kind.map_or(&b""[..], HeaderValue::as_bytes)
}

/// Whether an answer that begins like this is one, and nothing follows.
fn is_all(style: Style, head: &Parts, all: bool) -> Result<bool, Stop> {
    let refused = head.status != 200;
    match end(&head.headers).filter(|_| all || refused) {
        Some(Ok(())) => return Ok(true),
        Some(Err(failure)) => return Err(Stop::Failed(failure)),
        None if refused => return Err(style.refused(head.status.as_u16()).into()),
        None => check_type(style, head)?,
    }
    match all {
        true => Err(no_end()),
        false => Ok(false),
    }
}

/// An error for an answer of another protocol, or in another codec.
fn check_type(style: Style, head: &Parts) -> Result<(), Stop> {
    let kind = content_type(head);
    let code = match style.answered(kind) {
        Some(codec) if codec == style.codec => return Ok(()),
        Some(_) => Code::Internal,
        None => Code::Unknown,
    };
    let what = format!("the content type `{}`", String::from_utf8_lossy(kind));
    Err(Stop::misbehaved(code, &what))
}

#[cold]
fn no_end() -> Stop {
    Stop::misbehaved(Code::Internal, &"it does not say how the call ended")
}

fn end(headers: &HeaderMap) -> Option<Result<(), Failure>> {
    Trailers::of(|name| headers.get(name).map(HeaderValue::as_bytes)).read()
}

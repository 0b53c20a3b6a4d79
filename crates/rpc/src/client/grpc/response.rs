//! An answer as it comes: headers, messages, trailers.

use crate::grpc::{Broken, Messages, coding, metadata, misbehaved};
use crate::web::Plain;
use crate::{AnswerHeaders, Code, Status};
use dovetail_protocol::grpc::{Failure, Trailers, codec, from_http};
use dovetail_protocol::{Codec, Headers};
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
    /// Nothing where the headers were all.
    messages: Option<Messages>,
    /// Where to leave what is said beside the answer.
    said: Option<AnswerHeaders>,
}

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
            Broken::Message(why) => Stop::misbehaved(why.code(), &why.message()),
        }
    }
}

impl Response {
    /// Waits for the headers. Messages have at most so many bytes; what is said beside them is left in `said`.
    pub(super) async fn begin(
        response: ResponseFuture,
        most: usize,
        said: Option<AnswerHeaders>,
    ) -> Result<Self, Stop> {
        let (head, body) = response.await?.into_parts();
        let all = body.is_end_stream();
        if let Some(said) = &said {
            // What is broken in it says nothing.
            let read = || metadata(&head.headers).unwrap_or_default();
            said.headers(|headers| *headers = if all { Headers::new() } else { read() });
            said.trailers(|trailers| *trailers = if all { read() } else { Headers::new() });
        }
        let messages = match is_all(&head, &body)? {
            true => None,
            false => Some(Messages::new(coding(&head.headers), body, most)),
        };
        Ok(Response { messages, said })
    }

    /// The next message; `None` at the end of a call that went well. Of earlier messages so many bytes wait; see
    /// [`Messages::poll_next`].
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
        let trailers = messages.trailers().await?;
        if let Some(said) = &self.said {
            let read = metadata(&trailers).unwrap_or_default();
            said.trailers(|known| *known = read);
        }
        match end(&trailers) {
            Some(Ok(())) => Ok(None),
            Some(Err(failure)) => Err(Stop::Failed(failure)),
            None => Err(Stop::misbehaved(Code::Internal, &"no `grpc-status`")),
        }
    }
}

/// Whether an answer that begins like this is one, and nothing follows.
fn is_all(head: &Parts, body: &RecvStream) -> Result<bool, Stop> {
    if body.is_end_stream() || head.status != 200 {
        return match end(&head.headers) {
            Some(Err(failure)) => Err(Stop::Failed(failure)),
            Some(Ok(())) => Ok(true),
            None if head.status == 200 => {
                Err(Stop::misbehaved(Code::Internal, &"no `grpc-status`"))
            }
            None => Err(from_http(head.status.as_u16()).into()),
        };
    }
    let kind = head.headers.get(CONTENT_TYPE);
    let kind = kind.map_or(&b""[..], HeaderValue::as_bytes);
    if codec(kind) == Some(Codec::Proto) {
        return Ok(false);
    }
    let what = format!("the content type `{}`", String::from_utf8_lossy(kind));
    Err(Stop::misbehaved(Code::Unknown, &what))
}

fn end(headers: &HeaderMap) -> Option<Result<(), Failure>> {
    let get = |name| headers.get(name).map(HeaderValue::as_bytes);
    let trailers = Trailers {
        status: get(Trailers::STATUS),
        message: get(Trailers::MESSAGE),
        details: get(Trailers::DETAILS),
    };
    trailers.read()
}

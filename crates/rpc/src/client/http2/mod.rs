//! Calls over HTTP/2, which is a library's: each call is a stream of a connection.

mod request;
mod response;
mod streams;
mod style;

use super::Channel;
use super::failures::lost;
use super::options::Options;
use super::pool::{Connect, Connected, TaskPool};
use crate::grpc::{MAX_WINDOW, gone, no_single_message};
use crate::method::Method;
use crate::peer::answer::Answered;
use crate::peer::failures::crowded;
use crate::peer::outgoing::Outgoing;
use crate::peer::response_headers::ResponseHeaders;
use crate::peer::table::Usable;
use crate::transport::{AsyncSocket, Prefixed};
use crate::web::{Protocol, Style, exception_field};
use crate::{Address, Code, Status, Wire, clock};
use bytes::{Bytes, BytesMut};
use dovetail_protocol::grpc::from_reset;
use dovetail_protocol::{ConnectionLimits, Execution, Failure};
use dovetail_wire::{Encode, Encoding};
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{Reason, SendStream};
use http::Request;
use response::{Response, Stop};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Bytes that a server may send on a stream before the caller reads them.
const STREAM_WINDOW: u32 = 2 << 20;

/// The longest frame that a server may send: a message of 1 MiB with what is around it. What comes
/// in one frame need not be put together, and takes fewer system calls than in frames of 16 KiB.
const FRAME: u32 = (1 << 20) + (1 << 10);

/// A connection to a server.
#[derive(Clone)]
pub(super) struct Http2Connection {
    requests: SendRequest<Bytes>,
    /// No further call can be made.
    lost: Arc<AtomicBool>,
    /// Calls that wait for their answers.
    open: Arc<AtomicUsize>,
    target: Arc<str>,
    origin: Arc<Origin>,
}

/// The scheme and the authority of requests.
pub(super) struct Origin {
    scheme: &'static str,
    authority: String,
}

impl Origin {
    fn of(options: &Options) -> Self {
        let scheme = match options.security.tls() {
            Some(_) => "https",
            None => "http",
        };
        let authority = match options.client.http.host.as_str() {
            path if path.starts_with("unix:") => "localhost".to_owned(),
            host => host.to_owned(),
        };
        Origin { scheme, authority }
    }
}

/// A call that waits, counted as long as this exists.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Connect for Http2Connection {
    async fn connect(address: &Address, target: String, options: &Options) -> io::Result<Self> {
        let socket = options.secure(AsyncSocket::connect(address).await?).await?;
        let headers = options.client.limits.header_bytes;
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(MAX_WINDOW)
            .max_frame_size(FRAME)
            .max_header_list_size(u32::try_from(headers).unwrap_or(u32::MAX));
        let negotiated = builder.handshake(Prefixed::new(BytesMut::new(), socket, options.polling));
        let (requests, mut connection) = negotiated.await.map_err(io::Error::other)?;
        let lost = Arc::new(AtomicBool::new(false));
        let open = Arc::<AtomicUsize>::default();
        let (flag, calls) = (lost.clone(), open.clone());
        let (keepalive, pings) = (options.keepalive, connection.ping_pong());
        tokio::spawn(async move {
            let has_calls = || calls.load(Ordering::Relaxed) > 0;
            // Each call finds out by itself.
            tokio::select! {
                _ = connection => {}
                () = gone(keepalive, pings, has_calls) => {}
            }
            flag.store(true, Ordering::Release);
        });
        Ok(Http2Connection {
            requests,
            lost,
            open,
            target: target.into(),
            origin: Arc::new(Origin::of(options)),
        })
    }

    fn channel(server: TaskPool<Self>, options: Options) -> Channel {
        Channel::over_http2(server, options)
    }
}

impl Connected for Http2Connection {
    fn usable(&self) -> Usable {
        match self.lost.load(Ordering::Acquire) {
            true => Usable::No,
            false => Usable::Yes,
        }
    }
}

impl Http2Connection {
    /// Makes a call and waits for its answer, whose headers and trailers are left in `said`. Where
    /// that is not waited for, the server is told.
    pub(super) async fn call(
        &self,
        call: Outgoing<'_, impl Encode>,
        options: &Options,
        said: Option<ResponseHeaders>,
    ) -> Result<Option<Answered>, Status> {
        let style = Style::of_caller(options, false);
        let (request, message) = request::single(&call, style, options, &self.origin)?;
        let _open = self.count_in(options.calls)?;
        let due = due(call.timeout);
        let (response, mut stream) = self.begin(request).await?;
        // The response says why this fails.
        let _ = stream.send_data(message, true);
        let message = match single(response, style, options.client.limits, said).await {
            Ok(message) => message,
            Err(stop) => return exception(call.method, self.failure(stop, due)).map(Some),
        };
        if call.oneway {
            return Ok(None);
        }
        Ok(Some(style.form(call.method).body(message).into()))
    }

    /// Counts a call in.
    fn count_in(&self, most: usize) -> Result<Open, Status> {
        let open = Open(self.open.clone());
        match open.0.fetch_add(1, Ordering::Relaxed) >= most {
            true => Err(crowded(most)),
            false => Ok(open),
        }
    }

    /// Sends the headers of a call.
    async fn begin(
        &self,
        request: Request<()>,
    ) -> Result<(ResponseFuture, SendStream<Bytes>), Status> {
        let not_sent = |error: h2::Error| {
            self.lost.store(true, Ordering::Release);
            lost(&self.target, &error).with_execution(Execution::NotSent)
        };
        let mut requests = self.requests.clone().ready().await.map_err(not_sent)?;
        requests.send_request(request, false).map_err(not_sent)
    }

    /// Returns the failure that ends a call now, which has this deadline.
    fn failure(&self, stop: Stop, due: Option<Instant>) -> Failure {
        let failure = match stop {
            Stop::Failed(failure) => failure,
            Stop::Http(error) => self.broken(&error).into(),
        };
        match due.is_some_and(|due| due <= clock::now()) {
            true => too_late(failure),
            false => failure,
        }
    }

    /// Returns the status for an error of HTTP/2 on a call that was sent.
    fn broken(&self, error: &h2::Error) -> Status {
        match error.reason() {
            // The server says that it has not begun the call.
            Some(Reason::NO_ERROR) if error.is_go_away() && error.is_remote() => {
                self.lost.store(true, Ordering::Release);
                let what = "the server takes no further call on this connection";
                Status::new(Code::Unavailable, what).with_execution(Execution::NotStarted)
            }
            Some(reason) if error.is_reset() && error.is_remote() => from_reset(reason.into()),
            _ => {
                self.lost.store(true, Ordering::Release);
                lost(&self.target, error)
            }
        }
    }
}

/// Names the deadline in the failure of a call whose deadline has passed. A server whose timer
/// fires before ours resets the stream with CANCEL, or answers CANCELLED where the cancelled
/// handler is quicker than the reset (grpc-go).
fn too_late(failure: Failure) -> Failure {
    if failure.status.code() != Code::Cancelled || !failure.details.is_empty() {
        return failure;
    }
    let what = "the server has given up the call, whose deadline has passed";
    let status = Status::new(Code::DeadlineExceeded, what);
    status.with_execution(failure.status.execution()).into()
}

/// When a call is over that begins now.
fn due(limit: Option<Duration>) -> Option<Instant> {
    // Farther away than a clock can say is no deadline.
    limit.and_then(|limit| clock::now().checked_add(limit))
}

/// The one message of an answer.
async fn single(
    response: ResponseFuture,
    style: Style,
    limits: ConnectionLimits,
    said: Option<ResponseHeaders>,
) -> Result<Bytes, Stop> {
    if style.protocol == Protocol::Connect {
        return response::bare(response, style, limits, said).await;
    }
    let mut response = Response::begin(response, style, limits, said).await?;
    let (mut message, mut messages) = (Bytes::new(), 0);
    while let Some(next) = response.next(0).await? {
        (message, messages) = (next.message, messages + 1);
    }
    match messages {
        1 => Ok(message),
        messages => Err(no_single_message(messages).into()),
    }
}

/// The reply with the declared exception that is a detail of this failure; the failure where there
/// is none.
fn exception(method: Option<&Method>, failure: Failure) -> Result<Answered, Status> {
    let found = method.and_then(|method| exception_field(&method.exceptions(), &failure.details));
    match found {
        Some(reply) => Ok((Encoding::Protobuf, reply).into()),
        None => Err(failure.status.with_details(failure.details)),
    }
}

#[cold]
pub(super) fn no_objects(wire: Wire) -> Status {
    Status::new(Code::Unimplemented, format!("{wire} has no objects"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_protocol::grpc::from_reset;

    #[test]
    fn a_cancelled_call_is_late_behind_its_deadline() {
        let said = |code| Status::from_peer(code, "said");
        for (status, code) in [
            (from_reset(Reason::CANCEL.into()), Code::DeadlineExceeded),
            (said(Code::Cancelled), Code::DeadlineExceeded),
            (said(Code::Unavailable), Code::Unavailable),
            (from_reset(Reason::REFUSED_STREAM.into()), Code::Unavailable),
        ] {
            let execution = status.execution();
            let late = too_late(status.into()).status;
            assert_eq!((late.code(), late.execution()), (code, execution));
        }
    }
}

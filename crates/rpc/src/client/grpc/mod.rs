//! Calls over gRPC: a connection is a library's, each call one of its streams.

mod response;
mod streams;

use super::options::Options;
use super::places::{Connect, Connected};
use super::table::{Outgoing, crowded, lost};
use super::{Answered, code_of};
use crate::grpc::{gone, metadata_into};
use crate::transport::{AsyncSocket, Prefixed};
use crate::web::{Form, exception_field, packed, reply_of};
use crate::{Address, Code, Execution, Method, Status, clock};
use bytes::{Bytes, BytesMut};
use dovetail_protocol::grpc::{CONTENT_TYPE, Coding, Failure, from_reset, timeout};
use dovetail_wire::{Encode, EncodeError, Encoding};
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{Reason, SendStream};
use http::header::{CONTENT_TYPE as CONTENT_TYPE_NAME, TE, USER_AGENT};
use http::{Request, Uri};
use response::{Response, Stop};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What a stream may bring before somebody takes it, and all streams of a connection together.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;

/// The longest frame that a server may send: a long answer takes fewer system calls than in frames of 16 KiB.
const FRAME: u32 = 256 << 10;

const AGENT: &str = concat!("grpc-rust-dovetail/", env!("CARGO_PKG_VERSION"));

/// A connection to a gRPC server.
#[derive(Clone)]
pub(super) struct Connection {
    requests: SendRequest<Bytes>,
    /// No further call can be made.
    lost: Arc<AtomicBool>,
    /// Calls that wait for their answers.
    open: Arc<AtomicUsize>,
    target: Arc<str>,
}

/// A call that waits, counted as long as this exists.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Connect for Connection {
    async fn connect(address: &Address, target: String, options: &Options) -> io::Result<Self> {
        let socket = options.secure(AsyncSocket::connect(address).await?).await?;
        let headers = options.client.limits.header_bytes;
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(FRAME)
            .max_header_list_size(u32::try_from(headers).unwrap_or(u32::MAX));
        let shaken = builder.handshake(Prefixed::new(BytesMut::new(), socket));
        let (requests, mut connection) = shaken.await.map_err(io::Error::other)?;
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
        Ok(Connection {
            requests,
            lost,
            open,
            target: target.into(),
        })
    }
}

impl Connected for Connection {
    fn usable(&self) -> bool {
        !self.lost.load(Ordering::Acquire)
    }
}

impl Connection {
    /// Makes a call and waits for its answer. Where that is not waited for, the server is told.
    pub(super) async fn call(
        &self,
        call: Outgoing<'_, impl Encode>,
        options: &Options,
    ) -> Result<Option<Answered>, Status> {
        let request = request(&call, options)?;
        let message = packed(encode(&call, options)?, options.packing());
        let _open = self.count_in(options.calls)?;
        let due = due(call.timeout);
        let (response, mut stream) = self.begin(request).await?;
        // Where this fails, the response says why.
        let _ = stream.send_data(message, true);
        let message = match single(response, options).await {
            Ok(message) => message,
            Err(Stop::Failed(failure)) => return exception(call.method, failure).map(Some),
            Err(Stop::Http(error)) => return Err(self.broken(&error, due)),
        };
        if call.oneway {
            return Ok(None);
        }
        let reply = reply_of(message, call.method);
        Ok(Some((Encoding::Protobuf, reply).into()))
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

    /// What an error of HTTP/2 means for a call that was sent, and that is over at this time.
    fn broken(&self, error: &h2::Error, due: Option<Instant>) -> Status {
        let is_late = || due.is_some_and(|due| due <= clock::now());
        match error.reason() {
            // The server's clock was first.
            Some(Reason::CANCEL) if error.is_reset() && is_late() => {
                let what = "the server has given up the call, whose deadline has passed";
                Status::new(Code::DeadlineExceeded, what).with_execution(Execution::MayHaveRun)
            }
            // What the server has not begun, as it says.
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

/// When a call is over that begins now.
fn due(limit: Option<Duration>) -> Option<Instant> {
    // Farther away than a clock can say is no deadline.
    limit.and_then(|limit| clock::now().checked_add(limit))
}

fn request<P>(call: &Outgoing<'_, P>, options: &Options) -> Result<Request<()>, Status> {
    if call.promise.is_some() || call.object.is_some() {
        return Err(no_objects());
    }
    let named = options.client.service.as_deref();
    let service = named.or(call.method.map(|method| method.service));
    let Some(service @ [_, ..]) = service.map(str::as_bytes) else {
        let what = "gRPC needs the service's name: `service(\"hello.v1.Hello\")` of the builder";
        return Err(Status::new(Code::InvalidArgument, what));
    };
    let service = String::from_utf8_lossy(service);
    let host = match options.client.http.host.as_str() {
        path if path.starts_with("unix:") => "localhost",
        host => host,
    };
    let uri = Uri::builder()
        .scheme(match options.security.tls() {
            Some(_) => "https",
            None => "http",
        })
        .authority(host)
        .path_and_query(format!("/{service}/{}", call.name))
        .build();
    let bad = |error: &dyn std::error::Error| Status::new(Code::InvalidArgument, error.to_string());
    let mut request = Request::post(uri.map_err(|error| bad(&error))?);
    if let Some(left) = call.timeout {
        request = request.header("grpc-timeout", timeout(left));
    }
    if let Some(coding) = options.coding() {
        request = request.header(Coding::HEADER, coding.name());
    }
    let mut request = request
        .header(TE, "trailers")
        .header(CONTENT_TYPE_NAME, CONTENT_TYPE)
        .header(Coding::ACCEPT_HEADER, Coding::ACCEPTED)
        .header(USER_AGENT, AGENT)
        .body(())
        .map_err(|error| bad(&error))?;
    metadata_into(call.headers, request.headers_mut()).map_err(|error| bad(&error))?;
    Ok(request)
}

fn encode(call: &Outgoing<'_, impl Encode>, options: &Options) -> Result<Bytes, Status> {
    let form = Form::proto(call.method);
    let encoded = form.envelope(call.params, options.client.encoding);
    encoded.map_err(|error| unencodable(call.name, &error))
}

#[cold]
fn unencodable(method: &str, error: &EncodeError) -> Status {
    let what = format!("the parameters of `{method}` cannot be encoded: {error}");
    Status::new(code_of(error, Code::InvalidArgument), what)
}

/// The one message of an answer.
async fn single(response: ResponseFuture, options: &Options) -> Result<Bytes, Stop> {
    let most = options.client.limits.message_bytes;
    let mut response = Response::begin(response, most, options.said.clone()).await?;
    let mut message = None;
    while let Some(next) = response.next(0).await? {
        message = Some(next.message);
    }
    message.ok_or_else(|| Stop::misbehaved(Code::Internal, &"no message"))
}

/// The reply with the declared exception that is a detail of this failure; the failure where there is none.
fn exception(method: Option<&Method>, failure: Failure) -> Result<Answered, Status> {
    let found = method.and_then(|method| exception_field(&method.exceptions(), &failure.details));
    match found {
        Some(reply) => Ok((Encoding::Protobuf, reply).into()),
        None => Err(failure.status.with_details(failure.details)),
    }
}

#[cold]
pub(super) fn no_objects() -> Status {
    Status::new(Code::Unimplemented, "gRPC has no objects")
}

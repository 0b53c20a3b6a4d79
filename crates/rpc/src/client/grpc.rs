//! Calls over gRPC: a connection is a library's, each call one of its streams.

use super::options::Options;
use super::places::Connected;
use super::table::{Outgoing, crowded, lost};
use super::{Answered, code_of};
use crate::grpc::{exception_field, frame, metadata_into, plain, reply_of};
use crate::transport::{AsyncSocket, Prefixed};
use crate::{Address, Code, Execution, Method, Status};
use bytes::{Bytes, BytesMut};
use dovetail_protocol::grpc::{
    Assembler, CONTENT_TYPE, Failure, FrameError, Trailers, from_http, from_reset, is_grpc, timeout,
};
use dovetail_wire::{Encode, Encoding};
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};
use http::header::{CONTENT_TYPE as CONTENT_TYPE_NAME, TE, USER_AGENT};
use http::response::Parts;
use http::{HeaderMap, HeaderValue, Request, Uri};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What a stream and the connection may bring before somebody takes it.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 1 << 20;

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

impl Connected for Connection {
    async fn connect(address: &Address, target: String, options: &Options) -> io::Result<Self> {
        let socket = AsyncSocket::connect(address).await?;
        let headers = options.client.limits.header_bytes;
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(u32::try_from(headers).unwrap_or(u32::MAX));
        let shaken = builder.handshake(Prefixed::new(BytesMut::new(), socket));
        let (requests, connection) = shaken.await.map_err(io::Error::other)?;
        let lost = Arc::new(AtomicBool::new(false));
        let flag = lost.clone();
        tokio::spawn(async move {
            // Each call finds out by itself.
            let _ = connection.await;
            flag.store(true, Ordering::Release);
        });
        Ok(Connection {
            requests,
            lost,
            open: Arc::default(),
            target: target.into(),
        })
    }

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
        let message = encode(&call, options)?;
        let _open = self.open(options.calls)?;
        let response = self.send(request, message).await?;
        let most = options.client.limits.message_bytes;
        let message = match receive(response, most).await {
            Ok(message) => message,
            Err(Broken::Failed(failure)) => return exception(call.method, failure).map(Some),
            Err(Broken::Status(status)) => return Err(status),
            Err(Broken::Http(error)) => return Err(self.broken(&error)),
        };
        if call.oneway {
            return Ok(None);
        }
        let reply = reply_of(message, call.method);
        Ok(Some((Encoding::Protobuf, reply).into()))
    }

    /// Counts a call in.
    fn open(&self, most: usize) -> Result<Open, Status> {
        let open = Open(self.open.clone());
        match open.0.fetch_add(1, Ordering::Relaxed) >= most {
            true => Err(crowded(most)),
            false => Ok(open),
        }
    }

    async fn send(&self, request: Request<()>, message: Bytes) -> Result<ResponseFuture, Status> {
        let not_sent = |error: h2::Error| {
            self.lost.store(true, Ordering::Release);
            lost(&self.target, &error).with_execution(Execution::NotSent)
        };
        let mut requests = self.requests.clone().ready().await.map_err(not_sent)?;
        let (response, mut stream) = requests.send_request(request, false).map_err(not_sent)?;
        // Where this fails, the response says why.
        let _ = stream.send_data(message, true);
        Ok(response)
    }

    /// What an error of HTTP/2 means for a call that was sent.
    fn broken(&self, error: &h2::Error) -> Status {
        match error.reason() {
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

fn request<P>(call: &Outgoing<'_, P>, options: &Options) -> Result<Request<()>, Status> {
    if call.promise.is_some() || call.object.is_some() {
        return Err(unimplemented("gRPC has no objects"));
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
        .scheme("http")
        .authority(host)
        .path_and_query(format!("/{service}/{}", call.name))
        .build();
    let bad = |error: &dyn std::error::Error| Status::new(Code::InvalidArgument, error.to_string());
    let mut request = Request::post(uri.map_err(|error| bad(&error))?);
    if let Some(left) = call.timeout {
        request = request.header("grpc-timeout", timeout(left));
    }
    let mut request = request
        .header(TE, "trailers")
        .header(CONTENT_TYPE_NAME, CONTENT_TYPE)
        .header("grpc-accept-encoding", "identity,gzip")
        .header(USER_AGENT, AGENT)
        .body(())
        .map_err(|error| bad(&error))?;
    metadata_into(call.headers, request.headers_mut()).map_err(|error| bad(&error))?;
    Ok(request)
}

fn encode(call: &Outgoing<'_, impl Encode>, options: &Options) -> Result<Bytes, Status> {
    let messages = call.method.is_some_and(|method| method.messages);
    let encoded = frame(call.params, messages, options.client.encoding);
    encoded.map_err(|error| {
        let what = format!(
            "the parameters of `{}` cannot be encoded: {error}",
            call.name
        );
        Status::new(code_of(&error, Code::InvalidArgument), what)
    })
}

/// Why there is no message.
enum Broken {
    Failed(Failure),
    Status(Status),
    Http(h2::Error),
}

impl From<h2::Error> for Broken {
    fn from(error: h2::Error) -> Self {
        Broken::Http(error)
    }
}

impl From<FrameError> for Broken {
    fn from(error: FrameError) -> Self {
        let code = match error {
            FrameError::TooLong { .. } => Code::ResourceExhausted,
            FrameError::Flag(_) | FrameError::Cut { .. } => Code::Internal,
        };
        Broken::Status(misbehaved(code, &error))
    }
}

/// The one message of an answer.
async fn receive(response: ResponseFuture, most: usize) -> Result<Bytes, Broken> {
    let (head, mut body) = response.await?.into_parts();
    if let Some(failure) = refusal(&head, &body) {
        return Err(failure);
    }
    let coding = head.headers.get("grpc-encoding").map(HeaderValue::as_bytes);
    let mut assembler = Assembler::new(most);
    let mut message = None;
    while let Some(piece) = body.data().await {
        let mut piece = piece?;
        // Nothing waits for room of which the library has too much.
        let _ = body.flow_control().release_capacity(piece.len());
        while let Some(frame) = assembler.take(&mut piece)? {
            let plain = plain(frame, coding, most);
            let plain = plain.map_err(|error| misbehaved(error.code(), &error.message()));
            message = Some(plain.map_err(Broken::Status)?);
        }
    }
    let trailers = body.trailers().await?.unwrap_or_default();
    match end(&trailers) {
        Some(Ok(())) => {}
        Some(Err(failure)) => return Err(Broken::Failed(failure)),
        None => {
            return Err(Broken::Status(misbehaved(
                Code::Internal,
                &"no `grpc-status`",
            )));
        }
    }
    assembler.end()?;
    message.ok_or_else(|| Broken::Status(misbehaved(Code::Internal, &"no message")))
}

/// Why an answer that begins like this is none, or is its own end.
fn refusal(head: &Parts, body: &RecvStream) -> Option<Broken> {
    if body.is_end_stream() || head.status != 200 {
        return Some(match end(&head.headers) {
            Some(Err(failure)) => Broken::Failed(failure),
            Some(Ok(())) => Broken::Status(misbehaved(Code::Internal, &"no message")),
            None if head.status == 200 => {
                Broken::Status(misbehaved(Code::Internal, &"no `grpc-status`"))
            }
            None => Broken::Status(from_http(head.status.as_u16())),
        });
    }
    let kind = head.headers.get(CONTENT_TYPE_NAME);
    let kind = kind.map_or(&b""[..], HeaderValue::as_bytes);
    (!is_grpc(kind)).then(|| {
        let what = format!("the content type `{}`", String::from_utf8_lossy(kind));
        Broken::Status(misbehaved(Code::Unknown, &what))
    })
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

/// The reply with the declared exception that is a detail of this failure; the failure where there is none.
fn exception(method: Option<&Method>, failure: Failure) -> Result<Answered, Status> {
    let found = method.and_then(|method| exception_field(method, &failure.details));
    match found {
        Some(reply) => Ok((Encoding::Protobuf, reply).into()),
        None => Err(failure.status),
    }
}

#[cold]
pub(super) fn no_streams() -> Status {
    unimplemented("streams and promised objects over gRPC, which are not there yet")
}

#[cold]
fn unimplemented(what: &'static str) -> Status {
    Status::new(Code::Unimplemented, what)
}

#[cold]
fn misbehaved(code: Code, what: &dyn std::fmt::Display) -> Status {
    Status::new(code, format!("the answer is none of gRPC's: {what}"))
        .with_execution(Execution::MayHaveRun)
}

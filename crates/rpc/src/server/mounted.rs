//! A running server as a part of an application that has a server of HTTP of its own.
//!
//! ```text
//!   request ──► HttpService ──► a stream of HTTP/2 on a socket of this process ──► event loop
//! ```
//!
//! So calls have the limits, the protocols and the cancellation that they have over a port.

use super::event_loop::{Entrance, Loop};
use super::{Running, Shared};
use crate::grpc::{MAX_WINDOW, send_bytes};
use crate::{Code, Status};
use bytes::{Buf, Bytes};
use dovetail_protocol::Execution;
use dovetail_protocol::grpc::{CONTENT_TYPE, Trailers};
use h2::client::{Builder, SendRequest};
use h2::{Reason, RecvStream, SendStream};
use http::header::{CONTENT_TYPE as CONTENT_TYPE_NAME, FORWARDED, HOST, TE};
use http::request::Parts;
use http::uri::{Authority, Scheme};
use http::{HeaderName, HeaderValue, Request, Response, StatusCode, Uri, Version};
use http_body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tower_service::Service;

/// Bytes of an answer that a loop may send before the application takes them.
const STREAM_WINDOW: u32 = 1 << 20;

/// Headers about one connection, which HTTP/2 does not have (RFC 9113, section 8.2.2), and those
/// about callers, which the application has to say itself.
const NOT_PASSED: [&str; 8] = [
    "connection",
    "forwarded",
    "host",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
    "x-forwarded-for",
];

/// Answers requests of HTTP with a running server: gRPC, gRPC-Web, Connect and JSON, all kinds of
/// streams included. It is a `tower::Service`, so that an application of axum or hyper can have it
/// beside its own pages, behind its own layers. Cheap to clone.
///
/// The handlers run on the server's loops. The limits of the server hold for the application as for
/// one peer with as many connections as the server has loops. [`Context::peer`] is `in-process`; if
/// the request has an extension of the type [`SocketAddr`], it is that address. Headers of the
/// request about proxies do not pass. WebSocket needs a port of the server's.
///
/// Once the server ends, requests are answered with 503, calls of gRPC with `UNAVAILABLE`.
///
/// ```no_run
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let running = dovetail::Server::new().bind("add", |a: i32, b: i32| a + b).start()?;
/// let mut service = running.http_service();
/// // axum::Router::new().route("/about", get(about)).fallback_service(service)
/// # let request = http::Request::new(String::new());
/// let answer = tower_service::Service::call(&mut service, request).await;
/// # Ok(())
/// # }
/// ```
///
/// [`Context::peer`]: crate::Context::peer
#[derive(Clone)]
pub struct HttpService(Arc<Mount>);

struct Mount {
    shared: Arc<Shared>,
    /// `None` where the server has no loop.
    entrance: Option<Entrance>,
    /// One for each loop, made with its first request.
    connections: Vec<Mutex<Option<SendRequest<Bytes>>>>,
    next: AtomicUsize,
}

const NO_LOOP: &str = "the server has no event loop";

type BoxError = Box<dyn Error + Send + Sync>;

impl Running {
    /// Returns the server as a service for an application of HTTP.
    pub fn http_service(&self) -> HttpService {
        HttpService(Arc::new(Mount {
            shared: self.shared.clone(),
            entrance: self.loops.first().map(Loop::entrance),
            connections: self.loops.iter().map(|_| Mutex::default()).collect(),
            next: AtomicUsize::new(0),
        }))
    }
}

impl<B> Service<Request<B>> for HttpService
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<HttpBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<HttpBody>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let mount = self.0.clone();
        Box::pin(async move {
            let is_grpc = is_grpc(&request);
            let answer = mount.forward(request).await;
            Ok(answer.unwrap_or_else(|error| unavailable(is_grpc, &*error)))
        })
    }
}

impl Mount {
    async fn forward<B>(&self, request: Request<B>) -> Result<Response<HttpBody>, BoxError>
    where
        B: Body + Send + 'static,
        B::Data: Send,
    {
        let mut requests = self.requests().await?;
        let (mut head, body) = request.into_parts();
        adapt(&mut head)?;
        let ends = body.is_end_stream();
        let (answer, stream) = requests.send_request(Request::from_parts(head, ()), ends)?;
        let sending = (!ends).then(|| Sending(tokio::spawn(send(body, stream))));
        let answer = answer.await?;
        Ok(answer.map(|received| HttpBody {
            received: Some(received),
            _sending: sending,
        }))
    }

    /// Returns a connection that can take a request: the next one in turn, made where it is needed.
    async fn requests(&self) -> Result<SendRequest<Bytes>, BoxError> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let connection = self.connections.get(turn % self.connections.len().max(1));
        // Locked until one is made: those who come meanwhile need none of their own.
        let mut connection = connection.ok_or(NO_LOOP)?.lock().await;
        if let Some(known) = connection.clone()
            && let Ok(ready) = known.ready().await
        {
            return Ok(ready);
        }
        // The loop has closed it: the server goes down, or it was old or idle.
        let made = self.connect().await?;
        *connection = Some(made.clone());
        Ok(made.ready().await?)
    }

    async fn connect(&self) -> Result<SendRequest<Bytes>, BoxError> {
        let (ours, theirs) = UnixStream::pair()?;
        let entrance = self.entrance.as_ref().ok_or(NO_LOOP)?;
        entrance.adopt(&self.shared, theirs.into_std()?)?;
        let headers = self.shared.sizes.connection.header_bytes;
        let handshake = Builder::new()
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(MAX_WINDOW)
            .max_header_list_size(u32::try_from(headers).unwrap_or(u32::MAX))
            .handshake(ours);
        let (requests, connection) = handshake.await?;
        // Each request finds out by itself how the connection ends.
        tokio::spawn(async move { drop(connection.await) });
        Ok(requests)
    }
}

/// Makes the head of a request one of HTTP/2.
fn adapt(head: &mut Parts) -> Result<(), BoxError> {
    let host = head.headers.get(HOST).map(HeaderValue::as_bytes);
    let host = host.and_then(|host| Authority::try_from(host).ok());
    let authority = head.uri.authority().cloned().or(host);
    let mut uri = std::mem::take(&mut head.uri).into_parts();
    uri.scheme = Some(uri.scheme.unwrap_or(Scheme::HTTP));
    uri.authority = Some(authority.unwrap_or_else(|| Authority::from_static("localhost")));
    uri.path_and_query
        .get_or_insert_with(|| http::uri::PathAndQuery::from_static("/"));
    head.uri = Uri::from_parts(uri)?;
    head.version = Version::HTTP_2;
    for name in NOT_PASSED {
        head.headers.remove(HeaderName::from_static(name));
    }
    if head.headers.get(TE).is_some_and(|te| te != "trailers") {
        head.headers.remove(TE);
    }
    if let Some(caller) = head.extensions.get::<SocketAddr>() {
        let forwarded = HeaderValue::try_from(format!("for=\"{caller}\""))?;
        head.headers.insert(FORWARDED, forwarded);
    }
    Ok(())
}

/// A body on its way. Nobody waits for it once this is dropped.
struct Sending(JoinHandle<()>);

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Sends a body as the server takes it.
async fn send<B: Body>(body: B, mut stream: SendStream<Bytes>) {
    let mut body = pin!(body);
    loop {
        let frame = match poll_fn(|context| body.as_mut().poll_frame(context)).await {
            Some(Ok(frame)) => frame,
            Some(Err(_)) => return stream.send_reset(Reason::CANCEL),
            None => {
                // Fails only where the server has gone.
                let _ = stream.send_data(Bytes::new(), true);
                return;
            }
        };
        match frame.into_data() {
            Ok(mut data) => {
                let data = data.copy_to_bytes(data.remaining());
                if send_bytes(&mut stream, data, 0, false).await.is_err() {
                    return;
                }
            }
            Err(frame) => {
                if let Ok(trailers) = frame.into_trailers() {
                    let _ = stream.send_trailers(trailers);
                    return;
                }
            }
        }
    }
}

/// The body of an answer. The call is cancelled if this is dropped before its end.
pub struct HttpBody {
    /// `None` for an empty one.
    received: Option<RecvStream>,
    _sending: Option<Sending>,
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let Some(received) = &mut self.received else {
            return Poll::Ready(None);
        };
        let frame = match ready!(received.poll_data(context)) {
            Some(Ok(data)) => {
                // Fails only where the stream has ended.
                let _ = received.flow_control().release_capacity(data.len());
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            Some(Err(error)) => Some(Err(io::Error::other(error))),
            None => match ready!(received.poll_trailers(context)) {
                Ok(trailers) => trailers.map(|trailers| Ok(Frame::trailers(trailers))),
                Err(error) => Some(Err(io::Error::other(error))),
            },
        };
        self.received = None;
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        let received = self.received.as_ref();
        received.is_none_or(RecvStream::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        match self.received {
            Some(_) => SizeHint::default(),
            None => SizeHint::with_exact(0),
        }
    }
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpBody")
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpService")
    }
}

fn is_grpc<B>(request: &Request<B>) -> bool {
    let kind = request.headers().get(CONTENT_TYPE_NAME);
    kind.is_some_and(|kind| dovetail_protocol::grpc::codec(kind.as_bytes()).is_some())
}

/// The answer where the server cannot give one.
fn unavailable(is_grpc: bool, error: &(dyn Error + 'static)) -> Response<HttpBody> {
    let mut answer = Response::new(HttpBody {
        received: None,
        _sending: None,
    });
    if !is_grpc {
        *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        return answer;
    }
    let what = format!("the server cannot be reached in its process: {error}");
    let status = Status::new(Code::Unavailable, what).with_execution(Execution::NotSent);
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE_NAME, HeaderValue::from_static(CONTENT_TYPE));
    for (name, value) in Trailers::write(&status.into()) {
        // The headers there are text.
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    answer
}

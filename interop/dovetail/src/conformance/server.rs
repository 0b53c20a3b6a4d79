//! The server: it answers as each request says.

use super::{hear, register, reported, tell, wanted};
use crate::connectrpc::conformance::v1::{
    BidiStreamRequest, BidiStreamResponse, ClientStreamRequest, ClientStreamResponse,
    ConformancePayload, ConformanceService, ConformanceServiceServer, Error as Wanted, Header,
    IdempotentUnaryRequest, IdempotentUnaryResponse, RequestInfo, ServerCompatRequest,
    ServerCompatResponse, ServerStreamRequest, ServerStreamResponse, StreamResponseDefinition,
    UnaryRequest, UnaryResponse, UnaryResponseDefinition,
};
use crate::{MODELS, Options, pick};
use dovetail::encoding::{EncodeError, Encoding, Value};
use dovetail::server::ServerLimits;
use dovetail::stream::{Items, Receiver};
use dovetail::types::{Any, Bytes};
use dovetail::{Address, Code, Context, Message, Server, Status};
use dovetail_protocol::metadata::InvalidMetadata;
use std::error::Error;
use std::time::{Duration, Instant};

/// Serves as the suite says on the standard input, until it ends the program.
pub(crate) fn serve(options: &Options) -> Result<(), Box<dyn Error + Send + Sync>> {
    register();
    let configuration: Option<ServerCompatRequest> = hear(&mut std::io::stdin())?;
    let wanted = configuration.ok_or("no configuration")?;
    let mut limits = ServerLimits::default();
    if wanted.message_receive_limit > 0 {
        limits.connection.message_bytes = wanted.message_receive_limit as usize;
    }
    let running = Server::new()
        .service(ConformanceServiceServer::new(Handler))
        .model(pick(&MODELS, options.model.as_deref())?)
        .limits(limits)
        .listen("tcp://127.0.0.1:0")?
        .start()?;
    let Some(Address::Tcp(place)) = running.addresses().first() else {
        return Err("no address".into());
    };
    let (host, port) = place.rsplit_once(':').ok_or("no port")?;
    tell(&ServerCompatResponse {
        host: host.to_owned(),
        port: port.parse()?,
        ..ServerCompatResponse::default()
    })?;
    running.wait();
    Ok(())
}

struct Handler;

impl ConformanceService for Handler {
    async fn unary(&self, cx: Context, request: UnaryRequest) -> Result<UnaryResponse, Status> {
        let requests = vec![any("UnaryRequest", &request)?];
        let payload = single(&cx, request.response_definition, requests).await?;
        Ok(UnaryResponse {
            payload: Some(payload),
            ..UnaryResponse::default()
        })
    }

    async fn idempotent_unary(
        &self,
        cx: Context,
        request: IdempotentUnaryRequest,
    ) -> Result<IdempotentUnaryResponse, Status> {
        let requests = vec![any("IdempotentUnaryRequest", &request)?];
        let payload = single(&cx, request.response_definition, requests).await?;
        Ok(IdempotentUnaryResponse {
            payload: Some(payload),
            ..IdempotentUnaryResponse::default()
        })
    }

    async fn client_stream(
        &self,
        cx: Context,
        mut items: Receiver<ClientStreamRequest>,
    ) -> Result<ClientStreamResponse, Status> {
        let (mut wanted, mut requests) = (None, Vec::new());
        while let Some(request) = items.next().await {
            let request = request?;
            requests.push(any("ClientStreamRequest", &request)?);
            if requests.len() == 1 {
                wanted = request.response_definition;
            }
        }
        let payload = single(&cx, wanted, requests).await?;
        Ok(ClientStreamResponse {
            payload: Some(payload),
            ..ClientStreamResponse::default()
        })
    }

    async fn server_stream(
        &self,
        cx: Context,
        request: ServerStreamRequest,
    ) -> Result<Items<'_, ServerStreamResponse>, Status> {
        let requests = vec![any("ServerStreamRequest", &request)?];
        let mut answers = Answers::new(&cx, request.response_definition)?;
        Ok(Items::with(|mut out| async move {
            let mut info = Some(info(&cx, requests));
            while let Some(data) = answers.next().await {
                let payload = payload(data, info.take());
                out.send(ServerStreamResponse {
                    payload: Some(payload),
                    ..ServerStreamResponse::default()
                })
                .await;
            }
            answers.end(info)
        }))
    }

    async fn bidi_stream(
        &self,
        cx: Context,
        mut items: Receiver<BidiStreamRequest>,
    ) -> Result<Items<'_, BidiStreamResponse>, Status> {
        let Some(first) = items.next().await.transpose()? else {
            return Ok(Items::iter([]));
        };
        let both_at_once = first.full_duplex;
        let mut requests = vec![any("BidiStreamRequest", &first)?];
        let mut answers = Answers::new(&cx, first.response_definition)?;
        if !both_at_once {
            while let Some(request) = items.next().await.transpose()? {
                requests.push(any("BidiStreamRequest", &request)?);
            }
        }
        Ok(Items::with(move |mut out| async move {
            let mut reported = Some(info(&cx, requests));
            let mut sent = false;
            let mut more = both_at_once;
            while let Some(data) = answers.next().await {
                if more && sent {
                    match items.next().await.transpose()? {
                        Some(request) => {
                            reported = Some(RequestInfo {
                                requests: vec![any("BidiStreamRequest", &request)?],
                                ..RequestInfo::default()
                            });
                        }
                        None => more = false,
                    }
                }
                let payload = payload(data, reported.take());
                sent = true;
                out.send(BidiStreamResponse {
                    payload: Some(payload),
                    ..BidiStreamResponse::default()
                })
                .await;
            }
            if more && sent {
                // The suite still sends items before the error.
                if let Some(request) = items.next().await.transpose()? {
                    drop(request);
                }
            }
            answers.end(reported)
        }))
    }
}

/// The items that a request asks for.
struct Answers {
    context: Context,
    data: std::vec::IntoIter<Bytes>,
    delay: Duration,
    error: Option<Wanted>,
}

impl Answers {
    fn new(cx: &Context, wanted: Option<StreamResponseDefinition>) -> Result<Self, Status> {
        let wanted = wanted.unwrap_or_default();
        say(cx, &wanted.response_headers, &wanted.response_trailers)?;
        Ok(Answers {
            context: cx.clone(),
            data: wanted.response_data.into_iter(),
            delay: Duration::from_millis(wanted.response_delay_ms.into()),
            error: wanted.error,
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        let data = self.data.next()?;
        wait(&self.context, self.delay).await;
        Some(data)
    }

    /// `info` where no item has said it.
    fn end(self, info: Option<RequestInfo>) -> Result<(), Status> {
        self.error.map_or(Ok(()), |error| Err(failure(error, info)))
    }
}

/// The answer of a call that has one.
async fn single(
    cx: &Context,
    wanted: Option<UnaryResponseDefinition>,
    requests: Vec<Any>,
) -> Result<ConformancePayload, Status> {
    let info = info(cx, requests);
    let Some(wanted) = wanted else {
        return Ok(payload(Bytes::new(), Some(info)));
    };
    say(cx, &wanted.response_headers, &wanted.response_trailers)?;
    if let Some(error) = wanted.error {
        return Err(failure(error, Some(info)));
    }
    wait(cx, Duration::from_millis(wanted.response_delay_ms.into())).await;
    Ok(payload(
        wanted.response_data.unwrap_or_default(),
        Some(info),
    ))
}

/// Lets time pass. A thread of its own has no runtime that could.
async fn wait(cx: &Context, delay: Duration) {
    if !delay.is_zero() {
        cx.blocking(move || std::thread::sleep(delay)).await;
    }
}

fn payload(data: Bytes, request_info: Option<RequestInfo>) -> ConformancePayload {
    ConformancePayload {
        data,
        request_info,
        ..ConformancePayload::default()
    }
}

/// Says these headers beside the answer.
fn say(cx: &Context, headers: &[Header], trailers: &[Header]) -> Result<(), Status> {
    let invalid = |error: InvalidMetadata| Status::new(Code::InvalidArgument, error.to_string());
    for (name, value) in wanted(headers).map_err(invalid)? {
        cx.set_header(&name, value)?;
    }
    for (name, value) in wanted(trailers).map_err(invalid)? {
        cx.set_trailer(&name, value)?;
    }
    Ok(())
}

/// Describes a request.
fn info(cx: &Context, requests: Vec<Any>) -> RequestInfo {
    let left = |at: Instant| at.saturating_duration_since(Instant::now());
    RequestInfo {
        request_headers: reported(cx.headers()),
        timeout_ms: cx.deadline().map(|at| left(at).as_millis() as i64),
        requests,
        ..RequestInfo::default()
    }
}

fn failure(wanted: Wanted, info: Option<RequestInfo>) -> Status {
    let code = |code: &Code| *code as i32 == wanted.code.0;
    let code = Code::ALL.into_iter().find(code).unwrap_or(Code::Unknown);
    let info = info.and_then(|info| any("ConformancePayload.RequestInfo", &info).ok());
    let details = wanted.details.into_iter().chain(info).collect();
    Status::new(code, wanted.message.unwrap_or_default()).with_details(details)
}

/// A message under its name.
fn any<M: Message + Value>(name: &str, message: &M) -> Result<Any, Status> {
    let name = format!("type.googleapis.com/connectrpc.conformance.v1.{name}");
    Any::pack_in(Encoding::Protobuf, &name, message)
        .map_err(|error: EncodeError| Status::new(Code::Internal, error.to_string()))
}

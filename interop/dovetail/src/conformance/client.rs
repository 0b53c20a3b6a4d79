//! The client: it calls as each request says, and says what came of it.

use super::{hear, register, reported, tell, wanted};
use crate::Options;
use crate::connectrpc::conformance::v1::{
    BidiStreamRequest, BidiStreamResponse, Cancel, ClientCompatRequest, ClientCompatResponse,
    ClientErrorResult, ClientResponseResult, ConformancePayload, ConformanceServiceClient, Detail,
    Failure, UnimplementedRequest, UnknownMethodClient,
};
use dovetail::encoding::{Limits, Value};
use dovetail::protocol::{Codec, ConnectionLimits};
use dovetail::server::ResponseHeaders;
use dovetail::stream::{Answer, Receiver, Sender};
use dovetail::types::Any;
use dovetail::{Channel, Code, Message, Status, Wire};
use dovetail_wire::protobuf;
use std::error::Error;
use std::io::stdin;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Calls at a time: the suite asks for all of them at once, and measures their time.
const AT_A_TIME: usize = 8;

/// The suite's numbers.
const CONNECT: i32 = 1;
const GRPC_WEB: i32 = 3;
const JSON: i32 = 2;
const GZIP: i32 = 2;
const ZSTD: i32 = 4;
const FULL_DUPLEX: i32 = 5;

/// Calls until the suite asks for no more.
pub(crate) fn call(_: &Options) -> Result<(), Box<dyn Error + Send + Sync>> {
    register();
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let places = Arc::new(Semaphore::new(AT_A_TIME));
    let mut calls = Vec::new();
    let mut input = stdin().lock();
    while let Some(request) = hear::<ClientCompatRequest>(&mut input)? {
        let place = runtime.block_on(places.clone().acquire_owned())?;
        calls.push(runtime.spawn(async move {
            let said = answer(&request).await;
            drop(place);
            tell(&said)
        }));
    }
    for call in calls {
        runtime.block_on(call)??;
    }
    Ok(())
}

async fn answer(request: &ClientCompatRequest) -> ClientCompatResponse {
    let mut answer = ClientCompatResponse {
        test_name: request.test_name.clone(),
        ..ClientCompatResponse::default()
    };
    match run(request).await {
        Ok(result) => answer.response = Some(result),
        Err(why) => {
            answer.error = Some(ClientErrorResult {
                message: why.to_string(),
                ..ClientErrorResult::default()
            });
        }
    }
    answer
}

/// Makes a call; an error where this program cannot.
async fn run(
    request: &ClientCompatRequest,
) -> Result<ClientResponseResult, Box<dyn Error + Send + Sync>> {
    let said = ResponseHeaders::default();
    let channel = channel(request)?.with_response_headers(&said);
    let client = ConformanceServiceClient::from(channel.clone());
    let cancel = Cancelling::of(request);
    let mut result = ClientResponseResult::default();
    let ended = match request.method.as_deref().unwrap_or_default() {
        "Unary" => {
            let message = single(request)?;
            let call = async { Ok(client.unary(&message).await?.payload) };
            cancel.single(call, &mut result).await
        }
        "IdempotentUnary" => {
            let message = single(request)?;
            let call = async { Ok(client.idempotent_unary(&message).await?.payload) };
            cancel.single(call, &mut result).await
        }
        "Unimplemented" => {
            let message: UnimplementedRequest = single(request)?;
            let client = UnknownMethodClient::from(channel);
            let call = async { client.unimplemented(&message).await.map(|_| None) };
            cancel.single(call, &mut result).await
        }
        "ServerStream" => {
            let message = single(request)?;
            let stream = async {
                let mut items = client.server_stream(&message).await?;
                while let Some(item) = items.next().await {
                    cancel.received(item?.payload, &mut result)?;
                }
                Ok(())
            };
            cancel.after_sending(stream).await
        }
        "ClientStream" => {
            let messages = messages(request)?;
            let stream = async {
                let (sender, answer) = client.client_stream().await?;
                if let Some(sender) = send(request, sender, &messages, &mut result).await {
                    cancel.before_the_end()?;
                    sender.finish();
                }
                let call = async { Ok(answer.await?.payload) };
                cancel.single(call, &mut result).await
            };
            stream.await
        }
        "BidiStream" => {
            let messages = messages(request)?;
            bidi(request, &client, &messages, &cancel, &mut result).await
        }
        other => return Err(format!("no such method: {other}").into()),
    };
    result.error = ended.err().map(|status| failure(&status));
    result.response_headers = reported(said.headers().iter());
    result.response_trailers = reported(said.trailers().iter());
    Ok(result)
}

fn channel(request: &ClientCompatRequest) -> Result<Channel, Box<dyn Error + Send + Sync>> {
    let codec = match request.codec {
        JSON => Codec::Json,
        _ => Codec::Proto,
    };
    let wire = match request.protocol {
        CONNECT => Wire::Connect(codec),
        GRPC_WEB => Wire::GrpcWeb(codec),
        _ => Wire::Grpc,
    };
    let mut limits = ConnectionLimits::default();
    if request.message_receive_limit > 0 {
        limits.message_bytes = request.message_receive_limit as usize;
    }
    let address = format!("tcp://{}:{}", request.host, request.port);
    let builder = Channel::builder(&address)?
        .wire(wire)
        .service(request.service.as_deref().unwrap_or_default())
        .limits(limits, Limits::default());
    let builder = match request.compression {
        GZIP => builder.gzip(),
        ZSTD => builder.zstd(),
        _ => builder,
    };
    let limit = request.timeout_ms.map(u64::from);
    let limit = limit.map_or(Duration::MAX, Duration::from_millis);
    let channel = builder.build().with_timeout(limit);
    let headers = wanted(&request.request_headers)?;
    Ok(headers.into_iter().fold(channel, |channel, (name, value)| {
        channel.with_header(&name, value)
    }))
}

fn messages<M: Message + Value + Default>(
    request: &ClientCompatRequest,
) -> Result<Vec<M>, Box<dyn Error + Send + Sync>> {
    let messages = request.request_messages.iter();
    let read: Result<_, _> = messages
        .map(|any| protobuf::from_bytes(&any.value))
        .collect();
    Ok(read?)
}

fn single<M: Message + Value + Default>(
    request: &ClientCompatRequest,
) -> Result<M, Box<dyn Error + Send + Sync>> {
    let mut messages = messages(request)?;
    match (messages.pop(), messages.is_empty()) {
        (Some(message), true) => Ok(message),
        _ => Err("the method takes one message".into()),
    }
}

/// Sends all messages; `None` where the server takes no more, which is why the answer says.
async fn send<M: Message + Value>(
    request: &ClientCompatRequest,
    mut sender: Sender<M>,
    messages: &[M],
    result: &mut ClientResponseResult,
) -> Option<Sender<M>> {
    for (at, message) in messages.iter().enumerate() {
        sleep(Duration::from_millis(request.request_delay_ms.into())).await;
        if sender.send(message).await.is_err() {
            result.num_unsent_requests = (messages.len() - at) as i32;
            return None;
        }
    }
    Some(sender)
}

async fn bidi(
    request: &ClientCompatRequest,
    client: &ConformanceServiceClient,
    messages: &[BidiStreamRequest],
    cancel: &Cancelling,
    result: &mut ClientResponseResult,
) -> Result<(), Status> {
    let (sender, answer) = client.bidi_stream().await?;
    let mut items = Items::Coming(Some(answer));
    let sender = match request.stream_type {
        FULL_DUPLEX => {
            let mut sender = Some(sender);
            for (at, message) in messages.iter().enumerate() {
                let one = std::slice::from_ref(message);
                match sender.take() {
                    Some(open) => sender = send(request, open, one, result).await,
                    None => break,
                }
                let item = items.next().await;
                if !matches!(item, Some(Ok(_))) {
                    result.num_unsent_requests = (messages.len() - at - 1) as i32;
                }
                match item {
                    Some(item) => cancel.received(item?.payload, result)?,
                    None => return Ok(()),
                }
            }
            sender
        }
        _ => send(request, sender, messages, result).await,
    };
    if let Some(sender) = sender {
        cancel.before_the_end()?;
        sender.finish();
    }
    let rest = async {
        while let Some(item) = items.next().await {
            cancel.received(item?.payload, result)?;
        }
        Ok(())
    };
    cancel.after_sending(rest).await
}

/// The stream of a server, whose answer comes before it.
enum Items {
    Coming(Option<Answer<Receiver<BidiStreamResponse>>>),
    Come(Receiver<BidiStreamResponse>),
}

impl Items {
    async fn next(&mut self) -> Option<Result<BidiStreamResponse, Status>> {
        if let Items::Coming(answer) = self {
            match answer.take()?.await {
                Ok(items) => *self = Items::Come(items),
                Err(why) => return Some(Err(why)),
            }
        }
        match self {
            Items::Come(items) => items.next().await,
            Items::Coming(_) => None,
        }
    }
}

/// When a call is given up. What is given up is dropped, and says nothing more.
#[derive(Default)]
struct Cancelling {
    before_the_end: bool,
    after_sending: Option<Duration>,
    after_items: Option<u32>,
}

impl Cancelling {
    fn of(request: &ClientCompatRequest) -> Self {
        let Some(cancel) = &request.cancel else {
            return Cancelling::default();
        };
        let Cancel {
            before_close_send,
            after_close_send_ms,
            after_num_responses,
            ..
        } = cancel;
        let elsewhere = before_close_send.is_some() || after_num_responses.is_some();
        let at_once = (!elsewhere).then_some(0);
        let after = after_close_send_ms.or(at_once);
        Cancelling {
            before_the_end: before_close_send.is_some(),
            after_sending: after.map(|after| Duration::from_millis(after.into())),
            after_items: *after_num_responses,
        }
    }

    fn before_the_end(&self) -> Result<(), Status> {
        match self.before_the_end {
            true => Err(cancelled()),
            false => Ok(()),
        }
    }

    /// Waits for what comes when all has been sent.
    async fn after_sending<T>(
        &self,
        rest: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Status> {
        match self.after_sending {
            Some(after) => timeout(after, rest)
                .await
                .unwrap_or_else(|_| Err(cancelled())),
            None => rest.await,
        }
    }

    /// Makes a call that has one answer.
    async fn single(
        &self,
        call: impl Future<Output = Result<Option<ConformancePayload>, Status>>,
        result: &mut ClientResponseResult,
    ) -> Result<(), Status> {
        let payload = self.after_sending(call).await?;
        result.payloads.push(payload.unwrap_or_default());
        Ok(())
    }

    /// An item has come.
    fn received(
        &self,
        payload: Option<ConformancePayload>,
        result: &mut ClientResponseResult,
    ) -> Result<(), Status> {
        result.payloads.push(payload.unwrap_or_default());
        let all = self.after_items.map(|all| all as usize);
        match all == Some(result.payloads.len()) {
            true => Err(cancelled()),
            false => Ok(()),
        }
    }
}

fn cancelled() -> Status {
    Status::new(Code::Cancelled, "given up, as the suite says")
}

fn failure(status: &Status) -> Failure {
    Failure {
        code: status.code() as i32,
        message: Some(status.message().to_owned()),
        details: status.details().iter().map(detail).collect(),
        ..Failure::default()
    }
}

fn detail(any: &Any) -> Detail {
    Detail {
        type_url: any.type_name.clone(),
        value: any.value.clone(),
        ..Detail::default()
    }
}

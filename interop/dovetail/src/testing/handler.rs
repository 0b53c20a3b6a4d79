//! The handlers for the cases.

use super::contract::grpc::testing::{
    BoolValue, EchoStatus, Empty, ResponseParameters, SimpleRequest, SimpleResponse,
    StreamingInputCallRequest, StreamingInputCallResponse, StreamingOutputCallRequest,
    StreamingOutputCallResponse, TestService,
};
use super::{ECHO_INITIAL, ECHO_TRAILING, payload};
use dovetail::stream::{ItemSink, Items, Receiver};
use dovetail::types::Bytes;
use dovetail::{Code, Context, Status};
use std::time::Duration;
use tokio::time::sleep;

pub(crate) struct Handler;

/// Says beside the answer what the caller wants to hear there.
fn echo_headers(cx: &Context) -> Result<(), Status> {
    if let Some(value) = cx.header(ECHO_INITIAL) {
        cx.set_header(ECHO_INITIAL, Bytes::copy_from_slice(value))?;
    }
    if let Some(value) = cx.header(ECHO_TRAILING) {
        cx.set_trailer(ECHO_TRAILING, Bytes::copy_from_slice(value))?;
    }
    Ok(())
}

/// Fails where the caller wants that.
fn echo_status(wanted: Option<EchoStatus>) -> Result<(), Status> {
    let Some(EchoStatus { code: 1.., .. }) = &wanted else {
        return Ok(());
    };
    let wanted = wanted.unwrap_or_default();
    let code = |code: &Code| *code as i32 == wanted.code;
    let code = Code::ALL.into_iter().find(code).unwrap_or(Code::Unknown);
    Err(Status::new(code, wanted.message))
}

/// Fails where a message did not come as its sender says.
fn came_as_expected(expected: Option<BoolValue>, compressed: bool) -> Result<(), Status> {
    match expected {
        Some(expected) if expected.value != compressed => {
            let what = format!("compressed: {compressed}, and the other was announced");
            Err(Status::new(Code::InvalidArgument, what))
        }
        _ => Ok(()),
    }
}

/// Compresses what comes next, or does not, where the caller wants one of them.
fn choose(cx: &Context, wanted: Option<BoolValue>) {
    if let Some(wanted) = wanted {
        cx.compress(wanted.value);
    }
}

/// Sends what the caller has ordered.
async fn send(
    cx: &Context,
    ordered: Vec<ResponseParameters>,
    out: &mut ItemSink<StreamingOutputCallResponse>,
) -> Result<(), Status> {
    for each in ordered {
        if let Ok(wait @ 1..) = u64::try_from(each.interval_us) {
            sleep(Duration::from_micros(wait)).await;
        }
        let payload = Some(payload(each.size)?);
        choose(cx, each.compressed);
        out.send(StreamingOutputCallResponse {
            payload,
            ..StreamingOutputCallResponse::default()
        })
        .await;
    }
    Ok(())
}

impl TestService for Handler {
    async fn empty_call(&self, _: Context, request: Empty) -> Result<Empty, Status> {
        Ok(request)
    }

    async fn unary_call(
        &self,
        cx: Context,
        request: SimpleRequest,
    ) -> Result<SimpleResponse, Status> {
        came_as_expected(request.expect_compressed, cx.compressed())?;
        echo_headers(&cx)?;
        echo_status(request.response_status)?;
        choose(&cx, request.response_compressed);
        Ok(SimpleResponse {
            payload: Some(payload(request.response_size)?),
            ..SimpleResponse::default()
        })
    }

    async fn cacheable_unary_call(
        &self,
        cx: Context,
        request: SimpleRequest,
    ) -> Result<SimpleResponse, Status> {
        self.unary_call(cx, request).await
    }

    async fn streaming_output_call(
        &self,
        cx: Context,
        request: StreamingOutputCallRequest,
    ) -> Result<Items<'_, StreamingOutputCallResponse>, Status> {
        Ok(Items::with(|mut out| async move {
            send(&cx, request.response_parameters, &mut out).await
        }))
    }

    async fn streaming_input_call(
        &self,
        _: Context,
        mut requests: Receiver<StreamingInputCallRequest>,
    ) -> Result<StreamingInputCallResponse, Status> {
        let mut size = 0;
        while let Some(request) = requests.next().await {
            let request = request?;
            came_as_expected(request.expect_compressed, requests.compressed())?;
            size += request.payload.unwrap_or_default().body.len();
        }
        Ok(StreamingInputCallResponse {
            aggregated_payload_size: i32::try_from(size).unwrap_or(i32::MAX),
            ..StreamingInputCallResponse::default()
        })
    }

    async fn full_duplex_call(
        &self,
        cx: Context,
        mut requests: Receiver<StreamingOutputCallRequest>,
    ) -> Result<Items<'_, StreamingOutputCallResponse>, Status> {
        echo_headers(&cx)?;
        Ok(Items::with(|mut out| async move {
            while let Some(request) = requests.next().await {
                let request = request?;
                echo_status(request.response_status)?;
                send(&cx, request.response_parameters, &mut out).await?;
            }
            Ok(())
        }))
    }

    async fn half_duplex_call(
        &self,
        cx: Context,
        mut requests: Receiver<StreamingOutputCallRequest>,
    ) -> Result<Items<'_, StreamingOutputCallResponse>, Status> {
        Ok(Items::with(|mut out| async move {
            let mut ordered = Vec::new();
            while let Some(request) = requests.next().await {
                ordered.extend(request?.response_parameters);
            }
            send(&cx, ordered, &mut out).await
        }))
    }
}

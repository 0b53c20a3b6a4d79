//! What answers the cases.

use super::contract::grpc::testing::{
    EchoStatus, Empty, ResponseParameters, SimpleRequest, SimpleResponse,
    StreamingInputCallRequest, StreamingInputCallResponse, StreamingOutputCallRequest,
    StreamingOutputCallResponse, TestService,
};
use super::{ECHO_INITIAL, ECHO_TRAILING, payload};
use dovetail::{Bytes, Code, Context, ItemSink, Items, Receiver, Status};
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

/// Sends what the caller has ordered.
async fn send(
    ordered: Vec<ResponseParameters>,
    out: &mut ItemSink<StreamingOutputCallResponse>,
) -> Result<(), Status> {
    for each in ordered {
        if let Ok(wait @ 1..) = u64::try_from(each.interval_us) {
            sleep(Duration::from_micros(wait)).await;
        }
        let payload = Some(payload(each.size)?);
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
        echo_headers(&cx)?;
        echo_status(request.response_status)?;
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
        _: Context,
        request: StreamingOutputCallRequest,
    ) -> Result<Items<'_, StreamingOutputCallResponse>, Status> {
        Ok(Items::with(|mut out| async move {
            send(request.response_parameters, &mut out).await
        }))
    }

    async fn streaming_input_call(
        &self,
        _: Context,
        mut requests: Receiver<StreamingInputCallRequest>,
    ) -> Result<StreamingInputCallResponse, Status> {
        let mut size = 0;
        while let Some(request) = requests.next().await {
            size += request?.payload.unwrap_or_default().body.len();
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
                send(request.response_parameters, &mut out).await?;
            }
            Ok(())
        }))
    }

    async fn half_duplex_call(
        &self,
        _: Context,
        mut requests: Receiver<StreamingOutputCallRequest>,
    ) -> Result<Items<'_, StreamingOutputCallResponse>, Status> {
        Ok(Items::with(|mut out| async move {
            let mut ordered = Vec::new();
            while let Some(request) = requests.next().await {
                ordered.extend(request?.response_parameters);
            }
            send(ordered, &mut out).await
        }))
    }
}

//! The cases, with gRPC's names and numbers.

use super::contract::grpc::testing::{
    BoolValue, EchoStatus, Empty, Payload, ResponseParameters, SimpleRequest, SimpleResponse,
    StreamingInputCallRequest, StreamingInputCallResponse, StreamingOutputCallRequest,
    StreamingOutputCallResponse, TestServiceClient, UnimplementedServiceClient,
};
use super::{ECHO_INITIAL, ECHO_TRAILING, TEST_SERVICE, payload, sizes};
use crate::case::{Case, Outcome, case, check, fail, pass};
use crate::connector::Connector;
use crate::grpc::{with, with_built};
use dovetail::server::ResponseHeaders;
use dovetail::{Channel, ChannelBuilder, Code, Status};
use std::time::Duration;

/// The sizes of requests, and those of the answers that they ask for.
const REQUESTS: [i32; 4] = [27_182, 8, 1_828, 45_904];
const ANSWERS: [i32; 4] = [31_415, 9, 2_653, 58_979];
const LARGE: (i32, i32) = (271_828, 314_159);

/// How often a soak calls.
const SOAK: usize = 10;

/// Compares a payload's size.
fn is_long(payload: Option<&Payload>, size: i32) -> Outcome {
    let got = payload.map_or(0, |payload| payload.body.len());
    check(&i32::try_from(got), &Ok(size))?;
    pass()
}

fn truth(value: bool) -> Option<BoolValue> {
    Some(BoolValue {
        value,
        ..BoolValue::default()
    })
}

fn large_request() -> Result<SimpleRequest, Status> {
    Ok(SimpleRequest {
        response_size: LARGE.1,
        payload: Some(payload(LARGE.0)?),
        ..SimpleRequest::default()
    })
}

fn ordering(answers: &[i32], request: i32) -> Result<StreamingOutputCallRequest, Status> {
    Ok(StreamingOutputCallRequest {
        response_parameters: sizes(answers),
        payload: Some(payload(request)?),
        ..StreamingOutputCallRequest::default()
    })
}

/// The next item has this size.
fn next_is_long(next: Option<Result<StreamingOutputCallResponse, Status>>, size: i32) -> Outcome {
    match next {
        Some(answer) => is_long(answer?.payload.as_ref(), size),
        None => fail(format!("no answer of {size} bytes")),
    }
}

/// Compares what a call gave with how it should fail.
fn is_failure<T>(got: Result<T, Status>, code: Code, message: Option<&str>) -> Outcome {
    let Err(status) = got else {
        return fail(format!("a call went well that should fail with {code}"));
    };
    check(&status.code(), &code)?;
    if let Some(message) = message {
        check(&status.message(), &message)?;
    }
    pass()
}

async fn empty_unary(channel: Channel) -> Outcome {
    let calls = TestServiceClient::from(channel);
    check(
        &calls.empty_call(&Empty::default()).await?,
        &Empty::default(),
    )?;
    pass()
}

async fn cacheable_unary(channel: Channel) -> Outcome {
    let request = large_request()?;
    let calls = TestServiceClient::from(channel.with_header("x-user-ip", "1.2.3.4"));
    for _ in 0..2 {
        // Servers may leave it out.
        match calls.cacheable_unary_call(&request).await {
            Ok(answer) => is_long(answer.payload.as_ref(), LARGE.1)?,
            Err(absent) if absent.code() == Code::Unimplemented => return pass(),
            Err(other) => return fail(other.to_string()),
        };
    }
    pass()
}

async fn large_unary(channel: Channel) -> Outcome {
    let calls = TestServiceClient::from(channel);
    let answer: SimpleResponse = calls.unary_call(&large_request()?).await?;
    is_long(answer.payload.as_ref(), LARGE.1)
}

/// Sends a request, compressed or not, that says what it is, or something else.
async fn announced(
    channel: &Channel,
    compressed: bool,
    said: bool,
) -> Result<SimpleResponse, Status> {
    let calls = TestServiceClient::from(channel.with_compression(compressed));
    let request = SimpleRequest {
        expect_compressed: truth(said),
        ..large_request()?
    };
    calls.unary_call(&request).await
}

async fn client_compressed_unary(channel: Channel) -> Outcome {
    let refused = announced(&channel, false, true).await;
    is_failure(refused, Code::InvalidArgument, None)?;
    for compressed in [true, false] {
        let answer = announced(&channel, compressed, compressed).await?;
        is_long(answer.payload.as_ref(), LARGE.1)?;
    }
    pass()
}

async fn server_compressed_unary(channel: Channel) -> Outcome {
    let said = ResponseHeaders::default();
    let calls = TestServiceClient::from(channel.with_response_headers(&said));
    for value in [true, false] {
        let request = SimpleRequest {
            response_compressed: truth(value),
            ..large_request()?
        };
        let answer = calls.unary_call(&request).await?;
        is_long(answer.payload.as_ref(), LARGE.1)?;
        check(&said.compressed(), &value)?;
    }
    pass()
}

/// Sends items of these sizes, each compressed or not, which say so, or the contrary.
async fn upload(
    channel: &Channel,
    items: &[(i32, bool)],
    honest: bool,
) -> Result<StreamingInputCallResponse, Status> {
    let calls = TestServiceClient::from(channel.clone());
    let (mut requests, answer) = calls.streaming_input_call().await?;
    for (size, compressed) in items {
        requests.compress(*compressed);
        let request = StreamingInputCallRequest {
            payload: Some(payload(*size)?),
            expect_compressed: truth(*compressed == honest),
            ..StreamingInputCallRequest::default()
        };
        requests.send(&request).await?;
    }
    requests.finish();
    answer.await
}

async fn client_compressed_streaming(channel: Channel) -> Outcome {
    let items = [(REQUESTS[0], true), (REQUESTS[3], false)];
    let refused = upload(&channel, &[(REQUESTS[0], false)], false).await;
    is_failure(refused, Code::InvalidArgument, None)?;
    let answer = upload(&channel, &items, true).await?;
    check(
        &answer.aggregated_payload_size,
        &(REQUESTS[0] + REQUESTS[3]),
    )?;
    pass()
}

async fn server_compressed_streaming(channel: Channel) -> Outcome {
    let calls = TestServiceClient::from(channel);
    let wanted = [(31_415, true), (92_653, false)];
    let one = |(size, value): (i32, bool)| ResponseParameters {
        size,
        compressed: truth(value),
        ..ResponseParameters::default()
    };
    let request = StreamingOutputCallRequest {
        response_parameters: wanted.map(one).to_vec(),
        ..StreamingOutputCallRequest::default()
    };
    let mut answers = calls.streaming_output_call(&request).await?;
    for (size, compressed) in wanted {
        next_is_long(answers.next().await, size)?;
        check(&answers.compressed(), &compressed)?;
    }
    check(&answers.next().await.is_none(), &true)?;
    pass()
}

async fn client_streaming(channel: Channel) -> Outcome {
    let calls = TestServiceClient::from(channel);
    let (mut requests, answer) = calls.streaming_input_call().await?;
    for size in REQUESTS {
        let payload = Some(payload(size)?);
        let request = StreamingInputCallRequest {
            payload,
            ..StreamingInputCallRequest::default()
        };
        requests.send(&request).await?;
    }
    requests.finish();
    let answer = answer.await?;
    check(&answer.aggregated_payload_size, &REQUESTS.iter().sum())?;
    pass()
}

async fn server_streaming(channel: Channel) -> Outcome {
    let calls = TestServiceClient::from(channel);
    let mut answers = calls.streaming_output_call(&ordering(&ANSWERS, 0)?).await?;
    for size in ANSWERS {
        next_is_long(answers.next().await, size)?;
    }
    check(&answers.next().await.is_none(), &true)?;
    pass()
}

async fn ping_pong(channel: Channel) -> Outcome {
    let calls = TestServiceClient::from(channel);
    let (mut requests, answers) = calls.full_duplex_call().await?;
    let (mut first, mut rest) = (Some(answers), None);
    for (request, answer) in REQUESTS.into_iter().zip(ANSWERS) {
        requests.send(&ordering(&[answer], request)?).await?;
        // A server may begin its answer with the first item.
        if let Some(answers) = first.take() {
            rest = Some(answers.await?);
        }
        let Some(answers) = &mut rest else {
            return fail("no answers");
        };
        next_is_long(answers.next().await, answer)?;
    }
    requests.finish();
    let Some(mut answers) = rest else {
        return fail("no answers");
    };
    check(&answers.next().await.is_none(), &true)?;
    pass()
}

async fn empty_stream(channel: Channel) -> Outcome {
    let calls = TestServiceClient::from(channel);
    let (requests, answers) = calls.full_duplex_call().await?;
    requests.finish();
    check(&answers.await?.next().await.is_none(), &true)?;
    pass()
}

async fn custom_metadata(channel: Channel) -> Outcome {
    let (initial, trailing) = ("test_initial_metadata_value", [0xab; 3]);
    let said = ResponseHeaders::default();
    let channel = channel
        .with_header(ECHO_INITIAL, initial)
        .with_header(ECHO_TRAILING, trailing.to_vec())
        .with_response_headers(&said);
    let calls = TestServiceClient::from(channel);
    let is_said = || {
        check(&said.header(ECHO_INITIAL), &Some(initial.into()))?;
        check(
            &said.trailer(ECHO_TRAILING),
            &Some(trailing.to_vec().into()),
        )
    };
    is_long(
        calls.unary_call(&large_request()?).await?.payload.as_ref(),
        LARGE.1,
    )?;
    is_said()?;
    let (mut requests, answers) = calls.full_duplex_call().await?;
    requests.send(&ordering(&[LARGE.1], LARGE.0)?).await?;
    requests.finish();
    let mut answers = answers.await?;
    next_is_long(answers.next().await, LARGE.1)?;
    check(&answers.next().await.is_none(), &true)?;
    is_said()?;
    pass()
}

async fn fails_with(channel: Channel, code: Code, message: &str) -> Outcome {
    let calls = TestServiceClient::from(channel);
    let wanted = Some(EchoStatus {
        code: code as i32,
        message: message.to_owned(),
        ..EchoStatus::default()
    });
    let request = SimpleRequest {
        response_status: wanted.clone(),
        ..SimpleRequest::default()
    };
    is_failure(calls.unary_call(&request).await, code, Some(message))?;
    let (mut requests, answers) = calls.full_duplex_call().await?;
    let request = StreamingOutputCallRequest {
        response_status: wanted,
        ..StreamingOutputCallRequest::default()
    };
    requests.send(&request).await?;
    requests.finish();
    let ended = match answers.await {
        Ok(mut answers) => answers.next().await.unwrap_or(Ok(Default::default())),
        Err(failed) => Err(failed),
    };
    is_failure(ended, code, Some(message))
}

async fn status_code_and_message(channel: Channel) -> Outcome {
    fails_with(channel, Code::Unknown, "test status message").await
}

async fn special_status_message(channel: Channel) -> Outcome {
    let message = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n";
    fails_with(channel, Code::Unknown, message).await
}

async fn unimplemented(channel: Channel) -> Outcome {
    let calls = UnimplementedServiceClient::from(channel);
    let got = calls.unimplemented_call(&Empty::default()).await;
    is_failure(got, Code::Unimplemented, None)
}

async fn cancel_after_begin(channel: Channel) -> Outcome {
    let calls = TestServiceClient::from(channel.clone());
    drop(calls.streaming_input_call().await?);
    empty_unary(channel).await
}

async fn cancel_after_first_response(channel: Channel) -> Outcome {
    let calls = TestServiceClient::from(channel.clone());
    let (mut requests, answers) = calls.full_duplex_call().await?;
    requests
        .send(&ordering(&ANSWERS[..1], REQUESTS[0])?)
        .await?;
    let mut answers = answers.await?;
    next_is_long(answers.next().await, ANSWERS[0])?;
    drop(answers);
    empty_unary(channel).await
}

async fn timeout_on_sleeping_server(channel: Channel) -> Outcome {
    let hasty = channel.with_timeout(Duration::from_millis(1));
    let calls = TestServiceClient::from(hasty);
    let ended = async {
        let (mut requests, answers) = calls.full_duplex_call().await?;
        requests.send(&ordering(&[], REQUESTS[0])?).await?;
        answers
            .await?
            .next()
            .await
            .unwrap_or(Ok(Default::default()))
    };
    is_failure(ended.await, Code::DeadlineExceeded, None)
}

async fn rpc_soak(channel: Channel) -> Outcome {
    for _ in 0..SOAK {
        large_unary(channel.clone()).await?;
    }
    pass()
}

fn channel_soak(connector: &Connector) -> Outcome {
    for _ in 0..SOAK {
        with(connector, large_unary)?;
    }
    pass()
}

/// A method that a service lacks which is there.
fn unimplemented_method(connector: &Connector) -> Outcome {
    let build = |builder: ChannelBuilder| builder.service(TEST_SERVICE.name).build();
    with_built(connector, build, unimplemented)
}

pub(crate) fn all() -> Vec<Case> {
    let zipped = |builder: ChannelBuilder| builder.gzip().build();
    macro_rules! plain {
        ($($case:ident),*) => {
            [$(case(stringify!($case), |connector| with(connector, $case))),*]
        };
    }
    macro_rules! gzip {
        ($suffix:literal, $($case:ident),*) => {
            [$(case(
                concat!(stringify!($case), $suffix),
                move |connector| with_built(connector, zipped, $case),
            )),*]
        };
    }
    let mut all = Vec::from(plain![
        empty_unary,
        cacheable_unary,
        large_unary,
        client_streaming,
        server_streaming,
        ping_pong,
        empty_stream,
        custom_metadata,
        status_code_and_message,
        special_status_message,
        cancel_after_begin,
        cancel_after_first_response,
        timeout_on_sleeping_server,
        rpc_soak,
        server_compressed_unary,
        server_compressed_streaming
    ]);
    all.extend(gzip![
        "_gzip",
        large_unary,
        client_streaming,
        server_streaming,
        ping_pong
    ]);
    all.extend(gzip![
        "",
        client_compressed_unary,
        client_compressed_streaming
    ]);
    all.push(case("unimplemented_method", unimplemented_method));
    all.push(case("unimplemented_service", |connector| {
        with(connector, unimplemented)
    }));
    all.push(case("channel_soak", channel_soak));
    all
}

//! HTTP/1.1 and Connect's protocol on arbitrary bytes in arbitrary pieces.

use bytes::BytesMut;
use dovetail_protocol::connect::{
    self, Call, End, Refusal, goodbye, is_call, read_end, read_failure, split_trailers,
    stream_codec, stream_terms, target,
};
use dovetail_protocol::grpc::{Web, read_web_end, web_terms};
use dovetail_protocol::http::{Cors, ReplyTo, Request, ServerConnection};
use dovetail_protocol::{ConnectionLimits, Failure};

/// Small, so that a fuzzer reaches them.
const LIMITS: ConnectionLimits = ConnectionLimits {
    message_bytes: 4 << 10,
    decompression_ratio: 16,
    frame_bytes: 0,
    header_bytes: 1 << 10,
    name_bytes: 64,
    depth: 64,
    objects: 4,
};

/// Requests: their pieces make no difference. The first byte cuts the rest.
pub(crate) fn requests(data: &[u8]) {
    let Some((cut, input)) = data.split_first() else {
        return;
    };
    let whole = serve(input, input.len().max(1));
    let pieces = serve(input, usize::from(*cut) + 1);
    assert_eq!(whole, pieces, "in pieces of {}", usize::from(*cut) + 1);
}

/// Returns the answers to the requests, and the end of the connection.
fn serve(input: &[u8], size: usize) -> Vec<String> {
    let mut connection = ServerConnection::new(LIMITS);
    let (mut buffer, mut said) = (BytesMut::new(), Vec::new());
    for piece in input.chunks(size) {
        buffer.extend_from_slice(piece);
        loop {
            match connection.receive(&mut buffer, |_, _| Ok(1)) {
                Ok(Some(request)) => said.push(answer(&request)),
                Ok(None) => break,
                Err(error) => {
                    let mut out = Vec::new();
                    connection.goodbye(&error, &mut out);
                    goodbye(error.status(), &error.to_string(), &mut out);
                    said.push(error.to_string());
                    return said;
                }
            }
        }
    }
    let ended = connection.end(&mut buffer);
    said.push(format!("{ended:?}"));
    said
}

fn answer(request: &Request) -> String {
    let cors = Cors::new().origin("https://a");
    let reply = ReplyTo::new(request, Some(&cors));
    let target = target(request, &LIMITS).map_err(Refusal::unknown);
    let read = target.and_then(|target| {
        let call = Call::read(request)?;
        Ok((target, call))
    });
    let kind = request.headers.get("content-type").unwrap_or_default();
    let streams = stream_codec(kind).map(|_| stream_terms(&request.headers));
    let web = Web::of(kind).map(|_| web_terms(&request.headers));
    let mut out = Vec::new();
    if let Err(refusal) = &read {
        reply.write(&refusal.clone().response(), &mut out);
        let text = String::from_utf8_lossy(&out);
        assert_eq!(text.matches("\r\n\r\n").count(), 1, "{text}");
    }
    format!("{} {read:?} {streams:?} {web:?}", is_call(request))
}

/// Reads the end of a call as a server sends it: in a body, in the last message of a stream, and in
/// gRPC-Web's.
pub(crate) fn ends(data: &[u8]) {
    let json = |name| (name == "content-type").then_some(&b"application/json"[..]);
    let failure = read_failure(503, json, data);
    let again = connect::failure(&failure, None);
    let read = read_failure(again.status, json, &again.body);
    let said = |failure: &Failure| {
        let values = failure.details.iter().map(|any| any.value.clone());
        let status = &failure.status;
        (
            status.code(),
            status.message().to_owned(),
            values.collect::<Vec<_>>(),
        )
    };
    assert_eq!(said(&read), said(&failure));
    if let Some(End { trailers, .. }) = read_end(data) {
        let (headers, trailers) = split_trailers(&trailers);
        assert!(headers.iter().chain(trailers.iter()).count() <= data.len());
    }
    let (ended, trailers) = read_web_end(data);
    assert!(ended.is_none() || !data.is_empty());
    assert!(trailers.iter().count() <= data.len());
}

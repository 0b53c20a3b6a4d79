//! Dovetail's own machine on arbitrary frames in arbitrary pieces: nothing panics, hangs, answers
//! what was not asked, or depends on how the bytes were cut.

use bytes::BytesMut;
use dovetail_protocol::dovetail::{
    Connection, Contract, Description, Directory, Event, MethodKey, MethodKind, NoMethods, Options,
    OutgoingCall, Role, Target,
};
use dovetail_protocol::{Code, ConnectionLimits, Headers, Name, Status};
use dovetail_wire::{Bytes, Limits};
use std::sync::Arc;

/// Small, so that a fuzzer reaches them.
const LIMITS: ConnectionLimits = ConnectionLimits {
    message_bytes: 300,
    decompression_ratio: 16,
    frame_bytes: 1 << 20,
    header_bytes: 512,
    name_bytes: 64,
    depth: 16,
    objects: 3,
};

/// A server. The first byte cuts the frames into pieces.
pub(crate) fn server(data: &[u8]) {
    let Some((cut, data)) = data.split_first() else {
        return;
    };
    let input = conversation(Role::Client, data);
    let whole = serve(&input, input.len());
    let pieces = serve(&input, usize::from(*cut) + 1);
    assert_eq!(whole, pieces, "in pieces of {}", usize::from(*cut) + 1);
}

/// A client with calls outstanding.
pub(crate) fn client(data: &[u8]) {
    let mut connection = Connection::new(Role::Client, options());
    let (mut sent, mut made) = (Vec::new(), Vec::new());
    for (index, method) in ["a", "a", "note", "b", "chat"].into_iter().enumerate() {
        let key = MethodKey::Name(Name::new(method));
        let call = OutgoingCall {
            plain: false,
            method: &key,
            deadline: None,
            headers: &Headers::new(),
            target: (method == "b").then(|| Target::Result(made[0])),
            promise: method == "a",
            awaits: None,
        };
        let contract = || Arc::new(contract(method, b"1"));
        let body = Bytes::from_static(b"x");
        if let Ok(Some(call)) = connection.call(&call, contract, &body, &mut sent) {
            made.push(call);
        }
        if index == 1 {
            connection.abandon(made[1]);
        }
    }
    let mut input = BytesMut::from(&conversation(Role::Server, data)[..]);
    let (mut answered, mut streams) = (Vec::new(), false);
    while let Ok(Some(event)) = connection.receive(&mut input, &NoMethods) {
        match event {
            Event::Reply { call, result, .. } => {
                let body = result.as_ref().map_or(&[][..], |(_, body)| body);
                assert!(body.len() <= LIMITS.message_bytes);
                assert!(
                    made.contains(&call) && call != made[1],
                    "{call} was not asked"
                );
                assert!(!answered.contains(&call), "{call} is answered twice");
                answered.push(call);
                streams |= call == made[3] && result.is_ok();
            }
            Event::Item {
                call, credit, body, ..
            } => {
                assert!(streams && call == made[3], "{call} has no stream");
                let body = body.decompress().unwrap_or_default();
                assert!(body.len() <= LIMITS.message_bytes);
                connection.taken(call, credit);
            }
            Event::End { call, .. } => {
                assert!(streams && call == made[3], "{call} has no stream");
                streams = false;
            }
            Event::Released { count, .. } => assert!(count > 0),
            Event::Call(_) | Event::Cancelled { .. } | Event::Credit { .. } => {}
        }
    }
    let open = connection.pending().count() - usize::from(streams);
    assert_eq!(open + answered.len(), 3);
}

fn options() -> Options {
    Options {
        limits: LIMITS,
        ..Options::default()
    }
}

fn contract(method: &str, description: &[u8]) -> Contract {
    Contract {
        service: Name::default(),
        method: Name::new(method),
        kind: match method {
            "note" => MethodKind::OneWay,
            "chat" => MethodKind::BothStreams,
            _ => MethodKind::Unary,
        },
        description: Some(Description::new(description.to_vec())),
    }
}

/// Preface and HELLO, then frames: of three bytes each, kind with flags, id and length, and a
/// payload.
fn conversation(role: Role, mut data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Connection::new(role, Options::default()).transmit(&mut out);
    while let [kind, id, length, rest @ ..] = data {
        let (payload, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        out.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
        out.extend_from_slice(&[*kind, *id, 0, 0, 0]);
        out.extend_from_slice(payload);
        data = rest;
    }
    out
}

/// A server that knows some methods.
struct Known;

impl Directory for Known {
    fn find(&self, _: &str, method: &str) -> Result<(usize, Arc<Contract>), Status> {
        match method {
            "a" | "note" | "chat" => Ok((0, Arc::new(contract(method, b"1")))),
            _ => Err(Status::new(Code::Unimplemented, "unknown")),
        }
    }
}

/// Some calls are over at once.
fn body_ends(body: &[u8]) -> bool {
    body.first().is_some_and(|first| first % 2 == 0)
}

/// Returns the events that a server makes of the bytes, in words, and the bytes that it sends.
fn serve(input: &[u8], piece: usize) -> (Vec<String>, Vec<u8>) {
    let mut connection = Connection::new(Role::Server, options());
    let (mut events, mut out, mut buffer) = (Vec::new(), Vec::new(), BytesMut::new());
    for piece in input.chunks(piece) {
        buffer.extend_from_slice(piece);
        loop {
            let received = connection.receive(&mut buffer, &Known);
            connection.transmit(&mut out);
            match received {
                Ok(Some(Event::Call(call))) => {
                    assert!(call.body.size() <= LIMITS.message_bytes);
                    let params = call.body.clone().decompress().unwrap_or_default();
                    let (number, object) = (call.reply.call(), call.object());
                    events.push(format!(
                        "{number} {:?} {object:?} {:?} {:?}",
                        call.kind,
                        call.results(),
                        params
                    ));
                    let body = Bytes::from_static(b"y");
                    let _ = call.reply.reply(&mut out, &body, Limits::default());
                    if call.promises() {
                        let nothing = || Status::new(Code::NotFound, "nothing");
                        let returned = (!body_ends(&params)).then_some(7);
                        let outcome = returned.ok_or_else(nothing);
                        connection.returned(call.reply.call(), outcome);
                    }
                    if call.kind.server_streams() {
                        let number = call.reply.call();
                        let _ = connection.item(number, &body, &mut out);
                        if body_ends(&params) {
                            connection.end(number, &mut out);
                        }
                    }
                }
                Ok(Some(Event::Item {
                    call, credit, body, ..
                })) => {
                    let body = body.decompress();
                    let length = body.as_ref().map_or(0, |body| body.len());
                    assert!(length <= LIMITS.message_bytes);
                    events.push(format!("{call} {body:?}"));
                    connection.taken(call, credit);
                }
                Ok(Some(event)) => events.push(format!("{event:?}")),
                Ok(None) => break,
                Err(error) => {
                    events.push(error.to_string());
                    return (events, out);
                }
            }
        }
        assert!((1..=128 << 10).contains(&connection.needs()));
    }
    (events, out)
}

//! The server and the client for Connect's conformance suite. The suite talks to both on their
//! standard input and output, in messages of protobuf behind their length.

mod client;
mod server;

pub(crate) use client::call;
pub(crate) use server::serve;

use crate::connectrpc::conformance::v1::{
    BidiStreamRequest, ClientStreamRequest, Header, IdempotentUnaryRequest, RequestInfo,
    ServerStreamRequest, UnaryRequest,
};
use dovetail::Message;
use dovetail::encoding::Value;
use dovetail::types::{Any, Bytes};
use dovetail_protocol::metadata::{InvalidMetadata, decode_value, encode_value};
use dovetail_wire::{AnyType, protobuf};
use std::error::Error;
use std::io::{ErrorKind, Read, Write};

/// The longest message that is believed.
const MAX: usize = 16 << 20;

/// Reads the suite's next message; `None` at its end.
fn hear<M: Message + Value + Default>(
    input: &mut impl Read,
) -> Result<Option<M>, Box<dyn Error + Send + Sync>> {
    let mut length = [0; 4];
    match input.read_exact(&mut length) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX {
        return Err(format!("the suite says {length} bytes, the limit is {MAX}").into());
    }
    let mut message = vec![0; length];
    input.read_exact(&mut message)?;
    Ok(Some(protobuf::from_bytes(&message)?))
}

/// Tells the suite something.
fn tell<M: Message + Value>(message: &M) -> Result<(), Box<dyn Error + Send + Sync>> {
    let message = protobuf::to_bytes(message)?;
    let mut output = std::io::stdout().lock();
    output.write_all(&u32::try_from(message.len())?.to_be_bytes())?;
    output.write_all(&message)?;
    Ok(output.flush()?)
}

/// Tells JSON which types the suite puts into an `Any`.
fn register() {
    Any::register(&[
        AnyType::of::<BidiStreamRequest>("connectrpc.conformance.v1.BidiStreamRequest"),
        AnyType::of::<ClientStreamRequest>("connectrpc.conformance.v1.ClientStreamRequest"),
        AnyType::of::<Header>("connectrpc.conformance.v1.Header"),
        AnyType::of::<IdempotentUnaryRequest>("connectrpc.conformance.v1.IdempotentUnaryRequest"),
        AnyType::of::<RequestInfo>("connectrpc.conformance.v1.RequestInfo"),
        AnyType::of::<ServerStreamRequest>("connectrpc.conformance.v1.ServerStreamRequest"),
        AnyType::of::<UnaryRequest>("connectrpc.conformance.v1.UnaryRequest"),
    ]);
}

/// The headers that the suite wants to be said.
fn wanted(headers: &[Header]) -> Result<Vec<(String, Bytes)>, InvalidMetadata> {
    let mut wanted = Vec::new();
    for Header { name, value, .. } in headers {
        let name = name.to_ascii_lowercase();
        for value in value {
            let values = decode_value(&name, value.as_bytes())?;
            wanted.extend(values.into_iter().map(|value| (name.clone(), value)));
        }
    }
    Ok(wanted)
}

/// Headers as the suite wants to be told of them.
fn reported<'a>(headers: impl Iterator<Item = (&'a str, &'a [u8])>) -> Vec<Header> {
    let mut reported: Vec<Header> = Vec::new();
    for (name, value) in headers.filter_map(|(name, value)| encode_value(name, value).ok()) {
        match reported.iter_mut().find(|known| known.name == name) {
            Some(known) => known.value.push(value),
            None => reported.push(Header {
                name,
                value: vec![value],
                ..Header::default()
            }),
        }
    }
    reported
}

//! Splits messages off what is received, once the wire is known.

use super::http::{self, Side};
use super::message::{self, Head, Stop};
use super::scan::{Binary, Compact, JsonScan, Scan, Scanned, StructScan};
use super::{ConnectionLimits, Headers, Protocol, ProtocolError, Transforms, Transport, Wire};
use super::{detect, header};
use bytes::{Buf, BytesMut};
use dovetail_wire::Bytes;

/// A complete message.
pub(crate) struct Message {
    pub(crate) head: Head,
    pub(crate) body: Bytes,
    pub(crate) headers: Headers,
    pub(crate) lead: Lead,
}

/// What came before the message.
pub(crate) enum Lead {
    /// Nothing, or the length of a frame.
    Plain,
    Header {
        seqid: u32,
        flags: u16,
        transforms: Transforms,
    },
    Http {
        keep_alive: bool,
    },
}

/// Reads the messages of one direction of a connection.
pub(crate) enum Reader {
    Framed(Protocol),
    Header,
    Unframed(Protocol, Option<Unframed>),
    Http(http::Reader),
}

/// An unframed message that has not come whole.
pub(crate) struct Unframed {
    /// The head and the body's offset, where they are read before the rest.
    head: Option<(Head, usize)>,
    scan: Box<dyn Scan>,
}

impl Reader {
    pub(crate) fn new(wire: Wire, side: Side) -> Self {
        match wire.transport {
            Transport::Unframed => Reader::Unframed(wire.protocol, None),
            Transport::Framed => Reader::Framed(wire.protocol),
            Transport::Header => Reader::Header,
            Transport::Http => Reader::Http(http::Reader::new(side)),
        }
    }

    /// The next complete message of a transport that is not HTTP.
    pub(crate) fn next(
        &mut self,
        input: &mut BytesMut,
        limits: &ConnectionLimits,
    ) -> Result<Message, Stop> {
        match self {
            Reader::Framed(protocol) => {
                let frame = frame(input, limits)?;
                Ok(plain(
                    *protocol,
                    frame,
                    Lead::Plain,
                    Headers::new(),
                    limits,
                )?)
            }
            Reader::Header => {
                let frame = frame(input, limits)?;
                let (envelope, protocol, message) = header::read(&frame, limits)?;
                let lead = Lead::Header {
                    seqid: envelope.seqid,
                    flags: envelope.flags,
                    transforms: envelope.transforms,
                };
                Ok(plain(protocol, message, lead, envelope.headers, limits)?)
            }
            Reader::Unframed(protocol, state) => unframed(*protocol, state, input, limits),
            Reader::Http(_) => Err(Stop::Need(1)),
        }
    }

    /// The connection has ended with this input left; an error where that is in the middle of a message.
    pub(crate) fn end(&self, input: &[u8]) -> Result<(), ProtocolError> {
        let left = match self {
            Reader::Unframed(Protocol::Json, _) => input.trim_ascii_start(),
            _ => input,
        };
        match left {
            [] => Ok(()),
            _ => Err(ProtocolError::Truncated { what: "a message" }),
        }
    }

    /// The name and number of the message that could not be read, as far as they have come: what the
    /// peer knows it by.
    pub(crate) fn failed(&self, input: &[u8], limits: &ConnectionLimits) -> Option<Head> {
        let (protocol, message) = match self {
            Reader::Framed(protocol) => (*protocol, input.get(4..)?),
            Reader::Unframed(protocol, _) => (*protocol, input),
            _ => return None,
        };
        match protocol {
            Protocol::Json | Protocol::Custom(_) => None,
            _ => message::read_head(protocol, message, limits)
                .ok()
                .map(|(head, _)| head),
        }
    }
}

/// A message from the body of an HTTP request or response.
pub(crate) fn from_http(
    head: http::Head,
    body: Bytes,
    limits: &ConnectionLimits,
) -> Result<Message, ProtocolError> {
    let lead = Lead::Http {
        keep_alive: head.keep_alive,
    };
    plain(
        detect::detect_message(&body)?,
        body,
        lead,
        head.headers,
        limits,
    )
}

/// Splits the next frame off.
fn frame(input: &mut BytesMut, limits: &ConnectionLimits) -> Result<Bytes, Stop> {
    let length = message::word(input, 0)? as usize;
    if length > limits.message() {
        return Err(match input.get(..4) {
            // A peer that forgot the frame is told so, rather than that its message is too large.
            Some([0x80 | message::COMPACT_ID | b'[', ..]) => ProtocolError::WrongProtocol {
                expected: "a frame".into(),
                found: "an unframed message",
            },
            _ => ProtocolError::MessageTooLarge {
                size: length as u64,
                limit: limits.message(),
            },
        }
        .into());
    }
    match (4 + length).checked_sub(input.len()) {
        None | Some(0) => {
            input.advance(4);
            Ok(input.split_to(length).freeze())
        }
        Some(missing) => Err(Stop::Need(missing)),
    }
}

/// Takes a complete message apart.
fn plain(
    protocol: Protocol,
    bytes: Bytes,
    lead: Lead,
    headers: Headers,
    limits: &ConnectionLimits,
) -> Result<Message, ProtocolError> {
    let (head, body) = message::read(protocol, &bytes, limits)?;
    Ok(Message {
        head,
        body: bytes.slice(body),
        headers,
        lead,
    })
}

fn unframed(
    protocol: Protocol,
    state: &mut Option<Unframed>,
    input: &mut BytesMut,
    limits: &ConnectionLimits,
) -> Result<Message, Stop> {
    if protocol == Protocol::Json && state.is_none() {
        // Line ends between messages, as a person at a terminal sends them.
        let blank = input.iter().take_while(|byte| byte.is_ascii_whitespace());
        let blank = blank.count();
        input.advance(blank);
    }
    let message = match state {
        Some(message) => message,
        None => state.insert(begin_unframed(protocol, input, limits)?),
    };
    let length = match message.scan.scan(input)? {
        Scanned::Complete(length) if length <= limits.message() => length,
        Scanned::Need(missing) if input.len() <= limits.message() => {
            return Err(Stop::Need(missing));
        }
        Scanned::Complete(length) | Scanned::Need(length) => {
            // Only a scan from outside this crate does not see to it itself.
            return Err(ProtocolError::MessageTooLarge {
                size: length as u64,
                limit: limits.message(),
            }
            .into());
        }
    };
    if length > input.len() {
        return Err(Stop::Need(length - input.len()));
    }
    let head = state.take().and_then(|message| message.head);
    let bytes = input.split_to(length).freeze();
    match head {
        Some((head, start)) => Ok(Message {
            head,
            body: bytes.slice(start..),
            headers: Headers::new(),
            lead: Lead::Plain,
        }),
        None => Ok(plain(protocol, bytes, Lead::Plain, Headers::new(), limits)?),
    }
}

fn begin_unframed(
    protocol: Protocol,
    input: &[u8],
    limits: &ConnectionLimits,
) -> Result<Unframed, Stop> {
    if input.is_empty() {
        return Err(Stop::Need(1));
    }
    Ok(match protocol {
        Protocol::Json => Unframed {
            head: None,
            scan: Box::new(JsonScan::new(limits)),
        },
        Protocol::Custom(custom) => Unframed {
            head: None,
            scan: custom.scan().ok_or_else(|| {
                ProtocolError::malformed("this custom protocol needs frames around its messages")
            })?,
        },
        _ => {
            let (head, body) = message::read_head(protocol, input, limits)?;
            let scan: Box<dyn Scan> = match protocol {
                Protocol::Compact => Box::new(StructScan::<Compact>::new(body, limits)),
                _ => Box::new(StructScan::<Binary>::new(body, limits)),
            };
            Unframed {
                head: Some((head, body)),
                scan,
            }
        }
    })
}

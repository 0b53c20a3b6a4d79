//! Splits messages off what is received, once the wire is known.

use super::message::{self, Head, Stop};
use super::scan::{Binary, Compact, JsonScan, Scan, Scanned, StructScan};
use super::{Protocol, ProtocolError, Transforms, Transport, Wire};
use super::{detect, header};
use crate::http::{self, Side};
use crate::{ConnectionLimits, Headers};
use bytes::{Buf, BytesMut};
use dovetail_wire::Bytes;

/// A complete message.
pub(crate) struct Message {
    pub(crate) head: Head,
    pub(crate) body: Bytes,
    pub(crate) headers: Headers,
    pub(crate) lead: Lead,
}

/// The bytes before the message, but for the length of a frame.
#[derive(Default)]
pub(crate) struct Lead {
    /// THeader's, which may stand in a frame or in the body of HTTP as well.
    pub(crate) header: Option<HeaderLead>,
    /// The connection ends with the message, HTTP says.
    pub(crate) last: bool,
}

pub(crate) struct HeaderLead {
    pub(crate) seqid: u32,
    pub(crate) flags: u16,
    pub(crate) transforms: Transforms,
}

impl Lead {
    /// The number of the message. fbthrift gives it to THeader alone, and zero to the message
    /// inside.
    pub(crate) fn number(&self, inner: i32) -> i32 {
        match &self.header {
            Some(header) if inner == 0 => header.seqid.cast_signed(),
            _ => inner,
        }
    }
}

/// Reads the messages of one direction of a connection.
pub(crate) enum Reader {
    Framed(Protocol),
    Header,
    Unframed(Unframed),
    Http(http::Reader),
}

/// Reads messages with nothing between them.
pub(crate) struct Unframed {
    protocol: Protocol,
    /// A message has begun.
    begun: bool,
    /// Its head and the offset of its body, where they are read before the rest.
    head: Option<(Head, usize)>,
    scan: AnyScan,
}

/// One for all messages of a connection, so that its memory is used again.
enum AnyScan {
    Binary(StructScan<Binary>),
    Compact(StructScan<Compact>),
    Json(JsonScan),
    Custom(Option<Box<dyn Scan>>),
}

impl Reader {
    pub(crate) fn new(wire: Wire, side: Side, limits: &ConnectionLimits) -> Self {
        match wire.transport {
            Transport::Unframed => Reader::Unframed(Unframed::new(wire.protocol, limits)),
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
                match frame_of_header(&frame) {
                    Some(inner) => Ok(in_header(&inner, false, Headers::new(), limits)?),
                    None => Ok(plain(
                        *protocol,
                        frame,
                        Lead::default(),
                        Headers::new(),
                        limits,
                    )?),
                }
            }
            Reader::Header => {
                let frame = frame(input, limits)?;
                Ok(in_header(&frame, false, Headers::new(), limits)?)
            }
            Reader::Unframed(unframed) => unframed.next(input, limits),
            Reader::Http(_) => Err(Stop::Need(1)),
        }
    }

    /// The connection has ended with this input left; an error where that is in the middle of a
    /// message.
    pub(crate) fn end(&self, input: &[u8]) -> Result<(), ProtocolError> {
        let left = match self {
            Reader::Unframed(unframed) if unframed.protocol == Protocol::Json => {
                input.trim_ascii_start()
            }
            _ => input,
        };
        match left {
            [] => Ok(()),
            _ => Err(ProtocolError::Truncated { what: "a message" }),
        }
    }

    /// The name and number of the message that could not be read, as far as they have come: what
    /// the peer knows it by.
    pub(crate) fn failed(&self, input: &[u8], limits: &ConnectionLimits) -> Option<Head> {
        let (protocol, message) = match self {
            Reader::Framed(protocol) => (*protocol, input.get(4..)?),
            Reader::Unframed(unframed) => (unframed.protocol, input),
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
    keep_alive: bool,
    headers: Headers,
    body: Bytes,
    limits: &ConnectionLimits,
) -> Result<Message, ProtocolError> {
    if let Some(frame) = frame_of_header(&body) {
        return in_header(&frame, !keep_alive, headers, limits);
    }
    let protocol = detect::detect_message(&body)?;
    let lead = Lead {
        header: None,
        last: !keep_alive,
    };
    plain(protocol, body, lead, headers, limits)
}

/// The frame of THeader, without its length, that is all of what another transport has around it;
/// `None` for anything else. An old binary message begins like it, and goes on with a letter of its
/// name.
fn frame_of_header(bytes: &Bytes) -> Option<Bytes> {
    let (length, frame) = bytes.split_first_chunk()?;
    let whole = u32::from_be_bytes(*length) as usize == frame.len();
    let found = whole && frame.starts_with(&header::MAGIC.to_be_bytes());
    found.then(|| bytes.slice(length.len()..))
}

/// Takes a frame of THeader apart. Its headers come behind those that are there.
fn in_header(
    frame: &Bytes,
    last: bool,
    mut headers: Headers,
    limits: &ConnectionLimits,
) -> Result<Message, ProtocolError> {
    let (envelope, protocol, message) = header::read(frame, limits)?;
    let lead = Lead {
        header: Some(HeaderLead {
            seqid: envelope.seqid,
            flags: envelope.flags,
            transforms: envelope.transforms,
        }),
        last,
    };
    headers.append(envelope.headers);
    plain(protocol, message, lead, headers, limits)
}

/// Splits the next frame off.
fn frame(input: &mut BytesMut, limits: &ConnectionLimits) -> Result<Bytes, Stop> {
    let length = message::word(input, 0)? as usize;
    if length > limits.message() {
        return Err(match input.get(..4) {
            // A peer that forgot the frame is told so, rather than that its message is too large.
            Some([0x80 | message::COMPACT_ID | b'[', ..]) => ProtocolError::WrongProtocol {
                expected: "a frame",
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
    mut bytes: Bytes,
    lead: Lead,
    headers: Headers,
    limits: &ConnectionLimits,
) -> Result<Message, ProtocolError> {
    let (head, body) = message::read(protocol, &bytes, limits)?;
    bytes.truncate(body.end);
    bytes.advance(body.start);
    Ok(Message {
        head,
        body: bytes,
        headers,
        lead,
    })
}

impl Unframed {
    fn new(protocol: Protocol, limits: &ConnectionLimits) -> Self {
        Unframed {
            protocol,
            begun: false,
            head: None,
            scan: match protocol {
                Protocol::Binary | Protocol::BinaryOld => AnyScan::Binary(StructScan::new(limits)),
                Protocol::Compact => AnyScan::Compact(StructScan::new(limits)),
                Protocol::Json => AnyScan::Json(JsonScan::new(limits)),
                Protocol::Custom(_) => AnyScan::Custom(None),
            },
        }
    }

    fn next(&mut self, input: &mut BytesMut, limits: &ConnectionLimits) -> Result<Message, Stop> {
        if !self.begun {
            self.begin(input, limits)?;
            self.begun = true;
        }
        let length = match self.scan.scan(input)? {
            Scanned::Complete(length) => length,
            Scanned::Need(missing) => input.len().saturating_add(missing),
        };
        if length > limits.message() {
            return Err(ProtocolError::MessageTooLarge {
                size: length as u64,
                limit: limits.message(),
            }
            .into());
        }
        if length > input.len() {
            return Err(Stop::Need(length - input.len()));
        }
        self.begun = false;
        let mut bytes = input.split_to(length).freeze();
        let Some((head, start)) = self.head.take() else {
            let message = plain(
                self.protocol,
                bytes,
                Lead::default(),
                Headers::new(),
                limits,
            );
            return Ok(message?);
        };
        bytes.advance(start);
        Ok(Message {
            head,
            body: bytes,
            headers: Headers::new(),
            lead: Lead::default(),
        })
    }

    fn begin(&mut self, input: &mut BytesMut, limits: &ConnectionLimits) -> Result<(), Stop> {
        if self.protocol == Protocol::Json {
            // Line ends between messages, as a person at a terminal sends them.
            let blank = input.iter().take_while(|byte| byte.is_ascii_whitespace());
            let blank = blank.count();
            input.advance(blank);
        }
        if input.is_empty() {
            return Err(Stop::Need(1));
        }
        if let AnyScan::Binary(_) | AnyScan::Compact(_) = self.scan {
            self.head = Some(message::read_head(self.protocol, input, limits)?);
        }
        let body = self.head.as_ref().map_or(0, |(_, len)| *len);
        match &mut self.scan {
            AnyScan::Binary(scan) => scan.restart(body),
            AnyScan::Compact(scan) => scan.restart(body),
            AnyScan::Json(scan) => scan.restart(),
            AnyScan::Custom(scan) => {
                if let Protocol::Custom(custom) = self.protocol {
                    *scan = custom.scan();
                }
            }
        }
        Ok(())
    }
}

impl AnyScan {
    fn scan(&mut self, message: &[u8]) -> Result<Scanned, ProtocolError> {
        match self {
            AnyScan::Binary(scan) => scan.scan(message),
            AnyScan::Compact(scan) => scan.scan(message),
            AnyScan::Json(scan) => scan.scan(message),
            AnyScan::Custom(Some(scan)) => scan.scan(message),
            AnyScan::Custom(None) => Err(ProtocolError::malformed(
                "this custom protocol needs frames around its messages",
            )),
        }
    }
}

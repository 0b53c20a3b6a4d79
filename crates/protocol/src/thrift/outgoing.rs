//! Appends messages to what is sent.

use super::header::Envelope;
use super::{MessageKind, Protocol, Transforms, Wire};
use super::{header, message, transform};
use crate::Headers;
use crate::http::{self, HttpTarget};
use crate::limits::MAX_FRAME;
use dovetail_wire::{Encode, EncodeError, Limits, Out};

/// The type of the body of a request or response over HTTP.
pub(crate) const HTTP_TYPE: &str = "application/x-thrift";

/// Everything about a message but its body.
pub(crate) struct Outgoing<'a> {
    pub(crate) wire: Wire,
    pub(crate) kind: MessageKind,
    pub(crate) name: &'a str,
    pub(crate) seqid: i32,
    /// THeader's frame around the message.
    pub(crate) header: Option<Envelope>,
    pub(crate) around: Around<'a>,
}

/// The envelope around the message, and around THeader's frame where it has one.
pub(crate) enum Around<'a> {
    Nothing,
    Frame,
    Request {
        target: &'a HttpTarget,
        headers: &'a Headers,
    },
    Response {
        keep_alive: bool,
    },
}

impl Outgoing<'_> {
    /// Appends the message. The body is encoded where it stays, and the lengths before it are set
    /// afterwards. After an error `out` is as it was.
    pub(crate) fn write(
        &self,
        value: &impl Encode,
        limits: Limits,
        mut out: Out<'_>,
    ) -> Result<(), EncodeError> {
        let http = matches!(
            self.around,
            Around::Request { .. } | Around::Response { .. }
        );
        if http || self.header.is_some() {
            // A message that is compressed, or announced in decimal digits, is in one piece.
            out.blobs = None;
        }
        let start = out.buffer.len();
        let result = self.try_write(value, limits, out.again(), start);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    fn try_write(
        &self,
        value: &impl Encode,
        limits: Limits,
        mut to: Out<'_>,
        start: usize,
    ) -> Result<(), EncodeError> {
        let out = &mut *to.buffer;
        match &self.around {
            Around::Nothing => {}
            Around::Frame => out.extend_from_slice(&[0; 4]),
            Around::Request { target, headers } => {
                http::write_request(target, HTTP_TYPE, headers, out)?
            }
            Around::Response { keep_alive } => {
                http::write_response(200, *keep_alive, HTTP_TYPE, "", out)
            }
        }
        let inside = out.len();
        if let Some(envelope) = &self.header {
            header::write(self.wire.protocol, envelope, out)?;
        }
        let message = out.len();
        let protocol = self.wire.protocol;
        message::write_head(protocol, self.kind, self.name, self.seqid, out);
        protocol.encoding().encode_to(value, to.again(), limits)?;
        let apart = to.apart();
        let out = to.buffer;
        message::write_end(protocol, out);
        if let Some(envelope) = &self.header {
            transform(protocol, envelope, inside, message, out)?;
            set_frame(out, inside, 0)?;
        }
        match &self.around {
            Around::Nothing => Ok(()),
            Around::Frame => set_frame(out, start, apart),
            Around::Request { .. } | Around::Response { .. } => {
                http::set_length(out, inside);
                Ok(())
            }
        }
    }
}

/// Transforms the message that stands in `out` from `message` on, behind a header at `start`, which
/// comes to say so where not all transforms are applied.
fn transform(
    protocol: Protocol,
    envelope: &Envelope,
    start: usize,
    message: usize,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let mut applied = Transforms::NONE;
    for transform in envelope.transforms.iter() {
        if !transform::apply(transform, out, message) {
            let rest = out.split_off(message);
            out.truncate(start);
            let envelope = Envelope {
                transforms: applied,
                ..envelope.clone()
            };
            header::write(protocol, &envelope, out)?;
            out.extend_from_slice(&rest);
            break;
        }
        applied.push(transform);
    }
    Ok(())
}

/// Sets the length of the frame that begins at `start`, of which so many bytes stand elsewhere.
fn set_frame(out: &mut [u8], start: usize, apart: usize) -> Result<(), EncodeError> {
    let length = out.len() + apart - start - 4;
    if length > MAX_FRAME {
        return Err(EncodeError::TooLong { length });
    }
    out[start..start + 4].copy_from_slice(&(length as u32).to_be_bytes());
    Ok(())
}

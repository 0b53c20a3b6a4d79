//! A message of a call over HTTP: what of a call stands behind its prefix.

use super::Spelling;
use super::coding::{compress, decompress};
use crate::buffers::Draft;
use crate::method::Method;
#[cfg(feature = "grpc")]
use crate::web::messages::field;
use crate::web::messages::{DELIMITED, as_field, first_field, varint};
use crate::{Code, Status};
use dovetail_protocol::envelope::{Frame, PREFIX, compressed_prefix, prefix};
use dovetail_protocol::grpc::Coding;
use dovetail_protocol::{Codec, ConnectionLimits, Execution, repays};
#[cfg(feature = "grpc")]
use dovetail_wire::Any;
use dovetail_wire::{
    Bytes, DecodeError, Encode, EncodeError, Encoding, Limits, Reader, Writer, json,
};

/// Returns the only field of a message, the parameters, which in protobuf is 1; `None` where it has
/// another one. An empty message has none.
pub(crate) fn of_field(message: &Bytes, codec: Codec) -> Option<Bytes> {
    match codec {
        _ if message.is_empty() => Some(no_parameters(codec).1),
        Codec::Proto => {
            let (tag, rest) = varint(message)?;
            let (length, rest) = varint(rest)?;
            let fits = tag == 1 << 3 | DELIMITED && length == rest.len() as u64;
            fits.then(|| message.slice_ref(rest))
        }
        Codec::Json => {
            let inside = strip(message, b"{")?.trim_ascii().strip_suffix(b"}")?;
            match strip(inside, b"\"params\"").and_then(|rest| strip(rest, b":")) {
                // The reader of the parameters finds out whether they are more than a value.
                Some(params) => Some(message.slice_ref(params)),
                None => inside.trim_ascii().is_empty().then(|| message.clone()),
            }
        }
    }
}

/// Returns the bytes behind `begin`, with white space before it.
fn strip<'a>(text: &'a [u8], begin: &[u8]) -> Option<&'a [u8]> {
    text.trim_ascii_start().strip_prefix(begin)
}

/// How the messages of a call are encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) codec: Codec,
    /// Parameters, result and items are messages, without others around them.
    pub(crate) messages: bool,
    pub(crate) spelling: Spelling,
}

impl Form {
    /// A message without the prefix before it.
    pub(crate) fn without_prefix(message: &Bytes) -> Bytes {
        message.slice(PREFIX.min(message.len())..)
    }

    /// Parameters, or an item, as a message with its prefix.
    pub(crate) fn envelope(
        self,
        params: &impl Encode,
        limits: Limits,
    ) -> Result<Bytes, EncodeError> {
        let mut out = draft();
        match self.codec {
            Codec::Proto => Encoding::Protobuf.encode(params, &mut out.bytes, limits)?,
            Codec::Json => drop(write_json(params, self, limits, &mut out.bytes)?),
        }
        framed(out, self)
    }

    /// A message as parameters, an item or a reply: it is that, or what that has as its only field.
    pub(crate) fn body(self, message: Bytes) -> (Encoding, Bytes) {
        match (self.codec, self.messages) {
            (Codec::Json, false) => (Encoding::Json, message),
            (Codec::Json, true) => (Encoding::Custom(&BARE_JSON), message),
            (Codec::Proto, false) => (Encoding::Protobuf, message),
            (Codec::Proto, true) => (Encoding::Protobuf, as_field(&message)),
        }
    }
}

/// JSON in which parameters and reply are their one message, as in contracts of protobuf.
static BARE_JSON: BareJson = BareJson;

#[derive(Debug)]
struct BareJson;

impl dovetail_wire::Codec for BareJson {
    fn name(&self) -> &'static str {
        "json"
    }

    fn encode(
        &self,
        out: &mut Vec<u8>,
        limits: Limits,
        body: &mut dyn FnMut(&mut dyn Writer) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        body(&mut json::Writer::new(out, limits).bare(true))
    }

    fn decode(
        &self,
        input: &Bytes,
        limits: Limits,
        body: &mut dyn FnMut(&mut dyn Reader<'_>) -> Result<(), DecodeError>,
    ) -> Result<usize, DecodeError> {
        let mut reader = json::Reader::new(input, limits).bare(true);
        body(&mut reader)?;
        Ok(reader.position())
    }
}

/// A message as the parameters of a method.
pub(crate) fn parameters(method: &Method, codec: Codec, message: Bytes) -> (Encoding, Bytes) {
    let messages = method.messages;
    let spelling = Spelling::Contract;
    let form = Form {
        codec,
        messages,
        spelling,
    };
    form.body(message)
}

/// The parameters of a method that has none, before the items of its caller.
pub(crate) fn no_parameters(codec: Codec) -> (Encoding, Bytes) {
    match codec {
        Codec::Json => (Encoding::Json, Bytes::from_static(b"{}")),
        Codec::Proto => (Encoding::Protobuf, Bytes::new()),
    }
}

/// Appends a reply or parameters; of a reply, gives the id of the field that it has.
pub(super) fn write_json(
    body: &impl Encode,
    form: Form,
    limits: Limits,
    out: &mut Vec<u8>,
) -> Result<Option<i32>, EncodeError> {
    let start = out.len();
    let mut writer = json::Writer::new(out, limits)
        .bare(form.messages)
        .numbers(form.spelling == Spelling::Buf);
    let erased: &mut dyn Writer = &mut writer;
    body.encode(erased)?;
    let replied = writer.replied();
    if out.len() == start {
        // A message that is not there is an empty one.
        out.extend_from_slice(b"{}");
    }
    Ok(replied)
}

/// Appends the value of the one field of a reply, in protobuf.
pub(super) fn write_protobuf(
    body: &impl Encode,
    limits: Limits,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let mut reply = Vec::new();
    Encoding::Protobuf.encode(body, &mut reply, limits)?;
    let from = first_field(&reply).map_or(0, |(_, header)| header);
    out.extend_from_slice(reply.get(from..).unwrap_or_default());
    Ok(())
}

/// Parameters as a message with its prefix, as field 1 of that message, or the member `params`:
/// what comes before the items of a caller.
#[cfg(feature = "grpc")]
pub(crate) fn frame_before_items(
    params: &impl Encode,
    codec: Codec,
    limits: Limits,
) -> Result<Bytes, EncodeError> {
    let mut out = draft();
    let form = Form {
        codec,
        messages: false,
        spelling: Spelling::Contract,
    };
    match codec {
        Codec::Proto => {
            let mut message = Vec::new();
            Encoding::Protobuf.encode(params, &mut message, limits)?;
            out.bytes.extend_from_slice(&as_field(&message));
        }
        Codec::Json => {
            out.bytes.extend_from_slice(b"{\"params\":");
            write_json(params, form, limits, &mut out.bytes)?;
            out.bytes.push(b'}');
        }
    }
    framed(out, form)
}

/// Room for a prefix, behind which a message is to be written.
pub(super) fn draft() -> Draft {
    let mut draft = Draft::new();
    draft.bytes.extend_from_slice(&[0; PREFIX]);
    draft
}

/// The message that stands behind room for a prefix, with that prefix; in protobuf, where it is one
/// itself, the value of its field 1.
pub(super) fn framed(mut out: Draft, form: Form) -> Result<Bytes, EncodeError> {
    let length = out.bytes.len();
    let inside = form.messages && form.codec == Codec::Proto;
    let from = place_prefix(&mut out.bytes, inside).ok_or(EncodeError::TooLong { length })?;
    Ok(out.finish().slice(from..))
}

/// The reply that is one of these exceptions, found among the details of a failure by its name.
#[cfg(feature = "grpc")]
pub(crate) fn exception_field(exceptions: &[(i32, &str)], details: &[Any]) -> Option<Bytes> {
    details.iter().find_map(|detail| {
        let name = detail.type_name.rsplit(['/', '.']).next();
        let (id, _) = exceptions.iter().find(|(_, known)| name == Some(*known))?;
        // One more than the id, as in all replies.
        Some(field(u64::try_from(*id).ok()? + 1, &detail.value))
    })
}

/// Writes the prefix, and says where; `None` where the message is too long for one.
fn place_prefix(out: &mut [u8], messages: bool) -> Option<usize> {
    let message = out.get(PREFIX..)?;
    let from = match messages {
        true => first_field(message).map_or(0, |(_, header)| header),
        false => 0,
    };
    let length = prefix(message.len().saturating_sub(from))?;
    out.get_mut(from..from + PREFIX)?.copy_from_slice(&length);
    Some(from)
}

/// Messages smaller than this hardly ever repay the work of compressing them.
const LEAST: usize = 1 << 10;

/// A message that is compressed; `None` where that is not wanted, or makes it no smaller.
fn compressed(message: &[u8], coding: Option<Coding>) -> Option<Vec<u8>> {
    let coding = coding.filter(|_| message.len() >= LEAST)?;
    let packed = compress(coding, message)?;
    repays(packed.len(), message.len()).then_some(packed)
}

/// Returns whether a message behind its prefix is compressed.
pub(crate) fn is_packed(frame: &[u8]) -> bool {
    frame.first() == Some(&1)
}

/// A message behind its prefix, compressed where that is wanted and makes it smaller.
pub(crate) fn packed(frame: Bytes, coding: Option<Coding>) -> Bytes {
    let message = frame.get(PREFIX..).unwrap_or_default();
    let Some(packed) = compressed(message, coding) else {
        return frame;
    };
    match compressed_prefix(packed.len()) {
        Some(prefix) => [&prefix[..], &packed].concat().into(),
        None => frame,
    }
}

/// A message that has come, decompressed.
#[derive(Debug, Default)]
pub(crate) struct Plain {
    pub(crate) message: Bytes,
    /// Whether it came compressed.
    pub(crate) compressed: bool,
}

/// The message of a frame, decompressed where it is compressed; `coding` is what the headers say of
/// that.
pub(crate) fn plain(
    frame: Frame,
    coding: Option<&[u8]>,
    limits: &ConnectionLimits,
) -> Result<Plain, Status> {
    let Frame {
        compressed,
        message,
        ..
    } = frame;
    let message = match compressed {
        true => decompressed(&message, coding, limits.decompressed(message.len()))?,
        false => message,
    };
    Ok(Plain {
        message,
        compressed,
    })
}

fn decompressed(message: &Bytes, coding: Option<&[u8]>, most: usize) -> Result<Bytes, Status> {
    let name = coding.unwrap_or(b"identity");
    if name == b"identity" {
        let what = "a compressed message, and no header says how";
        return Err(refused(Code::Internal, what.to_owned()));
    }
    match Coding::from_name(name) {
        Some(coding) => decompress(coding, message, most),
        None => Err(unknown_coding(name)),
    }
}

/// An error for what messages may not be compressed with.
pub(crate) fn known_coding(coding: Option<&[u8]>) -> Result<(), Status> {
    match coding {
        None | Some(b"identity") => Ok(()),
        Some(name) if Coding::from_name(name).is_some() => Ok(()),
        Some(name) => Err(unknown_coding(name)),
    }
}

#[cold]
fn unknown_coding(name: &[u8]) -> Status {
    let name = String::from_utf8_lossy(name);
    let what = format!("messages in `{name}`; known are {}", Coding::ACCEPTED);
    refused(Code::Unimplemented, what)
}

#[cold]
fn refused(code: Code, what: String) -> Status {
    Status::new(code, what).with_execution(Execution::NotStarted)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const PROTO: Form = Form {
        codec: Codec::Proto,
        messages: true,
        spelling: Spelling::Contract,
    };
    const JSON: Form = Form {
        codec: Codec::Json,
        messages: true,
        spelling: Spelling::Contract,
    };

    #[test]
    fn field_1_is_put_around_and_taken_away() {
        for length in [0, 1, 127, 128, 16_383, 16_384, 300_000] {
            let message = vec![7; length];
            let field = as_field(&message);
            let (number, header) = first_field(&field).unwrap();
            assert_eq!((number, &field[header..]), (1, &message[..]));
            let sent = [&prefix(length).unwrap()[..], &message].concat();
            for (written, form) in [(&field[..], PROTO), (&message, JSON)] {
                let mut out = draft();
                out.bytes.extend_from_slice(written);
                assert_eq!(framed(out, form).unwrap(), sent);
            }
        }
        assert_eq!(first_field(b""), None);
        assert_eq!(first_field(&[0xff; 20]), None);
        assert!(framed(Draft::new(), PROTO).is_err());
    }

    #[test]
    fn what_comes_before_items_is_field_1_and_nothing_else() {
        for (message, field) in [
            (&b""[..], Some(&b""[..])),
            (b"\x0a\0", Some(b"")),
            (b"\x0a\x02ab", Some(b"ab")),
            (b"\x0a\x03ab", None),
            (b"\x0a\x01ab", None),
            (b"\x0a", None),
            (b"\x08\x02ab", None),
            (b"\x12\x02ab", None),
            (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", None),
        ] {
            let found = of_field(&Bytes::copy_from_slice(message), Codec::Proto);
            assert_eq!(found.as_deref(), field, "{message:?}");
        }
    }

    #[test]
    fn in_json_it_is_a_member() {
        for (message, params) in [
            ("", Some("{}")),
            ("{}", Some("{}")),
            (" { } ", Some(" { } ")),
            (r#"{"params":{"a":1}}"#, Some(r#"{"a":1}"#)),
            (" { \"params\" : {} } \n", Some(" {} ")),
            (r#"{"params":{},"item":1}"#, Some(r#"{},"item":1"#)),
            (r#"{"item":1}"#, None),
            (r#"{"params"}"#, None),
            ("{", None),
            ("[]", None),
        ] {
            let found = of_field(&Bytes::copy_from_slice(message.as_bytes()), Codec::Json);
            assert_eq!(found.as_deref(), params.map(str::as_bytes), "{message}");
        }
    }

    #[test]
    fn what_gets_smaller_is_compressed() {
        let gzip = Some(Coding::Gzip);
        let noise: Vec<u8> = (0..5000u32)
            .map(|n| (n.wrapping_mul(n) >> 7) as u8)
            .collect();
        for (message, flag) in [
            (vec![7; LEAST - 1], 0),
            (vec![7; LEAST], 1),
            (noise, 1),
            (packed(vec![7; 9_000_000].into(), gzip).to_vec(), 1),
        ] {
            let frame = [&prefix(message.len()).unwrap()[..], &message].concat();
            assert_eq!(packed(frame.clone().into(), None), frame);
            let mut packed = packed(frame.into(), gzip);
            assert_eq!(packed[0], flag);
            let taken = dovetail_protocol::envelope::Assembler::new(1 << 20)
                .take(&mut packed)
                .unwrap();
            let plain = plain(taken.unwrap(), Some(b"gzip"), &ConnectionLimits::default()).unwrap();
            assert_eq!(plain.message, message);
        }
    }

    #[test]
    fn decompression_has_a_limit() {
        let message = Bytes::from(compress(Coding::Gzip, &[7; 1000]).unwrap());
        let check = |compressed, message: &Bytes, coding: Option<&'static str>, most| {
            let message = message.clone();
            let frame = Frame {
                compressed,
                end: false,
                message,
            };
            let limits = ConnectionLimits {
                message_bytes: most,
                ..ConnectionLimits::default()
            };
            let plain = plain(frame, coding.map(str::as_bytes), &limits);
            plain.map(|plain| plain.message.len()).map_err(|e| e.code())
        };
        let cut = message.slice(..message.len() - 9);
        for (compressed, message, coding, most, outcome) in [
            (true, &message, Some("gzip"), 1000, Ok(1000)),
            (
                true,
                &message,
                Some("gzip"),
                999,
                Err(Code::ResourceExhausted),
            ),
            (true, &cut, Some("gzip"), 1000, Err(Code::Internal)),
            (true, &message, Some("br"), 1000, Err(Code::Unimplemented)),
            (true, &message, None, 1000, Err(Code::Internal)),
            (true, &message, Some("identity"), 1000, Err(Code::Internal)),
            (false, &message, Some("gzip"), 1000, Ok(message.len())),
        ] {
            assert_eq!(check(compressed, message, coding, most), outcome);
        }
    }
}

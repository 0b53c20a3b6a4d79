//! The program that protobuf's conformance suite tests. The suite writes requests to its standard
//! input, each behind its length, and reads the answers from its standard output.

mod dynamic;
mod generated;

dovetail::include_contract!("conformance");

use conformance::{
    ConformanceRequest, ConformanceRequestPayload as Payload, ConformanceResponse,
    ConformanceResponseResult as Answer, TestCategory, WireFormat,
};
use dovetail_dynamic::{Contract, UnknownText};
use dovetail_wire::{Bytes, Decode, DecodeError, Encode, Encoding, Limits, json, protobuf};
use std::error::Error;
use std::io::{ErrorKind, Read, Write};

const USAGE: &str = "usage: dovetail-protobuf-peer generated | dynamic FOLDER
FOLDER has the `.proto` files of the suite";

/// The error for a format that the messages do not have.
const SKIPPED: &str = "a format that is not supported";

/// The longest request that is believed.
const MAX: usize = 16 << 20;

/// How a message is written.
#[derive(Clone, Copy, PartialEq)]
enum Format {
    Protobuf,
    Json,
    Text,
}

/// A message to read and to write again.
struct Task<'a> {
    message_type: &'a str,
    from: Format,
    payload: Bytes,
    to: Format,
    /// Whether text has the fields that the contract does not have.
    unknown: UnknownText,
    limits: Limits,
    /// Whether what the contract does not know is left out.
    lenient: bool,
}

impl Task<'_> {
    /// Reads the message.
    fn read(&self, into: &mut impl Decode) -> Result<(), Failure> {
        let read = match (self.from, self.lenient) {
            (Format::Text, _) => return Err(Failure::Skipped),
            (Format::Json, true) => {
                let reader = json::Reader::new(&self.payload, self.limits);
                into.decode(&mut reader.leaving_out_unknown_names())
            }
            (Format::Json, false) => self.decode(Encoding::Json, into),
            (Format::Protobuf, _) => self.decode(Encoding::Protobuf, into),
        };
        read.map_err(|problem| Failure::Parse(problem.to_string()))
    }

    fn decode(&self, encoding: Encoding, into: &mut impl Decode) -> Result<(), DecodeError> {
        encoding.decode(into, &self.payload, self.limits).map(drop)
    }

    /// Writes the message.
    fn write(&self, value: &impl Encode) -> Result<Vec<u8>, Failure> {
        let encoding = match self.to {
            Format::Text => return Err(Failure::Skipped),
            Format::Json => Encoding::Json,
            Format::Protobuf => Encoding::Protobuf,
        };
        let mut out = Vec::new();
        let written = encoding.encode(value, &mut out, self.limits);
        written.map_err(|problem| Failure::Serialize(problem.to_string()))?;
        Ok(out)
    }
}

/// Why there is no message.
enum Failure {
    /// No such message type.
    Unknown,
    /// The messages have no such format.
    Skipped,
    Parse(String),
    Serialize(String),
}

/// Reads messages and writes them again.
type Convert<'a> = dyn Fn(&Task<'_>) -> Result<Vec<u8>, Failure> + 'a;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (Some("generated"), None) => {
            generated::register();
            serve(&generated::convert)
        }
        (Some("dynamic"), Some(folder)) => {
            let schema = dynamic::schema(&folder)?;
            let contract = Contract::new(&schema);
            serve(&|task| dynamic::convert(&contract, task))
        }
        _ => Err(USAGE.into()),
    }
}

fn serve(convert: &Convert<'_>) -> Result<(), Box<dyn Error>> {
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    while let Some(request) = hear(&mut input)? {
        let answer = protobuf::to_bytes(&answer(convert, &request))?;
        output.write_all(&u32::try_from(answer.len())?.to_le_bytes())?;
        output.write_all(&answer)?;
        output.flush()?;
    }
    Ok(())
}

/// The next request; `None` at the end of the suite.
fn hear(input: &mut impl Read) -> Result<Option<ConformanceRequest>, Box<dyn Error>> {
    let mut length = [0; 4];
    match input.read_exact(&mut length) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX {
        return Err(format!("the suite says {length} bytes, the limit is {MAX}").into());
    }
    let mut request = vec![0; length];
    input.read_exact(&mut request)?;
    Ok(Some(protobuf::from_bytes(&request)?))
}

fn answer(convert: &Convert<'_>, request: &ConformanceRequest) -> ConformanceResponse {
    ConformanceResponse {
        result: Some(result(convert, request)),
        ..ConformanceResponse::default()
    }
}

fn result(convert: &Convert<'_>, request: &ConformanceRequest) -> Answer {
    let to = match request.requested_output_format {
        WireFormat::PROTOBUF => Some(Format::Protobuf),
        WireFormat::JSON => Some(Format::Json),
        WireFormat::TEXT_FORMAT => Some(Format::Text),
        _ => None,
    };
    let (Some((from, payload)), Some(to)) = (payload(request), to) else {
        return Answer::Skipped(SKIPPED.to_owned());
    };
    let task = Task {
        message_type: &request.message_type,
        from,
        payload,
        to,
        unknown: match request.print_unknown_fields {
            true => UnknownText::Shown,
            false => UnknownText::Omitted,
        },
        limits: Limits {
            depth: 200,
            ..Limits::default()
        },
        lenient: request.test_category == TestCategory::JSON_IGNORE_UNKNOWN_PARSING_TEST,
    };
    match convert(&task) {
        Ok(bytes) => written(to, bytes),
        Err(Failure::Parse(error)) => Answer::ParseError(error),
        Err(Failure::Serialize(error)) => Answer::SerializeError(error),
        Err(Failure::Skipped) => Answer::Skipped(SKIPPED.to_owned()),
        Err(Failure::Unknown) => Answer::RuntimeError(format!("no type {}", request.message_type)),
    }
}

/// The message that the suite sends; `None` for a format that is not supported.
fn payload(request: &ConformanceRequest) -> Option<(Format, Bytes)> {
    match request.payload.clone()? {
        Payload::ProtobufPayload(bytes) => Some((Format::Protobuf, bytes)),
        Payload::JsonPayload(text) => Some((Format::Json, text.into())),
        Payload::TextPayload(text) => Some((Format::Text, text.into())),
        Payload::JspbPayload(_) => None,
    }
}

fn written(format: Format, bytes: Vec<u8>) -> Answer {
    if format == Format::Protobuf {
        return Answer::ProtobufPayload(bytes.into());
    }
    match String::from_utf8(bytes) {
        Ok(text) if format == Format::Text => Answer::TextPayload(text),
        Ok(text) => Answer::JsonPayload(text),
        Err(error) => Answer::SerializeError(error.to_string()),
    }
}

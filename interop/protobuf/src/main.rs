//! The program that protobuf's conformance suite tests. The suite writes requests to its standard input, each behind its
//! length, and reads the answers from its standard output.

mod dynamic;
mod generated;

dovetail::include_contract!("conformance");

use conformance::{ConformanceRequest, ConformanceResponse, TestCategory, WireFormat};
use dovetail_wire::{Bytes, Decode, DecodeError, Encoding, Limits, json, protobuf};
use std::error::Error;
use std::io::{ErrorKind, Read, Write};

const USAGE: &str = "usage: dovetail-protobuf-peer generated | dynamic FOLDER
FOLDER has the `.proto` files of the suite";

/// The longest request that is believed.
const MOST: usize = 16 << 20;

/// A message to read and to write again.
struct Task<'a> {
    message_type: &'a str,
    from: Encoding,
    payload: Bytes,
    to: Encoding,
    limits: Limits,
    /// Whether what the contract does not know is left out.
    lenient: bool,
}

impl Task<'_> {
    /// Reads the message.
    fn read(&self, into: &mut impl Decode) -> Result<(), Failure> {
        let read = match self.lenient {
            true => {
                let reader = json::Reader::new(&self.payload, self.limits);
                into.decode(&mut reader.leaving_out_unknown_names())
            }
            false => self.from.decode(into, &self.payload, self.limits).map(drop),
        };
        read.map_err(Failure::Parse)
    }
}

/// Why there is no message.
enum Failure {
    /// No such message type.
    Unknown,
    Parse(DecodeError),
    Serialize(dovetail_wire::EncodeError),
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
            let schemas = dynamic::schemas(&folder)?;
            let contracts = dynamic::contracts(&schemas);
            serve(&|task| dynamic::convert(&contracts, task))
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
    if length > MOST {
        return Err(format!("the suite says {length} bytes, the limit is {MOST}").into());
    }
    let mut request = vec![0; length];
    input.read_exact(&mut request)?;
    Ok(Some(protobuf::from_bytes(&request)?))
}

fn answer(convert: &Convert<'_>, request: &ConformanceRequest) -> ConformanceResponse {
    let mut answer = ConformanceResponse::default();
    let payload = match (&request.protobuf_payload, &request.json_payload) {
        (Some(payload), _) => Some((Encoding::Protobuf, payload.clone())),
        (_, Some(payload)) => Some((Encoding::Json, payload.clone().into())),
        _ => None,
    };
    let to = match request.requested_output_format {
        WireFormat::PROTOBUF => Some(Encoding::Protobuf),
        WireFormat::JSON => Some(Encoding::Json),
        _ => None,
    };
    let (Some((from, payload)), Some(to)) = (payload, to) else {
        answer.skipped = Some("a format that is not supported".to_owned());
        return answer;
    };
    let task = Task {
        message_type: &request.message_type,
        from,
        payload,
        to,
        limits: Limits {
            depth: 200,
            ..Limits::default()
        },
        lenient: request.test_category == TestCategory::JSON_IGNORE_UNKNOWN_PARSING_TEST,
    };
    match convert(&task) {
        Ok(bytes) if request.requested_output_format == WireFormat::PROTOBUF => {
            answer.protobuf_payload = Some(bytes.into());
        }
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => answer.json_payload = Some(text),
            Err(error) => answer.serialize_error = Some(error.to_string()),
        },
        Err(Failure::Parse(error)) => answer.parse_error = Some(error.to_string()),
        Err(Failure::Serialize(error)) => answer.serialize_error = Some(error.to_string()),
        Err(Failure::Unknown) => {
            answer.runtime_error = Some(format!("no type {}", request.message_type));
        }
    }
    answer
}

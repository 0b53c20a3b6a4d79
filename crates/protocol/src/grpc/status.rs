//! How a call ended: `grpc-status`, `grpc-message`, `grpc-status-details-bin`, and what stands for
//! them where they are missing. The one place that maps codes of gRPC; `docs/grpc.md` has the
//! table.

use crate::metadata::{decode_value, encode_base64};
use crate::{Code, Execution, Failure, Status, execution, pushback};
use dovetail_wire::{Any, Bytes, UnknownFields, message, protobuf};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode, utf8_percent_encode};

/// Characters that are not sent as they are, besides all that are no ASCII.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');

/// `google.rpc.Status`, of `google/rpc/status.proto` (github.com/googleapis/googleapis).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// The number of the code.
    pub code: i32,
    /// For people.
    pub message: String,
    /// Messages of any type, declared exceptions among them.
    pub details: Vec<Detail>,
    /// The fields of newer senders.
    pub unknown_fields: UnknownFields,
}

message!(Details {
    1 code: i32,
    2 message: String,
    3 details: Vec<Detail>,
    ..unknown_fields
});

/// `google.protobuf.Any`, without the field that an [`Any`] has beside protobuf's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detail {
    /// The name of the message's type, behind a `/`.
    pub type_name: String,
    /// The message, in protobuf.
    pub value: Bytes,
}

message!(Detail {
    1 type_name as "type_url": String,
    2 value: Bytes,
});

impl From<Any> for Detail {
    fn from(any: Any) -> Self {
        Detail {
            type_name: any.type_name,
            value: any.value,
        }
    }
}

impl From<Detail> for Any {
    fn from(detail: Detail) -> Self {
        Any {
            type_name: detail.type_name,
            value: detail.value,
            ..Any::default()
        }
    }
}

/// The trailers about the end of a call, as HTTP has them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trailers<'a> {
    /// `grpc-status`.
    pub status: Option<&'a [u8]>,
    /// `grpc-message`.
    pub message: Option<&'a [u8]>,
    /// `grpc-status-details-bin`.
    pub details: Option<&'a [u8]>,
    /// `dovetail-execution`.
    pub execution: Option<&'a [u8]>,
    /// `grpc-retry-pushback-ms`.
    pub pushback: Option<&'a [u8]>,
}

impl<'a> Trailers<'a> {
    /// The name of the code's header.
    pub const STATUS: &'static str = "grpc-status";
    /// The name of the message's header.
    pub const MESSAGE: &'static str = "grpc-message";
    /// The name of the details' header.
    pub const DETAILS: &'static str = "grpc-status-details-bin";

    /// Takes the trailers from what has headers, by their names.
    pub fn of(get: impl Fn(&'static str) -> Option<&'a [u8]>) -> Self {
        Trailers {
            status: get(Self::STATUS),
            message: get(Self::MESSAGE),
            details: get(Self::DETAILS),
            execution: get(execution::HEADER),
            pushback: get(pushback::HEADER),
        }
    }

    /// How the call ended; `None` where the trailers do not say it. What is broken in message or
    /// details is left out.
    pub fn read(&self) -> Option<Result<(), Failure>> {
        let number = std::str::from_utf8(self.status?).ok()?;
        let code = match number.parse::<u32>() {
            Ok(0) => return Some(Ok(())),
            Ok(number) => from_number(number),
            Err(_) => Code::Unknown,
        };
        let message = percent_decode(self.message.unwrap_or_default()).decode_utf8_lossy();
        let details = self.details.and_then(read_details).unwrap_or_default();
        Some(Err(Failure {
            status: Status::from_peer(code, message.into_owned()).heed(|name| match name {
                execution::HEADER => self.execution,
                pushback::HEADER => self.pushback,
                _ => None,
            }),
            details: details.details.into_iter().map(Any::from).collect(),
        }))
    }

    /// The headers that say that a call failed.
    pub fn write(failure: &Failure) -> Vec<(&'static str, String)> {
        let Failure { status, details } = failure;
        let message = utf8_percent_encode(status.message(), ESCAPED).to_string();
        let mut headers = vec![
            (Self::STATUS, number(status.code()).to_string()),
            (Self::MESSAGE, message),
        ];
        let said = status.response_headers();
        headers.extend(said.map(|(name, value)| (name, value.into_owned())));
        if !details.is_empty() {
            let message = Details {
                code: number(status.code()),
                message: status.message().to_owned(),
                details: details.iter().cloned().map(Detail::from).collect(),
                unknown_fields: UnknownFields::default(),
            };
            // Bytes and text of a size that was sent, or read, before can be written.
            let bytes = protobuf::to_bytes(&message).unwrap_or_default();
            headers.push((Self::DETAILS, encode_base64(&bytes)));
        }
        headers
    }
}

fn read_details(header: &[u8]) -> Option<Details> {
    let bytes = decode_value(Trailers::DETAILS, header).ok()?;
    protobuf::from_bytes(bytes.first()?).ok()
}

/// Makes the status for headers that are wrong.
pub(super) fn invalid(what: String) -> Status {
    Status::new(Code::InvalidArgument, what)
}

/// gRPC's number of a code.
fn number(code: Code) -> i32 {
    code as i32
}

/// The code with this number; `UNKNOWN` for numbers that nobody has given a meaning.
fn from_number(number: u32) -> Code {
    let mut all = Code::ALL.into_iter();
    all.find(|code| *code as u32 == number)
        .unwrap_or(Code::Unknown)
}

/// Returns the status for an HTTP status that is not 200, where the answer says nothing else
/// (`doc/http-grpc-status-mapping.md` of github.com/grpc/grpc).
pub fn from_http(status: u16) -> Status {
    let code = match status {
        400 => Code::Internal,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::Unimplemented,
        429 | 502 | 503 | 504 => Code::Unavailable,
        _ => Code::Unknown,
    };
    let what = format!("the answer is HTTP status {status}, and none of gRPC");
    Status::from_peer(code, what).with_execution(Execution::MayHaveRun)
}

/// Returns the status for a stream that the peer has reset, by the code of RST_STREAM or GOAWAY
/// (RFC 9113, section 7).
pub fn from_reset(reason: u32) -> Status {
    const REFUSED_STREAM: u32 = 7;
    const CANCEL: u32 = 8;
    const ENHANCE_YOUR_CALM: u32 = 11;
    const INADEQUATE_SECURITY: u32 = 12;
    let (code, execution) = match reason {
        REFUSED_STREAM => (Code::Unavailable, Execution::NotStarted),
        CANCEL => (Code::Cancelled, Execution::MayHaveRun),
        ENHANCE_YOUR_CALM => (Code::ResourceExhausted, Execution::MayHaveRun),
        INADEQUATE_SECURITY => (Code::PermissionDenied, Execution::MayHaveRun),
        _ => (Code::Internal, Execution::MayHaveRun),
    };
    let what = format!("the server has reset the stream, with HTTP/2's error {reason}");
    Status::from_peer(code, what).with_execution(execution)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_gcp_numbers() {
        for (at, code) in Code::ALL.into_iter().enumerate() {
            assert_eq!(number(code), at as i32 + 1);
            assert_eq!(from_number(at as u32 + 1), code);
        }
        assert_eq!(from_number(17), Code::Unknown);
    }

    #[test]
    fn failures_are_read_as_they_were_written() {
        let detail = Any {
            type_name: "type.googleapis.com/shop.Refused".to_owned(),
            value: Bytes::from_static(b"\x0a\x01x"),
            ..Any::default()
        };
        use Execution::{Finished, NotStarted};
        for (message, details, execution, sent) in [
            ("plain text", vec![], Finished, "plain text"),
            ("", vec![], NotStarted, ""),
            (
                "é\n100%",
                vec![detail.clone()],
                NotStarted,
                "%C3%A9%0A100%25",
            ),
        ] {
            let status = Status::from_peer(Code::Aborted, message).with_execution(execution);
            let failure = Failure { status, details };
            let headers = Trailers::write(&failure);
            let get = |name| {
                let found = headers.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| value.as_bytes())
            };
            assert_eq!(get(Trailers::MESSAGE), Some(sent.as_bytes()));
            let trailers = Trailers::of(get);
            assert_eq!(trailers.read(), Some(Err(failure)));
        }
    }

    #[test]
    fn details_are_as_protobuf_has_them() {
        let status = Status::from_peer(Code::Unknown, "x");
        let details = vec![Any {
            type_name: "a/b".to_owned(),
            value: Bytes::from_static(b"c"),
            ..Any::default()
        }];
        let headers = Trailers::write(&Failure { status, details });
        let bytes = b"\x08\x02\x12\x01x\x1a\x08\x0a\x03a/b\x12\x01c";
        assert_eq!(
            headers.last(),
            Some(&(Trailers::DETAILS, encode_base64(bytes)))
        );
    }

    #[test]
    fn broken_trailers_lose_no_more_than_what_is_broken() {
        let read = |status, message, details| {
            let trailers = Trailers {
                status,
                message,
                details,
                execution: None,
                pushback: None,
            };
            let read = trailers.read()?;
            let failure = read.err();
            Some(failure.map(|failure| {
                let code = failure.status.code();
                (code, failure.status.message().to_owned())
            }))
        };
        let unknown = |text: &str| Some(Some((Code::Unknown, text.to_owned())));
        assert_eq!(read(None, Some(b"x"), None), None);
        assert_eq!(read(Some(b"0"), Some(b"x"), None), Some(None));
        assert_eq!(read(Some(b"99"), Some(b"x%"), None), unknown("x%"));
        assert_eq!(read(Some(b"-1"), Some(b"%zz%41"), None), unknown("%zzA"));
        assert_eq!(read(Some(b"2"), Some(b"%ff"), None), unknown("\u{fffd}"));
        assert_eq!(read(Some(b"2"), None, Some(b"!")), unknown(""));
        assert_eq!(read(Some(b"2"), None, Some(b"/w")), unknown(""));
    }
}

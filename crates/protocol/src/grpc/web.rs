//! gRPC-Web, gRPC as browsers can speak it: what stands in trailers of HTTP elsewhere is the last
//! message of the body. The source is `doc/PROTOCOL-WEB.md` of github.com/grpc/grpc.

use super::{Trailers, parse_timeout, status};
use crate::envelope::flagged;
use crate::http::Response;
use crate::{Codec, Failure, Headers, Status, Terms, metadata};
use bytes::Bytes;

/// How gRPC-Web's messages are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Web {
    /// How they are encoded.
    pub codec: Codec,
    /// Both bodies are base64.
    pub text: bool,
}

impl Web {
    /// The flag of the message that has the trailers.
    pub const END: u8 = 0x80;

    /// By the content type of a request; `None` where it is another protocol's.
    pub fn of(content_type: &[u8]) -> Option<Self> {
        [(true, WEB_TEXT), (false, WEB)]
            .into_iter()
            .find_map(|(text, begin)| {
                let codec = codec(content_type, begin)?;
                Some(Web { codec, text })
            })
    }

    /// The beginning of an answer, whose messages may be compressed where that is said.
    pub fn begin(self, gzip: bool) -> Response {
        let response = Response::new(200, self.content_type(), Bytes::new());
        let response = response.with("Grpc-Accept-Encoding", "identity,gzip");
        match gzip {
            true => response.with("Grpc-Encoding", "gzip"),
            false => response,
        }
    }

    /// How it is named in a request and in its answer.
    pub(super) const fn content_type(self) -> &'static str {
        match (self.text, self.codec) {
            (false, Codec::Proto) => "application/grpc-web+proto",
            (false, Codec::Json) => "application/grpc-web+json",
            (true, Codec::Proto) => "application/grpc-web-text+proto",
            (true, Codec::Json) => "application/grpc-web-text+json",
        }
    }
}

const WEB: &str = "application/grpc-web";
const WEB_TEXT: &str = "application/grpc-web-text";

/// The codec that this content type names behind `begin`: protobuf where it names none.
pub(super) fn codec(content_type: &[u8], begin: &str) -> Option<Codec> {
    let kind = content_type
        .split(|byte| *byte == b';')
        .next()?
        .trim_ascii();
    match kind.eq_ignore_ascii_case(begin.as_bytes()) {
        true => Some(Codec::Proto),
        false => Codec::behind(kind, &format!("{begin}+")),
    }
}

/// Reads the headers of a request.
pub fn web_terms(headers: &Headers) -> Result<Terms, Status> {
    let timeout = headers.get("grpc-timeout").map(parse_timeout).transpose();
    let accepts = headers.get("grpc-accept-encoding").unwrap_or_default();
    let coding = headers.get("grpc-encoding");
    Ok(Terms {
        timeout: timeout.map_err(|error| status::invalid(error.to_string()))?,
        coding: coding.map(Bytes::copy_from_slice),
        accepts_gzip: metadata::lists(accepts, "gzip"),
        headers: metadata::of(headers).map_err(|error| status::invalid(error.to_string()))?,
    })
}

/// The last message of an answer: how the call ended, and the headers behind it, encoded.
pub fn web_end(failure: Option<&Failure>, trailers: &[(String, String)]) -> Vec<u8> {
    let fine = || vec![(Trailers::STATUS, "0".to_owned())];
    let ended = failure.map_or_else(fine, Trailers::write);
    let ended = ended.iter().map(|(name, value)| (*name, value));
    let said = trailers.iter().map(|(name, value)| (name.as_str(), value));
    let lines: String = ended
        .chain(said)
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    // Too long for a prefix is nothing that a handler can say.
    flagged(Web::END, lines.as_bytes()).unwrap_or_default()
}

/// Reads such a message: the end of the call, `None` where it does not say it, and the headers
/// behind the answer. Of a broken header nothing is kept.
pub fn read_web_end(message: &[u8]) -> (Option<Result<(), Failure>>, Headers) {
    let lines = message.split(|byte| *byte == b'\n');
    let all: Headers = lines.filter_map(line).collect();
    let trailers = Trailers::of(|name| all.get(name));
    (trailers.read(), metadata::of(&all).unwrap_or_default())
}

/// The header that is this line; `None` where it is none.
fn line(line: &[u8]) -> Option<(&str, Bytes)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = line.split_at_checked(colon)?;
    let value = value.get(1..)?.trim_ascii();
    let name = std::str::from_utf8(name.trim_ascii()).ok()?;
    Some((name, Bytes::copy_from_slice(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn content_types() {
        let web = |codec, text| Some(Web { codec, text });
        for (kind, expected) in [
            ("application/grpc-web", web(Codec::Proto, false)),
            ("application/grpc-web+proto", web(Codec::Proto, false)),
            ("Application/gRPC-Web+JSON; a=b", web(Codec::Json, false)),
            ("application/grpc-web-text", web(Codec::Proto, true)),
            ("application/grpc-web-text+proto", web(Codec::Proto, true)),
            ("application/grpc-web+thrift", None),
            ("application/grpc-webs", None),
            ("application/grpc", None),
            ("", None),
        ] {
            assert_eq!(Web::of(kind.as_bytes()), expected, "{kind}");
        }
    }

    #[test]
    fn ends() {
        let failure = Failure::from(Status::from_peer(Code::Aborted, "100%\r\n"));
        let said = [("cost".to_owned(), "1".to_owned())];
        for (failure, said, lines) in [
            (None, &[][..], "grpc-status: 0\r\n"),
            (
                Some(&failure),
                &said,
                "grpc-status: 10\r\ngrpc-message: 100%25%0D%0A\r\ncost: 1\r\n",
            ),
        ] {
            let end = web_end(failure, said);
            assert_eq!(end[..5], [Web::END, 0, 0, 0, lines.len() as u8]);
            assert_eq!(String::from_utf8_lossy(&end[5..]), lines);
            let (ended, trailers) = read_web_end(&end[5..]);
            let read = ended.map(|ended| ended.map_err(|failure| failure.status.code()));
            let sent = failure.map_or(Ok(()), |failure| Err(failure.status.code()));
            assert_eq!(read, Some(sent));
            assert_eq!(trailers.get("cost").is_some(), !said.is_empty());
        }
    }

    #[test]
    fn ends_of_others_are_read() {
        for (message, code, trailer) in [
            ("", None, None),
            ("grpc-message: error\r\n", None, None),
            ("Grpc-Status:9\r\nX-A: b\r\n", Some(9), Some("b")),
            ("grpc-status: 9\nx-a: b", Some(9), Some("b")),
            ("nonsense\r\n: x\r\ngrpc-status: 9\r\n", Some(9), None),
            ("\u{fffd}: 1\r\nx-a:\r\n", None, Some("")),
        ] {
            let (ended, trailers) = read_web_end(message.as_bytes());
            let number = ended
                .and_then(Result::err)
                .map(|why| why.status.code() as i32);
            assert_eq!(number, code, "{message:?}");
            assert_eq!(
                trailers.get("x-a"),
                trailer.map(str::as_bytes),
                "{message:?}"
            );
        }
    }
}

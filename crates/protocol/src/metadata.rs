//! Headers of the application over HTTP: those whose names end in `-bin` are base64 of any bytes,
//! the others text.

use crate::{Headers, execution};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use std::fmt;

/// Written without padding, read with and without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A value that no metadata can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidMetadata(String);

impl fmt::Display for InvalidMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidMetadata {}

/// Returns whether a header is the application's, not the protocol's.
pub fn is_custom(name: &str) -> bool {
    const OURS: [&str; 14] = [
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        execution::HEADER,
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-grpc-web",
    ];
    let begins = |with: &str| {
        let start = name.get(..with.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(with))
    };
    !is_one_of(name, &OURS) && ![":", "grpc-", "connect-"].into_iter().any(begins)
}

/// Returns whether a header belongs to a call, not to its caller's connection: a relay of the call
/// passes it on.
pub fn is_passed_on(name: &str) -> bool {
    is_custom(name) && !is_one_of(name, &["accept", "user-agent"])
}

fn is_one_of(name: &str, known: &[&str]) -> bool {
    known.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// The application's among the headers of a request.
pub fn of(headers: &Headers) -> Result<Headers, InvalidMetadata> {
    let mut metadata = Headers::new();
    for (name, value) in headers.iter().filter(|(name, _)| is_custom(name)) {
        let name = name.to_ascii_lowercase();
        for value in decode_value(&name, value)? {
            metadata.push(name.as_str(), value);
        }
    }
    Ok(metadata)
}

/// Whether a header that lists encodings has this one among them, and not with the weight 0.
pub fn lists(value: &[u8], encoding: &str) -> bool {
    value.split(|byte| *byte == b',').any(|entry| {
        let mut parts = entry.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let named = parts
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case(encoding.as_bytes()));
        named && !parts.any(|weight| matches!(weight, b"q=0" | b"q=0.0" | b"q=0.00" | b"q=0.000"))
    })
}

/// The values of a header with this name, which is in lower case. Several may have been joined in a
/// `-bin` header.
pub fn decode_value(name: &str, value: &[u8]) -> Result<Vec<Bytes>, InvalidMetadata> {
    if !name.ends_with("-bin") {
        return Ok(vec![Bytes::copy_from_slice(value)]);
    }
    let parts = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let decoded = parts.map(|part| BASE64.decode(part).map(Bytes::from));
    let decoded: Result<_, _> = decoded.collect();
    decoded.map_err(|error| InvalidMetadata(format!("the header `{name}` is no base64: {error}")))
}

/// A header as HTTP has it: the name in lower case, and the value. An error where the name or the
/// text of the value cannot be sent, or the name is the protocol's.
pub fn encode_value(name: &str, value: &[u8]) -> Result<(String, String), InvalidMetadata> {
    let lower = name.to_ascii_lowercase();
    let letter = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'_' | b'-' | b'.');
    if lower.is_empty() || !lower.bytes().all(letter) {
        let what =
            format!("a header called {name:?}: names have letters, digits, `_`, `-` and `.`");
        return Err(InvalidMetadata(what));
    }
    if !is_custom(&lower) {
        let what = format!("the header `{lower}` is the protocol's own");
        return Err(InvalidMetadata(what));
    }
    if lower.ends_with("-bin") {
        return Ok((lower, encode_base64(value)));
    }
    let text = std::str::from_utf8(value).ok();
    let printable = |text: &&str| text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    match text.filter(printable) {
        Some(text) => Ok((lower, text.to_owned())),
        None => Err(InvalidMetadata(format!(
            "the header `{lower}` is no printable ASCII; one called `{lower}-bin` can be any bytes"
        ))),
    }
}

/// Base64 with or without padding; `None` for what is none.
pub(crate) fn decode_base64(text: &[u8]) -> Option<Bytes> {
    BASE64.decode(text).ok().map(Bytes::from)
}

/// The value of a header whose name ends in `-bin`.
pub(crate) fn encode_base64(value: &[u8]) -> String {
    BASE64.encode(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        let bin = "trace-bin";
        for (name, value, read) in [
            ("trace", "a, b", Some(vec!["a, b"])),
            (bin, "YQ", Some(vec!["a"])),
            (bin, "YQ==", Some(vec!["a"])),
            (bin, "YQ==, YmM,", Some(vec!["a", "bc", ""])),
            (bin, "", Some(vec![""])),
            (bin, "Y", None),
            (bin, "Y Q", None),
            (bin, "_-", None),
            (bin, "=", None),
        ] {
            let decoded = decode_value(name, value.as_bytes()).ok();
            let read = read.map(|read| read.into_iter().map(Bytes::from).collect());
            assert_eq!(decoded, read, "{name}: {value}");
        }
    }

    #[test]
    fn values_are_written() {
        for (name, value, sent) in [
            ("Trace", &b"x y"[..], Some(("trace", "x y"))),
            ("trace-bin", b"\0\xff", Some(("trace-bin", "AP8"))),
            ("trace-bin", b"", Some(("trace-bin", ""))),
            ("trace", b"\n", None),
            ("trace", "é".as_bytes(), None),
            ("", b"x", None),
            ("a b", b"x", None),
            ("grpc-timeout", b"1S", None),
            ("Connect-Timeout-Ms", b"1", None),
            ("content-type", b"x", None),
            (":path", b"x", None),
        ] {
            let sent = sent.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(encode_value(name, value).ok(), sent, "{name}");
        }
    }

    #[test]
    fn headers_have_owners() {
        for (name, custom, passed_on) in [
            ("trace", true, true),
            ("Authorization", true, true),
            ("grpcish", true, true),
            ("Accept", true, false),
            ("user-agent", true, false),
            ("Content-Type", false, false),
            ("keep-alive", false, false),
            ("GRPC-Timeout", false, false),
            (":path", false, false),
        ] {
            let found = (is_custom(name), is_passed_on(name));
            assert_eq!(found, (custom, passed_on), "{name}");
        }
    }

    #[test]
    fn gzip_is_listed() {
        for (value, listed) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("identity,gzip", true),
            ("gzip;q=0", false),
            ("gzip ; q=0.000, br", false),
            ("x-gzip", false),
            ("", false),
        ] {
            assert_eq!(lists(value.as_bytes(), "gzip"), listed, "{value}");
        }
    }
}

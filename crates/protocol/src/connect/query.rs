//! The part of a GET request behind the `?`.

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use percent_encoding::percent_decode;

/// Read with and without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The value of a parameter, the first of this name.
pub(super) fn get(query: &str, name: &str) -> Option<Vec<u8>> {
    query.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(key) == name.as_bytes()).then(|| decode(value))
    })
}

/// `None` for what is no base64.
pub(super) fn from_base64(text: &[u8]) -> Option<Bytes> {
    BASE64.decode(text).ok().map(Bytes::from)
}

/// As browsers encode it: a space may be `+`.
fn decode(text: &str) -> Vec<u8> {
    let spaced = text.replace('+', " ");
    percent_decode(spaced.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters() {
        for (query, name, value) in [
            ("", "a", None),
            ("a", "a", Some("")),
            ("a=", "a", Some("")),
            ("b=1&a=2&a=3", "a", Some("2")),
            ("a=%7B%22x%22%3A1%7D", "a", Some("{\"x\":1}")),
            ("a=x+y%2Bz", "a", Some("x y+z")),
            ("%61=1", "a", Some("1")),
            ("a=1=2", "a", Some("1=2")),
            ("a=%", "a", Some("%")),
            ("ab=1", "a", None),
        ] {
            let found = get(query, name);
            assert_eq!(found.as_deref(), value.map(str::as_bytes), "{query}");
        }
        assert_eq!(from_base64(b"e30").as_deref(), Some(&b"{}"[..]));
        assert_eq!(from_base64(b"e30=").as_deref(), Some(&b"{}"[..]));
        assert_eq!(from_base64(b"_-8").as_deref(), Some(&[0xff, 0xef][..]));
        assert_eq!(from_base64(b"e!"), None);
    }
}

//! Bodies of gRPC-Web that are base64: of any number of pieces, each with its own padding.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use std::fmt;

/// A body that is no base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidText;

impl fmt::Display for InvalidText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body is no base64, which the content type says")
    }
}

impl std::error::Error for InvalidText {}

/// Reads a body from its pieces, whose bounds mean nothing.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// The letters that have come of a group of four.
    rest: Vec<u8>,
}

impl Text {
    /// Decodes the letters that have come, as far as they are groups of four.
    pub fn read(&mut self, piece: &[u8]) -> Result<Bytes, InvalidText> {
        let mut bytes = Vec::with_capacity((self.rest.len() + piece.len()) / 4 * 3);
        let missing = (4 - self.rest.len()).min(piece.len());
        let (front, piece) = piece.split_at(missing);
        self.rest.extend_from_slice(front);
        if self.rest.len() == 4 {
            decode(&self.rest, &mut bytes)?;
            self.rest.clear();
        }
        if self.rest.is_empty() {
            let (whole, rest) = piece.split_at(piece.len() / 4 * 4);
            decode(whole, &mut bytes)?;
            self.rest.extend_from_slice(rest);
        }
        Ok(bytes.into())
    }

    /// The body has ended: an error where that is within four letters.
    pub fn end(&self) -> Result<(), InvalidText> {
        match self.rest.is_empty() {
            true => Ok(()),
            false => Err(InvalidText),
        }
    }

    /// A piece of a body, as it is sent.
    pub fn write(bytes: &[u8]) -> String {
        BASE64_STANDARD.encode(bytes)
    }
}

/// Appends what whole fours of letters stand for. Each may be padded: what stood before it is a
/// piece then.
fn decode(mut letters: &[u8], bytes: &mut Vec<u8>) -> Result<(), InvalidText> {
    while !letters.is_empty() {
        let padding = letters.iter().position(|letter| *letter == b'=');
        let end = padding.map_or(letters.len(), |at| (at / 4 + 1) * 4);
        let (piece, rest) = letters.split_at_checked(end).ok_or(InvalidText)?;
        BASE64_STANDARD
            .decode_vec(piece, bytes)
            .map_err(|_| InvalidText)?;
        letters = rest;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], size: usize) -> Result<Vec<u8>, InvalidText> {
        let (mut reader, mut bytes) = (Text::default(), Vec::new());
        for piece in text.chunks(size) {
            bytes.extend_from_slice(&reader.read(piece)?);
        }
        reader.end().map(|()| bytes)
    }

    #[test]
    fn pieces_of_every_size() {
        for (text, bytes) in [
            ("", Ok("")),
            ("YQ==", Ok("a")),
            ("YWJj", Ok("abc")),
            ("YQ==YmM=ZGVm", Ok("abcdef")),
            ("YWJjYQ==", Ok("abca")),
            ("YQ", Err(InvalidText)),
            ("YQ=", Err(InvalidText)),
            ("Y===", Err(InvalidText)),
            ("YQ==Y", Err(InvalidText)),
            ("Y Q=", Err(InvalidText)),
            ("=YQ=", Err(InvalidText)),
            ("_-8=", Err(InvalidText)),
        ] {
            for size in 1..=text.len().max(1) {
                let expected = bytes.map(|bytes| bytes.as_bytes().to_vec());
                assert_eq!(read(text.as_bytes(), size), expected, "{text}");
            }
        }
        assert_eq!(Text::write(b"ab"), "YWI=");
    }
}

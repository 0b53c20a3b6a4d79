//! Reads and writes the small pieces that payloads are made of.

use super::ProtocolError;

type Result<T> = std::result::Result<T, ProtocolError>;

/// The rest of a payload.
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn byte(&mut self) -> Result<u8> {
        let (byte, rest) = self.0.split_first().ok_or(TRUNCATED)?;
        self.0 = rest;
        Ok(*byte)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk().ok_or(TRUNCATED)?;
        self.0 = rest;
        Ok(*array)
    }

    /// A number of up to 64 bits, seven in a byte, the lowest first.
    pub(super) fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ProtocolError::malformed("a varint of more than 64 bits"))
    }

    /// Bytes behind their count.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let count = usize::try_from(self.varint()?).map_err(|_| TRUNCATED)?;
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(TRUNCATED)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(super) fn text(&mut self) -> Result<&'a str> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|_| ProtocolError::malformed("text that is not UTF-8"))
    }

    /// Nothing may be left.
    pub(super) fn end(&self) -> Result<()> {
        match self.0.len() {
            0 => Ok(()),
            left => Err(ProtocolError::malformed(format!(
                "{left} bytes are left in a frame"
            ))),
        }
    }
}

const TRUNCATED: ProtocolError = ProtocolError::Truncated { what: "a frame" };

pub(super) fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

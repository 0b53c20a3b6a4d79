//! Headers, by reference to earlier ones. `docs/spec/wire.md`, "Headers".

use super::ProtocolError;
use super::cursor::{Cursor, put_bytes, put_varint};
use super::settings::MAX_HEADERS;
use crate::Headers;
use dovetail_wire::Bytes;

/// The headers that one direction of a connection remembers. Both ends of it go through the same
/// states.
#[derive(Default)]
pub(super) struct HeaderTable {
    kept: Vec<(String, Bytes)>,
    /// The place of the next one.
    next: usize,
}

/// Not kept.
const ONCE: u64 = 0;
/// Kept under the next number.
const KEEP: u64 = 1;
/// The first number of a header that is kept.
const FIRST: u64 = 2;

/// The bytes of a header that is kept.
const MAX_BYTES: usize = 256;

impl HeaderTable {
    /// Appends headers, for a peer that keeps this many.
    pub(super) fn write(&mut self, headers: &Headers, entries: usize, out: &mut Vec<u8>) {
        put_varint(headers.len() as u64, out);
        for (name, value) in headers.iter() {
            let known = self.kept.iter().position(|(n, v)| n == name && v == value);
            if let Some(number) = known {
                put_varint(number as u64 + FIRST, out);
                continue;
            }
            let keeps = entries > 0 && name.len() + value.len() <= MAX_BYTES;
            put_varint(if keeps { KEEP } else { ONCE }, out);
            put_bytes(name.as_bytes(), out);
            put_bytes(value, out);
            if keeps {
                self.keep(name, value, entries);
            }
        }
    }

    /// Reads headers of at most `most` bytes.
    pub(super) fn read(
        &mut self,
        fields: &mut Cursor<'_>,
        most: usize,
    ) -> Result<Headers, ProtocolError> {
        let mut headers = Headers::new();
        let mut bytes = 0;
        for _ in 0..fields.varint()? {
            let (name, value) = match fields.varint()? {
                reference @ (ONCE | KEEP) => {
                    let (name, value) = (fields.text()?, fields.bytes()?);
                    if reference == KEEP {
                        if name.len() + value.len() > MAX_BYTES {
                            return Err(ProtocolError::malformed("a kept header that is too long"));
                        }
                        self.keep(name, value, MAX_HEADERS);
                    }
                    (name.to_owned(), Bytes::copy_from_slice(value))
                }
                number => {
                    let kept = usize::try_from(number - FIRST).ok();
                    let kept = kept.and_then(|number| self.kept.get(number));
                    kept.cloned()
                        .ok_or_else(|| ProtocolError::malformed("a header that was never kept"))?
                }
            };
            bytes += name.len() + value.len() + size_of::<(String, Bytes)>();
            if bytes > most {
                return Err(ProtocolError::malformed(format!(
                    "headers of more than {most} bytes"
                )));
            }
            headers.push(name, value);
        }
        Ok(headers)
    }

    fn keep(&mut self, name: &str, value: &[u8], entries: usize) {
        let header = (name.to_owned(), Bytes::copy_from_slice(value));
        if self.next >= entries {
            self.next = 0;
        }
        match self.kept.get_mut(self.next) {
            Some(old) => *old = header,
            None => self.kept.push(header),
        }
        self.next += 1;
    }
}

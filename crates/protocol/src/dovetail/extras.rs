//! What a message may say before its body. `docs/spec/wire.md`, "Frames".

use super::ProtocolError;
use super::cursor::{Cursor, put_varint};
use super::headers::HeaderTable;
use crate::Headers;
use std::time::Duration;

/// The extras of a message that has arrived.
#[derive(Debug, Default)]
pub(super) struct Extras {
    pub(super) deadline: Option<Duration>,
    pub(super) headers: Headers,
}

const DEADLINE: u8 = 1;
const HEADERS: u8 = 8;

/// True where there is something to say.
pub(super) fn needed(deadline: Option<Duration>, headers: &Headers) -> bool {
    deadline.is_some() || !headers.is_empty()
}

/// Appends extras, where there are any.
pub(super) fn write(
    deadline: Option<Duration>,
    headers: &Headers,
    table: &mut HeaderTable,
    entries: usize,
    out: &mut Vec<u8>,
) {
    if !needed(deadline, headers) {
        return;
    }
    let has_headers = !headers.is_empty();
    let mut bits = 0;
    if deadline.is_some() {
        bits |= DEADLINE;
    }
    if has_headers {
        bits |= HEADERS;
    }
    out.push(bits);
    if let Some(deadline) = deadline {
        put_varint(u64::try_from(deadline.as_micros()).unwrap_or(u64::MAX), out);
    }
    if has_headers {
        table.write(headers, entries, out);
    }
}

/// Reads extras from the front of a payload.
pub(super) fn read(
    fields: &mut Cursor<'_>,
    table: &mut HeaderTable,
    header_bytes: usize,
) -> Result<Extras, ProtocolError> {
    let bits = fields.byte()?;
    if bits & !(DEADLINE | HEADERS) != 0 {
        return Err(ProtocolError::malformed(format!(
            "extras of the kinds {bits:#04x}"
        )));
    }
    let mut extras = Extras::default();
    if bits & DEADLINE != 0 {
        extras.deadline = Some(Duration::from_micros(fields.varint()?));
    }
    if bits & HEADERS != 0 {
        extras.headers = table.read(fields, header_bytes)?;
    }
    Ok(extras)
}

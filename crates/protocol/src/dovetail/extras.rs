//! The parts of a message before its body. `docs/spec/wire.md`, "Frames".

use super::ProtocolError;
use super::compression::Packed;
use super::cursor::{Cursor, put_varint};
use super::events::{MAX_RESULTS, Target};
use super::headers::HeaderTable;
use crate::Headers;
use std::time::Duration;

/// The extras of a message that has arrived.
#[derive(Debug, Default)]
pub(super) struct Extras {
    pub(super) deadline: Option<Duration>,
    pub(super) packed: Option<Packed>,
    pub(super) headers: Headers,
    pub(super) objects: Option<Box<ObjectExtras>>,
}

/// The extras of a call about objects, if there are any.
#[derive(Debug, Default)]
pub(super) struct ObjectExtras {
    pub(super) target: Option<Target>,
    /// Other calls may be addressed to what this one returns.
    pub(super) promise: bool,
    /// The calls whose results the parameters refer to.
    pub(super) results: Vec<u32>,
}

/// The extras of a call to be sent, but for its headers.
pub(super) struct CallExtras {
    pub(super) deadline: Option<Duration>,
    pub(super) packed: Option<Packed>,
    pub(super) target: Option<Target>,
    pub(super) promise: bool,
    pub(super) results: Vec<u32>,
}

const DEADLINE: u8 = 1;
const COMPRESSION: u8 = 2;
const TARGET: u8 = 4;
const HEADERS: u8 = 8;
const PROMISE: u8 = 16;
const RESULTS: u8 = 32;

/// The extras that messages other than calls may have.
const OF_ALL: u8 = COMPRESSION | HEADERS;
const OF_CALLS: u8 = OF_ALL | DEADLINE | OF_OBJECTS;
const OF_OBJECTS: u8 = TARGET | PROMISE | RESULTS;

/// Appends the extras of a call, where there are any.
pub(super) fn write(
    extras: &CallExtras,
    headers: &Headers,
    table: &mut HeaderTable,
    entries: usize,
    out: &mut Vec<u8>,
) {
    let CallExtras {
        deadline,
        packed,
        target,
        promise,
        ref results,
    } = *extras;
    let has_headers = !headers.is_empty();
    let bits = [
        (DEADLINE, deadline.is_some()),
        (COMPRESSION, packed.is_some()),
        (TARGET, target.is_some()),
        (HEADERS, has_headers),
        (PROMISE, promise),
        (RESULTS, !results.is_empty()),
    ];
    let bits = bits
        .into_iter()
        .fold(0, |bits, (bit, set)| bits | (bit * u8::from(set)));
    if bits == 0 {
        return;
    }
    out.push(bits);
    if let Some(deadline) = deadline {
        put_varint(u64::try_from(deadline.as_micros()).unwrap_or(u64::MAX), out);
    }
    if let Some(packed) = packed {
        packed.write(out);
    }
    if let Some(target) = target {
        put_varint(target.to_wire(), out);
    }
    if has_headers {
        table.write(headers, entries, out);
    }
    if !results.is_empty() {
        put_varint(results.len() as u64, out);
        for call in results {
            put_varint((*call).into(), out);
        }
    }
}

/// Appends the extras of a message that is compressed, and nothing else.
pub(super) fn write_packed(packed: Packed, out: &mut Vec<u8>) {
    out.push(COMPRESSION);
    packed.write(out);
}

/// Puts what is written before the body that stands in `out` from `body` on. False where that is
/// nothing.
pub(super) fn put_before(body: usize, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> bool {
    let end = out.len();
    write(out);
    let extras = out.len() - end;
    out[body..].rotate_right(extras);
    extras > 0
}

/// Reads extras from the front of a payload.
pub(super) fn read(
    fields: &mut Cursor<'_>,
    table: &mut HeaderTable,
    header_bytes: usize,
    of_a_call: bool,
) -> Result<Extras, ProtocolError> {
    let bits = fields.byte()?;
    let allowed = if of_a_call { OF_CALLS } else { OF_ALL };
    if bits & !allowed != 0 {
        return Err(ProtocolError::malformed(format!(
            "extras of the kinds {bits:#04x}"
        )));
    }
    let mut extras = Extras::default();
    if bits & DEADLINE != 0 {
        extras.deadline = Some(Duration::from_micros(fields.varint()?));
    }
    if bits & COMPRESSION != 0 {
        extras.packed = Some(Packed::read(fields)?);
    }
    let mut objects = ObjectExtras {
        promise: bits & PROMISE != 0,
        ..ObjectExtras::default()
    };
    if bits & TARGET != 0 {
        objects.target = Some(Target::from_wire(fields.varint()?)?);
    }
    if bits & HEADERS != 0 {
        extras.headers = table.read(fields, header_bytes)?;
    }
    if bits & RESULTS != 0 {
        objects.results = read_results(fields)?;
    }
    extras.objects = (bits & OF_OBJECTS != 0).then(|| Box::new(objects));
    Ok(extras)
}

fn read_results(fields: &mut Cursor<'_>) -> Result<Vec<u32>, ProtocolError> {
    let count = fields.varint()?;
    if count == 0 || count > MAX_RESULTS as u64 {
        let what = format!("parameters that refer to {count} results");
        return Err(ProtocolError::malformed(what));
    }
    let call = |_| {
        let call = u32::try_from(fields.varint()?);
        call.map_err(|_| ProtocolError::malformed("a call of more than 32 bits"))
    };
    (0..count).map(call).collect()
}

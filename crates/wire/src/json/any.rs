//! Messages in an `Any`: `{"@type": "type.googleapis.com/NAME", …}` with the fields of the message,
//! or, where JSON has a form of its own for it, with that under `value`.

use super::Reader;
use super::text::quote;
use crate::{DecodeError, Limits};

/// The member that names the type.
const TYPE: &str = "@type";

/// The member that is the message, where that is no object with its fields.
const VALUE: &str = "value";

/// An `Any` as it stands in JSON.
pub(super) struct Parts {
    pub(super) type_name: String,
    /// The message in JSON.
    pub(super) message: Vec<u8>,
}

/// Takes an object apart. `own`: whether JSON has a form of its own for the type with this name.
/// `None` where the object names no type.
pub(super) fn parts(
    object: &[u8],
    limits: Limits,
    own: impl FnOnce(&str) -> Result<bool, DecodeError>,
) -> Result<Option<Parts>, DecodeError> {
    let mut type_name = None;
    let mut members = Reader::new(object, limits).members()?;
    for (_, value) in members.extract_if(.., |(name, _)| name == TYPE) {
        if type_name.is_some() {
            return Err(DecodeError::malformed("two `@type`s"));
        }
        type_name = Some(Reader::new(value, limits).text()?);
    }
    let Some(type_name) = type_name else {
        return Ok(None);
    };
    let message = match own(&type_name)? {
        true => match members.as_slice() {
            [(name, value)] if name == VALUE => value.to_vec(),
            _ => {
                let text = format!("an any of {type_name:?} without `value`, or with more");
                return Err(DecodeError::malformed(text));
            }
        },
        false => {
            let mut message = Vec::with_capacity(object.len());
            message.push(b'{');
            for (name, value) in members {
                comma(&mut message, b'{');
                quote(&name, &mut message);
                message.push(b':');
                message.extend_from_slice(value);
            }
            message.push(b'}');
            message
        }
    };
    Ok(Some(Parts { type_name, message }))
}

fn comma(out: &mut Vec<u8>, begin: u8) {
    if out.last() != Some(&begin) {
        out.push(b',');
    }
}

/// Appends an `Any` with this message.
pub(super) fn write(type_name: &str, message: &[u8], own: bool, out: &mut Vec<u8>) {
    out.push(b'{');
    quote(TYPE, out);
    out.push(b':');
    quote(type_name, out);
    if own {
        out.push(b',');
        quote(VALUE, out);
        out.push(b':');
        out.extend_from_slice(message);
        return out.push(b'}');
    }
    // The members without the brace in front.
    let members = message.strip_prefix(b"{").unwrap_or(b"}");
    if members != b"}" {
        out.push(b',');
    }
    out.extend_from_slice(members);
}

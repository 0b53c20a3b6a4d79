//! Bodies of messages, in the encoding that both ends understand.

use dovetail_wire::{Encode, EncodeError, Encoding, Limits};

/// Appends a body: tagless where that is agreed on and possible. True where it is tagged. After an error
/// `out` is as it was before `start`, where the message begins.
pub(super) fn body(
    body: &impl Encode,
    tagless: bool,
    limits: Limits,
    start: usize,
    out: &mut Vec<u8>,
) -> Result<bool, EncodeError> {
    let begin = out.len();
    let mut tagged = !tagless;
    let mut written = body_in(tagged, body, limits, out);
    if !tagged && written == Err(EncodeError::NeedsTags) {
        // It has fields of another contract.
        out.truncate(begin);
        tagged = true;
        written = body_in(tagged, body, limits, out);
    }
    if written.is_err() {
        out.truncate(start);
    }
    written.map(|()| tagged)
}

fn body_in(
    tagged: bool,
    body: &impl Encode,
    limits: Limits,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    encoding(tagged).encode(body, out, limits)
}

/// The encoding that a flag stands for.
pub(super) fn encoding(tagged: bool) -> Encoding {
    match tagged {
        true => Encoding::Tagged,
        false => Encoding::Tagless,
    }
}

//! Bodies: the one place that goes from an [`Encoding`] to its codec.

use dovetail_wire::{Bytes, Decode, DecodeError, Encode, EncodeError, Encoding, Limits};

/// Appends the value to `out`.
pub(crate) fn encode(
    encoding: Encoding,
    value: &impl Encode,
    limits: Limits,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match encoding {
        Encoding::Custom(codec) => codec.encode(out, limits, &mut |writer| value.encode(writer)),
        _ => Err(EncodeError::Unsupported { what: "a codec" }),
    }
}

/// Reads the value, which takes all of `input`.
pub(crate) fn decode(
    encoding: Encoding,
    value: &mut impl Decode,
    limits: Limits,
    input: &Bytes,
) -> Result<(), DecodeError> {
    match encoding {
        Encoding::Custom(codec) => codec
            .decode(input, limits, &mut |reader| value.decode(reader))
            .map(drop),
        _ => Err(DecodeError::malformed("no codec")),
    }
}

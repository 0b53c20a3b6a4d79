use crate::Context;
use crate::peer::intercept::{CallEnd, Direction};
use dovetail_wire::{Bytes, Encode, Encoding, Limits};

/// Keeps the values of one call, as a capture does.
pub(crate) trait Record: Send + Sync {
    /// Keeps the parameters, once they have been decoded.
    fn parameters(&self, parameters: Tagged);

    /// Keeps an item of a stream, as the struct with it as field 0.
    fn item(&self, direction: Direction, item: Tagged);

    /// Keeps the result or the declared exception.
    fn reply(&self, reply: Tagged);

    /// Keeps the declared exception that ends the server's stream.
    fn thrown(&self, exception: Tagged);

    /// The call has ended.
    fn end(&self, context: &Context, end: &CallEnd<'_>);
}

/// A value in the encoding `tagged`, or why it has none.
pub(crate) type Tagged = Result<Bytes, String>;

pub(crate) fn tagged(value: &impl Encode) -> Tagged {
    let mut out = Vec::new();
    match Encoding::Tagged.encode(value, &mut out, Limits::default()) {
        Ok(()) => Ok(out.into()),
        Err(error) => Err(error.to_string()),
    }
}

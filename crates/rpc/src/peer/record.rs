use crate::Context;
use crate::peer::intercept::{CallEnd, Direction};
use dovetail_wire::{Bytes, Encode, Encoding, Limits, Writer, json};

/// Keeps the values of one call, as a capture does.
pub(crate) trait Record: Send + Sync {
    /// Keeps the parameters, once they have been decoded.
    fn parameters(&self, parameters: &dyn Recorded);

    /// Keeps an item of a stream, as the struct with it as field 0.
    fn item(&self, direction: Direction, item: &dyn Recorded);

    /// Keeps the result or the declared exception.
    fn reply(&self, reply: &dyn Recorded);

    /// Keeps the declared exception that ends the server's stream.
    fn thrown(&self, exception: &dyn Recorded);

    /// The call has ended.
    fn end(&self, context: &Context, end: &CallEnd<'_>);
}

/// An encoded value, or why there is none.
pub(crate) type Kept = Result<Bytes, String>;

/// A value that can be kept.
pub(crate) trait Recorded {
    /// Returns it in the encoding `tagged`.
    fn tagged(&self) -> Kept;

    /// Returns it as JSON without its sensitive fields; `bare` as in [`json::Writer::bare`].
    fn json(&self, bare: bool) -> Kept;
}

impl<T: Encode> Recorded for T {
    fn tagged(&self) -> Kept {
        kept(|out| Encoding::Tagged.encode(self, out, Limits::default()))
    }

    fn json(&self, bare: bool) -> Kept {
        kept(|out| {
            let writer = json::Writer::new(out, Limits::default());
            let writer: &mut dyn Writer = &mut writer.bare(bare).hide_sensitive();
            self.encode(writer)
        })
    }
}

fn kept(write: impl FnOnce(&mut Vec<u8>) -> Result<(), dovetail_wire::EncodeError>) -> Kept {
    let mut out = Vec::new();
    match write(&mut out) {
        Ok(()) => Ok(out.into()),
        Err(error) => Err(error.to_string()),
    }
}

use crate::{Encode, EncodeError, Field, WriteParams, Writer};

/// Remarks of a type about itself that are not on the wire, and that two ends need not agree on:
/// for contracts that are written out.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// Lines of its documentation, as `#[doc]` has them; none without the feature `notes`.
    pub docs: &'static [&'static str],
    /// The remarks of its fields, or of the values of an enum, in order of definition.
    pub members: &'static [&'static [&'static str]],
    /// Its fields; none of an enum.
    pub fields: &'static [Field<'static>],
    /// A fresh value in the tagged encoding; `None` of unions and enums, and without the feature
    /// `notes`.
    pub fresh: Option<Vec<u8>>,
}

/// A value in the tagged encoding.
#[cfg(feature = "notes")]
pub fn fresh<T: Encode>(value: impl FnOnce() -> T) -> Option<Vec<u8>> {
    crate::Encoding::Tagged.to_bytes(&value()).ok()
}

/// Nothing, and no code for any type: the feature `notes` is off.
#[cfg(not(feature = "notes"))]
pub fn fresh<T: Encode>(_: impl FnOnce() -> T) -> Option<Vec<u8>> {
    None
}

/// Parameters, of which these are the fields, in the tagged encoding.
pub fn fresh_params<P: WriteParams>(fields: &[Field<'_>], params: &P) -> Option<Vec<u8>> {
    fresh(|| Sent { fields, params })
}

struct Sent<'a, P> {
    fields: &'a [Field<'a>],
    params: &'a P,
}

impl<P: WriteParams> Encode for Sent<'_, P> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        self.params.write(self.fields, writer)
    }
}

/// Documentation as a list of its lines, where the feature `notes` is on; else an empty one.
#[doc(hidden)]
#[cfg(feature = "notes")]
#[macro_export]
macro_rules! docs {
    ($($doc:expr),*) => { &[$($doc),*] };
}

/// Documentation as a list of its lines, where the feature `notes` is on; else an empty one.
#[doc(hidden)]
#[cfg(not(feature = "notes"))]
#[macro_export]
macro_rules! docs {
    ($($doc:expr),*) => {
        &[]
    };
}

use crate::{DecodeError, EncodeError, Limits, Reader, Writer};
use bytes::Bytes;

/// Something that can be written in any encoding: a value, or the parameters of a call with their table.
pub trait Encode {
    /// Walks it past the writer.
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError>;
}

/// Something that can be read from any encoding.
pub trait Decode {
    /// Fills it from the reader.
    fn decode<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError>;
}

/// An encoding, chosen at run time.
#[derive(Clone, Copy)]
pub enum Encoding {
    /// Thrift binary; strict and old messages have the same body.
    ThriftBinary,
    /// Thrift compact.
    ThriftCompact,
    /// Thrift JSON.
    ThriftJson,
    /// Protobuf.
    Protobuf,
    /// An encoding from outside this crate.
    Custom(&'static dyn Codec),
}

/// An encoding that is not built in: see `examples/custom-encoding`.
pub trait Codec: Send + Sync {
    /// The name, for messages and statistics.
    fn name(&self) -> &str;

    /// Calls `body` with a writer that appends to `out`.
    fn encode(
        &self,
        out: &mut Vec<u8>,
        limits: Limits,
        body: &mut dyn FnMut(&mut dyn Writer) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError>;

    /// Calls `body` with a reader of `input`; returns how many bytes were read.
    fn decode(
        &self,
        input: &Bytes,
        limits: Limits,
        body: &mut dyn FnMut(&mut dyn Reader<'_>) -> Result<(), DecodeError>,
    ) -> Result<usize, DecodeError>;
}

use crate::thrift::{binary, compact};
use crate::{
    DecodeError, DecodeErrorKind, EncodeError, Field, Limits, Out, ReadParams, Reader, Value,
    WriteParams, Writer, json, msgpack, protobuf, tagged, tagless,
};
use bytes::Bytes;
use std::fmt;

/// Something that can be written in any encoding: a value, or the parameters of a call with their
/// table.
pub trait Encode {
    /// Walks it past the writer.
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError>;
}

/// Something that can be read from any encoding.
pub trait Decode {
    /// Fills it from the reader.
    fn decode<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError>;
}

impl<T: Value> Encode for T {
    #[inline]
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        self.write(writer)
    }
}

impl<T: Value> Decode for T {
    #[inline]
    fn decode<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        if !reader.is_positional() {
            *self = T::default();
        }
        self.read(reader)
    }
}

/// Parameters to send, with the method's table.
impl<P: WriteParams> Encode for (&P, &[Field<'_>]) {
    #[inline]
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        self.0.write(self.1, writer)
    }
}

/// Parameters to receive, with the method's table.
impl<P: ReadParams> Decode for (&mut P, &[Field<'_>]) {
    #[inline]
    fn decode<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        self.0.read(self.1, reader)
    }
}

/// An encoding, chosen at run time.
///
/// ```
/// use dovetail_wire::{Encoding, Limits};
///
/// for encoding in Encoding::BUILT_IN {
///     let bytes = encoding.to_bytes(&vec!["one".to_owned()])?;
///     assert_eq!(encoding.from_bytes::<Vec<String>>(&bytes.into())?, ["one"]);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub enum Encoding {
    /// Dovetail's own, for two ends with the same contract.
    Tagless,
    /// Dovetail's own, for ends whose contracts may differ.
    Tagged,
    /// Thrift binary; strict and old messages have the same body.
    ThriftBinary,
    /// Thrift compact.
    ThriftCompact,
    /// Thrift JSON.
    ThriftJson,
    /// Protobuf.
    Protobuf,
    /// MessagePack.
    Msgpack,
    /// Plain JSON.
    Json,
    /// An encoding from outside this crate.
    Custom(&'static dyn Codec),
}

impl Encoding {
    /// All encodings of this crate.
    pub const BUILT_IN: [Self; 8] = [
        Self::ThriftBinary,
        Self::ThriftCompact,
        Self::ThriftJson,
        Self::Protobuf,
        Self::Msgpack,
        Self::Tagless,
        Self::Tagged,
        Self::Json,
    ];

    /// The name, for messages and statistics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tagless => "tagless",
            Self::Tagged => "tagged",
            Self::ThriftBinary => "thrift-binary",
            Self::ThriftCompact => "thrift-compact",
            Self::ThriftJson => "thrift-json",
            Self::Protobuf => "protobuf",
            Self::Msgpack => "msgpack",
            Self::Json => "json",
            Self::Custom(codec) => codec.name(),
        }
    }

    /// Appends a value to `out`. An error leaves an unfinished value appended.
    ///
    /// The fast encodings get their own copy of the value's code; the others share one through
    /// `dyn`, because their work per piece outweighs an indirect call and every copy costs its
    /// size.
    pub fn encode<E: Encode>(
        self,
        value: &E,
        out: &mut Vec<u8>,
        limits: Limits,
    ) -> Result<(), EncodeError> {
        self.encode_to(value, out.into(), limits)
    }

    /// Encodes a value; large blobs may be left where they are.
    pub fn encode_to<E: Encode>(
        self,
        value: &E,
        out: Out<'_>,
        limits: Limits,
    ) -> Result<(), EncodeError> {
        match self {
            Self::Tagless => {
                let mut writer = tagless::Writer::to(out, limits);
                value.encode(&mut writer)?;
                writer.finish()
            }
            Self::Tagged => {
                let mut writer = tagged::Writer::new(out.buffer, limits);
                let erased: &mut dyn Writer = &mut writer;
                value.encode(erased)?;
                writer.finish()
            }
            Self::ThriftBinary => value.encode(&mut binary::Writer::to(out, limits)),
            Self::ThriftCompact => value.encode(&mut compact::Writer::to(out, limits)),
            Self::ThriftJson => {
                let writer: &mut dyn Writer =
                    &mut crate::thrift::json::Writer::new(out.buffer, limits);
                value.encode(writer)
            }
            Self::Protobuf => value.encode(&mut protobuf::Writer::new(out.buffer, limits)),
            Self::Msgpack => {
                let writer: &mut dyn Writer = &mut msgpack::Writer::new(out.buffer, limits);
                value.encode(writer)
            }
            Self::Json => {
                let writer: &mut dyn Writer = &mut json::Writer::new(out.buffer, limits);
                value.encode(writer)
            }
            Self::Custom(codec) => {
                codec.encode(out.buffer, limits, &mut |writer| value.encode(writer))
            }
        }
    }

    /// Reads a value in the place of `into` and returns how many bytes it took. Parameters that do
    /// not come keep what they have. What `into` holds after an error is unspecified, but valid.
    pub fn decode<D: Decode>(
        self,
        into: &mut D,
        input: &Bytes,
        limits: Limits,
    ) -> Result<usize, DecodeError> {
        match self {
            Self::Tagless => {
                let mut reader = tagless::Reader::shared(input, limits);
                into.decode(&mut reader)?;
                reader.finish()?;
                Ok(reader.position())
            }
            Self::Tagged => {
                let mut reader = tagged::Reader::shared(input, limits);
                let erased: &mut dyn Reader<'_> = &mut reader;
                into.decode(erased)?;
                reader.finish()?;
                Ok(reader.position())
            }
            Self::ThriftBinary => {
                let mut reader = binary::Reader::shared(input, limits);
                into.decode(&mut reader)?;
                Ok(reader.position())
            }
            Self::ThriftCompact => {
                let mut reader = compact::Reader::shared(input, limits);
                into.decode(&mut reader)?;
                Ok(reader.position())
            }
            Self::ThriftJson => {
                let mut reader = crate::thrift::json::Reader::new(input, limits);
                let erased: &mut dyn Reader<'_> = &mut reader;
                into.decode(erased)?;
                Ok(reader.position())
            }
            Self::Protobuf => {
                into.decode(&mut protobuf::Reader::shared(input, limits))?;
                Ok(input.len())
            }
            Self::Msgpack => {
                let mut reader = msgpack::Reader::shared(input, limits);
                let erased: &mut dyn Reader<'_> = &mut reader;
                into.decode(erased)?;
                Ok(reader.position())
            }
            Self::Json => {
                let mut reader = json::Reader::new(input, limits);
                let erased: &mut dyn Reader<'_> = &mut reader;
                into.decode(erased)?;
                Ok(reader.position())
            }
            Self::Custom(codec) => codec.decode(input, limits, &mut |reader| into.decode(reader)),
        }
    }

    /// Writes a value to a new buffer, under the default [`Limits`].
    pub fn to_bytes<E: Encode>(self, value: &E) -> Result<Vec<u8>, EncodeError> {
        let mut out = Vec::new();
        self.encode(value, &mut out, Limits::default())?;
        Ok(out)
    }

    /// Reads a value that takes the whole input, under the default [`Limits`].
    pub fn from_bytes<D: Decode + Default>(self, input: &Bytes) -> Result<D, DecodeError> {
        let mut value = D::default();
        let read = self.decode(&mut value, input, Limits::default())?;
        finish(read, input.len())?;
        Ok(value)
    }
}

impl fmt::Debug for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An error where a value did not take the whole input.
pub(crate) fn finish(read: usize, len: usize) -> Result<(), DecodeError> {
    match len.saturating_sub(read) {
        0 => Ok(()),
        left => Err(DecodeErrorKind::TrailingBytes { left }.into()),
    }
}

/// An encoding that is not built in: see `examples/custom-encoding`.
pub trait Codec: Send + Sync {
    /// The name, for messages and statistics.
    fn name(&self) -> &'static str;

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

use super::{STOP, code, wire_size};
use crate::blobs;
use crate::depth::Depth;
use crate::layout::BlockLayout;
use crate::thrift::{field_id, length};
use crate::{Blobs, EncodeError, Field, Kind, Limits, Out, WrittenNodes, plain};
use bytes::Bytes;

/// Appends values in Thrift binary to a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Those that are left where they are; `None` where they are copied.
    blobs: Option<&'a mut Blobs>,
    depth: Depth,
    nodes: WrittenNodes,
}

impl<'a> Writer<'a> {
    /// Appends to `out`, to which an error leaves an unfinished value appended.
    pub fn new(out: &'a mut Vec<u8>, limits: Limits) -> Self {
        Self::to(out.into(), limits)
    }

    /// Makes a writer to an output in which large blobs may be left where they are.
    pub(crate) fn to(out: Out<'a>, limits: Limits) -> Self {
        Writer {
            out: out.buffer,
            blobs: out.blobs,
            depth: Depth::new(limits),
            nodes: WrittenNodes::default(),
        }
    }

    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) -> Result<(), EncodeError> {
        self.out.extend_from_slice(&bytes);
        Ok(())
    }

    #[inline]
    fn blob(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        let len = length(bytes.len())?;
        self.out.reserve(4 + bytes.len());
        self.out.extend_from_slice(&len.to_be_bytes());
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    #[inline]
    fn sequence(&mut self, element: Kind, len: usize) -> Result<(), EncodeError> {
        self.depth.enter()?;
        let [a, b, c, d] = length(len)?.to_be_bytes();
        let code = code(element);
        // Most elements take little more than the least they can: one growth for the whole list.
        self.out.reserve(5 + len.saturating_mul(wire_size(code).0));
        self.put([code, a, b, c, d])
    }
}

impl crate::Writer for Writer<'_> {
    fn nodes(&mut self) -> Result<&mut WrittenNodes, EncodeError> {
        Ok(&mut self.nodes)
    }

    #[inline]
    fn bool(&mut self, value: bool) -> Result<(), EncodeError> {
        self.put([u8::from(value)])
    }

    #[inline]
    fn i8(&mut self, value: i8) -> Result<(), EncodeError> {
        self.put(value.to_be_bytes())
    }

    #[inline]
    fn i16(&mut self, value: i16) -> Result<(), EncodeError> {
        self.put(value.to_be_bytes())
    }

    #[inline]
    fn i32(&mut self, value: i32) -> Result<(), EncodeError> {
        self.put(value.to_be_bytes())
    }

    #[inline]
    fn i64(&mut self, value: i64) -> Result<(), EncodeError> {
        self.put(value.to_be_bytes())
    }

    #[inline]
    fn f64(&mut self, value: f64) -> Result<(), EncodeError> {
        self.put(value.to_be_bytes())
    }

    #[inline]
    fn string(&mut self, value: &str) -> Result<(), EncodeError> {
        self.blob(value.as_bytes())
    }

    #[inline]
    fn bytes(&mut self, value: &Bytes) -> Result<(), EncodeError> {
        let len = length(value.len())?;
        self.put(len.to_be_bytes())?;
        blobs::put(self.out, self.blobs.as_deref_mut(), value);
        Ok(())
    }

    #[inline]
    fn uuid(&mut self, value: &[u8; 16]) -> Result<(), EncodeError> {
        self.put(*value)
    }

    #[inline]
    fn begin_list(&mut self, element: Kind, len: usize) -> Result<(), EncodeError> {
        self.sequence(element, len)
    }

    #[inline]
    fn end_list(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        Ok(())
    }

    #[inline]
    fn begin_map(&mut self, key: Kind, value: Kind, len: usize) -> Result<(), EncodeError> {
        self.depth.enter()?;
        let [a, b, c, d] = length(len)?.to_be_bytes();
        self.put([code(key), code(value), a, b, c, d])
    }

    #[inline]
    fn end_map(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        Ok(())
    }

    #[inline]
    fn begin_struct(&mut self) -> Result<(), EncodeError> {
        self.depth.enter()
    }

    #[inline]
    fn begin_field(&mut self, field: &Field<'_>) -> Result<(), EncodeError> {
        let [a, b] = field_id(field.id)?.to_be_bytes();
        self.put([code(field.kind), a, b])
    }

    #[inline]
    fn end_field(&mut self) -> Result<(), EncodeError> {
        Ok(())
    }

    #[inline]
    fn end_struct(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        self.put([STOP])
    }

    #[inline]
    fn block_layout(&self) -> Option<BlockLayout> {
        Some(BlockLayout::ThriftBinary)
    }

    #[inline]
    fn blocks(&mut self, len: usize) -> Option<&mut [u8]> {
        plain::room(self.out, len)
    }

    #[inline]
    fn take_back(&mut self, len: usize) {
        plain::take_back(self.out, len);
    }

    fn has_id(&self, id: i32) -> bool {
        i16::try_from(id).is_ok()
    }

    fn as_dyn(&mut self) -> &mut dyn crate::Writer {
        self
    }
}

use super::wire_size;
use crate::blobs;
use crate::depth::Depth;
use crate::{
    Blobs, EncodeError, Field, Kind, Limits, Numbers, Out, UnknownValue, WrittenNodes, varint,
};
use bytes::Bytes;
use std::any::Any;

/// Appends values, one after the other, to a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Those that are left where they are; `None` where they are copied.
    blobs: Option<&'a mut Blobs>,
    depth: Depth,
    nodes: WrittenNodes,
    numbers: Numbers,
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
            numbers: Numbers::default(),
        }
    }

    /// Writes the nodes that stand behind the value, once that has been written.
    pub(crate) fn finish(&mut self) -> Result<(), EncodeError> {
        while let Some(node) = self.nodes.next_part() {
            let written = node.write(self);
            written.inspect_err(|_| self.numbers.undo())?;
        }
        Ok(())
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    #[inline]
    fn blob(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.out.reserve(10 + bytes.len());
        varint::write(self.out, bytes.len() as u64);
        self.put(bytes)
    }

    #[inline]
    fn room(&mut self, len: usize) -> &mut [u8] {
        let start = self.out.len();
        self.out.resize(start + len, 0);
        self.out.get_mut(start..).unwrap_or_default()
    }

    #[inline]
    fn begin(&mut self, count: usize, size: usize) -> Result<(), EncodeError> {
        self.depth.enter()?;
        self.out
            .reserve(count.saturating_mul(size).saturating_add(5));
        varint::write(self.out, count as u64);
        Ok(())
    }

    #[inline]
    fn end(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        Ok(())
    }
}

const FIELD: EncodeError = EncodeError::Unsupported {
    what: "a field by its id, having none",
};

impl crate::Writer for Writer<'_> {
    fn is_deep(&self) -> bool {
        self.depth.is_deep()
    }

    fn nodes(&mut self) -> Result<&mut WrittenNodes, EncodeError> {
        Ok(&mut self.nodes)
    }

    fn numbers(&mut self) -> Option<&mut Numbers> {
        Some(&mut self.numbers)
    }

    fn object(&mut self, object: &dyn Any) -> Result<(), EncodeError> {
        let number = self.numbers.number(object)?;
        varint::write(self.out, number);
        Ok(())
    }

    #[inline]
    fn bool(&mut self, value: bool) -> Result<(), EncodeError> {
        self.u8(value.into())
    }

    #[inline]
    fn i8(&mut self, value: i8) -> Result<(), EncodeError> {
        self.put(&value.to_le_bytes())
    }

    #[inline]
    fn i16(&mut self, value: i16) -> Result<(), EncodeError> {
        self.put(&value.to_le_bytes())
    }

    #[inline]
    fn i32(&mut self, value: i32) -> Result<(), EncodeError> {
        self.put(&value.to_le_bytes())
    }

    #[inline]
    fn i64(&mut self, value: i64) -> Result<(), EncodeError> {
        self.put(&value.to_le_bytes())
    }

    // The unsigned types fall back to the signed ones of their width: the bytes are the same.

    #[inline]
    fn f32(&mut self, value: f32) -> Result<(), EncodeError> {
        self.put(&value.to_le_bytes())
    }

    #[inline]
    fn f64(&mut self, value: f64) -> Result<(), EncodeError> {
        self.put(&value.to_le_bytes())
    }

    #[inline]
    fn string(&mut self, value: &str) -> Result<(), EncodeError> {
        self.blob(value.as_bytes())
    }

    #[inline]
    fn bytes(&mut self, value: &Bytes) -> Result<(), EncodeError> {
        varint::write(self.out, value.len() as u64);
        blobs::put(self.out, self.blobs.as_deref_mut(), value);
        Ok(())
    }

    #[inline]
    fn uuid(&mut self, value: &[u8; 16]) -> Result<(), EncodeError> {
        self.put(value)
    }

    #[inline]
    fn begin_list(&mut self, element: Kind, len: usize) -> Result<(), EncodeError> {
        self.begin(len, wire_size(element))
    }

    #[inline]
    fn end_list(&mut self) -> Result<(), EncodeError> {
        self.end()
    }

    #[inline]
    fn begin_array(&mut self, _: Kind, _: usize) -> Result<(), EncodeError> {
        self.depth.enter()
    }

    #[inline]
    fn begin_map(&mut self, key: Kind, value: Kind, len: usize) -> Result<(), EncodeError> {
        self.begin(len, wire_size(key) + wire_size(value))
    }

    #[inline]
    fn end_map(&mut self) -> Result<(), EncodeError> {
        self.end()
    }

    fn begin_struct(&mut self) -> Result<(), EncodeError> {
        Err(FIELD)
    }

    fn begin_field(&mut self, _: &Field<'_>) -> Result<(), EncodeError> {
        Err(FIELD)
    }

    fn end_field(&mut self) -> Result<(), EncodeError> {
        Err(FIELD)
    }

    #[inline]
    fn end_struct(&mut self) -> Result<(), EncodeError> {
        self.end()
    }

    #[inline]
    fn is_positional(&self) -> bool {
        true
    }

    #[inline]
    fn begin_positional(&mut self, presence: &[u8]) -> Result<(), EncodeError> {
        self.depth.enter()?;
        self.put(presence)
    }

    #[inline]
    fn begin_union(&mut self, place: usize) -> Result<(), EncodeError> {
        self.depth.enter()?;
        varint::write(self.out, place as u64);
        Ok(())
    }

    #[inline]
    fn plain(&mut self, len: usize) -> Option<&mut [u8]> {
        Some(self.room(len))
    }

    #[inline]
    fn plain_list(&mut self, count: usize, size: usize) -> Result<Option<&mut [u8]>, EncodeError> {
        self.begin(count, size)?;
        self.end()?;
        Ok(Some(self.room(count.saturating_mul(size))))
    }

    fn unknown_field(&mut self, _: i32, _: &UnknownValue) -> Result<(), EncodeError> {
        Err(EncodeError::NeedsTags)
    }

    fn as_dyn(&mut self) -> &mut dyn crate::Writer {
        self
    }
}

use super::{FALSE, STOP, TRUE, code, short_header, wire_size};
use crate::blobs;
use crate::depth::Depth;
use crate::layout::BlockLayout;
use crate::stack::Stack;
use crate::thrift::{field_id, length};
use crate::varint::{self, zigzag};
use crate::{Blobs, EncodeError, Field, Kind, Limits, Out, WrittenNodes, plain};
use bytes::Bytes;

/// Appends values in Thrift compact to a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Those that are left where they are; `None` where they are copied.
    blobs: Option<&'a mut Blobs>,
    depth: Depth,
    nodes: WrittenNodes,
    /// The id of the struct's field before this one.
    last: i16,
    /// A bool field that waits for its value.
    bool_field: Option<i16>,
    /// The state of the structs around this one.
    outer: Stack,
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
            last: 0,
            bool_field: None,
            outer: Stack::default(),
        }
    }

    #[inline]
    fn header(&mut self, code: u8, id: i16) {
        let short = short_header(code, id.into(), self.last.into());
        self.last = id;
        match short {
            Some(header) => self.out.push(header),
            None => {
                self.out.push(code);
                varint::write(self.out, zigzag(id.into()));
            }
        }
    }

    #[inline]
    fn varint(&mut self, value: i64) -> Result<(), EncodeError> {
        varint::write(self.out, zigzag(value));
        Ok(())
    }

    #[inline]
    fn blob(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        let len = length(bytes.len())?;
        self.out.reserve(5 + bytes.len());
        varint::write(self.out, len.cast_unsigned().into());
        self.out.extend_from_slice(bytes);
        Ok(())
    }
}

impl crate::Writer for Writer<'_> {
    fn nodes(&mut self) -> Result<&mut WrittenNodes, EncodeError> {
        Ok(&mut self.nodes)
    }

    #[inline]
    fn bool(&mut self, value: bool) -> Result<(), EncodeError> {
        let code = if value { TRUE } else { FALSE };
        match self.bool_field.take() {
            Some(id) => self.header(code, id),
            None => self.out.push(code),
        }
        Ok(())
    }

    #[inline]
    fn i8(&mut self, value: i8) -> Result<(), EncodeError> {
        self.out.push(value.cast_unsigned());
        Ok(())
    }

    #[inline]
    fn i16(&mut self, value: i16) -> Result<(), EncodeError> {
        self.varint(value.into())
    }

    #[inline]
    fn i32(&mut self, value: i32) -> Result<(), EncodeError> {
        self.varint(value.into())
    }

    #[inline]
    fn i64(&mut self, value: i64) -> Result<(), EncodeError> {
        self.varint(value)
    }

    #[inline]
    fn f64(&mut self, value: f64) -> Result<(), EncodeError> {
        self.out.extend_from_slice(&value.to_le_bytes());
        Ok(())
    }

    #[inline]
    fn string(&mut self, value: &str) -> Result<(), EncodeError> {
        self.blob(value.as_bytes())
    }

    #[inline]
    fn bytes(&mut self, value: &Bytes) -> Result<(), EncodeError> {
        let len = length(value.len())?;
        varint::write(self.out, len.cast_unsigned().into());
        blobs::put(self.out, self.blobs.as_deref_mut(), value);
        Ok(())
    }

    #[inline]
    fn uuid(&mut self, value: &[u8; 16]) -> Result<(), EncodeError> {
        self.out.extend_from_slice(value);
        Ok(())
    }

    #[inline]
    fn begin_list(&mut self, element: Kind, len: usize) -> Result<(), EncodeError> {
        self.depth.enter()?;
        let code = code(element);
        let count = length(len)?;
        self.out.reserve(6 + len.saturating_mul(wire_size(code).0));
        if len < 15 {
            self.out.push((len as u8) << 4 | code);
        } else {
            self.out.push(0xf0 | code);
            varint::write(self.out, count.cast_unsigned().into());
        }
        Ok(())
    }

    #[inline]
    fn end_list(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        Ok(())
    }

    #[inline]
    fn begin_map(&mut self, key: Kind, value: Kind, len: usize) -> Result<(), EncodeError> {
        self.depth.enter()?;
        varint::write(self.out, length(len)?.cast_unsigned().into());
        if len > 0 {
            self.out.push(code(key) << 4 | code(value));
        }
        Ok(())
    }

    #[inline]
    fn end_map(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        Ok(())
    }

    #[inline]
    fn begin_struct(&mut self) -> Result<(), EncodeError> {
        self.depth.enter()?;
        self.outer.push(self.last.into());
        self.last = 0;
        Ok(())
    }

    #[inline]
    fn begin_field(&mut self, field: &Field<'_>) -> Result<(), EncodeError> {
        let id = field_id(field.id)?;
        match field.kind {
            Kind::Bool => self.bool_field = Some(id),
            kind => self.header(code(kind), id),
        }
        Ok(())
    }

    #[inline]
    fn end_field(&mut self) -> Result<(), EncodeError> {
        Ok(())
    }

    #[inline]
    fn end_struct(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        self.last = self.outer.pop() as i16;
        self.out.push(STOP);
        Ok(())
    }

    #[inline]
    fn block_layout(&self) -> Option<BlockLayout> {
        Some(BlockLayout::ThriftCompact)
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

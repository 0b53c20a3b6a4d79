use super::{STOP, TYPE_BITS, code, least_size};
use crate::depth::Depth;
use crate::stack::Stack;
use crate::varint::{self, zigzag};
use crate::{EncodeError, Field, Kind, Limits, Numbers, WrittenNodes};
use bytes::Bytes;
use std::any::Any;

/// Appends values, their fields with ids and types, to a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    depth: Depth,
    nodes: WrittenNodes,
    numbers: Numbers,
    /// The id of the struct's field before this one.
    last: i32,
    /// The state of the structs around this one.
    outer: Stack,
}

impl<'a> Writer<'a> {
    /// Appends to `out`, to which an error leaves an unfinished value appended.
    pub fn new(out: &'a mut Vec<u8>, limits: Limits) -> Self {
        Writer {
            out,
            depth: Depth::new(limits),
            nodes: WrittenNodes::default(),
            numbers: Numbers::default(),
            last: 0,
            outer: Stack::default(),
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

    fn put(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn signed(&mut self, value: i64) -> Result<(), EncodeError> {
        self.unsigned(zigzag(value))
    }

    fn unsigned(&mut self, value: u64) -> Result<(), EncodeError> {
        varint::write(self.out, value);
        Ok(())
    }

    fn blob(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.unsigned(bytes.len() as u64)?;
        self.put(bytes)
    }

    fn begin(&mut self, types: &[Kind], len: usize) -> Result<(), EncodeError> {
        self.depth.enter()?;
        let size = types.iter().map(|kind| least_size(*kind)).sum();
        self.out.reserve(len.saturating_mul(size).saturating_add(7));
        self.unsigned(len as u64)?;
        if len > 0 {
            self.out.extend(types.iter().map(|kind| code(*kind)));
        }
        Ok(())
    }
}

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

    fn bool(&mut self, value: bool) -> Result<(), EncodeError> {
        self.put(&[value.into()])
    }

    fn i8(&mut self, value: i8) -> Result<(), EncodeError> {
        self.put(&value.to_le_bytes())
    }

    fn i16(&mut self, value: i16) -> Result<(), EncodeError> {
        self.signed(value.into())
    }

    fn i32(&mut self, value: i32) -> Result<(), EncodeError> {
        self.signed(value.into())
    }

    fn i64(&mut self, value: i64) -> Result<(), EncodeError> {
        self.signed(value)
    }

    fn u16(&mut self, value: u16) -> Result<(), EncodeError> {
        self.unsigned(value.into())
    }

    fn u32(&mut self, value: u32) -> Result<(), EncodeError> {
        self.unsigned(value.into())
    }

    fn u64(&mut self, value: u64) -> Result<(), EncodeError> {
        self.unsigned(value)
    }

    fn f32(&mut self, value: f32) -> Result<(), EncodeError> {
        self.put(&value.to_le_bytes())
    }

    fn f64(&mut self, value: f64) -> Result<(), EncodeError> {
        self.put(&value.to_le_bytes())
    }

    fn string(&mut self, value: &str) -> Result<(), EncodeError> {
        self.blob(value.as_bytes())
    }

    fn bytes(&mut self, value: &Bytes) -> Result<(), EncodeError> {
        self.blob(value)
    }

    fn uuid(&mut self, value: &[u8; 16]) -> Result<(), EncodeError> {
        self.put(value)
    }

    fn begin_list(&mut self, element: Kind, len: usize) -> Result<(), EncodeError> {
        self.begin(&[element], len)
    }

    fn end_list(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        Ok(())
    }

    fn begin_map(&mut self, key: Kind, value: Kind, len: usize) -> Result<(), EncodeError> {
        self.begin(&[key, value], len)
    }

    fn end_map(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        Ok(())
    }

    fn begin_struct(&mut self) -> Result<(), EncodeError> {
        self.depth.enter()?;
        self.outer.push(self.last);
        self.last = 0;
        Ok(())
    }

    fn begin_field(&mut self, field: &Field<'_>) -> Result<(), EncodeError> {
        let step = i64::from(field.id) - i64::from(self.last);
        self.last = field.id;
        match step {
            1..=7 => self.put(&[(step as u8) << TYPE_BITS | code(field.kind)]),
            _ => {
                self.put(&[code(field.kind)])?;
                self.signed(field.id.into())
            }
        }
    }

    fn end_field(&mut self) -> Result<(), EncodeError> {
        Ok(())
    }

    fn end_struct(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        self.last = self.outer.pop();
        self.put(&[STOP])
    }

    fn as_dyn(&mut self) -> &mut dyn crate::Writer {
        self
    }
}

use crate::layout::BlockLayout;
use crate::{AnyTypes, Dynamic, EncodeError, Field, Form, Kind, Names, Numbers, WrittenNodes};
use bytes::Bytes;
use std::any::Any;
use std::fmt;

type Result = std::result::Result<(), EncodeError>;

const NOT_POSITIONAL: EncodeError = EncodeError::Unsupported {
    what: "fields without ids",
};

/// One half of an encoding: takes a value apart, in order.
///
/// # Calling contract
///
/// ```text
/// value   = scalar | list | map | struct
/// list    = begin_list  value{len}        end_list         (sets and arrays alike, with begin_set, begin_array)
/// map     = begin_map  (value value){len} end_map          (key, then value)
/// struct  = begin_struct (begin_field value end_field)* end_struct        (also begin_params, begin_reply)
/// ```
///
/// In a [positional](Self::is_positional) encoding a struct has other words:
///
/// ```text
/// struct  = begin_positional value* end_struct             the values of the fields that are there, in order
/// union   = begin_union value? end_struct
/// ```
///
/// The kinds and lengths announced must be those of the values that follow. Types wider than an
/// encoding's own (unsigned, `f32`) fall back to the signed type of the same width and to `f64`.
/// The trait is object safe.
pub trait Writer {
    /// Writes a truth value.
    fn bool(&mut self, value: bool) -> Result;
    /// Writes a signed 8-bit integer.
    fn i8(&mut self, value: i8) -> Result;
    /// Writes a signed 16-bit integer.
    fn i16(&mut self, value: i16) -> Result;
    /// Writes a signed 32-bit integer.
    fn i32(&mut self, value: i32) -> Result;
    /// Writes a signed 64-bit integer.
    fn i64(&mut self, value: i64) -> Result;
    /// Writes a 64-bit floating point number.
    fn f64(&mut self, value: f64) -> Result;
    /// Writes text.
    fn string(&mut self, value: &str) -> Result;
    /// Writes bytes. Takes the shared form, so that an encoding need not copy large ones.
    fn bytes(&mut self, value: &Bytes) -> Result;
    /// Writes the 16 bytes of a UUID, in network order.
    fn uuid(&mut self, value: &[u8; 16]) -> Result;

    /// Begins a list of `len` elements.
    fn begin_list(&mut self, element: Kind, len: usize) -> Result;
    /// Ends a list or set.
    fn end_list(&mut self) -> Result;
    /// Begins a map of `len` entries.
    fn begin_map(&mut self, key: Kind, value: Kind, len: usize) -> Result;
    /// Ends a map.
    fn end_map(&mut self) -> Result;
    /// Begins a struct, union or exception.
    fn begin_struct(&mut self) -> Result;
    /// Announces the field whose value comes next.
    fn begin_field(&mut self, field: &Field<'_>) -> Result;
    /// Ends a field, after its value.
    fn end_field(&mut self) -> Result;
    /// Ends a struct.
    fn end_struct(&mut self) -> Result;

    /// Begins a set of `len` elements.
    fn begin_set(&mut self, element: Kind, len: usize) -> Result {
        self.begin_list(element, len)
    }
    /// Begins an array of so many elements as the contract says, which ends as a list does.
    fn begin_array(&mut self, element: Kind, len: usize) -> Result {
        self.begin_list(element, len)
    }
    /// Writes an enum's number, or the name that stands for it.
    fn enumeration(&mut self, value: i32, names: &dyn Names) -> Result {
        let _ = names;
        self.i32(value)
    }
    /// Writes an unsigned 8-bit integer.
    fn u8(&mut self, value: u8) -> Result {
        self.i8(value.cast_signed())
    }
    /// Writes an unsigned 16-bit integer.
    fn u16(&mut self, value: u16) -> Result {
        self.i16(value.cast_signed())
    }
    /// Writes an unsigned 32-bit integer.
    fn u32(&mut self, value: u32) -> Result {
        self.i32(value.cast_signed())
    }
    /// Writes an unsigned 64-bit integer.
    fn u64(&mut self, value: u64) -> Result {
        self.i64(value.cast_signed())
    }
    /// Writes a 32-bit floating point number.
    fn f32(&mut self, value: f32) -> Result {
        self.f64(value.into())
    }
    /// Writes an instant: seconds since 1970, and nanoseconds that count forward. False, and
    /// nothing is written, where the encoding has no form of its own for it.
    fn timestamp(&mut self, seconds: i64, nanos: u32) -> std::result::Result<bool, EncodeError> {
        let _ = (seconds, nanos);
        Ok(false)
    }
    /// Writes a value whose type has a carrier as its text, which nothing in it escapes. False, and
    /// nothing is written, where the encoding is not human-readable.
    fn as_text(&mut self, text: &dyn fmt::Display) -> std::result::Result<bool, EncodeError> {
        let _ = text;
        Ok(false)
    }
    /// Writes a value that brings its own shape. False, and nothing is written, where the encoding
    /// does not say of values what they are.
    fn dynamic(&mut self, value: &Dynamic) -> std::result::Result<bool, EncodeError> {
        let _ = value;
        Ok(false)
    }
    /// Writes a message of any type with its fields. False, and nothing is written, where its type
    /// is unknown, or the encoding is not human-readable.
    fn any_message(
        &mut self,
        value: &crate::Any,
        types: &dyn AnyTypes,
    ) -> std::result::Result<bool, EncodeError> {
        let _ = (value, types);
        Ok(false)
    }
    /// Begins a message that has this form in JSON; elsewhere it is a struct like any other.
    fn begin_message(&mut self, form: Form) -> Result {
        let _ = form;
        self.begin_struct()
    }
    /// Begins the parameters of a call, a struct with this table.
    fn begin_params(&mut self, fields: &[Field<'_>]) -> Result {
        let _ = fields;
        self.begin_struct()
    }
    /// Begins the reply to a call: a struct with the result as field 0, or with a declared
    /// exception.
    fn begin_reply(&mut self) -> Result {
        self.begin_struct()
    }
    /// True if a new node belongs behind the value, because it would be too deep inside.
    fn is_deep(&self) -> bool {
        false
    }
    /// The nodes that references lead to.
    fn nodes(&mut self) -> std::result::Result<&mut WrittenNodes, EncodeError> {
        Err(EncodeError::Unsupported { what: "references" })
    }

    /// Returns the place for the numbers of objects; `None` in an encoding that has no objects.
    fn numbers(&mut self) -> Option<&mut Numbers> {
        None
    }
    /// Writes a reference to an object.
    fn object(&mut self, object: &dyn Any) -> Result {
        let _ = object;
        Err(EncodeError::NoObjects)
    }

    /// True for an encoding that says nothing of fields but which of the optional ones are there.
    fn is_positional(&self) -> bool {
        false
    }
    /// Begins a struct or exception; the optional fields that are there have their bit set, see
    /// [`Presence`](crate::Presence).
    fn begin_positional(&mut self, presence: &[u8]) -> Result {
        let _ = presence;
        Err(NOT_POSITIONAL)
    }
    /// Begins a union with the value of the field in this place, counted from 1; 0 for no value.
    fn begin_union(&mut self, place: usize) -> Result {
        let _ = place;
        Err(NOT_POSITIONAL)
    }
    /// Room for `len` bytes in which a [plain](crate::Value::PLAIN) value writes itself; `None`
    /// where the encoding has another form for it.
    fn plain(&mut self, len: usize) -> Option<&mut [u8]> {
        let _ = len;
        None
    }
    /// Writes a list up to its elements, and gives the room for `count` plain ones of `size` bytes
    /// each.
    fn plain_list(
        &mut self,
        count: usize,
        size: usize,
    ) -> std::result::Result<Option<&mut [u8]>, EncodeError> {
        let _ = (count, size);
        Ok(None)
    }

    /// How [blocks](Writer::blocks) stand in this encoding; `None` where it has none.
    fn block_layout(&self) -> Option<BlockLayout> {
        None
    }
    /// Room for `len` bytes of elements in that layout; `None` where there is none.
    fn blocks(&mut self, len: usize) -> Option<&mut [u8]> {
        let _ = len;
        None
    }
    /// Takes the last `len` bytes back.
    fn take_back(&mut self, len: usize) {
        let _ = len;
    }

    /// Returns whether a field without presence is left out if its value is zero or empty, as in
    /// protobuf.
    fn leaves_out_defaults(&self) -> bool {
        false
    }

    /// True for ids that the encoding can say.
    fn has_id(&self, id: i32) -> bool {
        let _ = id;
        true
    }

    /// Writes a field that this end does not know, kept from an earlier message. An encoding that
    /// cannot carry the id or the value leaves the field out.
    fn unknown_field(&mut self, id: i32, value: &crate::UnknownValue) -> Result {
        let Some(kind) = value.kind().filter(|_| self.has_id(id)) else {
            return Ok(());
        };
        self.begin_field(&Field::new(id, "", kind))?;
        value.write(self.as_dyn())?;
        self.end_field()
    }

    /// Writes bytes of an unknown field, of which nobody knows whether they are text.
    fn unknown_bytes(&mut self, value: &Bytes) -> Result {
        self.bytes(value)
    }

    /// Returns the writer as an object, for the rare paths that are not worth a copy per encoding.
    fn as_dyn(&mut self) -> &mut dyn Writer;
}

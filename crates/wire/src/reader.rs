use crate::layout::BlockLayout;
use crate::{
    AnyTypes, Budget, DecodeError, DecodeErrorKind, Dynamic, Field, Form, Kind, Names, Numbers,
    ReadNodes, UnknownValue,
};
use bytes::Bytes;
use std::any::Any;
use std::borrow::Cow;

type Result<T> = std::result::Result<T, DecodeError>;

/// One half of an encoding: gives a value piece by piece, in the order in which it was sent.
///
/// # Calling contract
///
/// ```text
/// value   = scalar | list | map | struct
/// list    = begin_list  (next_element → true, value)*        next_element → false   (sets, arrays)
/// map     = begin_map   (next_element → true, value, value)* next_element → false
/// struct  = begin_struct (is_next → true, value | is_next → false)*
///           (next_field → Known, value | next_field → Unknown, unknown_value)*
///           next_field → End                                                  (also begin_params, begin_reply)
/// ```
///
/// In a [positional](Self::is_positional) encoding a struct has other words:
///
/// ```text
/// struct  = begin_positional value* end_positional         the values of the fields that are there, in order
/// union   = begin_union value? end_positional
/// ```
///
/// The caller asks for the kinds that its contract has; a peer that sent another kind inside a
/// container gets [`TypeMismatch`](crate::DecodeErrorKind::TypeMismatch), a field of another kind
/// is skipped by `next_field`, as Apache Thrift does. After an error the reader must not be used
/// again. The trait is object safe.
pub trait Reader<'de> {
    /// The rest of the decoding budget. Charge it before allocating a container for decoded values.
    fn budget(&mut self) -> &mut Budget;

    /// Reads a truth value.
    fn bool(&mut self) -> Result<bool>;
    /// Reads a signed 8-bit integer.
    fn i8(&mut self) -> Result<i8>;
    /// Reads a signed 16-bit integer.
    fn i16(&mut self) -> Result<i16>;
    /// Reads a signed 32-bit integer.
    fn i32(&mut self) -> Result<i32>;
    /// Reads a signed 64-bit integer.
    fn i64(&mut self) -> Result<i64>;
    /// Reads a 64-bit floating point number.
    fn f64(&mut self) -> Result<f64>;
    /// Reads text; borrowed from the input unless it had to be unescaped. Charges the budget for a
    /// copy.
    fn string(&mut self) -> Result<Cow<'de, str>>;
    /// Reads bytes; large ones may share the input, small ones are copied.
    fn bytes(&mut self) -> Result<Bytes>;
    /// Reads the 16 bytes of a UUID, in network order.
    fn uuid(&mut self) -> Result<[u8; 16]>;

    /// Begins a list.
    fn begin_list(&mut self, element: Kind) -> Result<Sequence>;
    /// Begins a map.
    fn begin_map(&mut self, key: Kind, value: Kind) -> Result<Sequence>;
    /// Returns whether another element (or entry) follows. Must be asked until it says no.
    fn next_element(&mut self, sequence: &mut Sequence) -> Result<bool>;
    /// Begins a struct, union or exception.
    fn begin_struct(&mut self) -> Result<()>;
    /// The next field. `fields` is the contract's table; `cursor` is new before the first field and
    /// then belongs to the reader.
    fn next_field(&mut self, fields: &[Field<'_>], cursor: &mut Cursor) -> Result<NextField>;
    /// Whether this field, which has this index in the contract's table, comes next; its header has
    /// been read then, and its value must be read. False where another one comes, or the encoding
    /// leaves it to `next_field`, which says what comes.
    #[inline]
    fn is_next(&mut self, field: &Field<'_>, index: usize, cursor: &mut Cursor) -> bool {
        let _ = (field, index, cursor);
        false
    }
    /// Reads the value of the field that `next_field` just called unknown. Charges the budget for
    /// what is in it.
    fn unknown_value(&mut self) -> Result<UnknownValue>;

    /// Begins a set.
    fn begin_set(&mut self, element: Kind) -> Result<Sequence> {
        self.begin_list(element)
    }
    /// Begins an array of `len` elements, as the contract says. The peer may have sent another
    /// number of them.
    fn begin_array(&mut self, element: Kind, len: usize) -> Result<Sequence> {
        let _ = len;
        self.begin_list(element)
    }
    /// Reads an enum's number, or the name that stands for it.
    fn enumeration(&mut self, names: &dyn Names) -> Result<i32> {
        let _ = names;
        self.i32()
    }
    /// True if the last enum value had a name that the contract does not know, and the reader
    /// leaves out such values: the field is absent then, and so is the element or the entry.
    fn is_left_out(&self) -> bool {
        false
    }
    /// Reads an unsigned 8-bit integer.
    fn u8(&mut self) -> Result<u8> {
        self.i8().map(i8::cast_unsigned)
    }
    /// Reads an unsigned 16-bit integer.
    fn u16(&mut self) -> Result<u16> {
        self.i16().map(i16::cast_unsigned)
    }
    /// Reads an unsigned 32-bit integer.
    fn u32(&mut self) -> Result<u32> {
        self.i32().map(i32::cast_unsigned)
    }
    /// Reads an unsigned 64-bit integer.
    fn u64(&mut self) -> Result<u64> {
        self.i64().map(i64::cast_unsigned)
    }
    /// Reads a 32-bit floating point number.
    fn f32(&mut self) -> Result<f32> {
        self.f64().map(|wide| wide as f32)
    }

    /// Reads an instant in a form of the encoding's own: seconds since 1970, and nanoseconds that
    /// count forward. `None`, and nothing is read, where something else comes.
    fn timestamp(&mut self) -> Result<Option<(i64, u32)>> {
        Ok(None)
    }
    /// Reads the text of a value whose type has a carrier, in a human-readable encoding. `None`,
    /// and nothing is read, where the carrier comes.
    fn as_text(&mut self) -> Result<Option<Cow<'de, str>>> {
        Ok(None)
    }
    /// Reads a value that brings its own shape. `None`, and nothing is read, where the encoding
    /// does not say of values what they are.
    fn dynamic(&mut self) -> Result<Option<Dynamic>> {
        Ok(None)
    }
    /// Reads a message of any type, by the name that the encoding gives it. `None`, and nothing is
    /// read, where the carrier comes.
    fn any_message(&mut self, types: &dyn AnyTypes) -> Result<Option<crate::Any>> {
        let _ = types;
        Ok(None)
    }
    /// Begins a message that has this form in JSON; elsewhere it is a struct like any other.
    fn begin_message(&mut self, form: Form) -> Result<()> {
        let _ = form;
        self.begin_struct()
    }
    /// Begins the parameters of a call.
    fn begin_params(&mut self) -> Result<()> {
        self.begin_struct()
    }
    /// Refuses parameters beyond the first `count` ones, in the struct of parameters that has just
    /// begun. Encodings that report unknown fields to their caller leave that to it.
    fn refuse_surplus(&mut self, count: usize) -> Result<()> {
        let _ = count;
        Ok(())
    }
    /// Returns whether fields of the struct that has just ended were passed over, so that nobody
    /// can keep them.
    fn lost_fields(&self) -> bool {
        false
    }
    /// Returns whether an absent value has the default of its type, as senders of protobuf leave it
    /// out.
    fn leaves_out_defaults(&self) -> bool {
        false
    }
    /// Begins the reply to a call: a struct with the result as field 0, or with a declared
    /// exception.
    fn begin_reply(&mut self) -> Result<()> {
        self.begin_struct()
    }

    /// The nodes that references can lead to.
    fn nodes(&mut self) -> Result<&mut ReadNodes> {
        Err(DecodeError::malformed(
            "a reference, in an encoding that has none",
        ))
    }

    /// Returns the source of the numbers of objects; `None` in an encoding that has no objects.
    fn numbers(&mut self) -> Option<&mut Numbers> {
        None
    }
    /// Reads a reference to an object.
    fn object(&mut self) -> Result<Box<dyn Any>> {
        Err(DecodeErrorKind::NoObjects.into())
    }

    /// True for an encoding that says nothing of fields but which of the optional ones are there.
    fn is_positional(&self) -> bool {
        false
    }
    /// Begins a struct or exception with `len` bytes of presence bits, see
    /// [`Present`](crate::Present).
    fn begin_positional(&mut self, len: usize) -> Result<&'de [u8]> {
        let _ = len;
        Err(not_positional())
    }
    /// Begins a union; the place of the field that it has, counted from 1, or 0 for none.
    fn begin_union(&mut self) -> Result<usize> {
        Err(not_positional())
    }
    /// Ends what `begin_positional` or `begin_union` began.
    fn end_positional(&mut self) -> Result<()> {
        Err(not_positional())
    }
    /// The `len` bytes of a [plain](crate::Value::PLAIN) value; `None` where the encoding has
    /// another form for it.
    fn plain(&mut self, len: usize) -> Result<Option<&'de [u8]>> {
        let _ = len;
        Ok(None)
    }
    /// The bytes of a whole list of plain elements that take `size` bytes of input each.
    fn plain_list(&mut self, size: usize) -> Result<Option<&'de [u8]>> {
        let _ = size;
        Ok(None)
    }
    /// How [blocks](Reader::block) stand in this encoding; `None` where it has none.
    fn block_layout(&self) -> Option<BlockLayout> {
        None
    }
    /// The next `len` bytes, which are not read yet; `None` where there are not as many, or no
    /// blocks in this encoding.
    fn block(&self, len: usize) -> Option<&'de [u8]> {
        let _ = len;
        None
    }
    /// Reads `len` bytes that `block` has given.
    fn pass(&mut self, len: usize) {
        let _ = len;
    }
}

#[cold]
fn not_positional() -> DecodeError {
    DecodeError::malformed("fields without ids, in an encoding that has them")
}

/// The place of a reader among the fields of a struct. The caller keeps it, so that structs inside
/// one another each have theirs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor {
    /// The place in the table to look at first: behind the field before.
    pub index: usize,
    /// The id of the field before, for encodings that send differences.
    pub last: i32,
}

/// The next item of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextField {
    /// A field of the contract, by its index in the table. Its value must be read next.
    Known(usize),
    /// A field that the contract does not have, by its id.
    Unknown(i32),
    /// No more fields; the struct has ended.
    End,
}

/// A list, set or map while it is being read.
#[derive(Clone, Copy, Debug)]
pub struct Sequence {
    /// How many elements to make room for, where the [budget](Reader::budget) allows. Never more
    /// than the input can have.
    pub reserve: usize,
    /// The elements go behind those that the field has already (protobuf's repeated fields).
    pub append: bool,
    /// The reader's own: what is left, or where it ends.
    pub state: usize,
}

impl Sequence {
    /// A sequence of `count` elements, for an encoding with a count in front. The input has bytes
    /// for them.
    #[inline]
    #[must_use]
    pub const fn counted(count: usize) -> Self {
        Sequence {
            reserve: count,
            append: false,
            state: count,
        }
    }

    /// Whether another of the [counted](Self::counted) elements follows. Behind the last one it
    /// leaves the level that was entered before the first.
    #[inline]
    pub fn next_counted(&mut self, budget: &mut Budget) -> bool {
        match self.state.checked_sub(1) {
            Some(left) => {
                self.state = left;
                true
            }
            None => {
                budget.leave();
                false
            }
        }
    }
}

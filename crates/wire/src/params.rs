//! The parameters of a call, as a tuple: what Thrift calls the arguments struct, without a type for
//! it.

use crate::containers::write_list;
use crate::description::{FieldPresence, FieldType, Named, Type};
use crate::message::SeenFields;
use crate::{
    Bytes, Cursor, DecodeError, Encode, EncodeError, Field, FieldValue, Kind, NextField, Presence,
    Present, Reader, Uuid, Value, Writer, presence_size, read_required, visible,
};

/// Parameters to send. Implemented for tuples of up to 32 [`Argument`]s, and by hand for dynamic
/// calls.
pub trait WriteParams {
    /// The table of parameters that no contract names: numbered from 1, in order. Only tuples have
    /// one.
    const UNNAMED: &'static [Field<'static>] = &[];

    /// Returns the types of the parameters that no contract names. Only tuples have them.
    fn unnamed_types() -> Vec<FieldType<'static, Named>> {
        Vec::new()
    }

    /// Writes the parameters as a struct. `fields` is the method's table, one row for each
    /// parameter.
    fn write<W: Writer + ?Sized>(
        &self,
        fields: &[Field<'_>],
        writer: &mut W,
    ) -> Result<(), EncodeError>;
}

/// Parameters to receive. Implemented for tuples of up to 32 field values, and by hand for dynamic
/// calls.
pub trait ReadParams {
    /// The table of parameters that no contract names: numbered from 1, in order. Only tuples have
    /// one.
    const UNNAMED: &'static [Field<'static>] = &[];

    /// Returns the types of the parameters that no contract names. Only tuples have them.
    fn unnamed_types() -> Vec<FieldType<'static, Named>> {
        Vec::new()
    }

    /// Reads a struct over these values; fields that the table does not have are dropped.
    fn read<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        fields: &[Field<'_>],
        reader: &mut R,
    ) -> Result<(), DecodeError>;

    /// Reads a struct over these values, where a field that the table does not have is an error.
    fn read_exactly<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        fields: &[Field<'_>],
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        self.read(fields, reader)
    }

    /// Writes the values as a struct, as they have been read: for captures.
    fn write_back<W: Writer + ?Sized>(
        &self,
        fields: &[Field<'_>],
        writer: &mut W,
    ) -> Result<(), EncodeError>;
}

/// Parameters that were received, with the method's table, to be written once more.
#[derive(Debug)]
pub struct Received<'a, P>(pub &'a P, pub &'a [Field<'a>]);

impl<P: ReadParams> Encode for Received<'_, P> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        self.0.write_back(self.1, writer)
    }
}

/// Parameters that are read [exactly](ReadParams::read_exactly), or as a contract has them. A
/// function without a contract does not evolve field by field, so a surplus parameter is a mistake
/// there.
#[derive(Debug)]
pub struct Params<P, const EXACT: bool>(pub P);

impl<P: ReadParams, const EXACT: bool> ReadParams for Params<P, EXACT> {
    fn read<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        fields: &[Field<'_>],
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        match EXACT {
            true => self.0.read_exactly(fields, reader),
            false => self.0.read(fields, reader),
        }
    }

    fn write_back<W: Writer + ?Sized>(
        &self,
        fields: &[Field<'_>],
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        self.0.write_back(fields, writer)
    }
}

/// Reading of a tuple, in both ways.
trait ReadTuple {
    fn read_tuple<'de, const EXACT: bool, R: Reader<'de> + ?Sized>(
        &mut self,
        fields: &[Field<'_>],
        reader: &mut R,
    ) -> Result<(), DecodeError>;
}

/// Refuses a field that is no parameter, or whose type is another one on a wire that says types.
#[cold]
fn surplus(fields: &[Field<'_>], id: i32) -> DecodeError {
    match fields.iter().find(|field| field.id == id) {
        Some(field) => DecodeError::malformed("another type").within(field.name.to_owned()),
        None => DecodeError::malformed(format!(
            "parameter {id} of a function with {}",
            fields.len()
        )),
    }
}

/// Refuses a list of parameters where they have names.
#[cold]
pub(crate) fn params_by_place() -> DecodeError {
    let what = "a list, where an object is expected with a member for each parameter";
    DecodeError::malformed(what)
}

/// Refuses a parameter by the name of a member.
#[cold]
pub(crate) fn no_param(fields: &[Field<'_>], name: &str) -> DecodeError {
    let names: Vec<_> = fields.iter().map(|field| field.name).collect();
    DecodeError::malformed(match names.is_empty() {
        true => format!("`{}`, where nothing is expected", visible(name)),
        false => format!(
            "`{}`, where these are expected: {}",
            visible(name),
            names.join(", ")
        ),
    })
}

/// A row of the table of parameters that no contract names.
const fn unnamed(id: i32, name: &'static str, kind: Kind, optional: bool) -> Field<'static> {
    let field = Field::new(id, name, kind);
    if optional { field } else { field.required() }
}

/// The type of such a parameter.
fn unnamed_type(
    field: &Field<'static>,
    ty: Option<Type<Named>>,
) -> Option<FieldType<'static, Named>> {
    Some(FieldType {
        id: field.id,
        name: field.name,
        presence: match field.required {
            true => FieldPresence::Required,
            false => FieldPresence::Optional,
        },
        ty: ty?,
    })
}

/// One parameter to send, borrowed: `&T` for any field value, `&str` for a string, `&[T]` for a
/// list. Numbers, and values of the standard library, may also be given away.
pub trait Argument {
    /// The shape of the value.
    const KIND: Kind;

    /// The value may be absent.
    const OPTIONAL: bool = false;

    /// Returns the type in the words of a contract; `None` where a contract has no word for it.
    fn describe() -> Option<Type<Named>>;

    /// Whether the value is there; `None` where it always is.
    #[inline]
    fn presence(&self) -> Option<bool> {
        None
    }

    /// Writes the value without a header, if there is something to write.
    fn write_value<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError>;

    /// Writes the field with its header, if there is something to write.
    fn write_field<W: Writer + ?Sized>(
        &self,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError>;
}

impl<T: FieldValue> Argument for &T {
    const KIND: Kind = T::KIND;

    fn describe() -> Option<Type<Named>> {
        T::describe()
    }

    #[inline]
    fn write_field<W: Writer + ?Sized>(
        &self,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        T::write_field(self, field, writer)
    }

    const OPTIONAL: bool = T::OPTIONAL;

    #[inline]
    fn presence(&self) -> Option<bool> {
        T::presence(self)
    }

    #[inline]
    fn write_value<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        T::write_value(self, writer)
    }
}

impl Argument for &str {
    const KIND: Kind = Kind::String;

    fn describe() -> Option<Type<Named>> {
        <String as FieldValue>::describe()
    }

    #[inline]
    fn write_field<W: Writer + ?Sized>(
        &self,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        writer.begin_field(field)?;
        self.write_value(writer)?;
        writer.end_field()
    }

    #[inline]
    fn write_value<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.string(self)
    }
}

impl<T: Value> Argument for &[T] {
    const KIND: Kind = Kind::List;

    fn describe() -> Option<Type<Named>> {
        <Vec<T> as FieldValue>::describe()
    }

    #[inline]
    fn write_field<W: Writer + ?Sized>(
        &self,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        writer.begin_field(field)?;
        self.write_value(writer)?;
        writer.end_field()
    }

    #[inline]
    fn write_value<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        write_list(self, writer)
    }
}

macro_rules! given {
    ($($(for<$T:ident>)? [$ty:ty],)*) => {$(
        impl$(<$T: Value>)? Argument for $ty {
            const KIND: Kind = <$ty as FieldValue>::KIND;
            const OPTIONAL: bool = <$ty as FieldValue>::OPTIONAL;

            fn describe() -> Option<Type<Named>> {
                <$ty as FieldValue>::describe()
            }

            #[inline]
            fn presence(&self) -> Option<bool> {
                FieldValue::presence(self)
            }

            #[inline]
            fn write_value<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
                FieldValue::write_value(self, writer)
            }

            #[inline]
            fn write_field<W: Writer + ?Sized>(
                &self,
                field: &Field<'_>,
                writer: &mut W,
            ) -> Result<(), EncodeError> {
                FieldValue::write_field(self, field, writer)
            }
        }
    )*};
}

given! {
    [bool], [i8], [i16], [i32], [i64], [u8], [u16], [u32], [u64], [f32], [f64], [String], [Bytes],
    [Uuid], for<T> [Vec<T>], for<T> [Option<T>],
}

/// The names of parameters that nobody has named.
const NAMES: [&str; 32] = [
    "param1", "param2", "param3", "param4", "param5", "param6", "param7", "param8", "param9",
    "param10", "param11", "param12", "param13", "param14", "param15", "param16", "param17",
    "param18", "param19", "param20", "param21", "param22", "param23", "param24", "param25",
    "param26", "param27", "param28", "param29", "param30", "param31", "param32",
];

/// Presence bytes of 32 parameters.
const MAX: usize = 4;

macro_rules! count {
    ($($index:tt)*) => { <[usize]>::len(&[$($index),*]) };
}

macro_rules! tuple {
    ($($T:ident $index:tt),*) => {
        impl<$($T: Argument),*> WriteParams for ($($T,)*) {
            const UNNAMED: &'static [Field<'static>] =
                &[$(unnamed($index + 1, NAMES[$index], $T::KIND, $T::OPTIONAL)),*];

            fn unnamed_types() -> Vec<FieldType<'static, Named>> {
                let types = [$($T::describe()),*];
                <Self as WriteParams>::UNNAMED.iter().zip(types).filter_map(|(field, ty)| unnamed_type(field, ty)).collect()
            }

            #[inline]
            fn write<W: Writer + ?Sized>(
                &self,
                fields: &[Field<'_>],
                writer: &mut W,
            ) -> Result<(), EncodeError> {
                if writer.is_positional() {
                    let optional = 0 $(+ usize::from($T::OPTIONAL))*;
                    let size = presence_size(count!($($index)*), optional);
                    #[allow(unused_mut)]
                    let mut presence = Presence::new([0; MAX]);
                    $(presence.push(self.$index.presence());)*
                    writer.begin_positional(presence.bytes().get(..size).unwrap_or_default())?;
                    $(self.$index.write_value(writer)?;)*
                    return writer.end_struct();
                }
                writer.begin_params(fields)?;
                $(self.$index.write_field(&fields[$index], writer)?;)*
                writer.end_struct()
            }
        }

        impl<$($T: FieldValue),*> ReadParams for ($($T,)*) {
            const UNNAMED: &'static [Field<'static>] =
                &[$(unnamed($index + 1, NAMES[$index], $T::KIND, $T::OPTIONAL)),*];

            fn unnamed_types() -> Vec<FieldType<'static, Named>> {
                let types = [$($T::describe()),*];
                <Self as ReadParams>::UNNAMED.iter().zip(types).filter_map(|(field, ty)| unnamed_type(field, ty)).collect()
            }

            #[inline]
            fn read<'de, R: Reader<'de> + ?Sized>(
                &mut self,
                fields: &[Field<'_>],
                reader: &mut R,
            ) -> Result<(), DecodeError> {
                self.read_tuple::<false, R>(fields, reader)
            }

            fn read_exactly<'de, R: Reader<'de> + ?Sized>(
                &mut self,
                fields: &[Field<'_>],
                reader: &mut R,
            ) -> Result<(), DecodeError> {
                self.read_tuple::<true, R>(fields, reader)
            }

            fn write_back<W: Writer + ?Sized>(
                &self,
                fields: &[Field<'_>],
                writer: &mut W,
            ) -> Result<(), EncodeError> {
                ($(&self.$index,)*).write(fields, writer)
            }
        }

        impl<$($T: FieldValue),*> ReadTuple for ($($T,)*) {
            #[inline]
            fn read_tuple<'de, const EXACT: bool, R: Reader<'de> + ?Sized>(
                &mut self,
                fields: &[Field<'_>],
                reader: &mut R,
            ) -> Result<(), DecodeError> {
                if reader.is_positional() {
                    let optional = 0 $(+ usize::from($T::OPTIONAL))*;
                    #[allow(unused_mut)]
                    let mut present = Present::read(reader, count!($($index)*), optional)?;
                    let _ = &present;
                    $(present
                        .field::<$T, _>(&mut self.$index, reader)
                        .and_then(|()| read_required::<$T>(&self.$index, &fields[$index]))
                        .map_err(|e| e.within_field(&fields[$index]))?;)*
                    return reader.end_positional();
                }
                let mut seen = SeenFields::default();
                reader.begin_params()?;
                if EXACT {
                    reader.refuse_surplus(fields.len())?;
                }
                let mut cursor = Cursor::default();
                loop {
                    let index = match reader.next_field(fields, &mut cursor)? {
                        NextField::Known(index) => index,
                        NextField::Unknown(id) if EXACT => return Err(surplus(fields, id)),
                        NextField::Unknown(_) => {
                            reader.unknown_value()?;
                            continue;
                        }
                        NextField::End => break,
                    };
                    match index {
                        $($index => self.$index.read_field(reader),)*
                        _ => Err(DecodeError::no_such_field(fields[index].id)),
                    }
                    .map_err(|e| e.within_field(&fields[index]))?;
                    seen.insert(index);
                }
                seen.check(fields, reader.leaves_out_defaults())
            }
        }
    };
}

macro_rules! tuples {
    ($($T:ident $index:tt),* ;) => { tuple!($($T $index),*); };
    ($($T:ident $index:tt),* ; $N:ident $next:tt $(, $M:ident $rest:tt)*) => {
        tuple!($($T $index),*);
        tuples!($($T $index,)* $N $next ; $($M $rest),*);
    };
    ($($T:ident $index:tt,)* ; $($M:ident $rest:tt),*) => { tuples!($($T $index),* ; $($M $rest),*); };
}

tuples!(; A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15,
    Q 16, S 17, T 18, U 19, V 20, X 21, Y 22, Z 23, Aa 24, Ab 25, Ac 26, Ad 27, Ae 28, Af 29, Ag 30, Ah 31);

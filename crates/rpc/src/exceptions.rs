use dovetail_protocol::{Code, Status};
use dovetail_wire::description::{FieldType, Named};
use dovetail_wire::{DecodeError, EncodeError, Field, Reader, Writer};

/// How a method can fail: one of its declared exceptions, or a [`Status`].
///
/// Implemented by [`exceptions!`](crate::exceptions) on the error enum of a method, and by `Status`
/// itself for methods that declare none.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no error type of a method",
    note = "one is `dovetail::Status`, or an enum of exceptions with `#[derive(dovetail::Exceptions)]`"
)]
pub trait Exceptions: From<Status> + Send {
    /// The declared exceptions: fields of the reply.
    const FIELDS: &'static [Field<'static>];

    /// The declared exceptions in the words of a contract.
    fn describe() -> Vec<FieldType<'static, Named>>;

    /// The failure that is none of the declared exceptions.
    fn as_status(&self) -> Option<&Status>;

    /// Writes the declared exception as a field of the reply; nothing for a `Status`.
    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError>;

    /// Writes the declared exception as the positional answer, a union of these fields; an empty
    /// one for a `Status`.
    fn write_answer<W: Writer + ?Sized>(
        &self,
        places: &[Field<'_>],
        writer: &mut W,
    ) -> Result<(), EncodeError>;

    /// Reads the declared exception with this field id.
    fn read<'de, R: Reader<'de> + ?Sized>(id: i32, reader: &mut R) -> Result<Self, DecodeError>;
}

impl Exceptions for Status {
    const FIELDS: &'static [Field<'static>] = &[];

    fn describe() -> Vec<FieldType<'static, Named>> {
        Vec::new()
    }

    fn as_status(&self) -> Option<&Status> {
        Some(self)
    }

    fn write<W: Writer + ?Sized>(&self, _: &mut W) -> Result<(), EncodeError> {
        Ok(())
    }

    fn write_answer<W: Writer + ?Sized>(
        &self,
        _: &[Field<'_>],
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        writer.begin_union(0)?;
        writer.end_struct()
    }

    fn read<'de, R: Reader<'de> + ?Sized>(id: i32, _: &mut R) -> Result<Self, DecodeError> {
        Err(DecodeError::no_such_field(id))
    }
}

/// A reply that carries neither a result nor an exception.
pub(crate) fn missing_result(method: &str) -> Status {
    Status::from_peer(
        Code::Internal,
        format!("the reply to `{method}` has no result"),
    )
}

/// A reply that is none of the exceptions that this end knows.
pub(crate) fn undeclared_exception(method: &str) -> Status {
    Status::from_peer(
        Code::Unknown,
        format!(
            "`{method}` has failed with an exception that this end's contract does not declare"
        ),
    )
}

/// Makes an enum the error type of a method: one variant for each declared exception, and
/// `Status(dovetail::Status)` for everything else.
///
/// ```
/// use dovetail::{Status, exceptions, message};
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// pub struct DivideByZero { pub dividend: i64 }
/// message!(DivideByZero { 1 dividend: i64, });
///
/// impl std::fmt::Display for DivideByZero {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         write!(f, "{} divided by zero", self.dividend)
///     }
/// }
///
/// #[derive(Clone, Debug)]
/// pub enum DivideError {
///     DivideByZero(DivideByZero),
///     Status(Status),
/// }
/// exceptions!(DivideError { 1 DivideByZero as "by_zero": DivideByZero, });
///
/// let error: DivideError = DivideByZero { dividend: 7 }.into();
/// assert_eq!(error.to_string(), "7 divided by zero");
/// ```
///
/// A declared exception has to be `Display`, as generated ones are. Each converts into the error,
/// for `?` in handlers; `[ambiguous]` after a type takes the conversion away where the same type is
/// declared twice.
#[macro_export]
macro_rules! exceptions {
    ($type:ident {
        $($id:literal $variant:ident $(as $name:literal)?: $ty:ty $([$flag:ident])?,)*
    }) => {
        impl $crate::Exceptions for $type {
            const FIELDS: &'static [$crate::generated::wire::Field<'static>] =
                &[$($crate::generated::wire::field!($id, $variant $($name)?, $ty)),*];

            fn describe() -> ::std::vec::Vec<
                $crate::generated::wire::description::FieldType<'static, $crate::generated::wire::description::Named>,
            > {
                $crate::generated::wire::description::fields([$(
                    $crate::generated::wire::description::FieldType::of::<$ty>(
                        $crate::generated::wire::field!($id, $variant $($name)?, $ty),
                    ),
                )*])
            }

            fn as_status(&self) -> ::core::option::Option<&$crate::Status> {
                match self {
                    Self::Status(status) => ::core::option::Option::Some(status),
                    _ => ::core::option::Option::None,
                }
            }

            fn write<__W: $crate::generated::wire::Writer + ?Sized>(
                &self,
                writer: &mut __W,
            ) -> ::core::result::Result<(), $crate::generated::wire::EncodeError> {
                match self {
                    $(Self::$variant(exception) => $crate::generated::wire::FieldValue::write_field(
                        exception,
                        const { &$crate::generated::wire::field!($id, $variant $($name)?, $ty) },
                        writer,
                    ),)*
                    Self::Status(_) => ::core::result::Result::Ok(()),
                }
            }

            fn write_answer<__W: $crate::generated::wire::Writer + ?Sized>(
                &self,
                places: &[$crate::generated::wire::Field<'_>],
                writer: &mut __W,
            ) -> ::core::result::Result<(), $crate::generated::wire::EncodeError> {
                match self {
                    $(Self::$variant(exception) => {
                        writer.begin_union($crate::generated::wire::place(places, $id))?;
                        $crate::generated::wire::FieldValue::write_value(exception, writer)?;
                    })*
                    Self::Status(_) => writer.begin_union(0)?,
                }
                writer.end_struct()
            }

            fn read<'de, __R: $crate::generated::wire::Reader<'de> + ?Sized>(
                id: i32,
                reader: &mut __R,
            ) -> ::core::result::Result<Self, $crate::generated::wire::DecodeError> {
                match id {
                    $($id => {
                        let mut exception = <$ty as ::core::default::Default>::default();
                        $crate::generated::wire::FieldValue::read_field(&mut exception, reader)?;
                        ::core::result::Result::Ok(Self::$variant(exception))
                    })*
                    _ => ::core::result::Result::Err(
                        $crate::generated::wire::DecodeError::no_such_field(id),
                    ),
                }
            }
        }

        $($crate::exceptions!(@from $type $variant $ty $(, $flag)?);)*

        impl ::core::convert::From<$crate::Status> for $type {
            fn from(status: $crate::Status) -> Self {
                Self::Status(status)
            }
        }

        impl ::core::fmt::Display for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self {
                    $(Self::$variant(exception) => ::core::fmt::Display::fmt(exception, f),)*
                    Self::Status(status) => ::core::fmt::Display::fmt(status, f),
                }
            }
        }

        impl ::std::error::Error for $type {}
    };
    (@from $type:ident $variant:ident $ty:ty) => {
        impl ::core::convert::From<$ty> for $type {
            fn from(exception: $ty) -> Self {
                Self::$variant(exception)
            }
        }
    };
    (@from $type:ident $variant:ident $ty:ty, ambiguous) => {};
}

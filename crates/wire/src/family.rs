//! Structs that extend one another: a value of any of them, where the contract names the first.

use crate::reserved::{Begun, TYPE, TYPE_FIELD};
use crate::{
    DecodeError, EncodeError, Field, Message, Reader, UnknownValue, Value, Writer, read_rest,
};

/// A struct or a family of them: what can be referred to, and stands between `begin_struct` and the
/// end.
pub trait Node: Value + 'static {
    /// The fields that are there in any case.
    const FIELDS: &'static [Field<'static>];

    /// Writes all fields of a struct that has begun.
    fn write_inside<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError>;

    /// Reads the rest of a struct that has begun.
    fn read_inside<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        begun: Begun,
        reader: &mut R,
    ) -> Result<(), DecodeError>;
}

impl<M: Message + Value + 'static> Node for M {
    const FIELDS: &'static [Field<'static>] = <M as Message>::FIELDS;

    #[inline]
    fn write_inside<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        self.write_fields(writer)
    }

    #[inline]
    fn read_inside<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        begun: Begun,
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        read_rest(self, begun, reader)
    }
}

/// Which member of a family comes.
#[doc(hidden)]
#[derive(Debug)]
pub struct Member {
    /// Its name, as far as it is known here; else the value of the reserved field, if there is one.
    name: Result<&'static str, Option<UnknownValue>>,
    /// The struct, where it has begun.
    begun: Option<Begun>,
}

#[doc(hidden)]
impl Member {
    /// The member whose place in `names` comes next, in a positional encoding.
    pub fn placed<'de, R: Reader<'de> + ?Sized>(
        names: &[&'static str],
        reader: &mut R,
    ) -> Result<Self, DecodeError> {
        let place = reader.begin_union()?;
        reader.end_positional()?;
        match names.get(place) {
            Some(name) => Ok(Member {
                name: Ok(name),
                begun: None,
            }),
            None => Err(DecodeError::malformed(
                "a struct that the family does not have",
            )),
        }
    }

    /// The member whose name is next in a struct that has begun, or else the first.
    pub fn named<'de, R: Reader<'de> + ?Sized>(
        names: &[&'static str],
        fields: &[Field<'_>],
        mut begun: Begun,
        reader: &mut R,
    ) -> Result<Self, DecodeError> {
        let value = begun.reserved(TYPE, fields, reader)?;
        let text = value.as_ref().and_then(UnknownValue::text);
        let known = text.and_then(|text| names.iter().find(|name| **name == text));
        begun.foreign |= text.is_some() && known.is_none();
        Ok(Member {
            name: known.copied().ok_or(value),
            begun: Some(begun),
        })
    }

    /// Returns whether it is the member of this name.
    pub fn is(&self, name: &str) -> bool {
        self.name.as_ref().is_ok_and(|own| *own == name)
    }

    /// Reads it over this value. What names a struct unknown here is kept among the unknown fields,
    /// so that it is what it was once it is sent again.
    pub fn read<'de, M: Message + Value, R: Reader<'de> + ?Sized>(
        self,
        value: &mut M,
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        let Some(begun) = self.begun else {
            return value.read(reader);
        };
        if let (Err(Some(name)), Some(unknown)) = (self.name, value.unknown_fields()) {
            unknown.push(TYPE, name);
        }
        read_rest(value, begun, reader)
    }
}

/// Writes the place of a member, in a positional encoding; the member follows.
#[doc(hidden)]
pub fn write_place<W: Writer + ?Sized>(
    names: &[&str],
    name: &str,
    writer: &mut W,
) -> Result<(), EncodeError> {
    let place = names.iter().position(|known| *known == name);
    writer.begin_union(place.unwrap_or(0))?;
    writer.end_struct()
}

/// Writes the name of a member as the first field of its struct.
#[doc(hidden)]
pub fn write_type<W: Writer + ?Sized>(name: &str, writer: &mut W) -> Result<(), EncodeError> {
    writer.begin_field(&TYPE_FIELD)?;
    writer.string(name)?;
    writer.end_field()
}

/// Implements [`Value`] and [`Node`] for a family: an enum with one variant for a struct, which
/// comes first, and one for each struct that extends it.
///
/// It dereferences to the first struct, and each of them converts into it. `exception` before the
/// name makes it an error that says what its member says. A value of a struct that is not among
/// them, because a newer contract has it, becomes the first one, which keeps the rest.
///
/// ```
/// use dovetail_wire::{UnknownFields, extends, family, message, tagged};
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// pub struct Animal {
///     pub name: String,
///     pub unknown_fields: UnknownFields,
/// }
/// message!(Animal { 1 name: String, ..unknown_fields });
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// pub struct Dog {
///     pub base: Animal,
///     pub breed: String,
/// }
/// message!(Dog { 1 base.name: String, 2 breed: String, ..base.unknown_fields });
/// extends!(Dog: Animal);
///
/// #[derive(Clone, Debug, PartialEq)]
/// pub enum AnyAnimal {
///     Animal(Animal),
///     Dog(Dog),
/// }
/// family!(AnyAnimal { Animal(Animal), Dog(Dog) });
///
/// let mut dog = Dog::default();
/// dog.name = "Rex".to_owned();
/// let bytes = tagged::to_bytes(&AnyAnimal::from(dog))?;
/// let animal: AnyAnimal = tagged::from_bytes(&bytes)?;
/// assert_eq!(animal.name, "Rex");
/// assert!(matches!(animal, AnyAnimal::Dog(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! family {
    (exception $type:ident { $($member:ident($ty:ty)),* $(,)? }) => {
        $crate::family!($type { $($member($ty)),* });

        impl ::core::fmt::Display for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self {
                    $(Self::$member(exception) => ::core::fmt::Display::fmt(exception, f),)*
                }
            }
        }

        impl ::std::error::Error for $type {}
    };
    ($type:ident { $base:ident($base_type:ty) $(, $member:ident($ty:ty))* $(,)? }) => {
        impl $type {
            /// The names of the structs in the contract, the one that the others extend first.
            pub const NAMES: &'static [&'static str] = &[
                <$base_type as $crate::Message>::NAME,
                $(<$ty as $crate::Message>::NAME),*
            ];

            fn read_member<'de, __R: $crate::Reader<'de> + ?Sized>(
                &mut self,
                member: $crate::Member,
                reader: &mut __R,
            ) -> ::core::result::Result<(), $crate::DecodeError> {
                let old = ::core::mem::take(self);
                $(if member.is(<$ty as $crate::Message>::NAME) {
                    let mut value = match old {
                        Self::$member(value) => value,
                        _ => ::core::default::Default::default(),
                    };
                    member.read(&mut value, reader)?;
                    *self = Self::$member(value);
                    return ::core::result::Result::Ok(());
                })*
                let mut value = match old {
                    Self::$base(value) => value,
                    #[allow(unreachable_patterns)]
                    _ => ::core::default::Default::default(),
                };
                member.read(&mut value, reader)?;
                *self = Self::$base(value);
                ::core::result::Result::Ok(())
            }
        }

        impl ::core::default::Default for $type {
            fn default() -> Self {
                Self::$base(::core::default::Default::default())
            }
        }

        impl $crate::Node for $type {
            const FIELDS: &'static [$crate::Field<'static>] =
                <$base_type as $crate::Message>::FIELDS;

            fn write_inside<__W: $crate::Writer + ?Sized>(
                &self,
                writer: &mut __W,
            ) -> ::core::result::Result<(), $crate::EncodeError> {
                match self {
                    Self::$base(value) => $crate::Message::write_fields(value, writer),
                    $(Self::$member(value) => {
                        $crate::write_type(<$ty as $crate::Message>::NAME, writer)?;
                        $crate::Message::write_fields(value, writer)
                    })*
                }
            }

            fn read_inside<'de, __R: $crate::Reader<'de> + ?Sized>(
                &mut self,
                begun: $crate::Begun,
                reader: &mut __R,
            ) -> ::core::result::Result<(), $crate::DecodeError> {
                let fields = <Self as $crate::Node>::FIELDS;
                let member = $crate::Member::named(Self::NAMES, fields, begun, reader)?;
                self.read_member(member, reader)
            }
        }

        impl $crate::Value for $type {
            const KIND: $crate::Kind = $crate::Kind::Struct;

            fn write<__W: $crate::Writer + ?Sized>(
                &self,
                writer: &mut __W,
            ) -> ::core::result::Result<(), $crate::EncodeError> {
                if !writer.is_positional() {
                    writer.begin_struct()?;
                    $crate::Node::write_inside(self, writer)?;
                    return writer.end_struct();
                }
                match self {
                    Self::$base(value) => {
                        $crate::write_place(Self::NAMES, <$base_type as $crate::Message>::NAME, writer)?;
                        $crate::Value::write(value, writer)
                    }
                    $(Self::$member(value) => {
                        $crate::write_place(Self::NAMES, <$ty as $crate::Message>::NAME, writer)?;
                        $crate::Value::write(value, writer)
                    })*
                }
            }

            fn read<'de, __R: $crate::Reader<'de> + ?Sized>(
                &mut self,
                reader: &mut __R,
            ) -> ::core::result::Result<(), $crate::DecodeError> {
                if reader.is_positional() {
                    let member = $crate::Member::placed(Self::NAMES, reader)?;
                    return self.read_member(member, reader);
                }
                reader.begin_struct()?;
                $crate::Node::read_inside(self, $crate::Begun::default(), reader)
            }

            fn describe() -> $crate::description::Type<$crate::description::Named> {
                fn define() -> $crate::description::Definition<'static, $crate::description::Named> {
                    $crate::description::Definition::Family(
                        <$base_type as $crate::Message>::NAME,
                        ::std::vec![
                            $crate::description::Named::message::<$base_type>(),
                            $($crate::description::Named::message::<$ty>()),*
                        ],
                    )
                }
                $crate::description::Type::Family($crate::description::Named::new::<$type>(define))
            }
        }

        impl ::core::ops::Deref for $type {
            type Target = $base_type;

            fn deref(&self) -> &Self::Target {
                match self {
                    Self::$base(value) => value,
                    $(Self::$member(value) => value,)*
                }
            }
        }

        impl ::core::ops::DerefMut for $type {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    Self::$base(value) => value,
                    $(Self::$member(value) => value,)*
                }
            }
        }

        impl ::core::convert::From<$base_type> for $type {
            fn from(value: $base_type) -> Self {
                Self::$base(value)
            }
        }

        $(impl ::core::convert::From<$ty> for $type {
            fn from(value: $ty) -> Self {
                Self::$member(value)
            }
        })*
    };
}

/// Refuses two fields with one id, at compile time.
#[doc(hidden)]
pub const fn check_distinct(fields: &[Field<'_>]) {
    let mut at = 0;
    while at < fields.len() {
        let mut before = 0;
        while before < at {
            assert!(
                fields[before].id != fields[at].id,
                "a field has the id of one that the struct inherits"
            );
            before += 1;
        }
        at += 1;
    }
}

/// Makes a struct that extends another dereference to the part that it inherits, its field `base`.
#[macro_export]
macro_rules! extends {
    ($type:ident: $base:ty) => {
        const _: () = $crate::check_distinct(<$type as $crate::Message>::FIELDS);

        impl ::core::ops::Deref for $type {
            type Target = $base;

            fn deref(&self) -> &Self::Target {
                &self.base
            }
        }

        impl ::core::ops::DerefMut for $type {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.base
            }
        }
    };
}

/// Lets exceptions of a family become the error of a method that declares the family.
#[macro_export]
macro_rules! thrown {
    ($error:ident from $type:ty { $($member:ty),* $(,)? }) => {
        $(impl ::core::convert::From<$member> for $error {
            fn from(exception: $member) -> Self {
                <$type>::from(exception).into()
            }
        })*
    };
}

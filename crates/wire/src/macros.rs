//! The tables from which generated and hand-written types get their [`Message`](crate::Message) and
//! [`Value`](crate::Value) implementations. One line for each field keeps generated code readable.

/// Implements [`Message`](crate::Message) and [`Value`](crate::Value) for a struct or exception.
///
/// A row is `id name: Type`; an inherited field is in the field `base`: `id base.name: Type`. After
/// the name, `as "type"` gives the name in the contract where Rust cannot spell it. Behind the
/// type stand, in brackets:
///
/// - `required` refuses messages without the field;
/// - `zigzag` or `fixed` choose how protobuf writes its integers, those of a map's values
///   included, `zigzag_key` or `fixed_key` do so for the map's keys;
/// - in protobuf, `implicit` leaves out a value that is zero or empty, `expanded` writes the
///   numbers of a list one by one, and `group` writes messages as groups;
/// - `native` leaves the field to encodings that are not protobuf's;
/// - `json("name")` gives it another name in JSON;
/// - `sensitive` keeps its value out of captures and of error texts.
///
/// The fields of a [`oneof!`](crate::oneof) have rows of the type [`Case`](crate::Case). `..name`
/// is the field that keeps unknown fields; without it they are dropped. A type name too can be
/// followed by `as "name"`, and by `in "package"`. Behind it, `[Name]` is for the types that every
/// contract has, see [`Logical`](crate::description::Logical), and `json Bare` for a
/// [`Form`](crate::Form) in JSON.
///
/// ```
/// use dovetail_wire::{Message, UnknownFields, message};
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// pub struct Point {
///     pub x: i32,
///     pub y: i32,
///     pub r#type: Option<String>,
///     pub unknown_fields: UnknownFields,
/// }
///
/// message!(Point {
///     1 x: i32 [required],
///     2 y: i32 [zigzag],
///     3 r#type as "type": Option<String>,
///     ..unknown_fields
/// });
/// assert_eq!(Point::FIELDS[2].name, "type");
/// ```
#[macro_export]
macro_rules! message {
    ($(#[doc = $doc:expr])* $type:ident $(as $wire_name:literal)? $(in $package:literal)? $([$logical:ident])? $(json $form:ident)? {
        $($(#[doc = $field_doc:expr])* $id:literal $($field:ident).+ $(as $name:literal)?: $ty:ty $([$($attribute:ident $(($argument:literal))?),*])?,)*
        $(..$($unknown:ident).+)?
    }) => {
        impl $crate::Message for $type {
            const NAME: &'static str = $crate::wire_name!($type $($wire_name)?);
            $(const PACKAGE: &'static str = $package;)?
            const FIELDS: &'static [$crate::Field<'static>] = &[
                $($crate::field!($id, $($field).+ $($name)?, $ty $(, $($attribute $(($argument))?),*)?)),*
            ];
            $(const FORM: $crate::Form = $crate::Form::$form;)?

            #[inline]
            fn write_fields<__W: $crate::Writer + ?Sized>(
                &self,
                writer: &mut __W,
            ) -> ::core::result::Result<(), $crate::EncodeError> {
                $($crate::UnknownFields::write_first(&self.$($unknown).+, writer)?;)?
                $(<$ty as $crate::Row>::write_field(
                    &self.$($field).+,
                    const { &$crate::field!($id, $($field).+ $($name)?, $ty $(, $($attribute $(($argument))?),*)?) },
                    writer,
                )?;)*
                $($crate::UnknownFields::write(&self.$($unknown).+, writer)?;)?
                let _ = writer;
                ::core::result::Result::Ok(())
            }

            #[inline]
            fn read_field<'de, __R: $crate::Reader<'de> + ?Sized>(
                &mut self,
                id: i32,
                reader: &mut __R,
            ) -> ::core::result::Result<(), $crate::DecodeError> {
                let _ = &reader;
                match id {
                    $($id => <$ty as $crate::Row>::read_field(&mut self.$($field).+, reader),)*
                    _ => ::core::result::Result::Err($crate::DecodeError::no_such_field(id)),
                }
            }

            #[inline]
            fn read_in_order<'de, __R: $crate::Reader<'de> + ?Sized>(
                &mut self,
                cursor: &mut $crate::Cursor,
                seen: &mut $crate::SeenFields,
                reader: &mut __R,
            ) -> ::core::result::Result<(), $crate::DecodeError> {
                let _ = (&cursor, &seen, &reader);
                $({
                    let field = const { &$crate::field!($id, $($field).+ $($name)?, $ty $(, $($attribute $(($argument))?),*)?) };
                    let index = const { $crate::place(<$type as $crate::Message>::FIELDS, $id) - 1 };
                    if reader.is_next(field, index, cursor) {
                        <$ty as $crate::Row>::read_field(&mut self.$($field).+, reader)
                            .map_err(|e| e.within_field(field))?;
                        cursor.index = index + 1;
                        if field.required {
                            seen.insert(index);
                        }
                    }
                })*
                ::core::result::Result::Ok(())
            }

            fn define() -> $crate::description::Definition<'static, $crate::description::Named> {
                $crate::description::Definition::Struct(
                    Self::NAME,
                    $crate::description::fields([$(
                        $crate::description::FieldType::of::<$ty>(
                            $crate::field!($id, $($field).+ $($name)?, $ty $(, $($attribute $(($argument))?),*)?),
                        ),
                    )*]),
                )
            }

            fn notes() -> $crate::description::Notes {
                $crate::description::Notes {
                    docs: $crate::docs!($($doc),*),
                    members: &[$($crate::docs!($($field_doc),*)),*],
                    fields: Self::FIELDS,
                    fresh: $crate::description::fresh(<Self as ::core::default::Default>::default),
                }
            }

            const PLAIN: $crate::Plain =
                $crate::Plain::of(Self::FIELDS, &[$(<$ty as $crate::Row>::PLAIN),*]);

            #[inline]
            fn write_positional<__W: $crate::Writer + ?Sized>(
                &self,
                writer: &mut __W,
            ) -> ::core::result::Result<(), $crate::EncodeError> {
                let mut presence = $crate::Presence::new([0; $crate::presence_size(<$type as $crate::Message>::FIELDS.len(), $crate::optional!($($ty)*))]);
                $(presence.push(<$ty as $crate::Row>::presence(&self.$($field).+));)*
                $($crate::write_required::<$ty>(
                    &self.$($field).+,
                    const { &$crate::field!($id, $($field).+ $($name)?, $ty $(, $($attribute $(($argument))?),*)?) },
                )?;)*
                writer.begin_positional(presence.bytes())?;
                $(<$ty as $crate::Row>::write_value(&self.$($field).+, writer)?;)*
                $($crate::UnknownFields::write(&self.$($unknown).+, writer)?;)?
                writer.end_struct()
            }

            #[inline]
            fn read_positional<'de, __R: $crate::Reader<'de> + ?Sized>(
                &mut self,
                reader: &mut __R,
            ) -> ::core::result::Result<(), $crate::DecodeError> {
                #[allow(unused_mut)]
                let mut present =
                    $crate::Present::read(reader, Self::FIELDS.len(), $crate::optional!($($ty)*))?;
                let _ = &present;
                $(present
                    .field::<$ty, _>(&mut self.$($field).+, reader)
                    .map_err(|e| e.within($crate::wire_name!($($field).+ $($name)?)))?;)*
                $($crate::read_required::<$ty>(
                    &self.$($field).+,
                    const { &$crate::field!($id, $($field).+ $($name)?, $ty $(, $($attribute $(($argument))?),*)?) },
                )?;)*
                $(self.$($unknown).+ = $crate::UnknownFields::default();)?
                reader.end_positional()
            }

            #[inline]
            fn write_plain<__L: $crate::layout::Layout>(&self, room: &mut &mut [u8]) -> bool {
                let (mut last, mut all) = (0, true);
                $(all = __L::both(all, || {
                    $crate::write_plain_field::<__L, $ty>(
                        &self.$($field).+,
                        const { &$crate::field!($id, $($field).+ $($name)?, $ty $(, $($attribute $(($argument))?),*)?) },
                        &mut last,
                        room,
                    )
                });)*
                $(all &= $crate::UnknownFields::is_empty(&self.$($unknown).+);)?
                let _ = &mut last;
                __L::both(all, || __L::write_end(room))
            }

            // A loop over elements of which each is a call takes twice as long.
            #[inline(always)]
            fn read_plain<__L: $crate::layout::Layout>(&mut self, bytes: &mut &[u8]) -> bool {
                $(self.$($unknown).+ = $crate::UnknownFields::default();)?
                let (mut last, mut all) = (0, true);
                $(all = __L::both(all, || {
                    $crate::read_plain_field::<__L, $ty>(
                        &mut self.$($field).+,
                        const { &$crate::field!($id, $($field).+ $($name)?, $ty $(, $($attribute $(($argument))?),*)?) },
                        &mut last,
                        bytes,
                    )
                });)*
                let _ = &mut last;
                __L::both(all, || __L::read_end(bytes))
            }

            fn unknown_fields(&mut self) -> ::core::option::Option<&mut $crate::UnknownFields> {
                ::core::option::Option::None
                    $(.or(::core::option::Option::Some(&mut self.$($unknown).+)))?
            }
        }

        $crate::message_value!($type $($logical)?);
    };
}

/// Implements [`Message`](crate::Message) and [`Value`](crate::Value) for a union: an enum with one
/// variant for each field, and a last one, `Unknown(UnknownFields)`, for fields of a newer
/// contract.
///
/// ```
/// use dovetail_wire::{UnknownFields, union};
///
/// #[derive(Clone, Debug, PartialEq)]
/// pub enum Shape {
///     Circle(f64),
///     Polygon(Vec<f64>),
///     Unknown(UnknownFields),
/// }
///
/// union!(Shape {
///     1 Circle as "circle": f64,
///     2 Polygon as "polygon": Vec<f64>,
///     ..Unknown
/// });
/// ```
#[macro_export]
macro_rules! union {
    ($(#[doc = $doc:expr])* $type:ident $(as $wire_name:literal)? $(in $package:literal)? $([$logical:ident])? {
        $($(#[doc = $field_doc:expr])* $id:literal $variant:ident $(as $name:literal)?: $ty:ty $([$($attribute:ident),*])?,)*
        ..$unknown:ident
    }) => {
        impl ::core::default::Default for $type {
            fn default() -> Self {
                Self::$unknown($crate::UnknownFields::default())
            }
        }

        impl $crate::Message for $type {
            const NAME: &'static str = $crate::wire_name!($type $($wire_name)?);
            $(const PACKAGE: &'static str = $package;)?
            const FIELDS: &'static [$crate::Field<'static>] = &[
                $($crate::field!($id, $variant $($name)?, $ty $(, $($attribute),*)?)),*
            ];

            #[inline]
            fn write_fields<__W: $crate::Writer + ?Sized>(
                &self,
                writer: &mut __W,
            ) -> ::core::result::Result<(), $crate::EncodeError> {
                match self {
                    $(Self::$variant(value) => $crate::FieldValue::write_field(
                        value,
                        const { &$crate::field!($id, $variant $($name)?, $ty $(, $($attribute),*)?) },
                        writer,
                    ),)*
                    Self::$unknown(fields) => $crate::UnknownFields::write(fields, writer),
                }
            }

            #[inline]
            fn read_field<'de, __R: $crate::Reader<'de> + ?Sized>(
                &mut self,
                id: i32,
                reader: &mut __R,
            ) -> ::core::result::Result<(), $crate::DecodeError> {
                let _ = &reader;
                match id {
                    $($id => {
                        // A second value of one variant is merged where the encoding merges.
                        if let Self::$variant(value) = self {
                            return $crate::FieldValue::read_field(value, reader);
                        }
                        let mut value = <$ty as ::core::default::Default>::default();
                        $crate::FieldValue::read_field(&mut value, reader)?;
                        *self = Self::$variant(value);
                        ::core::result::Result::Ok(())
                    })*
                    _ => ::core::result::Result::Err($crate::DecodeError::no_such_field(id)),
                }
            }

            fn define() -> $crate::description::Definition<'static, $crate::description::Named> {
                $crate::description::Definition::Union(
                    Self::NAME,
                    $crate::description::fields([$(
                        $crate::description::FieldType::of::<$ty>(
                            $crate::field!($id, $variant $($name)?, $ty),
                        ),
                    )*]),
                )
            }

            fn notes() -> $crate::description::Notes {
                $crate::description::Notes {
                    docs: $crate::docs!($($doc),*),
                    members: &[$($crate::docs!($($field_doc),*)),*],
                    fields: Self::FIELDS,
                    fresh: ::core::option::Option::None,
                }
            }

            #[inline]
            fn write_positional<__W: $crate::Writer + ?Sized>(
                &self,
                writer: &mut __W,
            ) -> ::core::result::Result<(), $crate::EncodeError> {
                match self {
                    $(Self::$variant(value) => {
                        writer.begin_union(const { $crate::place(Self::FIELDS, $id) })?;
                        $crate::FieldValue::write_value(value, writer)?;
                    })*
                    Self::$unknown(fields) => {
                        writer.begin_union(0)?;
                        $crate::UnknownFields::write(fields, writer)?;
                    }
                }
                writer.end_struct()
            }

            #[inline]
            fn read_positional<'de, __R: $crate::Reader<'de> + ?Sized>(
                &mut self,
                reader: &mut __R,
            ) -> ::core::result::Result<(), $crate::DecodeError> {
                match $crate::read_place(Self::FIELDS, reader)? {
                    ::core::option::Option::Some(field) => {
                        let read = $crate::Message::read_field(self, field.id, reader);
                        read.map_err(|e| e.within_field(field))?;
                    }
                    ::core::option::Option::None => *self = ::core::default::Default::default(),
                }
                reader.end_positional()
            }

            fn unknown_fields(&mut self) -> ::core::option::Option<&mut $crate::UnknownFields> {
                match self {
                    Self::$unknown(fields) => ::core::option::Option::Some(fields),
                    #[allow(unreachable_patterns)]
                    _ => ::core::option::Option::None,
                }
            }
        }

        $crate::message_value!($type $($logical)?);
    };
}

/// Implements [`Oneof`](crate::Oneof) for an enum with a variant for each field of a oneof, and
/// says the name of the oneof in the contract. A row is `id Variant: Type`.
///
/// ```
/// use dovetail_wire::{Case, UnknownFields, message, oneof, protobuf};
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// pub struct Order {
///     pub id: i32,
///     pub payment: Option<OrderPayment>,
///     pub unknown_fields: UnknownFields,
/// }
///
/// #[derive(Clone, Debug, PartialEq)]
/// pub enum OrderPayment {
///     Card(String),
///     Cash(i64),
/// }
///
/// oneof!(OrderPayment as "payment" {
///     2 Card: String,
///     3 Cash: i64,
/// });
///
/// message!(Order {
///     1 id: i32 [implicit],
///     2 payment as "card": Case<OrderPayment, 2>,
///     3 payment as "cash": Case<OrderPayment, 3>,
///     ..unknown_fields
/// });
///
/// let paid = Order { payment: Some(OrderPayment::Cash(5)), ..Order::default() };
/// assert_eq!(protobuf::to_bytes(&paid)?, [0x18, 5]);
///
/// // The last field that comes has a value.
/// let twice = [0x18, 5, 0x12, 1, b'x'];
/// let order: Order = protobuf::from_bytes(&twice)?;
/// assert_eq!(order.payment, Some(OrderPayment::Card("x".to_owned())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! oneof {
    ($type:ident as $name:literal { $($id:literal $variant:ident: $ty:ty,)* }) => {
        $(impl $crate::Oneof<$id> for $type {
            const NAME: &'static str = $name;
            type Value = $ty;

            #[inline]
            fn new(value: $ty) -> Self {
                Self::$variant(value)
            }

            #[inline]
            fn get(&self) -> ::core::option::Option<&$ty> {
                match self {
                    Self::$variant(value) => ::core::option::Option::Some(value),
                    #[allow(unreachable_patterns)]
                    _ => ::core::option::Option::None,
                }
            }

            #[inline]
            fn get_mut(&mut self) -> ::core::option::Option<&mut $ty> {
                match self {
                    Self::$variant(value) => ::core::option::Option::Some(value),
                    #[allow(unreachable_patterns)]
                    _ => ::core::option::Option::None,
                }
            }
        })*
    };
}

/// Implements `Debug` for a struct or a union, without the values of sensitive fields.
///
/// ```
/// use dovetail_wire::masked_debug;
///
/// pub struct Login {
///     pub user: String,
///     pub password: String,
/// }
///
/// masked_debug!(struct Login { user, password [sensitive] });
/// let login = Login { user: "ann".to_owned(), password: "secret".to_owned() };
/// assert_eq!(format!("{login:?}"), r#"Login { user: "ann", password: … }"#);
///
/// pub enum Payment {
///     Cash(i64),
///     Card(String),
/// }
///
/// masked_debug!(enum Payment { Cash, Card [sensitive] });
/// let shown = [Payment::Cash(5), Payment::Card("4000".to_owned())];
/// assert_eq!(format!("{shown:?}"), "[Cash(5), Card(…)]");
/// ```
#[macro_export]
macro_rules! masked_debug {
    (struct $type:ident { $($field:ident $([$sensitive:ident])?),* $(,)? }) => {
        impl ::core::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut fields = f.debug_struct(::core::stringify!($type));
                $(fields.field(
                    ::core::stringify!($field).trim_start_matches("r#"),
                    $crate::masked_debug!(@value &self.$field $(, $sensitive)?),
                );)*
                fields.finish()
            }
        }
    };
    (enum $type:ident { $($variant:ident $([$sensitive:ident])?),* $(,)? }) => {
        impl ::core::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self {
                    $(Self::$variant(value) => {
                        let _ = value;
                        let mut tuple = f.debug_tuple(::core::stringify!($variant));
                        tuple.field($crate::masked_debug!(@value value $(, $sensitive)?));
                        tuple.finish()
                    })*
                }
            }
        }
    };
    (@value $value:expr) => { $value };
    (@value $value:expr, sensitive) => { &::core::format_args!("…") };
}

/// Implements an open enum on a tuple struct around `i32`: named constants, and numbers without a
/// name kept as they are.
///
/// ```
/// use dovetail_wire::enumeration;
///
/// #[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
/// pub struct Color(pub i32);
///
/// enumeration!(Color {
///     /// Like a rose.
///     RED = 1,
///     GREEN = 2,
/// });
/// assert_eq!(format!("{:?} {:?}", Color::RED, Color(7)), "RED Color(7)");
/// assert_eq!(Color::from_name("GREEN"), Some(Color::GREEN));
/// ```
#[macro_export]
macro_rules! enumeration {
    ($type:ident $(as $type_name:literal)? $(json $form:ident)? { $($(#[$meta:meta])* $name:ident $(as $wire_name:literal)? = $number:literal,)* }) => {
        impl $type {
            $($(#[$meta])* pub const $name: Self = Self($number);)*

            /// Every named value, in the contract's order, with its name there.
            pub const VALUES: &'static [(Self, &'static str)] =
                &[$((Self($number), $crate::wire_name!($name $($wire_name)?))),*];

            /// The value's name in the contract; `None` for a number that has none.
            #[must_use]
            pub fn name(self) -> ::core::option::Option<&'static str> {
                Self::VALUES.iter().find(|(value, _)| *value == self).map(|(_, name)| *name)
            }

            /// The value with this name in the contract.
            #[must_use]
            pub fn from_name(name: &str) -> ::core::option::Option<Self> {
                Self::VALUES.iter().find(|(_, known)| *known == name).map(|(value, _)| *value)
            }
        }

        impl ::core::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self.name() {
                    ::core::option::Option::Some(name) => f.write_str(name),
                    ::core::option::Option::None => ::core::write!(f, concat!(stringify!($type), "({})"), self.0),
                }
            }
        }

        $crate::enumeration_value!(
            $type $($type_name)? $(json $form)?, $crate::names!($type $($type_name)?; $($name $($wire_name)? = $number),*),
            |value| value.0, |number| Self(number), []
        );
    };
}

/// Implements an open enum on an enum of Rust: a variant for each named number, and a last one for
/// numbers that have no name. `From` leads from numbers and to them; the default is number 0. A
/// name that is not the contract's is followed by `as "NAME"`.
///
/// ```
/// use dovetail_wire::variants;
///
/// #[derive(Clone, Copy, Debug, PartialEq, Eq)]
/// pub enum Color {
///     Red,
///     Green,
///     Unknown(i32),
/// }
///
/// variants!(Color { Red as "RED" = 1, Green as "GREEN" = 2, ..Unknown });
/// assert_eq!((Color::from(2), Color::from(7)), (Color::Green, Color::Unknown(7)));
/// assert_eq!((Color::Red.name(), Color::default()), (Some("RED"), Color::Unknown(0)));
/// ```
#[macro_export]
macro_rules! variants {
    ($(#[doc = $doc:expr])* $type:ident $(as $type_name:literal)? {
        $($(#[doc = $value_doc:expr])* $name:ident $(as $wire_name:literal)? = $number:literal,)* ..$unknown:ident
    }) => {
        impl $type {
            /// Every named value, in the contract's order, with its name there.
            pub const VALUES: &'static [(Self, &'static str)] =
                &[$((Self::$name, $crate::wire_name!($name $($wire_name)?))),*];

            /// The value's name in the contract; `None` for a number that has none.
            #[must_use]
            pub fn name(&self) -> ::core::option::Option<&'static str> {
                match self {
                    $(Self::$name => ::core::option::Option::Some($crate::wire_name!($name $($wire_name)?)),)*
                    Self::$unknown(_) => ::core::option::Option::None,
                }
            }
        }

        impl ::core::convert::From<i32> for $type {
            fn from(number: i32) -> Self {
                match number {
                    $($number => Self::$name,)*
                    _ => Self::$unknown(number),
                }
            }
        }

        impl ::core::convert::From<&$type> for i32 {
            fn from(value: &$type) -> Self {
                match value {
                    $($type::$name => $number,)*
                    $type::$unknown(number) => *number,
                }
            }
        }

        impl ::core::default::Default for $type {
            fn default() -> Self {
                Self::from(0)
            }
        }

        $crate::enumeration_value!(
            $type $($type_name)?, $crate::names!($type $($type_name)?; $($name $($wire_name)? = $number),*),
            |value| i32::from(value), |number| Self::from(number),
            [$($doc),*] $([$($value_doc),*])*
        );
    };
}

/// The numbers of an enum with their names, see [`Names`](crate::Names).
#[doc(hidden)]
#[macro_export]
macro_rules! names {
    ($type:ident $($type_name:literal)?; $($name:ident $($wire_name:literal)? = $number:literal),*) => {
        const {
            $crate::EnumNames {
                type_name: $crate::wire_name!($type $($type_name)?),
                values: &[$(($number, $crate::wire_name!($name $($wire_name)?))),*],
            }
        }
    };
}

/// The common part of the two forms of an enum: a value that is a number.
#[doc(hidden)]
#[macro_export]
macro_rules! enumeration_value {
    ($type:ident $($type_name:literal)? json Null, $names:expr, $($rest:tt)*) => {
        $crate::enumeration_value!($type $($type_name)? [true], $crate::Null($names), $($rest)*);
    };
    ($type:ident $($type_name:literal)?, $($rest:tt)*) => {
        $crate::enumeration_value!($type $($type_name)? [false], $($rest)*);
    };
    ($type:ident $($type_name:literal)? [$null:literal], $names:expr, |$value:ident| $to:expr, |$number:ident| $from:expr,
        [$($doc:expr),*] $([$($value_doc:expr),*])*) => {
        impl $crate::Value for $type {
            const KIND: $crate::Kind = $crate::Kind::Enum;
            const NULLABLE: bool = $null;

            #[inline]
            fn write<__W: $crate::Writer + ?Sized>(
                &self,
                writer: &mut __W,
            ) -> ::core::result::Result<(), $crate::EncodeError> {
                let $value = self;
                writer.enumeration($to, &$names)
            }

            #[inline]
            fn read<'de, __R: $crate::Reader<'de> + ?Sized>(
                &mut self,
                reader: &mut __R,
            ) -> ::core::result::Result<(), $crate::DecodeError> {
                let $number = reader.enumeration(&$names)?;
                *self = $from;
                ::core::result::Result::Ok(())
            }

            #[inline]
            fn is_zero(&self) -> bool {
                let $value = self;
                $to == 0
            }

            fn describe() -> $crate::description::Type<$crate::description::Named> {
                fn define() -> $crate::description::Definition<'static, $crate::description::Named> {
                    let values = $type::VALUES.iter().map(|($value, name)| ($to, *name));
                    $crate::description::Definition::Enum(
                        $crate::wire_name!($type $($type_name)?),
                        values.collect(),
                    )
                }
                let named = $crate::description::Named::new::<$type>(define);
                $crate::description::Type::Enum(named.noted(|| $crate::description::Notes {
                    docs: $crate::docs!($($doc),*),
                    members: &[$($crate::docs!($($value_doc),*)),*],
                    ..::core::default::Default::default()
                }))
            }

            const PLAIN: $crate::Plain = <i32 as $crate::Value>::PLAIN;

            #[inline]
            fn write_plain<__L: $crate::layout::Layout>(&self, room: &mut &mut [u8]) -> bool {
                let $value = self;
                $crate::Value::write_plain::<__L>(&$to, room)
            }

            #[inline]
            fn read_plain<__L: $crate::layout::Layout>(&mut self, bytes: &mut &[u8]) -> bool {
                let mut $number = 0_i32;
                let whole = $crate::Value::read_plain::<__L>(&mut $number, bytes);
                *self = $from;
                whole
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! message_value {
    // These have one of their own.
    ($type:ident Dynamic) => {};
    ($type:ident Any) => {};
    ($type:ident $($logical:ident)?) => {
        impl $crate::Value for $type {
            const KIND: $crate::Kind = $crate::Kind::Struct;

            #[inline]
            fn write<__W: $crate::Writer + ?Sized>(
                &self,
                writer: &mut __W,
            ) -> ::core::result::Result<(), $crate::EncodeError> {
                $crate::write_message(self, writer)
            }

            #[inline]
            fn read<'de, __R: $crate::Reader<'de> + ?Sized>(
                &mut self,
                reader: &mut __R,
            ) -> ::core::result::Result<(), $crate::DecodeError> {
                $crate::read_message(self, reader)
            }

            fn describe() -> $crate::description::Type<$crate::description::Named> {
                $crate::message_type!($type $($logical)?)
            }

            const PLAIN: $crate::Plain = <$type as $crate::Message>::PLAIN;

            #[inline]
            fn write_plain<__L: $crate::layout::Layout>(&self, room: &mut &mut [u8]) -> bool {
                $crate::Message::write_plain::<__L>(self, room)
            }

            #[inline(always)]
            fn read_plain<__L: $crate::layout::Layout>(&mut self, bytes: &mut &[u8]) -> bool {
                $crate::Message::read_plain::<__L>(self, bytes)
            }
        }
    };
}

/// The type of a message in a contract: one of its own, or one that every contract has.
#[doc(hidden)]
#[macro_export]
macro_rules! message_type {
    ($type:ident) => {
        $crate::description::Type::Struct($crate::description::Named::message::<$type>())
    };
    ($type:ident $logical:ident) => {
        $crate::description::Type::Logical($crate::description::Logical::$logical)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! field {
    ($id:literal, $($field:ident).+ $($name:literal)?, $ty:ty $(, $attribute:ident $(($argument:literal))?)*) => {
        $crate::Field::new(
            $id,
            $crate::wire_name!($($field).+ $($name)?),
            <$ty as $crate::Row>::KIND,
        )
        .element(<$ty as $crate::Row>::ELEMENT)
        .nullable(<$ty as $crate::Row>::NULLABLE)
        .oneof(<$ty as $crate::Row>::ONEOF)
        $(.$attribute($($argument)?))*
    };
}

/// How many of these types are optional.
#[doc(hidden)]
#[macro_export]
macro_rules! optional {
    ($($ty:ty)*) => {
        0 $(+ <$ty as $crate::Row>::OPTIONAL as usize)*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! wire_name {
    ($name:ident) => {
        ::core::stringify!($name)
    };
    ($base:ident . $($name:ident).+) => {
        $crate::wire_name!($($name).+)
    };
    ($($name:ident).+ $wire_name:literal) => {
        $wire_name
    };
}

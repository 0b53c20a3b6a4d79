/// Makes the type of references to the objects of a service. Generated code uses it, and adds `new`
/// and the clients.
///
/// ```
/// use dovetail::{ObjectRef, descriptor, object};
///
/// descriptor!(pub static COUNTER = "Counter" {
///     add(1 number: i64) -> i64;
/// });
/// object!(pub struct CounterObject of COUNTER);
///
/// descriptor!(pub static COUNTERS = "Counters", passes [COUNTER] {
///     open(1 name: String) -> CounterObject [objects];
/// });
///
/// assert_eq!(CounterObject::default(), ObjectRef::default().into());
/// ```
#[macro_export]
macro_rules! object {
    ($(#[$meta:meta])* $vis:vis struct $type:ident of $service:path) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        $vis struct $type($crate::ObjectRef);

        impl ::core::convert::From<$crate::ObjectRef> for $type {
            fn from(object: $crate::ObjectRef) -> Self {
                Self(object)
            }
        }

        impl ::core::ops::Deref for $type {
            type Target = $crate::ObjectRef;

            fn deref(&self) -> &$crate::ObjectRef {
                &self.0
            }
        }

        impl $crate::generated::wire::Value for $type {
            const KIND: $crate::generated::wire::Kind = $crate::generated::wire::Kind::Object;

            fn write<__W: $crate::generated::wire::Writer + ?Sized>(
                &self,
                writer: &mut __W,
            ) -> ::core::result::Result<(), $crate::generated::wire::EncodeError> {
                self.0.write(writer)
            }

            fn read<'de, __R: $crate::generated::wire::Reader<'de> + ?Sized>(
                &mut self,
                reader: &mut __R,
            ) -> ::core::result::Result<(), $crate::generated::wire::DecodeError> {
                self.0.read(reader)
            }

            fn describe() -> $crate::generated::wire::description::Type<$crate::generated::wire::description::Named> {
                $crate::generated::wire::description::Type::Object(
                    $crate::generated::wire::description::Named::new::<$type>(|| {
                        $crate::generated::wire::description::Definition::Service($service.name)
                    }),
                )
            }
        }
    };
}

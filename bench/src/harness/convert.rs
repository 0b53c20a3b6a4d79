//! Copies between the plain records and those that a library generates, which have the same names
//! and fields, but other types of strings and numbers, and optional fields.

use crate::records::Bytes;

/// Plain records are borrowed, as a server keeps them; generated ones are used up.
pub(crate) trait Convert<T> {
    fn convert(self) -> T;
}

macro_rules! numbers {
    ($($plain:ty as $library:ty),*) => { $(
        impl Convert<$library> for &$plain {
            fn convert(self) -> $library {
                *self as $library
            }
        }

        impl Convert<$plain> for $library {
            fn convert(self) -> $plain {
                self as $plain
            }
        }
    )* };
}

numbers!(
    bool as bool,
    i8 as i8,
    i8 as i32,
    i16 as i16,
    i16 as i32,
    i32 as i32,
    i64 as i64,
    f64 as f64
);

impl Convert<String> for &String {
    fn convert(self) -> String {
        self.clone()
    }
}

impl Convert<String> for String {
    fn convert(self) -> String {
        self
    }
}

impl Convert<Bytes> for &Bytes {
    fn convert(self) -> Bytes {
        self.clone()
    }
}

impl Convert<Bytes> for Bytes {
    fn convert(self) -> Bytes {
        self
    }
}

impl<'a, A, B> Convert<Vec<B>> for &'a [A]
where
    &'a A: Convert<B>,
{
    fn convert(self) -> Vec<B> {
        self.iter().map(Convert::convert).collect()
    }
}

impl<'a, A, B> Convert<Vec<B>> for &'a Vec<A>
where
    &'a A: Convert<B>,
{
    fn convert(self) -> Vec<B> {
        self.as_slice().convert()
    }
}

impl<A: Convert<B>, B> Convert<Vec<B>> for Vec<A> {
    fn convert(self) -> Vec<B> {
        self.into_iter().map(Convert::convert).collect()
    }
}

impl<'a, A, B> Convert<Option<B>> for &'a A
where
    &'a A: Convert<B>,
{
    fn convert(self) -> Option<B> {
        Some(self.convert())
    }
}

impl<A: Convert<B>, B: Default> Convert<B> for Option<A> {
    fn convert(self) -> B {
        self.map(Convert::convert).unwrap_or_default()
    }
}

/// Implements [`Convert`] for the records of a module, in both directions.
macro_rules! records {
    ($library:ident: $($record:ident { $($field:ident)* })*) => { $(
        impl $crate::harness::convert::Convert<$library::$record> for &$crate::records::$record {
            #[allow(clippy::needless_update, reason = "some libraries keep unknown fields")]
            fn convert(self) -> $library::$record {
                $library::$record { $($field: (&self.$field).convert(),)* ..Default::default() }
            }
        }

        impl $crate::harness::convert::Convert<$crate::records::$record> for $library::$record {
            #[allow(clippy::needless_update, reason = "some libraries keep unknown fields")]
            fn convert(self) -> $crate::records::$record {
                $crate::records::$record { $($field: self.$field.convert(),)* ..Default::default() }
            }
        }
    )* };
    ($library:ident) => {
        $crate::harness::convert::records! { $library:
            Date { year month day }
            Mark { course title grade passed date }
            Semester { number start marks }
            Student { name kind born semesters }
            Nested { small large }
            Sample { small large real nested }
            Row { id name born amount voter street house city state zip }
            Message { id text payload }
        }
    };
}
pub(crate) use records;

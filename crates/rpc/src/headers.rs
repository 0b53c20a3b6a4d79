//! The headers of a call as a struct.

use crate::Status;
use dovetail_wire::Bytes;

/// Headers that stand together in a struct, which [`derive(Headers)`](macro@crate::Headers) makes
/// of its fields.
///
#[cfg_attr(feature = "macros", doc = "```")]
#[cfg_attr(not(feature = "macros"), doc = "```ignore")]
/// use dovetail::blocking::Channel;
/// use dovetail::{Context, Headers, Status};
///
/// #[derive(Headers)]
/// struct Origin {
///     /// The header `tenant`, which each call has to have.
///     tenant: String,
///     /// The header `shop-hop`, where a call has one.
///     shop_hop: Option<u32>,
///     #[dovetail(header = "x-debug")]
///     debug: Option<bool>,
/// }
///
/// /// A handler.
/// async fn place(context: Context) -> Result<String, Status> {
///     let origin: Origin = context.headers_as()?;
///     Ok(origin.tenant)
/// }
///
/// /// Its caller.
/// fn channel(channel: &Channel) -> Channel {
///     let tenant = "acme".to_owned();
///     channel.with_headers(&Origin { tenant, shop_hop: Some(1), debug: None })
/// }
/// # fn main() {
/// # let context = Context::builder("place").header("tenant", "acme");
/// # let context = context.header("shop-hop", "x").build();
/// # let refused = context.headers_as::<Origin>().err().expect("a number is none");
/// # let message = "the value of the header `shop-hop` cannot be read as `u32`";
/// # assert_eq!(refused.message(), message);
/// # }
/// ```
pub trait Headers: Sized {
    /// Reads the fields; `get` returns the last value of a name. Fails with `INVALID_ARGUMENT` for
    /// a header that is missing, or has another form.
    fn read<'a>(get: &dyn Fn(&str) -> Option<&'a [u8]>) -> Result<Self, Status>;

    /// Gives each header that is there to `set`.
    fn write(&self, set: &mut dyn FnMut(&'static str, Bytes));
}

/// The value of a header: text, numbers and truth values as they are printed; bytes, under names
/// that end in `-bin`. A type of one's own implements it in the same way.
pub trait HeaderValue: Sized {
    /// Returns `None` for bytes that are no value of this type.
    fn from_header(value: &[u8]) -> Option<Self>;

    /// Returns the bytes, which are printable ASCII unless the name of the header ends in `-bin`.
    fn to_header(&self) -> Bytes;
}

/// A field of a struct of headers: a value, or an `Option` of one.
pub trait HeaderField: Sized {
    /// Reads the value of this header.
    fn read(name: &str, value: Option<&[u8]>) -> Result<Self, Status>;

    /// Returns the bytes of the header, if it is to be sent.
    fn written(&self) -> Option<Bytes>;
}

impl<T: HeaderValue> HeaderField for T {
    fn read(name: &str, value: Option<&[u8]>) -> Result<Self, Status> {
        let missing = || Status::invalid_argument(format!("the call has no header `{name}`"));
        let read = T::from_header(value.ok_or_else(missing)?);
        read.ok_or_else(|| unreadable::<T>(name))
    }

    fn written(&self) -> Option<Bytes> {
        Some(self.to_header())
    }
}

impl<T: HeaderValue> HeaderField for Option<T> {
    fn read(name: &str, value: Option<&[u8]>) -> Result<Self, Status> {
        let read = |value| T::from_header(value).ok_or_else(|| unreadable::<T>(name));
        value.map(read).transpose()
    }

    fn written(&self) -> Option<Bytes> {
        self.as_ref().map(T::to_header)
    }
}

/// Does not say the value: it may be secret.
fn unreadable<T>(name: &str) -> Status {
    let ty = std::any::type_name::<T>();
    let ty = ty.rsplit("::").next().unwrap_or(ty);
    Status::invalid_argument(format!(
        "the value of the header `{name}` cannot be read as `{ty}`"
    ))
}

macro_rules! printed {
    ($($ty:ty),*) => {$(
        impl HeaderValue for $ty {
            fn from_header(value: &[u8]) -> Option<Self> {
                std::str::from_utf8(value).ok()?.trim().parse().ok()
            }

            fn to_header(&self) -> Bytes {
                self.to_string().into()
            }
        }
    )*};
}

printed!(
    bool, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64
);

impl HeaderValue for String {
    fn from_header(value: &[u8]) -> Option<Self> {
        String::from_utf8(value.to_vec()).ok()
    }

    fn to_header(&self) -> Bytes {
        self.clone().into()
    }
}

impl HeaderValue for Bytes {
    fn from_header(value: &[u8]) -> Option<Self> {
        Some(Bytes::copy_from_slice(value))
    }

    fn to_header(&self) -> Bytes {
        self.clone()
    }
}

//! The tables that generated services are made of, and what depends on a feature of this crate.

/// Makes a `static` [`ServiceDescriptor`](crate::method::ServiceDescriptor): one line for each
/// method, in the contract's own spelling. `-> Result | Error` gives the result, which is `()` for
/// `void`, and the error type, which is left out where nothing is declared. `sink<Item | Error>`
/// and `stream<Item | Error>` are the streams of the caller and of the server. `in "hello.v1"`
/// behind the name is the service's package. `[objects]` marks methods that pass references to
/// objects, and `passes` names the services of those; see [`object!`](crate::object). `capnp b"…"`
/// is [`Method::capnp`](crate::method::Method::capnp). `[permission("orders.write")]` names the
/// permission that a method takes. `[messages]` marks methods whose one parameter and result are
/// messages of protobuf. Documentation before a method, `docs […]` of the service, and `= || …` for
/// [`MethodTypes::fresh`](crate::method::MethodTypes::fresh) are for contracts that are written
/// out.
///
/// ```
/// use dovetail::descriptor;
///
/// descriptor!(pub static SHARED = "Shared" {
///     get(1 key: i32) -> String [idempotent];
/// });
///
/// descriptor!(pub static CALCULATOR = "Calculator" extends SHARED {
///     ping();
///     add(1 num1: i32, 2 num2: i32 [required]) -> i32;
///     zip() [oneway];
///     count(1 to: i32) -> (), stream<i32>;
///     sum() -> i64, sink<i32>;
/// });
/// assert_eq!(CALCULATOR.len(), 6);
/// assert!(CALCULATOR.methods[2].kind.is_oneway());
/// assert!(CALCULATOR.methods[3].kind.server_streams());
/// ```
#[macro_export]
macro_rules! descriptor {
    ($(#[$meta:meta])* $vis:vis static $name:ident = $contract:literal $(in $package:literal)? $(extends $base:path)?
        $(, docs [$($service_doc:expr),*])? $(, passes [$($passed:path),*])?
        $(, capnp $capnp:literal)? {
        $($(#[doc = $doc:expr])* $method:ident(
            $($id:literal $param:ident: $ty:ty $([$($attribute:ident),*])?),*
        ) $(-> $result:ty $(| $error:ty)?)?
        $(, sink<$sent:ty $(| $sent_error:ty)?>)? $(, stream<$item:ty $(| $item_error:ty)?>)?
        $([$($flag:ident $(($value:literal))?),*])? $(= $fresh:expr)?;)*
    }) => {
        $(#[$meta])*
        $vis static $name: $crate::generated::ServiceDescriptor = $crate::generated::ServiceDescriptor {
            name: $contract,
            package: $crate::descriptor!(@package $($package)?),
            base: $crate::descriptor!(@base $($base)?),
            docs: $crate::generated::wire::docs!($($($service_doc),*)?),
            methods: {
                const __DOVETAIL_SERVICE: &::core::primitive::str =
                    $crate::descriptor!(@full $contract $(, $package)?);
                const __DOVETAIL_CAPNP: ::core::option::Option<&'static [::core::primitive::u8]> =
                    $crate::descriptor!(@capnp $($capnp)?);
                &[$(
                    $crate::generated::Method::new(
                        ::core::stringify!($method),
                        &[$($crate::generated::wire::field!($id, $param, $ty $(, $($attribute),*)?)),*],
                    )
                    .of(__DOVETAIL_SERVICE)
                    .placed(__DOVETAIL_CAPNP)
                    .typed(|| $crate::descriptor!(@types $($result $(, $error)?)?)(
                        $crate::generated::wire::description::fields([$(
                            $crate::generated::wire::description::FieldType::of::<$ty>(
                                $crate::generated::wire::field!($id, $param, $ty $(, $($attribute),*)?),
                            ),
                        )*]),
                    )$(.client_stream::<$sent, $crate::descriptor!(@error $($sent_error)?)>())?
                    $(.server_stream::<$item, $crate::descriptor!(@error $($item_error)?)>())?
                    $(.fresh($fresh))?)
                    .documented($crate::generated::wire::docs!($($doc),*))
                    $(.client_stream_of(::core::marker::PhantomData::<$sent>))?
                    $(.server_stream_of(::core::marker::PhantomData::<$item>))?
                    $($(.$flag($($value)?))*)?
                ),*]
            },
            objects: &[$($(&$passed),*)?],
        };
    };
    (@full $contract:literal) => { $contract };
    (@full $contract:literal, $package:literal) => {
        ::core::concat!($package, ".", $contract)
    };
    (@capnp) => { ::core::option::Option::None };
    (@capnp $table:literal) => { ::core::option::Option::Some($table) };
    (@package) => { "" };
    (@package $package:literal) => { $package };
    (@types) => { $crate::generated::MethodTypes::of::<(), $crate::Status> };
    (@types $result:ty) => { $crate::generated::MethodTypes::of::<$result, $crate::Status> };
    (@types $result:ty, $error:ty) => { $crate::generated::MethodTypes::of::<$result, $error> };
    (@error) => { $crate::Status };
    (@error $error:ty) => { $error };
    (@base) => { ::core::option::Option::None };
    (@base $base:path) => { ::core::option::Option::Some(&$base) };
}

/// The items between the braces, where this crate has its feature `async`; else nothing.
#[cfg(feature = "async")]
#[macro_export]
macro_rules! if_async {
    ($($item:item)*) => { $($item)* };
}

/// The items between the braces, where this crate has its feature `async`; else nothing.
#[cfg(not(feature = "async"))]
#[macro_export]
macro_rules! if_async {
    ($($item:item)*) => {};
}

/// Includes what `dovetail_build` made of a contract: `include_contract!("calculator")` for
/// `idl/calculator.thrift`. The modules of the contract come to stand where the macro stands.
#[macro_export]
macro_rules! include_contract {
    ($name:literal) => {
        ::core::include!(::core::concat!(::core::env!("OUT_DIR"), "/", $name, ".rs"));
    };
}

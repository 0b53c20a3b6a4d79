/// The treatment of a caller that has closed its sending side, and may still receive. A caller
/// whose connection was reset is always gone.
///
/// A caller that is gone takes no answer: the handler's future is dropped where it waits, one that
/// blocks finds [`Context::cancelled`](crate::Context::cancelled) true, and the connection is
/// closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HalfClosed {
    /// It waits for its answers, on every wire but Dovetail's own.
    Waits,
    /// Over HTTP/1.1 it is gone, as in other servers of HTTP; over Thrift and msgpack-rpc it waits
    /// for its answers.
    #[default]
    GoneOverHttp,
    /// It is gone, on every wire: a process that ends closes its connections so, and few clients
    /// close their sending side before they have their answers.
    Gone,
}

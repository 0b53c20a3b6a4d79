//! TLS over an open connection. Without the feature `tls` there is none.

#[cfg_attr(
    not(feature = "tls"),
    expect(unreachable_pub, reason = "there is none")
)]
mod connector;
#[cfg(feature = "tls")]
mod records;
#[cfg(feature = "tls")]
mod stream;
#[cfg(feature = "tls")]
pub use connector::TlsConnector;
#[cfg(not(feature = "tls"))]
pub(crate) use connector::TlsConnector;
#[cfg(feature = "tls")]
pub(crate) use stream::handshake;

#[cfg(all(feature = "async", feature = "tls"))]
mod async_tls;
#[cfg(all(feature = "async", feature = "tls"))]
pub(crate) use async_tls::AsyncTls;

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(all(feature = "async", not(feature = "tls")))]
pub(crate) use absent::AsyncTls;
#[cfg(not(feature = "tls"))]
pub(crate) use absent::handshake;

//! The time, on the way of an async call. The blocking client and threads ask the system
//! themselves: nobody else can tell what they wait for.

use std::time::Instant;

/// Now; in a test of [`testing`](crate::testing), what its clock says.
#[inline]
pub(crate) fn now() -> Instant {
    #[cfg(feature = "testing")]
    return tokio::time::Instant::now().into_std();
    #[cfg(not(feature = "testing"))]
    Instant::now()
}

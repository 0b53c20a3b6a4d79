//! The principal of a call, as interceptors and handlers see it.

use super::Principal;
use crate::Context;
use crate::peer::intercept::CallHead;

impl Context {
    /// Returns the caller's identity; `None` if the server knows none, or asks for none.
    pub fn principal(&self) -> Option<&Principal> {
        self.get()
    }
}

impl CallHead<'_> {
    /// Returns the caller's identity, once [`Authentication`](super::Authentication) has run.
    pub fn principal(&self) -> Option<&Principal> {
        self.get()
    }
}

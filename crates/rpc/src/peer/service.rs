use crate::method::ServiceDescriptor;
use crate::peer::call::{Call, HandlerFuture};

/// A contract with a handler behind it. Generated code implements it; a server holds any number.
pub trait Service: Send + Sync + 'static {
    /// The contract's name and methods.
    fn descriptor(&self) -> &'static ServiceDescriptor;

    /// Answers a call of the method with this number in the descriptor, which the runtime has
    /// looked up.
    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a>;
}

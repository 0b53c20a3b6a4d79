//! The client without an async runtime.

use crate::reply::ReplySlot;
use crate::{Exceptions, Method, Status};
use dovetail_wire::{FieldValue, WriteParams};

/// A blocking connection to a server. Cheap to clone; safe to share between threads.
#[derive(Clone, Debug)]
pub struct Channel {}

impl Channel {
    /// Calls a method and waits for its answer.
    pub fn call<P: WriteParams, T: FieldValue, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<T, E> {
        let _ = params;
        ReplySlot::new().into_result(method.name)
    }

    /// Calls a one-way method; returns when the call is handed to the transport.
    pub fn notify<P: WriteParams>(&self, method: &'static Method, params: P) -> Result<(), Status> {
        let _ = (method, params);
        Ok(())
    }
}
